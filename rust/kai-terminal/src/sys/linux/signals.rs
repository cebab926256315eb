//! Signals to the foreground process group of a terminal.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;
use rustix::process::{Pid, kill_process_group, test_kill_process_group};

use super::{proc, users};
use crate::sys::{Signal, SignalError};

/// `_IOW('T', 0x36, int)` (include/uapi/asm-generic/ioctls.h): the terminal sends the signal to its foreground group.
/// The kernel takes SIGINT, SIGQUIT and SIGTSTP (`pty_signal` in drivers/tty/pty.c).
const TIOCSIG: libc::Ioctl = 0x4004_5436;

/// The foreground process group as the terminal names it now; `None` when it has none, or one that this process's pid
/// namespace cannot name.
pub(super) fn foreground(master: BorrowedFd) -> io::Result<Option<i32>> {
    match rustix::termios::tcgetpgrp(master) {
        Ok(group) => Ok(Some(group.as_raw_nonzero().get())),
        // The first is what the library makes of the 0 with which Linux says "none"; the others: the session is gone.
        Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::IO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Sends a signal to the foreground group. Interrupt and stop go through the terminal, which asks nobody whether it
/// may and has no moment between naming the group and signalling it.
pub(super) fn send(master: BorrowedFd, guard: i32, signal: Signal) -> Result<i32, SignalError> {
    let group = foreground(master)
        .map_err(SignalError::Io)?
        .ok_or(SignalError::NoForeground)?;
    match signal {
        Signal::Interrupt => through_terminal(master, group, libc::SIGINT),
        Signal::Stop => through_terminal(master, group, libc::SIGTSTP),
        Signal::Terminate => to_group(group, rustix::process::Signal::TERM, guard),
        Signal::Kill => to_group(group, rustix::process::Signal::KILL, guard),
        Signal::HangUp => to_group(group, rustix::process::Signal::HUP, guard),
    }?;
    Ok(group)
}

fn through_terminal(
    master: BorrowedFd,
    group: i32,
    signal: libc::c_int,
) -> Result<(), SignalError> {
    // The terminal goes on naming a group that has ended, and would then report as delivered what reached nobody.
    let target = Pid::from_raw(group).ok_or(SignalError::NoForeground)?;
    if test_kill_process_group(target) == Err(Errno::SRCH) {
        return Err(SignalError::NoForeground);
    }
    // SAFETY: TIOCSIG takes the number of a signal by value.
    if unsafe { libc::ioctl(master.as_raw_fd(), TIOCSIG, signal) } < 0 {
        return Err(SignalError::Io(io::Error::last_os_error()));
    }
    Ok(())
}

fn to_group(group: i32, signal: rustix::process::Signal, guard: i32) -> Result<(), SignalError> {
    let target = Pid::from_raw(group).ok_or(SignalError::NoForeground)?;
    match kill_process_group(target, signal) {
        Ok(()) => Ok(()),
        Err(Errno::SRCH) => Err(SignalError::NoForeground),
        Err(Errno::PERM) => Err(denied(group, guard)),
        Err(error) => Err(SignalError::Io(error.into())),
    }
}

/// Names whom the signal was not allowed to reach: the leader of the group, or, where it is gone, another member.
fn denied(group: i32, guard: i32) -> SignalError {
    let leader = proc::Stat::of_process(group)
        .filter(|stat| stat.group == group)
        .map(|stat| (group, stat));
    let member = leader.or_else(|| {
        proc::descendants(guard)
            .into_iter()
            .find(|(_, stat)| stat.group == group)
    });
    let (command, user) = match member {
        Some((pid, stat)) => (stat.command, proc::user(pid).map(users::name)),
        None => (String::new(), None),
    };
    SignalError::Denied {
        pgid: group,
        command,
        user: user.unwrap_or_default(),
    }
}
