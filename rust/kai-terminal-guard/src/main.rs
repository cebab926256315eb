//! The guard: the small program that stands between a host and the top-level process of one terminal session.
//!
//! It is a child subreaper, so that whatever the top-level process leaves behind is re-parented to it: the managed
//! range *is* its tree, and `waitpid` saying that there are no children is the proof that the range is empty. It starts
//! the top-level process, reports what happens, and closes the range in stages when it is asked to, or when its host is
//! gone. `docs/guard-protocol.md` is the wire format; the module order below is the reading order, bottom up:
//! [`os`] calls the kernel, [`wire`] frames, [`channel`] carries, [`tree`] finds processes, [`child`] starts the
//! top-level process, and [`Guard`] decides.
//!
//! Linux, 64 bits. After the start it neither grows nor waits for anything but `poll`.
#![allow(unsafe_code)]

use std::time::{Duration, Instant};

use os::Descriptor;
use wire::{Start, Step};

/// The version of the protocol; `docs/guard-protocol.md` tells what changed when.
const PROTOCOL: u32 = 1;
/// How many processes a receipt or a list of survivors names at most: the frame has to fit into the queue.
const NAMED_PROCESSES: usize = 1024;
/// How long killing goes on without anything ending before the survivors are named.
const KILL_PATIENCE: Duration = Duration::from_secs(2);
/// What the second stage lasts at least, where the grace allows it: a hang-up needs a moment to be acted upon.
const HANG_UP_TIME: Duration = Duration::from_millis(250);
/// The longest pause between two looks at the tree while a stage runs; the first pause is a millisecond.
const LONGEST_TICK: Duration = Duration::from_millis(20);

fn main() {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|argument| argument == "--version")
    {
        println!(
            "kai-terminal-guard {} {PROTOCOL}",
            env!("CARGO_PKG_VERSION")
        );
        return;
    }
    os::close_from(3);
    os::reset_signals();
    os::block_signals();
    os::become_subreaper();
    let Some(mut channel) = channel::Channel::new(os::CHANNEL) else {
        return;
    };
    let Some(payload) = channel.wait_for_start() else {
        return;
    };
    let Some(start) = Start::parse(&payload) else {
        // 71 is EPROTO (errno.h): whoever started us speaks another version.
        channel.failed(Step::Terminal, 71);
        channel.quiescent(false, &[]);
        channel.flush_or_wait(None);
        return;
    };
    if let Some(guard) = Guard::start(channel, &start) {
        drop(start);
        drop(payload);
        guard.run();
    }
}

/// How far closing has come (rule Q1).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Not asked to close.
    Running,
    /// Everything but the top-level process was asked to end.
    Asking,
    /// The terminal is hung up and the top-level process was asked to end.
    HangingUp { until: Instant },
    /// Everything is frozen and killed until nothing is left. `since`: when something last ended.
    Killing { since: Instant, left: usize },
    /// Survivors were reported; another request to close starts over.
    GaveUp,
}

/// A process of the receipt, as it was when closing began.
#[derive(Clone, Copy)]
struct Named {
    pid: i32,
    uid: u32,
    comm: [u8; 16],
    /// The raw status of `waitpid`, where the guard reaped it.
    ended: Option<i32>,
}

// Each of these is a fact of its own; an enum of their combinations would name states that nobody tells apart.
#[allow(clippy::struct_excessive_bools)]
struct Guard {
    channel: channel::Channel,
    signals: Descriptor,
    /// A pidfd on the host: a forked copy of the host may keep the channel open after it.
    host: Option<Descriptor>,
    /// Says how the start went: a failure as bytes, a success as its end.
    starting: Option<Descriptor>,
    top: i32,
    top_alive: bool,
    failed: bool,
    host_gone: bool,
    host_grace: Duration,
    stage: Stage,
    /// When the grace is over.
    end: Instant,
    grace: Duration,
    hang_up_reported: bool,
    killed: bool,
    only_zombies: bool,
    receipt: Vec<Named>,
    receipt_taken: bool,
    tree: tree::Tree,
    tick: Duration,
}

impl Guard {
    /// Starts the top-level process. `None`: there is no host any more, or the failure has been reported.
    fn start(mut channel: channel::Channel, start: &Start) -> Option<Self> {
        let host = os::pidfd(start.host);
        // The pidfd is the host's only if the host was still our parent after it was opened.
        if os::parent() != start.host {
            return None;
        }
        let started = match os::signal_descriptor() {
            Ok(signals) => child::start(start).map(|started| (signals, started)),
            Err(errno) => Err((Step::Terminal, errno)),
        };
        let (signals, started) = match started {
            Ok(parts) => parts,
            Err((step, errno)) => {
                channel.failed(step, errno);
                channel.quiescent(false, &[]);
                channel.flush_or_wait(host.as_ref().ok());
                return None;
            }
        };
        let grace = Duration::from_millis(start.grace_ms.into());
        Some(Self {
            channel,
            signals,
            host: host.ok(),
            starting: Some(started.outcome),
            top: started.pid,
            top_alive: true,
            failed: false,
            host_gone: false,
            host_grace: grace,
            stage: Stage::Running,
            end: Instant::now(),
            grace,
            hang_up_reported: false,
            killed: false,
            only_zombies: false,
            receipt: Vec::with_capacity(NAMED_PROCESSES),
            receipt_taken: false,
            tree: tree::Tree::new(),
            tick: Duration::ZERO,
        })
    }

    /// Serves until the range is empty. Every turn looks at everything: which event woke us does not matter.
    fn run(mut self) {
        loop {
            self.wait();
            os::drain(&self.signals);
            self.look_at_start();
            let empty = self.reap();
            if self.starting.is_none() && (empty || self.only_zombies) {
                break;
            }
            self.look_at_host();
            self.advance(Instant::now());
            self.channel.flush();
        }
        self.channel.quiescent(self.killed, &self.receipt);
        // The range is empty, so the host may take its time to read; if it is gone there is nobody to tell.
        self.channel.flush_or_wait(self.host.as_ref());
    }

    fn wait(&mut self) {
        let mut fds = [
            os::Poll::unless(
                self.host_gone,
                self.channel.descriptor(),
                self.channel.interest(),
            ),
            os::Poll::on(Some(&self.signals)),
            os::Poll::on(self.host.as_ref().filter(|_| !self.host_gone)),
            os::Poll::on(self.starting.as_ref()),
        ];
        let timeout = match self.stage {
            Stage::Running | Stage::GaveUp => None,
            Stage::HangingUp { until } => {
                let left = until.saturating_duration_since(Instant::now());
                Some(left + Duration::from_millis(1))
            }
            // What a living parent reaps gives us no event: only here is there something to look for.
            Stage::Asking | Stage::Killing { .. } => {
                self.tick = (self.tick * 2).clamp(Duration::from_millis(1), LONGEST_TICK);
                Some(self.tick)
            }
        };
        os::poll(&mut fds, timeout);
        if fds[2].ready() {
            self.host_gone = true;
        }
    }

    /// Reads from the channel, and begins to close when it says so, when it has ended, or when the host has.
    fn look_at_host(&mut self) {
        let now = Instant::now();
        let was_gone = self.channel.ended();
        while let Some(grace_ms) = self.channel.next_terminate() {
            self.begin_closing(now, Duration::from_millis(grace_ms.into()));
        }
        if self.channel.ended() {
            self.host_gone = true;
        }
        if self.host_gone && !was_gone {
            self.channel.end();
            if matches!(self.stage, Stage::Running | Stage::GaveUp) {
                self.begin_closing(now, self.host_grace);
            }
        }
    }

    fn look_at_start(&mut self) {
        let Some(outcome) = &self.starting else {
            return;
        };
        match child::outcome(outcome) {
            child::Outcome::Pending => {}
            child::Outcome::Started => {
                self.starting = None;
                // Only now may the host open slaves of its own, and only we know that the terminal has a holder.
                os::let_go_of_terminal();
                os::leave_directory();
                self.channel.started(self.top);
            }
            child::Outcome::Failed(step, errno) => {
                self.starting = None;
                self.failed = true;
                self.channel.failed(step, errno);
            }
        }
    }

    /// Reaps whatever has ended. True when there is no child left, which proves that the range is empty.
    fn reap(&mut self) -> bool {
        loop {
            match os::reap() {
                os::Reaped::Child(pid, status) => {
                    if pid == self.top && self.top_alive {
                        // Its end of the pipe is closed by now: what it said there comes before what became of it.
                        self.look_at_start();
                        self.top_alive = false;
                        if !self.failed {
                            self.channel.exited(status);
                        }
                    } else if let Some(named) = self
                        .receipt
                        .iter_mut()
                        .find(|n| n.pid == pid && n.ended.is_none())
                    {
                        named.ended = Some(status);
                    }
                    if let Stage::Killing { since, .. } = &mut self.stage {
                        *since = Instant::now();
                    }
                    self.tick = Duration::ZERO;
                }
                os::Reaped::NoneNow => return false,
                os::Reaped::NoChildren => return true,
            }
        }
    }

    fn begin_closing(&mut self, now: Instant, grace: Duration) {
        let closing = !matches!(self.stage, Stage::Running | Stage::GaveUp);
        if closing && now + grace >= self.end {
            return;
        }
        self.end = now + grace;
        self.grace = grace;
        self.tick = Duration::ZERO;
        if closing {
            // A shorter grace than the one that runs: the stages go on and see the earlier end.
            if let Stage::HangingUp { until } = &mut self.stage {
                *until = (now + grace.min(HANG_UP_TIME)).max(self.end).min(*until);
            }
            return;
        }
        self.tree.look_twice();
        self.take_receipt();
        if grace.is_zero() {
            self.kill(now);
        } else if self.tree.others(self.top) == 0 {
            self.hang_up(now);
        } else {
            self.stage = Stage::Asking;
            let top = self.top;
            self.tree
                .signal_all(&[os::SIGTERM, os::SIGCONT], |pid| pid != top);
        }
    }

    fn take_receipt(&mut self) {
        if self.receipt_taken {
            return;
        }
        self.receipt_taken = true;
        let top = self.top;
        for entry in self
            .tree
            .alive()
            .filter(|entry| entry.pid != top)
            .take(NAMED_PROCESSES)
        {
            self.receipt.push(tree::name(entry));
        }
    }

    fn advance(&mut self, now: Instant) {
        match self.stage {
            Stage::Running | Stage::GaveUp => {}
            Stage::Asking => {
                self.tree.look();
                if now >= self.end || self.tree.others(self.top) == 0 {
                    self.hang_up(now);
                }
            }
            Stage::HangingUp { until } => {
                if now >= until {
                    self.kill(now);
                }
            }
            Stage::Killing { since, left } => self.kill_again(now, since, left),
        }
    }

    /// The second stage: what is left of the grace, but at least a moment.
    fn hang_up(&mut self, now: Instant) {
        self.report_hang_up();
        self.signal_top(&[os::SIGHUP, os::SIGCONT, os::SIGTERM]);
        self.stage = Stage::HangingUp {
            until: self.end.max(now + self.grace.min(HANG_UP_TIME)),
        };
        self.tick = Duration::ZERO;
    }

    /// Our own child keeps its pid until we reap it, so this needs no look at the tree, nor a `/proc` at all.
    fn signal_top(&self, signals: &[i32]) -> bool {
        self.top_alive && os::signal_exactly(self.top, signals, || true)
    }

    fn report_hang_up(&mut self) {
        if !self.hang_up_reported {
            self.hang_up_reported = true;
            self.channel.hang_up();
        }
    }

    /// The third stage.
    fn kill(&mut self, now: Instant) {
        self.report_hang_up();
        self.stage = Stage::Killing {
            since: now,
            left: usize::MAX,
        };
        self.tick = Duration::ZERO;
        self.kill_again(now, now, usize::MAX);
    }

    fn kill_again(&mut self, now: Instant, since: Instant, left: usize) {
        self.killed |= self.tree.freeze_and_kill() | self.signal_top(&[os::SIGKILL]);
        let alive = self.tree.alive().count();
        let since = if alive < left { now } else { since };
        self.stage = Stage::Killing {
            since,
            left: alive.min(left),
        };
        if now.duration_since(since) < KILL_PATIENCE {
            return;
        }
        if alive == 0 {
            // Somebody outside traces what is dead and does not let go of it. It cannot run again, so the range is empty.
            self.only_zombies = true;
            self.tick = Duration::ZERO;
            if self.top_alive {
                self.channel
                    .exited(tree::exit_status(self.top).unwrap_or(os::SIGKILL));
            }
            return;
        }
        if self.host_gone {
            // Nobody is left to tell, and waiting for what may not be ended would leave one more process behind.
            std::process::exit(0);
        }
        self.channel.survivors(&self.tree);
        self.stage = Stage::GaveUp;
    }
}

/// The kernel's calls, each wrapped so that nothing above is unsafe.
mod os {
    use std::ffi::{c_char, c_int, c_long, c_ulong, c_void};
    use std::io;
    use std::time::Duration;

    pub(super) const CHANNEL: c_int = 0;
    pub(super) const TERMINAL: c_int = 1;
    const NULL_DEVICE: c_int = 2;

    pub(super) const SIGHUP: c_int = 1;
    pub(super) const SIGKILL: c_int = 9;
    pub(super) const SIGTERM: c_int = 15;
    pub(super) const SIGCONT: c_int = 18;
    pub(super) const SIGSTOP: c_int = 19;

    pub(super) const POLLIN: i16 = 1;
    pub(super) const POLLOUT: i16 = 4;

    pub(super) const EINTR: i32 = 4;
    pub(super) const EAGAIN: i32 = 11;
    const EPERM: i32 = 1;
    const ENOSYS: i32 = 38;

    const O_NONBLOCK: c_int = 0o4000;
    const O_CLOEXEC: c_int = 0o2_000_000;
    const F_GETFL: c_int = 3;
    const F_SETFL: c_int = 4;
    const F_DUPFD_CLOEXEC: c_int = 1030;
    const WNOHANG: c_int = 1;
    const WALL: c_int = 0x4000_0000;
    const SIG_BLOCK: c_int = 0;
    const SIG_SETMASK: c_int = 2;
    const MFD_CLOEXEC: c_long = 1;
    const MSG_NOSIGNAL: c_int = 0x4000;
    const PR_SET_PDEATHSIG: c_int = 1;
    const PR_SET_NAME: c_int = 15;
    const PR_SET_CHILD_SUBREAPER: c_int = 36;
    const TIOCSCTTY: c_ulong = 0x540E;
    // These numbers are the same on every architecture (include/uapi/asm-generic/unistd.h and the x86 table).
    const SYS_PIDFD_SEND_SIGNAL: c_long = 424;
    const SYS_PIDFD_OPEN: c_long = 434;
    const SYS_CLOSE_RANGE: c_long = 436;
    // These two are not.
    #[cfg(target_arch = "x86_64")]
    const SYS_RT_SIGACTION: c_long = 13;
    #[cfg(target_arch = "x86_64")]
    const SYS_MEMFD_CREATE: c_long = 319;
    #[cfg(not(target_arch = "x86_64"))]
    const SYS_RT_SIGACTION: c_long = 134;
    #[cfg(not(target_arch = "x86_64"))]
    const SYS_MEMFD_CREATE: c_long = 279;

    /// Room for a `sigset_t` and for a `struct sigaction` of any C library: all zeros is the empty set, and the default
    /// action with no flags and an empty mask.
    type Opaque = [u64; 32];

    #[repr(C)]
    pub(super) struct Poll {
        fd: c_int,
        events: i16,
        revents: i16,
    }

    unsafe extern "C" {
        safe fn getpid() -> c_int;
        safe fn getppid() -> c_int;
        safe fn fork() -> c_int;
        safe fn setsid() -> c_int;
        safe fn _exit(status: c_int) -> !;
        safe fn kill(pid: c_int, signal: c_int) -> c_int;
        safe fn dup2(from: c_int, to: c_int) -> c_int;
        #[link_name = "close"]
        safe fn close_number(fd: c_int) -> c_int;
        fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
        fn ioctl(fd: c_int, request: c_ulong, ...) -> c_int;
        fn prctl(option: c_int, ...) -> c_int;
        fn syscall(number: c_long, ...) -> c_long;
        #[link_name = "poll"]
        fn poll_descriptors(fds: *mut Poll, count: c_ulong, timeout: c_int) -> c_int;
        #[link_name = "read"]
        fn read_bytes(fd: c_int, buffer: *mut c_void, size: usize) -> isize;
        #[link_name = "write"]
        fn write_bytes(fd: c_int, buffer: *const c_void, size: usize) -> isize;
        fn send(fd: c_int, buffer: *const c_void, size: usize, flags: c_int) -> isize;
        fn lseek(fd: c_int, offset: i64, whence: c_int) -> i64;
        fn pipe2(fds: *mut c_int, flags: c_int) -> c_int;
        #[link_name = "chdir"]
        fn change_directory(path: *const c_char) -> c_int;
        fn execve(
            path: *const c_char,
            argv: *const *const c_char,
            envp: *const *const c_char,
        ) -> c_int;
        fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
        fn sigfillset(set: *mut Opaque) -> c_int;
        fn sigprocmask(how: c_int, set: *const Opaque, old: *mut Opaque) -> c_int;
        fn signalfd(fd: c_int, set: *const Opaque, flags: c_int) -> c_int;
        fn getrlimit(resource: c_int, limit: *mut [u64; 2]) -> c_int;
        fn setrlimit(resource: c_int, limit: *const [u64; 2]) -> c_int;
    }

    /// A descriptor that is closed when it goes out of use.
    pub(super) struct Descriptor(c_int);

    impl Descriptor {
        pub(super) fn number(&self) -> c_int {
            self.0
        }

        /// A second descriptor of the same file with a number of at least `lowest`.
        pub(super) fn duplicate_above(&self, lowest: c_int) -> Result<Self, i32> {
            // SAFETY: F_DUPFD_CLOEXEC takes an int.
            checked(unsafe { fcntl(self.0, F_DUPFD_CLOEXEC, lowest) }).map(Self)
        }
    }

    impl Drop for Descriptor {
        fn drop(&mut self) {
            close_number(self.0);
        }
    }

    impl Poll {
        pub(super) fn unless(skip: bool, fd: c_int, events: i16) -> Self {
            // poll(2) ignores a negative descriptor.
            Self {
                fd: if skip { -1 } else { fd },
                events,
                revents: 0,
            }
        }

        pub(super) fn on(descriptor: Option<&Descriptor>) -> Self {
            Self::unless(
                descriptor.is_none(),
                descriptor.map_or(-1, Descriptor::number),
                POLLIN,
            )
        }

        pub(super) fn ready(&self) -> bool {
            self.revents != 0
        }
    }

    pub(super) enum Reaped {
        Child(i32, i32),
        NoneNow,
        NoChildren,
    }

    pub(super) fn errno() -> i32 {
        io::Error::last_os_error().raw_os_error().unwrap_or(0)
    }

    fn checked(result: c_int) -> Result<c_int, i32> {
        if result < 0 { Err(errno()) } else { Ok(result) }
    }

    pub(super) fn own_pid() -> i32 {
        getpid()
    }

    pub(super) fn parent() -> i32 {
        getppid()
    }

    pub(super) fn close_from(lowest: c_int) {
        // SAFETY: close_range takes three integers; nothing of ours is open above the standard three.
        let result = unsafe {
            syscall(
                SYS_CLOSE_RANGE,
                c_long::from(lowest),
                c_long::from(u32::MAX),
                0 as c_long,
            )
        };
        if result < 0 {
            // Before Linux 5.9. The host's descriptors are all CLOEXEC anyway; this is for what others left open.
            for fd in lowest..4096 {
                close_number(fd);
            }
        }
    }

    /// Every disposition to its default. SIGCHLD comes first: while it is ignored, exits would be lost. The kernel is
    /// called directly, because C libraries keep signals 32 and 33 to themselves, and hosts were seen to ignore these.
    pub(super) fn reset_signals() {
        let default: Opaque = [0; 32];
        let nothing = std::ptr::null_mut::<c_void>();
        for signal in std::iter::once(17).chain(1..=64) {
            // SAFETY: the buffer is larger than any sigaction, and 8 bytes are the kernel's own sigset; SIGKILL and SIGSTOP
            // are refused, which is harmless.
            unsafe {
                syscall(
                    SYS_RT_SIGACTION,
                    c_long::from(signal),
                    &raw const default,
                    nothing,
                    8 as c_long,
                )
            };
        }
    }

    pub(super) fn block_signals() {
        let mut all: Opaque = [0; 32];
        // SAFETY: both take pointers to a sigset, and the buffer is larger than one.
        unsafe {
            sigfillset(&raw mut all);
            sigprocmask(SIG_BLOCK, &raw const all, std::ptr::null_mut());
        }
    }

    fn unblock_signals() {
        let none: Opaque = [0; 32];
        // SAFETY: as above.
        unsafe { sigprocmask(SIG_SETMASK, &raw const none, std::ptr::null_mut()) };
    }

    /// Becomes ready when a child has ended. Blocked signals other than SIGCHLD stay pending for ever, which is their point.
    pub(super) fn signal_descriptor() -> Result<Descriptor, i32> {
        // The first word of a sigset holds signals 1 to 64, lowest bit first, in every C library.
        let mut set: Opaque = [0; 32];
        set[0] = 1 << (17 - 1);
        // SAFETY: the set is read only.
        checked(unsafe { signalfd(-1, &raw const set, O_NONBLOCK | O_CLOEXEC) }).map(Descriptor)
    }

    pub(super) fn become_subreaper() {
        // SAFETY: one takes an integer, the other a string of at most 16 bytes with its end.
        unsafe {
            prctl(
                PR_SET_CHILD_SUBREAPER,
                1 as c_ulong,
                0 as c_ulong,
                0 as c_ulong,
                0 as c_ulong,
            );
            prctl(PR_SET_NAME, c"kai-guard".as_ptr());
        }
    }

    pub(super) fn set_nonblocking(fd: c_int) -> Result<(), i32> {
        // SAFETY: F_GETFL takes nothing, F_SETFL an int.
        unsafe {
            let flags = checked(fcntl(fd, F_GETFL))?;
            checked(fcntl(fd, F_SETFL, flags | O_NONBLOCK))?;
        }
        Ok(())
    }

    /// Waits for one of `fds`; for ever without a timeout. An interrupted wait counts as a turn without news.
    pub(super) fn poll(fds: &mut [Poll], timeout: Option<Duration>) {
        let milliseconds =
            timeout.map_or(-1, |t| c_int::try_from(t.as_millis()).unwrap_or(c_int::MAX));
        // SAFETY: the slice gives pointer and length.
        if unsafe { poll_descriptors(fds.as_mut_ptr(), fds.len() as c_ulong, milliseconds) } < 0 {
            for fd in fds {
                fd.revents = 0;
            }
        }
    }

    pub(super) fn read(fd: c_int, buffer: &mut [u8]) -> Result<usize, i32> {
        // SAFETY: the slice gives pointer and length.
        let count = unsafe { read_bytes(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
        usize::try_from(count).map_err(|_| errno())
    }

    fn write(fd: c_int, bytes: &[u8]) -> Result<usize, i32> {
        // SAFETY: the slice gives pointer and length.
        let count = unsafe { write_bytes(fd, bytes.as_ptr().cast(), bytes.len()) };
        usize::try_from(count).map_err(|_| errno())
    }

    /// Writes to a socket whose other end may be gone.
    pub(super) fn send_to(fd: c_int, bytes: &[u8]) -> Result<usize, i32> {
        // SAFETY: the slice gives pointer and length.
        let count = unsafe { send(fd, bytes.as_ptr().cast(), bytes.len(), MSG_NOSIGNAL) };
        usize::try_from(count).map_err(|_| errno())
    }

    pub(super) fn drain(descriptor: &Descriptor) {
        let mut buffer = [0; 512];
        while read(descriptor.0, &mut buffer).is_ok_and(|count| count > 0) {}
    }

    /// A pipe that does not survive an exec; reading and writing do not block.
    pub(super) fn pipe() -> Result<(Descriptor, Descriptor), i32> {
        let mut fds = [0; 2];
        // SAFETY: the array has room for the two numbers.
        checked(unsafe { pipe2(fds.as_mut_ptr(), O_CLOEXEC | O_NONBLOCK) })?;
        Ok((Descriptor(fds[0]), Descriptor(fds[1])))
    }

    /// A descriptor from which `bytes` can be read once: a pipe; where the user's quota of pipe pages is used up, so
    /// that a pipe takes less than that, a memory file.
    pub(super) fn readable(bytes: &[u8]) -> Result<Descriptor, i32> {
        let (reader, writer) = pipe()?;
        if bytes.is_empty() || write(writer.0, bytes) == Ok(bytes.len()) {
            // SAFETY: F_SETFL takes an int. The program is to find an ordinary, blocking pipe.
            checked(unsafe { fcntl(reader.0, F_SETFL, 0) })?;
            return Ok(reader);
        }
        // SAFETY: a C string and integers.
        let fd = unsafe { syscall(SYS_MEMFD_CREATE, c"kai-terminal".as_ptr(), MFD_CLOEXEC) };
        let file = Descriptor(checked(fd as c_int)?);
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = &rest[write(file.0, rest)?..];
        }
        // SAFETY: three integers.
        unsafe { lseek(file.0, 0, 0) };
        Ok(file)
    }

    pub(super) fn pidfd(pid: i32) -> Result<Descriptor, i32> {
        // SAFETY: two integers.
        checked(unsafe { syscall(SYS_PIDFD_OPEN, c_long::from(pid), 0 as c_long) } as c_int)
            .map(Descriptor)
    }

    /// Sends a signal to exactly the process that was named by `pid` when the pidfd was opened, if `is_ours` still holds
    /// after that (rule Q2). True when it was sent.
    pub(super) fn signal_exactly(
        pid: i32,
        signals: &[c_int],
        is_ours: impl FnOnce() -> bool,
    ) -> bool {
        match pidfd(pid) {
            Ok(target) => {
                let send = |signal: &c_int| {
                    // SAFETY: a descriptor, a number, no information, no flags.
                    unsafe {
                        syscall(
                            SYS_PIDFD_SEND_SIGNAL,
                            c_long::from(target.0),
                            c_long::from(*signal),
                            std::ptr::null::<c_void>(),
                            0 as c_long,
                        ) == 0
                    }
                };
                is_ours()
                    && signals
                        .iter()
                        .fold(false, |sent, signal| send(signal) | sent)
            }
            // A kernel before 5.3, or a sandbox that hides the call: the check and the signal are then not one step.
            Err(ENOSYS | EPERM) => {
                is_ours()
                    && signals
                        .iter()
                        .fold(false, |sent, signal| (kill(pid, *signal) == 0) | sent)
            }
            Err(_) => false,
        }
    }

    /// Whether there is such a process, whoever owns it.
    pub(super) fn exists(pid: i32) -> bool {
        kill(pid, 0) == 0 || errno() == EPERM
    }

    pub(super) fn reap() -> Reaped {
        let mut status = 0;
        // SAFETY: the pointer is to a live integer.
        match unsafe { waitpid(-1, &raw mut status, WNOHANG | WALL) } {
            0 => Reaped::NoneNow,
            pid if pid > 0 => Reaped::Child(pid, status),
            _ if errno() == EINTR => Reaped::NoneNow,
            _ => Reaped::NoChildren,
        }
    }

    pub(super) fn let_go_of_terminal() {
        dup2(NULL_DEVICE, TERMINAL);
    }

    /// The directory of the host belongs to the top-level process; the guard must not keep it busy.
    pub(super) fn leave_directory() {
        // SAFETY: a C string.
        unsafe { change_directory(c"/".as_ptr()) };
    }

    /// Forks. The child gets `None`.
    pub(super) fn split() -> Result<Option<i32>, i32> {
        match fork() {
            0 => Ok(None),
            pid => checked(pid).map(Some),
        }
    }

    pub(super) fn leave() -> ! {
        _exit(127)
    }

    pub(super) fn report(fd: &Descriptor, bytes: &[u8]) {
        // A pipe takes a few bytes at once; without a reader there is nobody to tell.
        let _ = write(fd.0, bytes);
    }

    /// In the child: SIGKILL when the guard dies, checked for the case that it has died already.
    pub(super) fn die_with(guard: i32) {
        // SAFETY: an option and a signal number.
        unsafe { prctl(PR_SET_PDEATHSIG, SIGKILL as c_ulong) };
        if getppid() != guard {
            leave();
        }
    }

    /// In the child: a session of its own with the terminal as its controlling one, and as descriptors 0, 1 and 2.
    pub(super) fn take_terminal() -> Result<(), i32> {
        checked(setsid())?;
        // SAFETY: TIOCSCTTY takes an int; 0 does not steal.
        checked(unsafe { ioctl(TERMINAL, TIOCSCTTY, 0 as c_int) })?;
        checked(dup2(TERMINAL, 0))?;
        checked(dup2(TERMINAL, 2))?;
        Ok(())
    }

    pub(super) fn default_signals() {
        reset_signals();
        unblock_signals();
    }

    pub(super) fn place(descriptor: &Descriptor, number: c_int) -> Result<(), i32> {
        checked(dup2(descriptor.0, number)).map(|_| ())
    }

    /// Sets a limit; where the hard limit may not be raised again, as much of it as is allowed.
    pub(super) fn limit(resource: i32, soft: u64, hard: u64) -> Result<(), i32> {
        // SAFETY: each call gets a pointer to two integers, which is what a 64-bit rlimit is.
        unsafe {
            let wanted = [soft, hard];
            match checked(setrlimit(resource, &raw const wanted)) {
                Err(EPERM) => {
                    let mut current = [0; 2];
                    checked(getrlimit(resource, &raw mut current))?;
                    let allowed = [soft.min(current[1]), current[1]];
                    checked(setrlimit(resource, &raw const allowed)).map(|_| ())
                }
                other => other.map(|_| ()),
            }
        }
    }

    /// # Safety
    /// `path` is a C string.
    pub(super) unsafe fn enter(path: *const c_char) -> Result<(), i32> {
        // SAFETY: the caller's promise.
        checked(unsafe { change_directory(path) }).map(|_| ())
    }

    /// Comes back only with the reason why it failed.
    ///
    /// # Safety
    /// `path` is a C string, and both arrays hold C strings and end with a null pointer.
    pub(super) unsafe fn execute(
        path: *const c_char,
        argv: &[*const c_char],
        env: &[*const c_char],
    ) -> i32 {
        // SAFETY: the caller's promise.
        unsafe { execve(path, argv.as_ptr(), env.as_ptr()) };
        errno()
    }
}

/// What the host sends at the start, and how to take a frame apart.
mod wire {
    use std::ffi::c_char;

    use super::PROTOCOL;

    /// The step at which a start failed; the numbers are the protocol's.
    #[derive(Clone, Copy)]
    #[repr(u8)]
    pub(super) enum Step {
        Terminal = 0,
        Fork = 1,
        Session = 2,
        Directory = 3,
        Limits = 4,
        Exec = 5,
    }

    impl Step {
        pub(super) fn from_number(number: u8) -> Self {
            [
                Self::Terminal,
                Self::Fork,
                Self::Session,
                Self::Directory,
                Self::Limits,
                Self::Exec,
            ]
            .get(usize::from(number))
            .copied()
            .unwrap_or(Self::Terminal)
        }
    }

    /// The START message. Its pointers go into the payload that it was parsed from, and stay good as long as that does.
    pub(super) struct Start<'a> {
        pub(super) host: i32,
        pub(super) grace_ms: u32,
        pub(super) limits: Vec<(i32, u64, u64)>,
        pub(super) program: *const c_char,
        /// These two end with a null pointer, as exec wants it.
        pub(super) argv: Vec<*const c_char>,
        pub(super) env: Vec<*const c_char>,
        pub(super) directory: Option<*const c_char>,
        pub(super) descriptors: Vec<(i32, &'a [u8])>,
    }

    impl<'a> Start<'a> {
        /// `None` for another version, or for a message that is not whole.
        pub(super) fn parse(payload: &'a [u8]) -> Option<Self> {
            let mut fields = Fields(payload);
            if fields.u32()? != PROTOCOL {
                return None;
            }
            let start = Self {
                host: fields.i32()?,
                grace_ms: fields.u32()?,
                limits: fields.list(|f| Some((f.i32()?, f.u64()?, f.u64()?)))?,
                program: fields.text()?,
                argv: fields.texts()?,
                env: fields.texts()?,
                directory: match fields.u32()? {
                    0 => None,
                    _ => Some(fields.text()?),
                },
                descriptors: fields.list(|f| Some((f.i32()?, f.bytes()?)))?,
            };
            fields.0.is_empty().then_some(start)
        }
    }

    struct Fields<'a>(&'a [u8]);

    impl<'a> Fields<'a> {
        fn take(&mut self, count: usize) -> Option<&'a [u8]> {
            let (taken, rest) = self.0.split_at_checked(count)?;
            self.0 = rest;
            Some(taken)
        }

        fn u32(&mut self) -> Option<u32> {
            self.take(4)
                .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        }

        fn i32(&mut self) -> Option<i32> {
            self.u32().map(u32::cast_signed)
        }

        fn u64(&mut self) -> Option<u64> {
            let low = self.u32()?;
            let high = self.u32()?;
            Some(u64::from(low) | u64::from(high) << 32)
        }

        fn bytes(&mut self) -> Option<&'a [u8]> {
            let count = self.u32()?;
            self.take(usize::try_from(count).ok()?)
        }

        /// A string that carries its own end, so that it can be handed to the kernel where it lies.
        fn text(&mut self) -> Option<*const c_char> {
            let bytes = self.bytes()?;
            (bytes.iter().position(|&b| b == 0)? + 1 == bytes.len())
                .then_some(bytes.as_ptr().cast())
        }

        fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
            let count = self.u32()?;
            // No reservation by the count: a broken message must not make us ask for all memory.
            let mut items = Vec::new();
            for _ in 0..count {
                items.push(item(self)?);
            }
            Some(items)
        }

        fn texts(&mut self) -> Option<Vec<*const c_char>> {
            let mut texts = self.list(Self::text)?;
            texts.push(std::ptr::null());
            Some(texts)
        }
    }
}

/// The socket to the host: frames in, reports out. A host that does not read never stops the guard.
mod channel {
    use super::os;
    use super::tree::{self, Tree};
    use super::wire::Step;
    use super::{NAMED_PROCESSES, Named};

    const START: u8 = 1;
    const TERMINATE: u8 = 2;
    const STARTED: u8 = 1;
    const FAILED: u8 = 2;
    const EXITED: u8 = 3;
    const HANG_UP: u8 = 4;
    const QUIESCENT: u8 = 5;
    const SURVIVORS: u8 = 6;

    /// Larger than any environment the kernel would take (a quarter of the stack limit, at most 6 MB; execve(2)), with
    /// room for the data of descriptors.
    const LARGEST_START: usize = 64 << 20;
    /// Bytes that one process takes in a frame: pid, uid, whether and how it ended, and its name.
    const NAMED_SIZE: usize = 4 + 4 + 1 + 4 + 16;
    /// Two full lists and everything else that is ever said.
    const QUEUE: usize = 2 * (NAMED_PROCESSES * NAMED_SIZE + 16) + 256;

    pub(super) struct Channel {
        fd: i32,
        ended: bool,
        queue: Vec<u8>,
        received: Vec<u8>,
    }

    impl Channel {
        pub(super) fn new(fd: i32) -> Option<Self> {
            os::set_nonblocking(fd).ok()?;
            Some(Self {
                fd,
                ended: false,
                queue: Vec::with_capacity(QUEUE),
                received: Vec::with_capacity(256),
            })
        }

        pub(super) fn descriptor(&self) -> i32 {
            self.fd
        }

        pub(super) fn interest(&self) -> i16 {
            if self.queue.is_empty() {
                os::POLLIN
            } else {
                os::POLLIN | os::POLLOUT
            }
        }

        pub(super) fn ended(&self) -> bool {
            self.ended
        }

        pub(super) fn end(&mut self) {
            self.ended = true;
            self.queue.clear();
        }

        /// The payload of the first message. `None`: the host has gone, or sent something else.
        pub(super) fn wait_for_start(&mut self) -> Option<Vec<u8>> {
            let mut header = [0; 5];
            self.read_exactly(&mut header)?;
            let size = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
            if header[4] != START || !(1..=LARGEST_START).contains(&size) {
                return None;
            }
            let mut payload = vec![0; size - 1];
            self.read_exactly(&mut payload)?;
            Some(payload)
        }

        fn read_exactly(&mut self, mut buffer: &mut [u8]) -> Option<()> {
            while !buffer.is_empty() {
                match os::read(self.fd, buffer) {
                    Ok(0) => return None,
                    Ok(count) => buffer = &mut buffer[count..],
                    Err(os::EAGAIN) => {
                        os::poll(&mut [os::Poll::unless(false, self.fd, os::POLLIN)], None);
                    }
                    Err(os::EINTR) => {}
                    Err(_) => return None,
                }
            }
            Some(())
        }

        /// The grace of the next request to close, in milliseconds. Frames of another kind are skipped.
        pub(super) fn next_terminate(&mut self) -> Option<u32> {
            loop {
                if let Some(frame) = self.received.first_chunk::<4>() {
                    let size = u32::from_le_bytes(*frame) as usize;
                    if size > 128 {
                        // Nothing we know is that long: the stream cannot be followed any more.
                        self.end();
                        return None;
                    }
                    if self.received.len() >= 4 + size {
                        let grace = match self.received[4..4 + size] {
                            [TERMINATE, a, b, c, d] => Some(u32::from_le_bytes([a, b, c, d])),
                            _ => None,
                        };
                        self.received.drain(..4 + size);
                        if grace.is_some() {
                            return grace;
                        }
                        continue;
                    }
                }
                if self.ended {
                    return None;
                }
                let mut buffer = [0; 64];
                match os::read(self.fd, &mut buffer) {
                    Ok(0) => self.end(),
                    // A frame is at most 132 bytes, so that this stays within the capacity.
                    Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                    Err(os::EAGAIN | os::EINTR) => return None,
                    Err(_) => self.end(),
                }
            }
        }

        pub(super) fn started(&mut self, pid: i32) {
            self.put(STARTED, &pid.to_le_bytes());
        }

        pub(super) fn failed(&mut self, step: Step, errno: i32) {
            let mut payload = [step as u8; 5];
            payload[1..].copy_from_slice(&errno.to_le_bytes());
            self.put(FAILED, &payload);
        }

        pub(super) fn exited(&mut self, status: i32) {
            self.put(EXITED, &status.to_le_bytes());
        }

        pub(super) fn hang_up(&mut self) {
            self.put(HANG_UP, &[]);
        }

        pub(super) fn quiescent(&mut self, killed: bool, receipt: &[Named]) {
            let header = 1 + receipt.len() * NAMED_SIZE;
            if self.put_header(QUIESCENT, header) {
                self.queue.push(u8::from(killed));
                for named in receipt {
                    self.put_named(named);
                }
                self.flush();
            }
        }

        pub(super) fn survivors(&mut self, tree: &Tree) {
            let count = tree.alive().take(NAMED_PROCESSES).count();
            if self.put_header(SURVIVORS, count * NAMED_SIZE) {
                for entry in tree.alive().take(count) {
                    self.put_named(&tree::name(entry));
                }
                self.flush();
            }
        }

        fn put(&mut self, kind: u8, payload: &[u8]) {
            if self.put_header(kind, payload.len()) {
                self.queue.extend_from_slice(payload);
                self.flush();
            }
        }

        /// Begins a frame if it fits. It always does but for survivors that were reported again and again to a host
        /// that reads nothing: those it can do without.
        fn put_header(&mut self, kind: u8, size: usize) -> bool {
            let reserved = if kind == SURVIVORS {
                NAMED_PROCESSES * NAMED_SIZE + 128
            } else {
                0
            };
            if self.ended || self.queue.len() + size + 5 + reserved > QUEUE {
                return false;
            }
            self.queue
                .extend_from_slice(&(size as u32 + 1).to_le_bytes());
            self.queue.push(kind);
            true
        }

        fn put_named(&mut self, named: &Named) {
            self.queue.extend_from_slice(&named.pid.to_le_bytes());
            self.queue.extend_from_slice(&named.uid.to_le_bytes());
            self.queue.push(u8::from(named.ended.is_some()));
            self.queue
                .extend_from_slice(&named.ended.unwrap_or(0).to_le_bytes());
            self.queue.extend_from_slice(&named.comm);
        }

        pub(super) fn flush(&mut self) {
            while !self.queue.is_empty() {
                match os::send_to(self.fd, &self.queue) {
                    Ok(count) => {
                        self.queue.drain(..count);
                    }
                    Err(os::EINTR) => {}
                    Err(os::EAGAIN) => return,
                    Err(_) => self.queue.clear(),
                }
            }
        }

        /// Flushes until everything is sent or the host is gone.
        pub(super) fn flush_or_wait(&mut self, host: Option<&os::Descriptor>) {
            self.flush();
            while !self.queue.is_empty() {
                let mut fds = [
                    os::Poll::unless(false, self.fd, os::POLLOUT),
                    os::Poll::on(host),
                ];
                os::poll(&mut fds, None);
                if fds[1].ready() {
                    return;
                }
                self.flush();
            }
        }
    }
}

/// The guard's descendants, as `/proc` tells them (proc(5)).
mod tree {
    use std::fs::{self, File};
    use std::io::{Read, Write};
    use std::os::unix::fs::MetadataExt;

    use super::Named;
    use super::os;

    /// How many processes one look sees at most. What is beyond that is seen once these are gone.
    const CAPACITY: usize = 16384;
    /// How often a freeze is repeated while it still finds something new, before it kills what it has.
    const FREEZES: usize = 32;

    /// One process as it was seen; pid and start together are its identity.
    #[derive(Clone, Copy)]
    pub(super) struct Entry {
        pub(super) pid: i32,
        parent: i32,
        /// Clock ticks since the boot.
        start: u64,
        /// A zombie that nothing can run any more.
        dead: bool,
        threads: u32,
    }

    pub(super) struct Tree {
        seen: Vec<Entry>,
        /// What the freeze before has seen, by pid.
        frozen: Vec<(i32, u64)>,
        guard: i32,
        /// Whether the kernel lists children (`CONFIG_PROC_CHILDREN`).
        lists_children: bool,
    }

    impl Tree {
        pub(super) fn new() -> Self {
            let guard = os::own_pid();
            let mut path = Path::new();
            Self {
                // Untouched pages of these cost nothing.
                seen: Vec::with_capacity(CAPACITY),
                frozen: Vec::with_capacity(CAPACITY),
                guard,
                lists_children: File::open(
                    path.write(format_args!("/proc/{guard}/task/{guard}/children")),
                )
                .is_ok(),
            }
        }

        #[cfg(test)]
        pub(super) fn without_lists() -> Self {
            Self {
                lists_children: false,
                ..Self::new()
            }
        }

        /// Looks at the tree anew.
        pub(super) fn look(&mut self) {
            self.seen.clear();
            if !self.lists_children {
                return self.look_everywhere();
            }
            // We are there ourselves; should `/proc` not say so, it says nothing of the others either.
            let Some(guard) = Entry::read(self.guard) else {
                return;
            };
            self.add_children(guard);
            let mut next = 0;
            while let Some(&parent) = self.seen.get(next) {
                self.add_children(parent);
                next += 1;
            }
        }

        /// Looks until two looks agree: what is re-parented during a look can be missed by it.
        pub(super) fn look_twice(&mut self) {
            self.look();
            for _ in 0..4 {
                let before = self.seen.len();
                self.look();
                if self.seen.len() <= before {
                    break;
                }
            }
        }

        fn add_children(&mut self, parent: Entry) {
            let mut path = Path::new();
            if parent.threads <= 1 {
                self.add_list(
                    path.write(format_args!("/proc/{0}/task/{0}/children", parent.pid)),
                    parent.pid,
                );
                return;
            }
            let Ok(threads) = fs::read_dir(path.write(format_args!("/proc/{}/task", parent.pid)))
            else {
                return;
            };
            for thread in threads.flatten() {
                let name = thread.file_name();
                let mut path = Path::new();
                let list = path.write(format_args!(
                    "/proc/{}/task/{}/children",
                    parent.pid,
                    name.display()
                ));
                self.add_list(list, parent.pid);
            }
        }

        /// Adds the pids of one `children` file, which is a list of numbers, each followed by a space.
        fn add_list(&mut self, path: &str, parent: i32) {
            let Ok(mut file) = File::open(path) else {
                return;
            };
            let mut buffer = [0; 1024];
            let mut pid = 0;
            while let Ok(count @ 1..) = file.read(&mut buffer) {
                for &byte in &buffer[..count] {
                    if byte.is_ascii_digit() {
                        pid = pid * 10 + i32::from(byte - b'0');
                    } else if pid != 0 {
                        self.add(pid, parent);
                        pid = 0;
                    }
                }
            }
        }

        fn add(&mut self, pid: i32, parent: i32) {
            let entry = match Entry::read(pid) {
                // The list and this look are two moments: only what still has that parent counts.
                Some(entry) if entry.parent == parent => entry,
                // Where `/proc` hides the processes of other users (hidepid), they still are there.
                None if os::exists(pid) => Entry {
                    pid,
                    parent,
                    start: 0,
                    dead: false,
                    threads: 1,
                },
                _ => return,
            };
            if self.seen.len() < CAPACITY {
                self.seen.push(entry);
            }
        }

        /// Without lists of children: all of `/proc`, again and again until a pass adds nothing.
        fn look_everywhere(&mut self) {
            loop {
                let before = self.seen.len();
                let Ok(processes) = fs::read_dir("/proc") else {
                    return;
                };
                for process in processes.flatten() {
                    let Some(entry) = process
                        .file_name()
                        .to_str()
                        .and_then(|n| n.parse().ok())
                        .and_then(Entry::read)
                    else {
                        continue;
                    };
                    let ours = entry.parent == self.guard
                        || self.seen.iter().any(|e| e.pid == entry.parent);
                    if ours
                        && self.seen.len() < CAPACITY
                        && !self.seen.iter().any(|e| e.pid == entry.pid)
                    {
                        self.seen.push(entry);
                    }
                }
                if self.seen.len() == before {
                    return;
                }
            }
        }

        pub(super) fn alive(&self) -> impl Iterator<Item = &Entry> {
            self.seen.iter().filter(|entry| !entry.dead)
        }

        /// How many are alive besides the top-level process.
        pub(super) fn others(&self, top: i32) -> usize {
            self.alive().filter(|entry| entry.pid != top).count()
        }

        /// Sends the signals, in order, to everything of the last look that `wanted` names.
        pub(super) fn signal_all(&self, signals: &[i32], wanted: impl Fn(i32) -> bool) -> bool {
            let targets = self.alive().filter(|entry| wanted(entry.pid));
            targets.fold(false, |sent, entry| self.signal(entry, signals) | sent)
        }

        /// The pidfd is opened first; then the process behind it is compared with the one that was seen, and so is its
        /// parent, whose own place in the tree was established before. So neither can be a stranger with a used pid.
        fn signal(&self, entry: &Entry, signals: &[i32]) -> bool {
            os::signal_exactly(entry.pid, signals, || {
                let Some(now) = Entry::read(entry.pid) else {
                    return false;
                };
                now.start == entry.start && self.holds(now.parent)
            })
        }

        fn holds(&self, parent: i32) -> bool {
            parent == self.guard
                || self
                    .seen
                    .iter()
                    .find(|e| e.pid == parent)
                    .is_some_and(|seen| {
                        Entry::read(parent).is_some_and(|now| now.start == seen.start)
                    })
        }

        /// Stops everything until nothing new turns up, then kills it all. True when something was killed.
        pub(super) fn freeze_and_kill(&mut self) -> bool {
            self.frozen.clear();
            for _ in 0..FREEZES {
                self.look();
                let mut fresh = false;
                for entry in self.seen.iter().filter(|e| !e.dead) {
                    if self
                        .frozen
                        .binary_search(&(entry.pid, entry.start))
                        .is_err()
                    {
                        fresh |= self.signal(entry, &[os::SIGSTOP]);
                    }
                }
                if !fresh {
                    break;
                }
                self.frozen.clear();
                self.frozen
                    .extend(self.seen.iter().map(|e| (e.pid, e.start)));
                self.frozen.sort_unstable();
            }
            self.signal_all(&[os::SIGKILL], |_| true)
        }
    }

    impl Entry {
        #[cfg(test)]
        pub(super) fn is_below(&self, root: i32, tree: &Tree) -> bool {
            self.pid == root
                || tree
                    .seen
                    .iter()
                    .any(|e| e.pid == self.parent && e.is_below(root, tree))
        }

        /// Reads `/proc/PID/stat` (`proc_pid_stat(5)`); `None` where there is no such process.
        fn read(pid: i32) -> Option<Self> {
            let mut buffer = [0; 1024];
            let text = stat(pid, &mut buffer)?;
            // The name may hold anything, a parenthesis too: the fields begin behind the last one.
            let behind_name = &text[text.iter().rposition(|&b| b == b')')? + 1..];
            let mut fields = std::str::from_utf8(behind_name)
                .ok()?
                .split_ascii_whitespace();
            let state = fields.next()?;
            let parent = fields.next()?.parse().ok()?;
            let threads = fields.nth(15)?.parse().ok()?;
            let start = fields.nth(1)?.parse().ok()?;
            // A zombie whose other threads still run is alive.
            let dead = matches!(state, "Z" | "X" | "x") && threads <= 1;
            Some(Self {
                pid,
                parent,
                start,
                dead,
                threads,
            })
        }
    }

    fn stat(pid: i32, buffer: &mut [u8; 1024]) -> Option<&[u8]> {
        let mut path = Path::new();
        let mut file = File::open(path.write(format_args!("/proc/{pid}/stat"))).ok()?;
        let count = file.read(buffer).ok()?;
        Some(&buffer[..count])
    }

    /// How a zombie ended, in the form of `waitpid`: the last field of its stat.
    pub(super) fn exit_status(pid: i32) -> Option<i32> {
        let mut buffer = [0; 1024];
        let text = std::str::from_utf8(stat(pid, &mut buffer)?).ok()?;
        text.split_ascii_whitespace().next_back()?.parse().ok()
    }

    /// Adds name and user to a process.
    pub(super) fn name(entry: &Entry) -> Named {
        let mut named = Named {
            pid: entry.pid,
            uid: u32::MAX,
            comm: [0; 16],
            ended: None,
        };
        let mut buffer = [0; 1024];
        if let Some(text) = stat(entry.pid, &mut buffer) {
            let open = text.iter().position(|&b| b == b'(');
            let close = text.iter().rposition(|&b| b == b')');
            if let (Some(open), Some(close)) = (open, close) {
                let comm = &text[open + 1..close.max(open + 1)];
                let count = comm.len().min(named.comm.len());
                named.comm[..count].copy_from_slice(&comm[..count]);
            }
        }
        named.uid = effective_user(entry.pid).unwrap_or(u32::MAX);
        named
    }

    /// The second number behind `Uid:` in `/proc/PID/status`; the owner of the directory is root's for a program that
    /// has changed its credentials.
    fn effective_user(pid: i32) -> Option<u32> {
        let mut path = Path::new();
        let path = path.write(format_args!("/proc/{pid}/status"));
        let mut buffer = [0; 1024];
        let count = File::open(path)
            .and_then(|mut file| file.read(&mut buffer))
            .ok()?;
        let text = String::from_utf8_lossy(&buffer[..count]);
        let line = text.lines().find_map(|line| line.strip_prefix("Uid:"));
        line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse().ok())
            .or_else(|| Some(fs::metadata(path).ok()?.uid()))
    }

    /// A short path without an allocation.
    struct Path([u8; 64]);

    impl Path {
        fn new() -> Self {
            Self([0; 64])
        }

        fn write(&mut self, text: std::fmt::Arguments) -> &str {
            let mut rest = &mut self.0[..];
            // The longest of these paths has 42 characters; a cut one would name no file.
            let _ = rest.write_fmt(text);
            let left = rest.len();
            let used = self.0.len() - left;
            std::str::from_utf8(&self.0[..used]).unwrap_or_default()
        }
    }
}

/// The start of the top-level process.
mod child {
    use super::os::{self, Descriptor};
    use super::wire::{Start, Step};

    pub(super) struct Started {
        pub(super) pid: i32,
        pub(super) outcome: Descriptor,
    }

    pub(super) enum Outcome {
        Pending,
        Started,
        Failed(Step, i32),
    }

    type Failure = (Step, i32);

    fn at(step: Step) -> impl Fn(i32) -> Failure {
        move |errno| (step, errno)
    }

    pub(super) fn start(start: &Start) -> Result<Started, Failure> {
        // Everything that may fail for want of something is made before the fork, and lies above every wanted number.
        let above = 1 + start
            .descriptors
            .iter()
            .map(|(number, _)| *number)
            .max()
            .unwrap_or(2)
            .max(2);
        let (outcome, writer) = os::pipe().map_err(at(Step::Fork))?;
        let writer = writer.duplicate_above(above).map_err(at(Step::Fork))?;
        let mut sources = Vec::with_capacity(start.descriptors.len());
        for (number, bytes) in &start.descriptors {
            let source = os::readable(bytes).and_then(|source| source.duplicate_above(above));
            sources.push((*number, source.map_err(at(Step::Fork))?));
        }
        let guard = os::own_pid();
        if let Some(pid) = os::split().map_err(at(Step::Fork))? {
            return Ok(Started { pid, outcome });
        }
        let (step, errno) = become_program(start, guard, &sources);
        let mut report = [step as u8; 5];
        report[1..].copy_from_slice(&errno.to_le_bytes());
        os::report(&writer, &report);
        os::leave()
    }

    /// In the child. Comes back only with the reason why it failed.
    fn become_program(start: &Start, guard: i32, sources: &[(i32, Descriptor)]) -> Failure {
        os::die_with(guard);
        let prepare = || {
            os::take_terminal().map_err(at(Step::Session))?;
            if let Some(directory) = start.directory {
                // SAFETY: the message was parsed: a C string within the payload.
                unsafe { os::enter(directory) }.map_err(at(Step::Directory))?;
            }
            for (number, source) in sources {
                os::place(source, *number).map_err(at(Step::Exec))?;
            }
            for &(resource, soft, hard) in &start.limits {
                os::limit(resource, soft, hard).map_err(at(Step::Limits))?;
            }
            os::default_signals();
            Ok(())
        };
        if let Err(failure) = prepare() {
            return failure;
        }
        // SAFETY: the message was parsed: C strings, and both lists end with a null pointer.
        (Step::Exec, unsafe {
            os::execute(start.program, &start.argv, &start.env)
        })
    }

    /// How the start went, without waiting.
    pub(super) fn outcome(pipe: &Descriptor) -> Outcome {
        let mut report = [0; 5];
        match os::read(pipe.number(), &mut report) {
            Err(os::EAGAIN | os::EINTR) => Outcome::Pending,
            Ok(5) => {
                let errno = i32::from_le_bytes([report[1], report[2], report[3], report[4]]);
                Outcome::Failed(Step::from_number(report[0]), errno)
            }
            _ => Outcome::Started,
        }
    }
}

// A file of its own: the program is built from this file alone, and never with its tests.
#[cfg(test)]
mod tests;
