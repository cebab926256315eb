//! One session as a deterministic machine: the send slot, what the marks and the facts say, and the end.
//!
//! The driver calls `handle_*` when something happened, and afterwards, until nothing is left to do: `next_act` (facts
//! to look up, signals to send), `transmit` and `handle_written` (bytes to write), `deadline` (when to call
//! `handle_timeout`). Callers use the verbs: `begin_send`, `cancel`, `read_output`. Settled sends are picked up with
//! `outcome`.

mod events;
mod settle;
mod verbs;

use super::book::{Book, Counters};
use super::delta::document_end;
use super::marks::Key;
use super::quiescence::{Closing, Quiescence};
use super::readiness::Baseline;
use super::send::{SendId, SendOutcome, Status};
use super::slot::{ActiveSend, Probe, Prompts, Purpose, Slot};
use kai_terminal_screen::{Display, Options, Position, Screen};
use std::time::{Duration, Instant};

/// When a session counts as started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Startup {
    /// At the first prompt, by its marks.
    Marks,
    /// When the kernel shows a wait for input, or when output has come and fallen silent.
    Evidence,
    /// When the program runs.
    Immediate,
}

#[derive(Clone, Debug)]
pub struct SessionOptions {
    pub cols: u16,
    pub rows: u16,
    pub key: Option<Key>,
    pub startup: Startup,
    pub startup_timeout: Duration,
    pub send_timeout: Option<Duration>,
    pub idle_silence: Duration,
    pub scrollback_lines: usize,
    pub scrollback_bytes: usize,
    pub max_output: usize,
}

/// What the driver is to do with the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Look up the facts, threads included, before the input is written, and give them to `handle_baseline`.
    Baseline,
    /// Look up the facts and give them to `handle_facts`; the threads also where nobody is blocked in a read, if asked.
    Examine { threads: bool },
    /// Discard what no program has read yet, and call `handle_discarded`.
    Discard,
    /// Look up the facts, interrupt the foreground, and call `handle_interrupted`.
    Interrupt,
}

/// How far a cancel has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interrupt {
    Asked,
    /// Until the shell waits for something and what it forked has executed its program, but not longer than this. An
    /// interrupt that meets bash between the fork of a command and giving it the terminal leaves it waiting for a command
    /// that nothing can interrupt any more; one that meets the fork before its exec is lost to the shell's own handler.
    Held {
        look: Instant,
        longest: Instant,
    },
    Due,
}

/// See the module's documentation.
#[derive(Debug)]
pub struct SessionState {
    options: SessionOptions,
    screen: Screen,
    book: Book,
    slot: Slot,
    sends: u64,
    outcomes: Vec<(SendId, SendOutcome)>,
    /// Something settled since `take_settled`.
    settled: bool,
    startup: Option<SendOutcome>,
    motd: String,
    interrupt: Option<Interrupt>,
    /// An interrupt went to the shell itself: the prompt it draws belongs to no send.
    stray_prompt: bool,
    shell_pid: Option<i32>,
    status: Status,
    quiescence: Quiescence,
    last_output: Instant,
}

impl SessionState {
    pub fn new(options: SessionOptions, now: Instant) -> Self {
        let screen = Screen::new(Options {
            cols: options.cols,
            rows: options.rows,
            scrollback_lines: options.scrollback_lines,
            scrollback_bytes: options.scrollback_bytes,
        });
        let book = Book::new(options.key.clone(), options.max_output);
        let mut state = Self {
            screen,
            book,
            slot: Slot::Free,
            sends: 0,
            outcomes: Vec::new(),
            settled: false,
            startup: None,
            motd: String::new(),
            interrupt: None,
            stray_prompt: false,
            shell_pid: None,
            status: Status::Running,
            quiescence: Quiescence::default(),
            last_output: now,
            options,
        };
        state.slot = Slot::Active(Box::new(state.startup_wait(now)));
        state
    }

    fn startup_wait(&self, now: Instant) -> ActiveSend {
        ActiveSend {
            id: SendId(0),
            purpose: Purpose::Startup,
            wanted: true,
            began: now,
            deadline: now.checked_add(self.options.startup_timeout),
            idle_silence: (self.options.startup == Startup::Evidence)
                .then_some(self.options.idle_silence),
            pending: None,
            prompts: Prompts::Decisive,
            prompts_before: 0,
            marks_before: 0,
            baseline: Baseline {
                old_waits_count: true,
                ..Baseline::default()
            },
            cancelled: false,
            shell_interrupted: false,
            written: Some(now),
            probe: Probe::default(),
        }
    }

    pub fn display(&self) -> &Display {
        &self.screen
    }

    /// What was printed before the first prompt.
    pub fn motd(&self) -> &str {
        &self.motd
    }

    pub fn pid(&self) -> Option<i32> {
        self.shell_pid
    }

    pub fn status(&self) -> Status {
        self.status
    }

    pub fn closing(&self) -> &Closing {
        self.quiescence.state()
    }

    pub fn counters(&self) -> Counters {
        self.book.counters()
    }

    pub fn next_act(&mut self, now: Instant) -> Option<Act> {
        if self.quiescence.is_closing() {
            return None;
        }
        match self.interrupt {
            Some(Interrupt::Asked) => return Some(Act::Discard),
            Some(Interrupt::Due) => return Some(Act::Interrupt),
            Some(Interrupt::Held { look, .. }) => {
                return (look <= now).then_some(Act::Examine { threads: true });
            }
            None => {}
        }
        let Slot::Active(send) = &self.slot else {
            return None;
        };
        if send.pending.is_some() {
            return Some(Act::Baseline);
        }
        if !self.may_examine(send) || !send.probe.is_due(now) {
            return None;
        }
        Some(Act::Examine {
            threads: self.prompt_came() || send.cancelled || self.book.holds_marks(),
        })
    }

    /// The bytes to write next.
    pub fn transmit(&self) -> Option<&[u8]> {
        if self.interrupt.is_some() {
            None
        } else {
            self.book.outbox.front()
        }
    }

    /// When `handle_timeout` or `next_act` is due.
    pub fn deadline(&self) -> Option<Instant> {
        let interrupt = match self.interrupt {
            Some(Interrupt::Held { look, .. }) => Some(look),
            _ => None,
        };
        [interrupt, self.send_deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    fn send_deadline(&self) -> Option<Instant> {
        let Slot::Active(send) = &self.slot else {
            return None;
        };
        if self.quiescence.is_closing() {
            return None;
        }
        let probe = send
            .probe
            .next()
            .filter(|_| self.may_examine(send) && self.interrupt.is_none());
        let idle = send
            .idle_at(self.last_output)
            .filter(|_| self.silence_counts(send));
        [send.deadline, idle, probe].into_iter().flatten().min()
    }

    /// Facts prove something only with everything written, and cannot be had before the program runs.
    fn may_examine(&self, send: &ActiveSend) -> bool {
        send.written.is_some() && self.shell_pid.is_some() && self.book.outbox.is_empty()
    }

    /// Silence without any output is no readiness (contract N12).
    fn silence_counts(&self, send: &ActiveSend) -> bool {
        send.purpose != Purpose::Startup || document_end(&self.screen) > Position::default()
    }

    fn is_shell(&self, foreground: Option<i32>) -> bool {
        foreground.is_some() && foreground == self.shell_pid
    }
}
