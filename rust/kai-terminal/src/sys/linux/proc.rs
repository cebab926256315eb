//! What `/proc` tells about the processes of a managed range (proc(5)). Every look is a moment: what has gone in the
//! meantime is left out.

use std::fs;
use std::io;

/// The fields of `/proc/PID/stat` that are used here (`proc_pid_stat(5)`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) command: String,
    pub(super) state: u8,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) terminal: u64,
    /// It was forked and has not executed a program since.
    pub(super) only_forked: bool,
    pub(super) threads: u32,
}

/// `PF_FORKNOEXEC` of the kernel's `include/linux/sched.h`, as field 9 shows it.
const FORKED_NO_EXEC: u32 = 0x40;

impl Stat {
    pub(super) fn of_process(pid: i32) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    pub(super) fn of_thread(pid: i32, tid: i32) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{pid}/task/{tid}/stat")).ok()?)
    }

    fn parse(text: &[u8]) -> Option<Self> {
        // The name may hold anything, a parenthesis too: the fields begin behind the last one.
        let open = text.iter().position(|&b| b == b'(')?;
        let close = text.iter().rposition(|&b| b == b')')?;
        let mut fields = str::from_utf8(&text[close + 1..])
            .ok()?
            .split_ascii_whitespace();
        Some(Self {
            command: String::from_utf8_lossy(text.get(open + 1..close)?).into_owned(),
            state: *fields.next()?.as_bytes().first()?,
            parent: fields.next()?.parse().ok()?,
            group: fields.next()?.parse().ok()?,
            terminal: fields.nth(1)?.parse::<i64>().ok()?.cast_unsigned() & 0xffff_ffff,
            only_forked: fields.nth(1)?.parse::<u32>().ok()? & FORKED_NO_EXEC != 0,
            threads: fields.nth(10)?.parse().ok()?,
        })
    }
}

/// Every descendant of `root`, from the top down, with its stat.
pub(super) fn descendants(root: i32) -> Vec<(i32, Stat)> {
    let mut found = Vec::new();
    if fs::exists(format!("/proc/{root}/task/{root}/children")).unwrap_or(false) {
        add_children(root, 1, &mut found);
        let mut next = 0;
        while let Some((pid, stat)) = found.get(next) {
            let (pid, threads) = (*pid, stat.threads);
            add_children(pid, threads, &mut found);
            next += 1;
        }
    } else {
        // A kernel without CONFIG_PROC_CHILDREN.
        search_everywhere(root, &mut found);
    }
    found
}

fn add_children(parent: i32, threads: u32, found: &mut Vec<(i32, Stat)>) {
    let threads = if threads <= 1 {
        vec![parent]
    } else {
        threads_of(parent)
    };
    for tid in threads {
        let list =
            fs::read_to_string(format!("/proc/{parent}/task/{tid}/children")).unwrap_or_default();
        for pid in list
            .split_ascii_whitespace()
            .filter_map(|pid| pid.parse().ok())
        {
            // The list and this look are two moments: only what still has that parent counts.
            if let Some(stat) = Stat::of_process(pid).filter(|stat| stat.parent == parent) {
                found.push((pid, stat));
            }
        }
    }
}

fn search_everywhere(root: i32, found: &mut Vec<(i32, Stat)>) {
    let all: Vec<(i32, Stat)> = numbers("/proc")
        .into_iter()
        .filter_map(|pid| Some((pid, Stat::of_process(pid)?)))
        .collect();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for (pid, stat) in all.iter().filter(|(_, stat)| stat.parent == parent) {
            parents.push(*pid);
            found.push((*pid, stat.clone()));
        }
    }
}

/// The threads of a process.
pub(super) fn threads_of(pid: i32) -> Vec<i32> {
    numbers(&format!("/proc/{pid}/task"))
}

fn numbers(directory: &str) -> Vec<i32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// How often the scheduler has run a thread: the third number of its `schedstat`
/// (Documentation/scheduler/sched-stats.rst).
pub(super) fn runs(pid: i32, tid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
    text.split_ascii_whitespace().nth(2)?.parse().ok()
}

/// The effective user of a process.
pub(super) fn user(pid: i32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The system call in which a thread is blocked (`proc_pid_syscall(5)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocked {
    Running,
    /// Blocked, but not in a system call.
    Elsewhere,
    In {
        number: i64,
        arguments: [u64; 6],
        stack: u64,
    },
}

/// `None` where the thread is gone; an error where we may not look, or where there is no such file.
pub(super) fn blocked(pid: i32, tid: i32) -> io::Result<Option<Blocked>> {
    match fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")) {
        Ok(text) => Ok(parse_blocked(&text)),
        // ESRCH: it ended while the file was open.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse_blocked(text: &str) -> Option<Blocked> {
    let mut fields = text.split_ascii_whitespace();
    let number = fields.next()?;
    if number == "running" {
        return Some(Blocked::Running);
    }
    let number = number.parse().ok()?;
    if number < 0 {
        return Some(Blocked::Elsewhere);
    }
    let mut hexadecimal = || u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok();
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        *argument = hexadecimal()?;
    }
    Some(Blocked::In {
        number,
        arguments,
        stack: hexadecimal()?,
    })
}

#[cfg(test)]
mod tests {
    use super::{Blocked, Stat, parse_blocked};

    #[test]
    fn a_name_may_hold_parentheses_and_spaces() {
        let line = b"42 (a) R (b) S 7 42 42 34817 42 4194304 1 0 0 0 0 0 0 0 20 0 3 0 8 1 1\n";
        let stat = Stat::parse(line).unwrap();
        assert_eq!(stat.command, "a) R (b");
        assert_eq!(
            (
                stat.state,
                stat.parent,
                stat.group,
                stat.terminal,
                stat.threads
            ),
            (b'S', 7, 42, 34817, 3)
        );
    }

    #[test]
    fn a_system_call_is_taken_apart() {
        let line = "0 0x3 0x7f00 0x400 0x0 0x0 0x0 0x7ffc 0x7f00\n";
        let arguments = [3, 0x7f00, 0x400, 0, 0, 0];
        assert_eq!(
            parse_blocked(line),
            Some(Blocked::In {
                number: 0,
                arguments,
                stack: 0x7ffc
            })
        );
        assert_eq!(parse_blocked("running\n"), Some(Blocked::Running));
        assert_eq!(
            parse_blocked("-1 0x7ffc 0x7f00\n"),
            Some(Blocked::Elsewhere)
        );
        assert_eq!(parse_blocked(""), None);
    }
}
