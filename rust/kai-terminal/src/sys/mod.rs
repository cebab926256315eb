//! What touches the operating system, and nothing that decides. The only unsafe code of the library lives below here.
//!
//! A *provider* opens terminals; what the driver then holds is one [`Terminal`]: acts that never block, and facts that
//! cost microseconds. Policy (when a fact is worth asking for, and what it proves) is the business of `state`.

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub mod linux;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::time::Duration;

/// A size in character cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub cols: u16,
    pub rows: u16,
}

/// Everything a terminal is opened with. Nothing is added below: no default, no search path, no shell.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The program by absolute path, then its arguments; `arg0` below may replace its own name.
    pub argv: Vec<OsString>,
    /// `argv[0]` as the program sees it, where that differs from its path (`-bash` for a login shell).
    pub arg0: Option<OsString>,
    /// The complete environment.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory; the host's own when `None`.
    pub cwd: Option<PathBuf>,
    pub size: Size,
    /// Bytes that the program finds on a descriptor of the given number, each over a pipe of its own that is closed
    /// after them. At most 60 kB each: what a pipe takes without a reader.
    pub descriptors: Vec<(RawFd, Vec<u8>)>,
    /// The grace of the closing that begins by itself when the host dies or lets the terminal go.
    pub grace: Duration,
}

/// What a read from the terminal gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    Bytes(usize),
    /// Nothing at this moment.
    Nothing,
    /// Nobody has the terminal open at this moment (`EIO`). This is *not* an end: somebody may open it again.
    Unattached,
}

/// How the line discipline is set, as far as input is concerned (termios(3)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    pub canonical: bool,
    pub echo: bool,
    /// `VMIN`; 0 means that a read may return nothing, which is polling, not waiting.
    pub min: u8,
}

/// What a thread is doing, as the kernel tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// On the processor, or about to be.
    Running,
    /// Blocked in a read of this terminal.
    TerminalRead,
    /// Waiting for another thread, for a child or for a signal: idle for our purpose.
    Idle,
    /// Asleep until a time.
    Timer,
    /// In a read, a receive or an accept of something that is not this terminal.
    OtherRead,
    /// In `poll`, `select`, `epoll_wait` or a restarted one of these.
    Poll,
    /// In another system call.
    Other,
    /// The kernel does not tell us (`/proc/PID/syscall` is not readable for this process).
    Denied,
}

/// One thread of the foreground process group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    pub pid: i32,
    pub tid: i32,
    /// The state letter of `proc_pid_stat(5)`: `R`, `S`, `D`, `T`, `Z`.
    pub state: u8,
    /// How often the scheduler has run it (`/proc/PID/task/TID/schedstat`); `None` where that cannot be read.
    pub runs: Option<u64>,
    pub wait: Wait,
    /// Its process was forked and has not executed a program since: it still handles signals as its parent does.
    pub only_forked: bool,
}

/// A signal that a caller may send to the foreground process group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Terminate,
    Kill,
    Stop,
    HangUp,
}

/// Why a signal was not delivered.
#[derive(Debug)]
pub enum SignalError {
    /// The terminal has no foreground process group at this moment, or is closed.
    NoForeground,
    /// Not permitted: the group, a program of it and the user who owns it.
    Denied {
        pgid: i32,
        command: String,
        user: String,
    },
    Io(io::Error),
}

/// How a process ended (wait(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    Code(i32),
    Signal(i32),
}

/// A process of the managed range that was still there when closing began, or that survived it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub command: String,
    /// The name of its user, or the number where there is none.
    pub user: String,
    /// How it ended, where that could be seen: a process with a living parent is reaped by that parent.
    pub ended: Option<ExitStatus>,
}

/// The step at which a start failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The terminal or the guard itself.
    Terminal,
    Fork,
    Session,
    Directory,
    Limits,
    Exec,
}

/// What the managed range reports by itself, in order: `Started`, `Exited`, or `Failed`; `HangUp` and `Survivors` while it
/// is being closed; `Quiescent` or `Lost` at the end, always, and once the guard itself is gone.
#[derive(Debug)]
pub enum Report {
    /// The top-level process runs its program, and the guard has let go of the terminal.
    Started {
        pid: i32,
    },
    Failed {
        stage: Stage,
        error: io::Error,
    },
    /// The top-level process ended.
    Exited(ExitStatus),
    /// Closing has come to its second stage: the host is to hang the terminal up now (`Terminal::hang_up`).
    HangUp,
    /// Nothing of the managed range is left. The last report, after a failed start too.
    Quiescent(Receipt),
    /// An attempt to close ended with these still alive; it may be tried again.
    Survivors(Vec<Process>),
    /// The guard is gone without having said that the range is empty.
    Lost,
}

/// What closing found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// Everything that was alive besides the top-level process when closing began.
    pub processes: Vec<Process>,
    /// Whether anything had to be killed.
    pub killed: bool,
}

/// Why no terminal could be opened.
#[derive(Debug)]
pub struct OpenError {
    pub stage: Stage,
    pub error: io::Error,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.stage, self.error)
    }
}

/// One open terminal with its managed range. No call blocks. Calls may come from any thread, except those that say
/// otherwise; after `hang_up` the calls about the terminal fail with `ENXIO` and the rest goes on.
pub trait Terminal: Send + Sync + 'static {
    /// What to wait on for output and for room to write: it becomes readable at each change, and stays so until `heed`.
    fn terminal_fd(&self) -> RawFd;
    /// Takes note of the changes so far, before reading and writing what they allow.
    fn heed(&self);
    /// What to wait on for reports.
    fn report_fd(&self) -> RawFd;
    /// The next report, if one has come.
    fn next_report(&self) -> io::Result<Option<Report>>;

    fn read(&self, buffer: &mut [u8]) -> io::Result<Read>;
    /// Gives how many bytes the terminal took; 0 when it has no room now.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;
    fn resize(&self, size: Size) -> io::Result<()>;

    fn modes(&self) -> io::Result<Modes>;
    /// The foreground process group as the terminal driver names it.
    fn foreground(&self) -> io::Result<Option<i32>>;
    /// Whether bytes, or an end of file, wait to be read by a program: `poll`, then `FIONREAD`, on a transient slave. Fails
    /// with `ENXIO` before `Report::Started` was taken and after `Report::Exited` was, like everything that needs a slave.
    fn input_unread(&self) -> io::Result<bool>;
    /// Whether somebody is blocked in a read on the terminal. `None`: cannot be asked here or now. To be asked only by the
    /// thread that writes, with no write in flight, and only while `input_unread` says no. A yes takes 0.2 ms, because it
    /// is asked twice; a no takes microseconds.
    fn reader_blocked(&self) -> Option<bool>;
    /// Every thread of every process in `group`, found through the managed range and nowhere else.
    fn threads(&self, group: i32) -> Vec<Thread>;

    /// Discards what the terminal holds that no program has read yet (`TCIFLUSH`), also what is still on its way to the
    /// line discipline.
    fn discard_input(&self) -> io::Result<()>;
    /// Sends a signal to the foreground process group and gives its id.
    fn signal_foreground(&self, signal: Signal) -> Result<i32, SignalError>;
    /// Closes the terminal. Whoever has it as controlling terminal gets SIGHUP.
    fn hang_up(&self);
    /// Asks for the stages of closing; the answer comes as reports. May be asked again after `Survivors`.
    fn terminate(&self, grace: Duration) -> io::Result<()>;
}
