//! The threads of the foreground process group and what each of them waits for.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::proc::{self, Blocked, Stat};
use super::pty::Identity;
use super::syscalls::{self, Kind};
use crate::sys::{Thread, Wait};

/// Every thread of every process in `group`, among the descendants of `guard`. The leader of the group may be gone.
pub(super) fn in_group(guard: i32, group: i32, terminal: &Identity) -> Vec<Thread> {
    let members = proc::descendants(guard)
        .into_iter()
        .filter(|(_, stat)| stat.group == group);
    members
        .flat_map(|(pid, process)| of_process(pid, &process, terminal))
        .collect()
}

fn of_process(pid: i32, process: &Stat, terminal: &Identity) -> Vec<Thread> {
    let tids = if process.threads <= 1 {
        vec![pid]
    } else {
        proc::threads_of(pid)
    };
    tids.into_iter()
        .filter_map(|tid| look(pid, tid, process, terminal))
        .collect()
}

/// One thread, `None` when it has gone. What changed while it was looked at counts as running: the parts of a picture
/// that was taken in two moments prove nothing.
fn look(pid: i32, tid: i32, process: &Stat, terminal: &Identity) -> Option<Thread> {
    let stat = Stat::of_thread(pid, tid)?;
    let runs = proc::runs(pid, tid);
    let thread = |wait| Thread {
        pid,
        tid,
        state: stat.state,
        runs,
        wait,
        only_forked: stat.only_forked,
    };
    let blocked = match proc::blocked(pid, tid) {
        Ok(blocked) => blocked?,
        Err(_) if stat.state == b'R' => return Some(thread(Wait::Running)),
        Err(_) => return Some(thread(Wait::Denied)),
    };
    let wait = match blocked {
        Blocked::Running => Wait::Running,
        Blocked::Elsewhere => Wait::Other,
        Blocked::In {
            number,
            arguments,
            stack,
        } => match syscalls::kind(number, &arguments, stack) {
            Kind::Read(descriptor) => match is_terminal(pid, descriptor, process, terminal) {
                Ok(true) => Wait::TerminalRead,
                Ok(false) => Wait::OtherRead,
                Err(_) => Wait::Denied,
            },
            Kind::Receive => Wait::OtherRead,
            Kind::Idle => Wait::Idle,
            Kind::Timer => Wait::Timer,
            Kind::Poll => Wait::Poll,
            Kind::Other => Wait::Other,
        },
    };
    let unchanged =
        proc::blocked(pid, tid).ok().flatten() == Some(blocked) && proc::runs(pid, tid) == runs;
    Some(thread(if unchanged { wait } else { Wait::Running }))
}

/// Whether a descriptor of a process is this terminal: by device and inode of the file (the device *number* repeats
/// across mounts of devpts), or `/dev/tty` of a process whose controlling terminal this is.
fn is_terminal(
    pid: i32,
    descriptor: i32,
    process: &Stat,
    terminal: &Identity,
) -> std::io::Result<bool> {
    let file = fs::metadata(format!("/proc/{pid}/fd/{descriptor}"))?;
    if (file.dev(), file.ino()) == (terminal.device, terminal.inode) {
        return Ok(true);
    }
    // Device 5:0 is "the controlling terminal of whoever opens it" (Documentation/admin-guide/devices.txt).
    Ok(file.rdev() == libc::makedev(5, 0) && process.terminal == terminal.number)
}
