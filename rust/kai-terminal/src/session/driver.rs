//! The driver: one task a session, the only place where the state and the system meet.
//!
//! Each turn takes the same named steps: hear reports, read, write, act, wake who waits; then it sleeps until the
//! terminal, the guard, a handle or a deadline has something new.

use super::handle::Shared;
use super::watch::{Number, watch};
use crate::state::{Act, Closing, Facts, SessionState};
use crate::sys::{ExitStatus, Read, Report, Signal, Terminal, Thread};
use std::io;
use std::sync::Arc;
use std::time::Instant;
use tokio::io::unix::AsyncFd;

/// The most that is read in one turn, and while the lock is held once, so that a fast writer starves nobody.
const MOST_READ: usize = 64 * 1024;
/// The most that is written while the lock is held once.
const MOST_WRITTEN: usize = 16 * 1024;
/// The most that is read after the top-level process has ended: what it printed is in the terminal then, and whoever
/// else goes on printing must not delay the news.
const MOST_TAIL: usize = 1024 * 1024;

pub(super) fn spawn(shared: Arc<Shared>) -> io::Result<()> {
    let terminal = watch(shared.terminal.terminal_fd())?;
    let reports = watch(shared.terminal.report_fd())?;
    let driver = Driver {
        terminal: Some(terminal),
        reports,
        buffer: vec![0; MOST_READ],
        asked: 0,
        over: false,
        shared,
    };
    tokio::spawn(driver.run());
    Ok(())
}

struct Driver {
    shared: Arc<Shared>,
    /// `None` once the terminal is hung up.
    terminal: Option<AsyncFd<Number>>,
    reports: AsyncFd<Number>,
    buffer: Vec<u8>,
    /// The attempt to close that the guard was asked for last.
    asked: u64,
    /// The last report has come.
    over: bool,
}

impl Drop for Driver {
    /// A driver that goes before the end, because the runtime stops or by a panic, leaves nobody waiting for it.
    fn drop(&mut self) {
        if self.over {
            return;
        }
        // The guard then works on alone. Where it is gone too, there is nobody to ask.
        let _ = self.shared.terminal.terminate(self.shared.grace);
        self.shared
            .state()
            .handle_transport_failure("the terminal is no longer served", true);
        self.shared.settled.notify_waiters();
        self.shared.output.notify_waiters();
    }
}

impl Driver {
    async fn run(mut self) {
        loop {
            self.shared.terminal.heed();
            self.hear_reports();
            let more = self.read_at_most(MOST_READ);
            self.write();
            self.act();
            self.write();
            self.ask_to_end();
            self.wake();
            if self.over {
                return;
            }
            if more {
                // Others on this thread get their turn between two pieces.
                tokio::task::yield_now().await;
            } else {
                self.sleep().await;
            }
        }
    }

    fn hear_reports(&mut self) {
        loop {
            match self.shared.terminal.next_report() {
                Ok(Some(report)) => self.handle_report(report),
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(%error, "the guard's reports cannot be read");
                    self.handle_report(Report::Lost);
                    return;
                }
            }
        }
    }

    fn handle_report(&mut self, report: Report) {
        let now = Instant::now();
        match report {
            Report::Started { pid } => self.shared.state().handle_started(now, pid),
            Report::Failed { stage, error } => {
                self.shared.fail_start(stage, &error);
                self.shared.state().handle_exit(now, ExitStatus::Code(127));
            }
            Report::Exited(status) => {
                self.read_tail();
                self.shared.state().handle_exit(Instant::now(), status);
            }
            Report::HangUp => {
                self.read_tail();
                self.hang_up();
            }
            Report::Survivors(survivors) => self.shared.state().handle_survivors(now, survivors),
            Report::Quiescent(receipt) => {
                self.read_tail();
                self.hang_up();
                self.over = true;
                self.shared.state().handle_quiescent(now, receipt);
            }
            Report::Lost => {
                self.hang_up();
                self.over = true;
                self.shared
                    .state()
                    .handle_transport_failure("the guard is gone", true);
            }
        }
        self.shared.settled.notify_waiters();
        self.shared.output.notify_waiters();
    }

    fn hang_up(&mut self) {
        // From here on there is nothing to read, to write or to watch.
        self.terminal = None;
        self.shared.terminal.hang_up();
    }

    /// Reads what is there, at most `MOST_READ` bytes, and feeds it to the state under one lock. Gives how much it was; 0
    /// means nothing until the terminal is ready again.
    fn read_once(&mut self) -> usize {
        // Whose marks they are cannot be told before it is known who the shell is.
        if self.terminal.is_none() || self.shared.state().pid().is_none() {
            return 0;
        }
        match self.shared.terminal.read(&mut self.buffer) {
            Ok(Read::Bytes(count)) => {
                let foreground = self.shared.terminal.foreground().ok().flatten();
                self.shared.state().handle_output(
                    Instant::now(),
                    &self.buffer[..count],
                    foreground,
                );
                self.shared.output.notify_waiters();
                count
            }
            Ok(Read::Nothing | Read::Unattached) => 0,
            Err(error) => {
                self.fail(&error);
                0
            }
        }
    }

    /// Reads what the terminal still holds, until there is nothing at once (contract B3).
    fn read_tail(&mut self) {
        self.read_at_most(MOST_TAIL);
    }

    /// Reads until there is nothing at once, or about `most` bytes. Gives whether there may be more.
    fn read_at_most(&mut self, most: usize) -> bool {
        let mut left = most;
        while left > 0 {
            match self.read_once() {
                0 => return false,
                count => left = left.saturating_sub(count),
            }
        }
        true
    }

    fn fail(&mut self, error: &io::Error) {
        tracing::warn!(%error, "the terminal failed");
        let mut state = self.shared.state();
        state.handle_transport_failure(&error.to_string(), false);
        if state.begin_close(Instant::now()) {
            self.shared.work.notify_one();
        }
        drop(state);
        self.shared.settled.notify_waiters();
    }

    /// Writes what there is as far as the terminal has room. The write happens under the lock: a cancel falls before or
    /// after it, never into it.
    fn write(&mut self) {
        loop {
            if self.terminal.is_none() {
                return;
            }
            let mut state = self.shared.state();
            let Some(bytes) = state.transmit() else {
                return;
            };
            let piece = &bytes[..bytes.len().min(MOST_WRITTEN)];
            match self.shared.terminal.write(piece) {
                Ok(0) => return,
                Ok(count) => state.handle_written(Instant::now(), count),
                Err(error) => {
                    drop(state);
                    self.fail(&error);
                    return;
                }
            }
        }
    }

    /// Does what the state wants looked up or signalled.
    fn act(&mut self) {
        loop {
            let mut state = self.shared.state();
            let Some(act) = state.next_act(Instant::now()) else {
                state.handle_timeout(Instant::now());
                return;
            };
            let terminal = &*self.shared.terminal;
            match act {
                Act::Baseline => {
                    let facts = examine(terminal, state.pid(), true, false);
                    state.handle_baseline(facts);
                }
                Act::Examine { threads } => {
                    let taken = Instant::now();
                    let facts = examine(terminal, state.pid(), threads, true);
                    drop(state);
                    self.judge(&facts, taken);
                }
                Act::Discard => {
                    if let Err(error) = terminal.discard_input() {
                        tracing::debug!(%error, "unread input could not be discarded");
                    }
                    state.handle_discarded(Instant::now());
                }
                Act::Interrupt => interrupt(&mut state, terminal),
            }
        }
    }

    /// What was printed before the facts were looked up is heard before them: a shell that has run the command and waits
    /// for the next one looks just like one that waits, but for what it printed.
    fn judge(&mut self, facts: &Facts, taken: Instant) {
        self.read_at_most(MOST_READ);
        self.shared
            .state()
            .handle_facts(Instant::now(), facts, taken);
    }

    /// Asks the guard to end the range, once for each attempt.
    fn ask_to_end(&mut self) {
        let Closing::Closing { attempt, .. } = *self.shared.state().closing() else {
            return;
        };
        if self.asked == attempt {
            return;
        }
        self.asked = attempt;
        if let Err(error) = self.shared.terminal.terminate(self.shared.grace) {
            // The end of the channel follows as a report of its own.
            tracing::warn!(%error, "the guard cannot be asked to end the session");
        }
    }

    fn wake(&mut self) {
        if self.shared.state().take_settled() {
            self.shared.settled.notify_waiters();
            self.shared.output.notify_waiters();
        }
    }

    async fn sleep(&mut self) {
        let deadline = self.shared.state().deadline();
        let timer = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.shared.work.notified() => {}
            () = timer => {}
            () = ready(Some(&self.reports)) => {}
            () = ready(self.terminal.as_ref()) => {}
        }
    }
}

/// Waits until the descriptor is readable. The readiness is cleared at once: the next turn tries, and whatever arrives
/// after it makes a new event.
async fn ready(descriptor: Option<&AsyncFd<Number>>) {
    let Some(descriptor) = descriptor else {
        return std::future::pending().await;
    };
    match descriptor.readable().await {
        Ok(mut guard) => guard.clear_ready(),
        Err(_) => std::future::pending().await,
    }
}

/// Looks up what the state asked for. The read lock is asked last, and only where nothing waits to be read: see
/// [`Terminal::reader_blocked`].
fn examine(terminal: &dyn Terminal, shell: Option<i32>, threads: bool, lock: bool) -> Facts {
    let foreground = terminal.foreground().ok().flatten();
    let modes = terminal.modes().ok();
    let unread = terminal.input_unread().ok();
    let reader_blocked = if lock && unread == Some(false) {
        terminal.reader_blocked()
    } else {
        None
    };
    let shell_sleeps = threads && shell.is_some_and(|shell| sleeps(terminal, shell));
    let threads = match foreground {
        Some(group) if threads || reader_blocked == Some(true) => terminal.threads(group),
        _ => Vec::new(),
    };
    Facts {
        foreground,
        modes,
        unread,
        reader_blocked,
        threads,
        shell_sleeps,
    }
}

/// Whether the top-level process, which leads the group of its own number, waits for something.
fn sleeps(terminal: &dyn Terminal, shell: i32) -> bool {
    let is_leader = |thread: &Thread| thread.pid == shell && thread.tid == shell;
    terminal
        .threads(shell)
        .iter()
        .any(|thread| is_leader(thread) && thread.state == b'S')
}

fn interrupt(state: &mut SessionState, terminal: &dyn Terminal) {
    let facts = examine(terminal, state.pid(), true, false);
    let group = match terminal.signal_foreground(Signal::Interrupt) {
        Ok(group) => Some(group),
        Err(error) => {
            tracing::debug!(?error, "the interrupt was not delivered");
            None
        }
    };
    state.handle_interrupted(Instant::now(), facts, group);
}
