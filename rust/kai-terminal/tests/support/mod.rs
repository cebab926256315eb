//! A terminal under test, driven by `poll(2)` on its two descriptors and nothing else.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "every test program uses a part of it"
)]

pub mod host;

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use kai_terminal::sys::linux::{LinuxTerminal, open};
use kai_terminal::sys::{
    ExitStatus, OpenError, Process, Read, Receipt, Report, Size, Spec, Terminal,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// No test waits longer for one thing; only a failure takes that long.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub fn spec<const N: usize>(argv: [&str; N]) -> Spec {
    let env = [
        "PATH=/usr/local/bin:/usr/bin:/bin",
        "TERM=xterm-256color",
        "LANG=C.UTF-8",
        "PS1=ready> ",
    ];
    Spec {
        argv: argv.iter().map(|text| OsString::from(own(text))).collect(),
        arg0: None,
        env: env
            .iter()
            .filter_map(|pair| pair.split_once('='))
            .map(|(n, v)| (n.into(), v.into()))
            .collect(),
        cwd: Some(PathBuf::from("/")),
        size: Size { cols: 80, rows: 24 },
        descriptors: Vec::new(),
        grace: Duration::from_secs(1),
    }
}

pub fn shell() -> Spec {
    spec(["/bin/bash", "--norc", "--noprofile", "-i"])
}

pub fn script(text: &str) -> Spec {
    spec(["/bin/sh", "-c", text])
}

/// An open terminal, everything it printed, and every report but those that were taken.
pub struct Session {
    pub terminal: LinuxTerminal,
    pub printed: Vec<u8>,
    pub reports: Vec<Report>,
    hung_up: bool,
    ended: bool,
}

impl Session {
    pub fn open(spec: &Spec) -> Self {
        Self::try_open(spec).expect("the terminal opens")
    }

    pub fn try_open(spec: &Spec) -> Result<Self, OpenError> {
        let terminal = open(spec)?;
        Ok(Self {
            terminal,
            printed: Vec::new(),
            reports: Vec::new(),
            hung_up: false,
            ended: false,
        })
    }

    /// Opens and waits until the program runs.
    pub fn start(spec: &Spec) -> (Self, i32) {
        let mut session = Self::open(spec);
        let pid = session.wait_started();
        (session, pid)
    }

    /// One turn of a driver: waits for either descriptor, takes what is there.
    pub fn turn(&mut self, until: Instant) {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: left.as_secs().cast_signed(),
            tv_nsec: left.subsec_nanos().into(),
        };
        #[allow(unsafe_code)]
        let borrow = |fd| {
            // SAFETY: both stay open as long as the terminal, but for the master, which is not used once it is hung up.
            unsafe { BorrowedFd::borrow_raw(fd) }
        };
        let report = borrow(self.terminal.report_fd());
        let mut fds = vec![PollFd::from_borrowed_fd(report, PollFlags::IN)];
        if !self.hung_up {
            fds.push(PollFd::from_borrowed_fd(
                borrow(self.terminal.terminal_fd()),
                PollFlags::IN,
            ));
        }
        let _ = poll(&mut fds, Some(&timeout));
        self.terminal.heed();
        self.drain();
        while let Some(report) = self.terminal.next_report().expect("reports can be read") {
            match report {
                Report::HangUp => {
                    self.terminal.hang_up();
                    self.hung_up = true;
                }
                Report::Quiescent(_) | Report::Lost => self.ended = true,
                _ => {}
            }
            self.reports.push(report);
            // What was printed before an exit was reported may have come after the look above.
            self.drain();
        }
    }

    /// Takes what was printed.
    fn drain(&mut self) {
        let mut buffer = [0; 8192];
        while !self.hung_up {
            match self
                .terminal
                .read(&mut buffer)
                .expect("the terminal can be read")
            {
                Read::Bytes(count) => self.printed.extend_from_slice(&buffer[..count]),
                Read::Nothing | Read::Unattached => return,
            }
        }
    }

    pub fn wait_for<T>(&mut self, what: &str, mut found: impl FnMut(&mut Self) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(value) = found(self) {
                return value;
            }
            assert!(
                Instant::now() < deadline,
                "no {what}; reports {:?}; printed {}",
                self.reports,
                String::from_utf8_lossy(&self.printed)
            );
            self.turn(deadline.min(Instant::now() + Duration::from_millis(50)));
        }
    }

    fn take(&mut self, wanted: impl Fn(&Report) -> bool) -> Option<Report> {
        let index = self.reports.iter().position(wanted)?;
        Some(self.reports.remove(index))
    }

    pub fn wait_report(&mut self, what: &str, wanted: impl Fn(&Report) -> bool) -> Report {
        self.wait_for(what, |session| session.take(&wanted))
    }

    pub fn wait_started(&mut self) -> i32 {
        match self.wait_report("start", |r| {
            matches!(r, Report::Started { .. } | Report::Failed { .. })
        }) {
            Report::Started { pid } => pid,
            other => panic!("not started: {other:?}"),
        }
    }

    pub fn wait_exit(&mut self) -> ExitStatus {
        match self.wait_report("exit", |r| matches!(r, Report::Exited(_))) {
            Report::Exited(status) => status,
            _ => unreachable!("only exits were asked for"),
        }
    }

    pub fn wait_quiescent(&mut self) -> Receipt {
        match self.wait_report("end", |r| {
            matches!(
                r,
                Report::Quiescent(_) | Report::Survivors(_) | Report::Lost
            )
        }) {
            Report::Quiescent(receipt) => receipt,
            other => panic!("not quiescent: {other:?}"),
        }
    }

    pub fn wait_survivors(&mut self) -> Vec<Process> {
        match self.wait_report("survivors", |r| {
            matches!(r, Report::Quiescent(_) | Report::Survivors(_))
        }) {
            Report::Survivors(survivors) => survivors,
            other => panic!("no survivors: {other:?}"),
        }
    }

    /// Waits until `text` was printed, and forgets everything up to its end.
    pub fn wait_text(&mut self, text: &str) {
        self.wait_for(text, |session| {
            let at = session
                .printed
                .windows(text.len())
                .position(|window| window == text.as_bytes())?;
            session.printed.drain(..at + text.len());
            Some(())
        });
    }

    pub fn type_text(&mut self, text: &str) {
        let text = own(text);
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let count = self
                .terminal
                .write(rest)
                .expect("the terminal can be written to");
            rest = &rest[count..];
            if count == 0 {
                self.turn(Instant::now() + Duration::from_millis(10));
            }
        }
    }

    /// Lets the terminal go without closing it.
    pub fn abandon(mut self) {
        self.ended = true;
    }

    pub fn close(&mut self, grace: Duration) -> Receipt {
        self.terminal
            .terminate(grace)
            .expect("closing can be asked for");
        self.wait_quiescent()
    }
}

impl Drop for Session {
    /// Leaves nothing behind, after a failure too.
    fn drop(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        if !self.ended && self.terminal.terminate(Duration::ZERO).is_ok() {
            while !self.ended && Instant::now() < deadline {
                self.turn(Instant::now() + Duration::from_millis(50));
            }
        }
    }
}

pub fn exists(pid: i32) -> bool {
    std::fs::exists(format!("/proc/{pid}")).unwrap_or(true)
}

/// The parent of a process: of a top-level process, its guard.
pub fn parent_of(pid: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
    let fields = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.split(' ').nth(1)?.parse().ok());
    fields.expect("it has a parent")
}

/// Waits for a condition about other processes, of which nothing tells us.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Tells which run of the tests a host that they started belongs to.
pub const RUN: &str = "KAI_TEST_RUN";

/// Marks what a test starts as belonging to this run: `999.`, in what is executed, typed or looked for, gets a number
/// behind it, so that runs side by side do not see each other's processes.
pub fn own(text: &str) -> String {
    let run = std::env::var(RUN).unwrap_or_else(|_| std::process::id().to_string());
    text.replace("999.", &format!("999.{run}0"))
}

/// The pids of processes whose command line holds `mark`.
pub fn marked(mark: &str) -> Vec<i32> {
    let mark = own(mark);
    let entries = std::fs::read_dir("/proc")
        .expect("/proc is there")
        .flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let own = *pid == std::process::id().cast_signed();
        !own && String::from_utf8_lossy(&line)
            .replace('\0', " ")
            .contains(&mark)
    })
    .collect()
}

/// What this process holds: open descriptors, threads, children (zombies too).
pub fn footprint() -> (usize, usize, usize) {
    let count = |path: &str| std::fs::read_dir(path).map_or(0, Iterator::count);
    let own = std::process::id().to_string();
    let stats = std::fs::read_dir("/proc")
        .expect("/proc is there")
        .flatten();
    let is_child = |entry: &std::fs::DirEntry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        stat.rsplit(") ")
            .next()
            .and_then(|rest| rest.split(' ').nth(1))
            == Some(&own)
    };
    (
        count("/proc/self/fd"),
        count("/proc/self/task"),
        stats.filter(is_child).count(),
    )
}
