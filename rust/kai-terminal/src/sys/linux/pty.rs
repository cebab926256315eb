//! The two ends of a pseudoterminal (pty(7)): allocation, transient slaves, and the one reading of `EIO`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{Timespec, epoll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Winsize};

use crate::sys::{Modes, Read, Size};

/// What tells one terminal from every other: the inode of its slave, and the device number that programs see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
    /// The number of the terminal in the form of `tty_nr` in `/proc/PID/stat`.
    pub(super) number: u64,
}

/// Allocates a terminal. The master does not block; the slave does, as programs expect, and is never the controlling
/// terminal of the host. Both are closed on exec from their first moment, so that no concurrent start inherits them.
pub(super) fn allocate(size: Size) -> io::Result<(OwnedFd, OwnedFd, Identity)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags | nonblocking()).map_err(|error| match error {
        // What POSIX makes of the kernel's ENOSPC; neither text would tell anyone what is missing.
        Errno::AGAIN => io::Error::new(
            io::ErrorKind::QuotaExceeded,
            "every pseudoterminal is in use (kernel.pty.max, or the limit of the mount)",
        ),
        error => error.into(),
    })?;
    unlockpt(&master)?;
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    let mut modes = rustix::termios::tcgetattr(&slave)?;
    // Erasing in a canonical line takes a whole character with it.
    modes.input_modes |= InputModes::IUTF8;
    rustix::termios::tcsetattr(&slave, OptionalActions::Now, &modes)?;
    resize(master.as_fd(), size)?;
    let identity = identity(slave.as_fd())?;
    Ok((master, slave, identity))
}

/// What becomes readable at each change of a master: output, room to write, the last slave closed.
pub(super) fn changes_of(master: &OwnedFd) -> io::Result<OwnedFd> {
    let changes = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
    epoll::add(&changes, master, epoll::EventData::new_u64(0), flags)?;
    Ok(changes)
}

/// Takes note of the changes so far.
pub(super) fn heed(changes: BorrowedFd) {
    let mut events = Vec::with_capacity(1);
    // Without a wait it can only fail for a descriptor that is no epoll.
    let _ = epoll::wait(
        changes,
        rustix::buffer::spare_capacity(&mut events),
        Some(&Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        }),
    );
}

/// A slave for one question, to be closed at once: while it is open it hides that everybody else has let go, so that
/// the hang-up of the terminal would go unseen.
pub(super) fn transient_slave(master: BorrowedFd) -> io::Result<OwnedFd> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC | nonblocking();
    Ok(ioctl_tiocgptpeer(master, flags)?)
}

fn nonblocking() -> OpenptFlags {
    // Any flag of open(2) may be given; the library names only the most common ones.
    OpenptFlags::from_bits_retain(OFlags::NONBLOCK.bits())
}

fn identity(slave: BorrowedFd) -> io::Result<Identity> {
    let status = rustix::fs::fstat(slave)?;
    Ok(Identity {
        device: status.st_dev,
        inode: status.st_ino,
        number: terminal_number(status.st_rdev),
    })
}

/// `new_encode_dev` of the kernel (`include/linux/kdev_t.h`), which is what `tty_nr` shows.
pub(super) fn terminal_number(device: u64) -> u64 {
    let (major, minor) = (
        u64::from(libc::major(device)),
        u64::from(libc::minor(device)),
    );
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

/// Reads from a master.
pub(super) fn read(master: BorrowedFd, buffer: &mut [u8]) -> io::Result<Read> {
    transfer(|| rustix::io::read(master, &mut *buffer))
}

/// Writes to a master; 0 when it has no room, or nobody who could make room.
pub(super) fn write(master: BorrowedFd, bytes: &[u8]) -> io::Result<usize> {
    match transfer(|| rustix::io::write(master, bytes))? {
        Read::Bytes(count) => Ok(count),
        Read::Nothing | Read::Unattached => Ok(0),
    }
}

/// Does one transfer. `EIO` is turned into [`Read::Unattached`] here and nowhere else: the kernel says it whenever nobody
/// has the slave open, which is a moment and not an end.
fn transfer(mut act: impl FnMut() -> rustix::io::Result<usize>) -> io::Result<Read> {
    loop {
        match act() {
            Ok(count) => return Ok(Read::Bytes(count)),
            Err(Errno::IO) => return Ok(Read::Unattached),
            Err(Errno::AGAIN) => return Ok(Read::Nothing),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

pub(super) fn resize(master: BorrowedFd, size: Size) -> io::Result<()> {
    let size = Winsize {
        ws_row: size.rows,
        ws_col: size.cols,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    Ok(rustix::termios::tcsetwinsize(master, size)?)
}

/// The modes of the slave, which the kernel gives through the master too (`drivers/tty/tty_ioctl.c`).
pub(super) fn modes(master: BorrowedFd) -> io::Result<Modes> {
    let modes = rustix::termios::tcgetattr(master)?;
    Ok(Modes {
        canonical: modes.local_modes.contains(LocalModes::ICANON),
        echo: modes.local_modes.contains(LocalModes::ECHO),
        min: modes.special_codes[SpecialCodeIndex::VMIN],
    })
}
