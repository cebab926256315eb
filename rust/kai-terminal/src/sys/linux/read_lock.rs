//! The read lock: whether somebody is blocked in a read of a terminal.
//!
//! The line discipline serialises readers with `atomic_read_lock` (`n_tty_read` in `drivers/tty/n_tty.c`). A read on a
//! non-blocking descriptor that finds it taken gives `EAGAIN`, also a read of no bytes, which otherwise gives 0 at
//! once and consumes nothing. So the answer needs neither `/proc` nor a privilege. It is not a documented interface:
//! a test on a terminal of our own decides, once, whether it works here.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use super::pty;
use crate::sys::Size;

/// How far apart two answers must be to be believed: one alone may have met a reader that was just running.
const APART: Duration = Duration::from_micros(200);
/// How long the self-test waits for its reader to block.
const SELF_TEST: Duration = Duration::from_secs(2);

/// Whether the read lock can be asked on this kernel. The first call runs the test, which takes a millisecond or two.
pub fn read_lock_works() -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| self_test().unwrap_or(false))
}

/// Whether a reader is blocked: two answers that agree. Waits for the time between the two only if the first says yes.
pub(super) fn is_held(slave: BorrowedFd) -> io::Result<bool> {
    if !is_taken(slave)? {
        return Ok(false);
    }
    thread::sleep(APART);
    is_taken(slave)
}

/// One answer. `slave` does not block.
fn is_taken(slave: BorrowedFd) -> io::Result<bool> {
    // SAFETY: a read of no bytes writes nothing; the pointer is valid all the same.
    let result = unsafe { libc::read(slave.as_raw_fd(), [0_u8; 1].as_mut_ptr().cast(), 0) };
    if result >= 0 {
        return Ok(false);
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
        error => Err(error),
    }
}

/// Free, then taken while a thread reads, then free again; with no byte lost.
fn self_test() -> io::Result<bool> {
    let (master, blocking, _) = pty::allocate(Size { cols: 80, rows: 24 })?;
    let slave = pty::transient_slave(master.as_fd())?;
    if is_taken(slave.as_fd())? {
        return Ok(false);
    }
    let reader = thread::Builder::new()
        .name("kai-read-lock".to_owned())
        .spawn(move || read_a_line(&blocking))?;
    let deadline = Instant::now() + SELF_TEST;
    let mut taken = false;
    while !taken && Instant::now() < deadline {
        thread::sleep(APART);
        taken = is_taken(slave.as_fd())?;
    }
    // The reader ends with the line, so that it is joined whatever was seen.
    pty::write(master.as_fd(), b"x\r")?;
    let whole = reader
        .join()
        .is_ok_and(|count| count.is_ok_and(|count| count == 2));
    Ok(taken && whole && !is_taken(slave.as_fd())?)
}

fn read_a_line(slave: &OwnedFd) -> io::Result<usize> {
    let mut buffer = [0; 16];
    loop {
        match rustix::io::read(slave, &mut buffer) {
            Err(rustix::io::Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

#[cfg(test)]
mod tests {
    /// rule: N2
    #[test]
    fn the_read_lock_can_be_asked_on_this_kernel() {
        assert!(super::read_lock_works());
    }
}
