//! The end of a session: closing attempts, and whether the managed range is empty.
//!
//! ```text
//!            begin_close          Survivors                begin_close
//!   Open ───────────────▶ Closing ──────────▶ Failed ──────────────────▶ Closing (attempt + 1)
//!     │                      │
//!     │ Quiescent            │ Quiescent
//!     ▼                      ▼
//!   Empty ─── begin_close ─▶ Closed
//! ```
//!
//! `Empty` is a range that ended by itself: the session stays open to be read until it is closed.

use crate::sys::{Process, Receipt};
use std::time::{Duration, Instant};

/// Where a session stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closing {
    Open,
    /// Nothing is left, and nobody has asked for the close yet.
    Empty(Receipt),
    Closing {
        attempt: u64,
        since: Instant,
    },
    Failed {
        attempt: u64,
        survivors: Vec<Process>,
    },
    /// The guard vanished: what is left of the range is not known.
    Lost {
        attempt: u64,
    },
    Closed {
        receipt: Receipt,
        took: Duration,
    },
}

/// The transitions, all of them.
#[derive(Debug)]
pub(super) struct Quiescence {
    now: Closing,
    attempts: u64,
}

impl Default for Quiescence {
    fn default() -> Self {
        Self {
            now: Closing::Open,
            attempts: 0,
        }
    }
}

impl Quiescence {
    pub(super) fn state(&self) -> &Closing {
        &self.now
    }

    /// Whether sends are refused because of a close that is under way or done.
    pub(super) fn is_closing(&self) -> bool {
        matches!(self.now, Closing::Closing { .. } | Closing::Closed { .. })
    }

    /// Begins a close, or joins the one under way. Gives whether an attempt began that the range must be asked for.
    pub(super) fn begin_close(&mut self, now: Instant) -> bool {
        match &mut self.now {
            Closing::Open | Closing::Failed { .. } => {
                self.attempts += 1;
                self.now = Closing::Closing {
                    attempt: self.attempts,
                    since: now,
                };
                true
            }
            Closing::Empty(receipt) => {
                self.now = Closing::Closed {
                    receipt: std::mem::take(receipt),
                    took: Duration::ZERO,
                };
                false
            }
            Closing::Closing { .. } | Closing::Lost { .. } | Closing::Closed { .. } => false,
        }
    }

    pub(super) fn handle_quiescent(&mut self, now: Instant, receipt: Receipt) {
        self.now = match &self.now {
            Closing::Closing { since, .. } => Closing::Closed {
                receipt,
                took: now.saturating_duration_since(*since),
            },
            Closing::Failed { .. } | Closing::Open => Closing::Empty(receipt),
            // Once proven, it stays so.
            Closing::Empty(_) | Closing::Closed { .. } | Closing::Lost { .. } => return,
        };
    }

    pub(super) fn handle_survivors(&mut self, survivors: Vec<Process>) {
        if let Closing::Closing { attempt, .. } = self.now {
            self.now = Closing::Failed { attempt, survivors };
        }
    }

    pub(super) fn handle_lost(&mut self) {
        if !matches!(self.now, Closing::Empty(_) | Closing::Closed { .. }) {
            self.now = Closing::Lost {
                attempt: self.attempts,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survivor() -> Process {
        Process {
            pid: 7,
            command: "sleep".into(),
            user: "root".into(),
            ended: None,
        }
    }

    /// rule: B2, Q3, S14
    #[test]
    fn a_failed_close_can_be_tried_again_and_a_running_one_is_joined() {
        let now = Instant::now();
        let mut quiescence = Quiescence::default();
        assert!(quiescence.begin_close(now));
        assert!(!quiescence.begin_close(now));
        quiescence.handle_survivors(vec![survivor()]);
        assert!(!quiescence.is_closing());
        assert!(quiescence.begin_close(now));
        quiescence.handle_quiescent(now + Duration::from_secs(1), Receipt::default());
        let closed = Closing::Closed {
            receipt: Receipt::default(),
            took: Duration::from_secs(1),
        };
        assert_eq!(quiescence.state(), &closed);
        assert!(!quiescence.begin_close(now));
    }

    /// rule: B3, end-3
    #[test]
    fn a_range_that_emptied_by_itself_closes_at_once() {
        let now = Instant::now();
        let mut quiescence = Quiescence::default();
        quiescence.handle_quiescent(now, Receipt::default());
        assert!(!quiescence.is_closing());
        assert!(!quiescence.begin_close(now));
        assert!(matches!(quiescence.state(), Closing::Closed { .. }));
    }

    /// rule: B4
    #[test]
    fn a_lost_guard_is_no_proof() {
        let mut quiescence = Quiescence::default();
        quiescence.begin_close(Instant::now());
        quiescence.handle_lost();
        quiescence.handle_quiescent(Instant::now(), Receipt::default());
        assert_eq!(quiescence.state(), &Closing::Lost { attempt: 1 });
    }
}
