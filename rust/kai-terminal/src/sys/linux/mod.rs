//! The provider for Linux: a guard for every session, the read lock, `/proc`.

mod guard;
mod limits;
mod lookup;
mod proc;
mod pty;
mod read_lock;
mod signals;
mod syscalls;
mod threads;
mod users;
mod wire;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::QueueSelector;

pub use self::limits::remember_limits;
pub use self::lookup::{configure_guard, guard_path};
pub use self::read_lock::read_lock_works;
use super::{
    Modes, OpenError, Read, Report, Signal, SignalError, Size, Spec, Stage, Terminal, Thread,
};

/// A terminal whose managed range is held by a guard.
///
/// Dropping it without having closed it never waits: the guard sees its channel end and closes the range by itself.
pub struct LinuxTerminal {
    /// `None` once it is hung up. Behind a lock, because the number of a closed descriptor may be used again while
    /// another thread is about to use it.
    master: RwLock<Option<OwnedFd>>,
    /// An epoll that watches the master for changes. The master itself is of no use for that: while nobody has the
    /// terminal open it is ready all the time, with EPOLLHUP.
    changes: OwnedFd,
    terminal: pty::Identity,
    guard: guard::Guard,
}

/// Opens a terminal: starts the guard and tells it what to run. Whether the program could be started is reported
/// ([`Report::Started`] or [`Report::Failed`]; the latter is followed by [`Report::Quiescent`]).
///
/// # Errors
/// What the host itself could not do: no descriptor or terminal left, no guard found, a specification that no program
/// can be started with. Nothing is left behind then.
pub fn open(spec: &Spec) -> Result<LinuxTerminal, OpenError> {
    let at = |stage| move |error| OpenError { stage, error };
    let frame =
        wire::start(spec, std::process::id(), &limits::to_restore()).map_err(at(Stage::Exec))?;
    let (master, slave, terminal) = pty::allocate(spec.size).map_err(at(Stage::Terminal))?;
    let changes = pty::changes_of(&master).map_err(at(Stage::Terminal))?;
    let guard = guard::Guard::start(slave, &frame).map_err(at(Stage::Terminal))?;
    Ok(LinuxTerminal {
        changes,
        master: RwLock::new(Some(master)),
        terminal,
        guard,
    })
}

impl LinuxTerminal {
    /// Runs `act` on the master, which stays open that long.
    fn with_master<T>(&self, act: impl FnOnce(BorrowedFd) -> io::Result<T>) -> io::Result<T> {
        self.guard.check_owner()?;
        let master = self.master.read().unwrap_or_else(PoisonError::into_inner);
        match &*master {
            Some(master) => act(master.as_fd()),
            None => Err(io::Error::from_raw_os_error(libc::ENXIO)),
        }
    }

    /// Runs `act` on a transient slave. Only while the top-level process runs its program: before, a slave that comes
    /// and goes would leave a terminal that nobody has open, and after, it could hide that everybody has let go.
    fn with_slave<T>(&self, act: impl FnOnce(BorrowedFd) -> io::Result<T>) -> io::Result<T> {
        self.with_master(|master| {
            if !self.guard.is_live() {
                return Err(io::Error::from_raw_os_error(libc::ENXIO));
            }
            act(pty::transient_slave(master)?.as_fd())
        })
    }
}

impl Terminal for LinuxTerminal {
    fn terminal_fd(&self) -> RawFd {
        self.changes.as_raw_fd()
    }

    fn heed(&self) {
        pty::heed(self.changes.as_fd());
    }

    fn report_fd(&self) -> RawFd {
        self.guard.events()
    }

    fn next_report(&self) -> io::Result<Option<Report>> {
        self.guard.next_report()
    }

    fn read(&self, buffer: &mut [u8]) -> io::Result<Read> {
        self.with_master(|master| pty::read(master, buffer))
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.with_master(|master| pty::write(master, bytes))
    }

    fn resize(&self, size: Size) -> io::Result<()> {
        self.with_master(|master| pty::resize(master, size))
    }

    fn modes(&self) -> io::Result<Modes> {
        self.with_master(pty::modes)
    }

    fn foreground(&self) -> io::Result<Option<i32>> {
        self.with_master(signals::foreground)
    }

    fn input_unread(&self) -> io::Result<bool> {
        self.with_slave(|slave| {
            // The poll comes first: it makes the terminal finish what is still on its way, and it alone shows an end of
            // file, which counts as no byte.
            let mut fds = [PollFd::from_borrowed_fd(slave, PollFlags::IN)];
            let ready = poll(
                &mut fds,
                Some(&Timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                }),
            )?;
            Ok(ready > 0 || rustix::io::ioctl_fionread(slave)? > 0)
        })
    }

    fn reader_blocked(&self) -> Option<bool> {
        if !read_lock_works() {
            return None;
        }
        self.with_slave(read_lock::is_held).ok()
    }

    fn threads(&self, group: i32) -> Vec<Thread> {
        threads::in_group(self.guard.pid(), group, &self.terminal)
    }

    fn discard_input(&self) -> io::Result<()> {
        self.with_slave(|slave| Ok(rustix::termios::tcflush(slave, QueueSelector::IFlush)?))
    }

    fn signal_foreground(&self, signal: Signal) -> Result<i32, SignalError> {
        self.with_master(|master| Ok(signals::send(master, self.guard.pid(), signal)))
            .unwrap_or_else(|error| {
                // A terminal that was hung up has no foreground.
                let closed = error.raw_os_error() == Some(libc::ENXIO);
                Err(if closed {
                    SignalError::NoForeground
                } else {
                    SignalError::Io(error)
                })
            })
    }

    fn hang_up(&self) {
        *self.master.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn terminate(&self, grace: Duration) -> io::Result<()> {
        self.guard.terminate(grace)
    }
}
