//! The send slot: one send at a time, and what it knows about itself.

use super::readiness::Baseline;
use super::send::SendId;
use std::time::{Duration, Instant};

/// How long output must pause before the terminal is asked anything.
const PAUSE: Duration = Duration::from_millis(1);
/// The longest wait between two looks at the terminal.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) enum Slot {
    Free,
    Active(Box<ActiveSend>),
    /// Settled, but its bytes or its signal are still on their way (contract N8).
    Draining,
}

/// Whether the first prompt from now on is the send's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prompts {
    /// It was typed at a prompt, as one line: nothing else can bring one.
    Decisive,
    /// Something else may: the shell must be seen to rest there, with nothing left to read.
    NeedRest,
}

/// What a send is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Not a caller's: the wait for the first prompt.
    Startup,
    /// A shell command to its end: silence never settles it.
    Run,
    Send,
}

#[derive(Debug)]
pub(super) struct ActiveSend {
    pub(super) id: SendId,
    pub(super) purpose: Purpose,
    /// Somebody may still ask for its outcome.
    pub(super) wanted: bool,
    pub(super) began: Instant,
    pub(super) deadline: Option<Instant>,
    /// `None`: silence never settles it.
    pub(super) idle_silence: Option<Duration>,
    /// The input, until the baseline is known.
    pub(super) pending: Option<Vec<u8>>,
    pub(super) prompts: Prompts,
    /// How many prompts had come up when it was written.
    pub(super) prompts_before: u64,
    pub(super) marks_before: u64,
    pub(super) baseline: Baseline,
    pub(super) cancelled: bool,
    /// The last interrupt went to the shell itself.
    pub(super) shell_interrupted: bool,
    /// When everything was written, or the last interrupt was sent.
    pub(super) written: Option<Instant>,
    pub(super) probe: Probe,
}

/// When to look at the terminal again: soon after output paused, then less and less often.
#[derive(Debug, Default)]
pub(super) struct Probe {
    next: Option<Instant>,
    pause: Duration,
}

impl Probe {
    /// Something happened: look again after a short pause.
    pub(super) fn restart(&mut self, now: Instant) {
        self.pause = PAUSE;
        self.next = Some(now + PAUSE);
    }

    pub(super) fn back_off(&mut self, now: Instant) {
        self.pause = (self.pause * 2).clamp(PAUSE, LONGEST_PAUSE);
        self.next = Some(now + self.pause);
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.next.is_some_and(|next| next <= now)
    }
}

impl ActiveSend {
    /// From when on silence counts, if it does; never where the clock does not reach that far.
    pub(super) fn idle_at(&self, last_output: Instant) -> Option<Instant> {
        last_output
            .max(self.written?)
            .checked_add(self.idle_silence?)
    }
}
