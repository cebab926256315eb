//! The host's end of the guard: its start, the channel to it, and its reaping.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendFlags, Shutdown, SocketFlags, SocketType, send, shutdown, socketpair,
};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};

use super::lookup::{self, OwnGroup};
use super::wire;
use crate::sys::Report;

/// How long a guard that was just started may take to read a START that is larger than the socket's buffer. It does
/// nothing else then, so this is reached only where the machine does not run it at all.
const START_PATIENCE: Duration = Duration::from_secs(5);

/// Guards that were let go of before they ended. Whoever comes next reaps those that have.
static ORPHANS: Mutex<Vec<Orphan>> = Mutex::new(Vec::new());

pub(super) struct Guard {
    channel: OwnedFd,
    /// Ready when the channel or the end of the guard has something to tell: one descriptor to wait on.
    events: OwnedFd,
    process: Orphan,
    /// The process that may use the channel; a forked copy of it may not.
    owner: u32,
    live: AtomicBool,
    stream: Mutex<Stream>,
}

/// What came over the channel, and how far it has come.
#[derive(Default)]
struct Stream {
    received: Vec<u8>,
    ended: bool,
    last: Option<Report>,
    finished: bool,
}

/// A guard as a child of ours, to be reaped.
struct Orphan {
    pid: i32,
    /// `None` where the kernel has none (before 5.3) or the guard was gone already.
    pidfd: Option<OwnedFd>,
}

impl Guard {
    /// Starts a guard on a terminal's slave and hands it the START frame.
    ///
    /// The path is absolute and nothing but standard descriptors and a process group is asked for, so that the standard
    /// library uses `posix_spawn(3)`: a fork would copy the page tables of a host that may be large.
    pub(super) fn start(slave: OwnedFd, frame: &[u8]) -> io::Result<Self> {
        reap_orphans();
        let path = lookup::guard_path()?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (channel, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let watched = epoll::EventData::new_u64(0);
        epoll::add(&events, &channel, watched, epoll::EventFlags::IN)?;
        let child = Command::new(path)
            .process_group_of_its_own()
            .env_clear()
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(slave))
            .stderr(Stdio::null())
            .spawn()?;
        let pid = child.id().cast_signed();
        // A `Child` neither kills nor reaps when it is dropped; both are done here, by descriptor.
        drop(child);
        let mut guard = Self {
            channel,
            events,
            process: Orphan { pid, pidfd: None },
            owner: std::process::id(),
            live: AtomicBool::new(false),
            stream: Mutex::default(),
        };
        guard.watch_process()?;
        guard.send_start(frame)?;
        Ok(guard)
    }

    fn watch_process(&mut self) -> io::Result<()> {
        let Some(pid) = Pid::from_raw(self.process.pid) else {
            return Ok(());
        };
        let pidfd = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            // Too many descriptors are an error like any other; for the rest the end of the channel has to do.
            Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => return Err(error.into()),
            Err(_) => return Ok(()),
        };
        let watched = epoll::EventData::new_u64(1);
        epoll::add(&self.events, &pidfd, watched, epoll::EventFlags::IN)?;
        self.process.pidfd = Some(pidfd);
        Ok(())
    }

    /// A bounded, waiting write. Frames of ordinary size fit into the socket's buffer, so that nothing waits; a larger
    /// one is read by the guard as its first act. Keeping the rest for later would need a second thing to wait on
    /// (room to write) in every driver, for a case that lasts a millisecond.
    fn send_start(&self, frame: &[u8]) -> io::Result<()> {
        let deadline = Instant::now() + START_PATIENCE;
        let mut rest = frame;
        while !rest.is_empty() {
            match send(&self.channel, rest, SendFlags::NOSIGNAL) {
                Ok(count) => rest = &rest[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait_for_room(deadline)?,
                // The guard could not even run. Its exit is reported as `Lost`, which says as much as we know.
                Err(Errno::PIPE | Errno::CONNRESET) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn wait_for_room(&self, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the guard does not read",
            ));
        }
        let timeout = Timespec {
            tv_sec: left.as_secs() as _,
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(
            &mut [PollFd::new(&self.channel, PollFlags::OUT)],
            Some(&timeout),
        ) {
            Err(error) if error != Errno::INTR => Err(error.into()),
            _ => Ok(()),
        }
    }

    pub(super) fn events(&self) -> RawFd {
        self.events.as_raw_fd()
    }

    pub(super) fn pid(&self) -> i32 {
        self.process.pid
    }

    /// Whether the top-level process runs its program, as far as the reports that were taken tell.
    pub(super) fn is_live(&self) -> bool {
        self.live.load(Ordering::Acquire)
    }

    /// Refuses in a forked copy of the process that started the guard.
    pub(super) fn check_owner(&self) -> io::Result<()> {
        if std::process::id() == self.owner {
            Ok(())
        } else {
            Err(io::Error::other(
                "this terminal belongs to the process that this one was forked from",
            ))
        }
    }

    pub(super) fn terminate(&self, grace: Duration) -> io::Result<()> {
        self.check_owner()?;
        self.process.go_on();
        match send(&self.channel, &wire::terminate(grace), SendFlags::NOSIGNAL) {
            // A guard that has gone has given its answer, or `Lost` is on its way.
            Ok(_) | Err(Errno::PIPE | Errno::CONNRESET) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The next report. The last one comes only when the guard itself has ended and is reaped.
    pub(super) fn next_report(&self) -> io::Result<Option<Report>> {
        self.check_owner()?;
        let mut stream = self.stream();
        loop {
            match wire::next_report(&mut stream.received) {
                Ok(Some(last @ Report::Quiescent(_))) => stream.last = Some(last),
                Ok(Some(report)) => {
                    self.note(&report);
                    return Ok(Some(report));
                }
                Ok(None) if stream.ended => return Ok(self.last_report(&mut stream)),
                Ok(None) => {
                    if !self.receive(&mut stream)? {
                        return Ok(None);
                    }
                }
                // What cannot be understood cannot be trusted to come to an end: the guard is let go, and closes.
                Err(_) => {
                    self.let_go();
                    stream.received.clear();
                    self.end(&mut stream)?;
                }
            }
        }
    }

    fn stream(&self) -> MutexGuard<'_, Stream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, report: &Report) {
        match report {
            Report::Started { .. } => self.live.store(true, Ordering::Release),
            Report::Exited(_) => self.live.store(false, Ordering::Release),
            _ => {}
        }
    }

    /// Reads once. False: nothing more has come yet.
    fn receive(&self, stream: &mut Stream) -> io::Result<bool> {
        let mut buffer = [0; 4096];
        match rustix::io::read(&self.channel, &mut buffer) {
            Ok(0) | Err(Errno::CONNRESET) => self.end(stream)?,
            Ok(count) => stream.received.extend_from_slice(&buffer[..count]),
            Err(Errno::AGAIN) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    /// The channel has ended: from here on only the end of the guard itself is waited for.
    fn end(&self, stream: &mut Stream) -> io::Result<()> {
        if !stream.ended {
            stream.ended = true;
            epoll::delete(&self.events, &self.channel)?;
        }
        Ok(())
    }

    fn last_report(&self, stream: &mut Stream) -> Option<Report> {
        // Without a pidfd nothing would wake us when it has ended; the end of its channel has to do, and it is reaped later.
        if stream.finished || !(self.process.reap() || self.process.pidfd.is_none()) {
            return None;
        }
        stream.finished = true;
        self.live.store(false, Ordering::Release);
        if let Some(pidfd) = &self.process.pidfd {
            // It stays ready for ever, and whoever waits has nothing more to wait for.
            let _ = epoll::delete(&self.events, pidfd);
        }
        Some(stream.last.take().unwrap_or(Report::Lost))
    }

    /// Ends the channel for every holder of it, so that the guard closes the range even while a forked copy of the host
    /// keeps the descriptor open.
    fn let_go(&self) {
        self.process.go_on();
        // Gone already is as good.
        let _ = shutdown(&self.channel, Shutdown::Both);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // A forked copy must not end the session of the process it came from.
        if self.check_owner().is_err() {
            return;
        }
        self.let_go();
        if !self.stream().finished || self.process.pidfd.is_none() {
            let orphan = Orphan {
                pid: self.process.pid,
                pidfd: self.process.pidfd.take(),
            };
            if !orphan.reap() {
                ORPHANS
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(orphan);
            }
        }
    }
}

impl Orphan {
    /// Continues a guard that somebody has stopped (SIGSTOP is the one signal besides SIGKILL that it cannot block).
    fn go_on(&self) {
        if let Some(pidfd) = &self.pidfd {
            let _ = pidfd_send_signal(pidfd, Signal::CONT);
        }
    }

    /// Reaps without waiting; true when the guard is gone, whoever reaped it: a host may ignore SIGCHLD, or call
    /// `waitpid(-1)` itself. By descriptor, so that a child that has the number by now is not mistaken for it.
    fn reap(&self) -> bool {
        let id = match &self.pidfd {
            Some(pidfd) => WaitId::PidFd(pidfd.as_fd()),
            None => match Pid::from_raw(self.pid) {
                Some(pid) => WaitId::Pid(pid),
                None => return true,
            },
        };
        match waitid(id, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(None) => false,
            Ok(Some(_)) | Err(_) => true,
        }
    }
}

fn reap_orphans() {
    ORPHANS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .retain(|orphan| !orphan.reap());
}
