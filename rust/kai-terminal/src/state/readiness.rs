//! What the facts prove, as a pure function. `docs/readiness.md` has the measurements behind the rules.
//!
//! Rules of the read lock, in order; the first that holds decides:
//!
//! | rule | because |
//! |---|---|
//! | bytes wait unread: busy | whoever reads has not come to them yet |
//! | the lock is free: busy | nobody is in a read on the terminal |
//! | the terminal is raw with `VMIN` 0: not proof | such a read returns by itself: it polls |
//! | no thread of the foreground group sleeps in a read of the terminal, or could (it may not be inspected): not proof | somebody else reads |
//! | another thread of the group runs, sleeps until a time or waits for something else: not proof | the program is at work |
//! | the reader has not run since the write: not proof | the wait may be the one from before the write |

use super::send::WaitingFor;
use crate::sys::{Modes, Thread, Wait};

/// What was seen of the terminal at one moment.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub foreground: Option<i32>,
    pub modes: Option<Modes>,
    /// Bytes or an end of file wait to be read. `None`: cannot be told.
    pub unread: Option<bool>,
    /// Somebody is blocked in a read. `None`: was not, or cannot be, asked.
    pub reader_blocked: Option<bool>,
    /// The threads of the foreground group; empty where they were not needed.
    pub threads: Vec<Thread>,
    /// The top-level process waits for something; looked up together with the threads.
    pub shell_sleeps: bool,
}

/// What was so when the input was written, and what has been seen since: whether a wait can be an old one.
#[derive(Clone, Debug, Default)]
pub(super) struct Baseline {
    pub(super) foreground: Option<i32>,
    pub(super) threads: Vec<Thread>,
    /// The lock was seen free since.
    pub(super) lock_was_free: bool,
    /// Something else shows that the foreground has run since: a mark of the shell.
    pub(super) ran: bool,
    /// Nothing was written that would wake a reader (contract N4, N14): old waits count.
    pub(super) old_waits_count: bool,
}

/// Whether a read on the terminal is proven to be waiting for new input, and what for.
pub(super) fn blocking_read(facts: &Facts, baseline: &Baseline) -> Option<WaitingFor> {
    if facts.unread != Some(false) || facts.reader_blocked != Some(true) {
        return None;
    }
    let modes = facts.modes?;
    if !modes.canonical && modes.min == 0 {
        return None;
    }
    let reads = |thread: &&Thread| {
        matches!(thread.wait, Wait::TerminalRead | Wait::Denied) && thread.state == b'S'
    };
    let mut readers = facts.threads.iter().filter(reads).peekable();
    readers.peek()?;
    let idle = |thread: &Thread| {
        thread.state == b'Z'
            || (thread.state == b'S'
                && matches!(thread.wait, Wait::TerminalRead | Wait::Idle | Wait::Denied))
    };
    if !facts.threads.iter().all(idle) {
        return None;
    }
    let fresh = baseline.old_waits_count
        || baseline.ran
        || facts.foreground != baseline.foreground
        || readers.any(|reader| has_run_since(reader, baseline));
    fresh.then(|| waiting_for(modes))
}

/// The shell waits with nothing left to read: what makes an earlier mark of a prompt count for input that was written
/// while something else ran.
pub(super) fn shell_rests(facts: &Facts, shell: i32) -> bool {
    facts.foreground == Some(shell) && facts.unread == Some(false) && facts.shell_sleeps
}

fn has_run_since(reader: &Thread, baseline: &Baseline) -> bool {
    if baseline.lock_was_free {
        return true;
    }
    match baseline
        .threads
        .iter()
        .find(|old| old.tid == reader.tid && old.pid == reader.pid)
    {
        None => true,
        Some(old) => old.runs.is_some() && reader.runs.is_some() && old.runs != reader.runs,
    }
}

fn waiting_for(modes: Modes) -> WaitingFor {
    match (modes.canonical, modes.echo) {
        (true, true) => WaitingFor::Line,
        (true, false) => WaitingFor::Secret,
        (false, _) => WaitingFor::Keys,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Modes = Modes {
        canonical: true,
        echo: true,
        min: 1,
    };

    fn thread(wait: Wait, runs: u64) -> Thread {
        Thread {
            pid: 9,
            tid: 9,
            state: b'S',
            runs: Some(runs),
            wait,
            only_forked: false,
        }
    }

    fn reading(runs: u64) -> Facts {
        Facts {
            foreground: Some(9),
            modes: Some(LINE),
            unread: Some(false),
            reader_blocked: Some(true),
            threads: vec![thread(Wait::TerminalRead, runs)],
            shell_sleeps: true,
        }
    }

    fn written(runs: u64) -> Baseline {
        Baseline {
            foreground: Some(9),
            threads: vec![thread(Wait::TerminalRead, runs)],
            ..Baseline::default()
        }
    }

    /// rule: N4, ready-3
    #[test]
    fn an_old_wait_counts_only_once_the_reader_has_run() {
        assert_eq!(blocking_read(&reading(5), &written(5)), None);
        assert_eq!(
            blocking_read(&reading(6), &written(5)),
            Some(WaitingFor::Line)
        );
        let other_group = Baseline {
            foreground: Some(3),
            ..Baseline::default()
        };
        assert_eq!(
            blocking_read(&reading(5), &other_group),
            Some(WaitingFor::Line)
        );
        let partial = Baseline {
            old_waits_count: true,
            ..written(5)
        };
        assert_eq!(blocking_read(&reading(5), &partial), Some(WaitingFor::Line));
        let freed = Baseline {
            lock_was_free: true,
            ..written(5)
        };
        assert_eq!(blocking_read(&reading(5), &freed), Some(WaitingFor::Line));
    }

    /// rule: N4
    #[test]
    fn counters_that_cannot_be_read_prove_nothing() {
        let mut facts = reading(6);
        facts.threads[0].runs = None;
        assert_eq!(blocking_read(&facts, &written(5)), None);
    }

    /// rule: ready-1, ready-7
    #[test]
    fn a_free_lock_or_unread_input_is_busy() {
        let free = Facts {
            reader_blocked: Some(false),
            ..reading(6)
        };
        assert_eq!(blocking_read(&free, &written(5)), None);
        let unread = Facts {
            unread: Some(true),
            ..reading(6)
        };
        assert_eq!(blocking_read(&unread, &written(5)), None);
    }

    /// rule: N2
    #[test]
    fn a_program_that_works_beside_its_reader_is_busy() {
        for wait in [
            Wait::Running,
            Wait::Timer,
            Wait::OtherRead,
            Wait::Poll,
            Wait::Other,
        ] {
            let mut facts = reading(6);
            facts.threads.push(Thread {
                tid: 10,
                ..thread(wait, 1)
            });
            assert_eq!(blocking_read(&facts, &written(5)), None, "{wait:?}");
        }
        let mut facts = reading(6);
        facts.threads.push(Thread {
            tid: 10,
            ..thread(Wait::Idle, 1)
        });
        assert_eq!(blocking_read(&facts, &written(5)), Some(WaitingFor::Line));
    }

    #[test]
    fn somebody_elses_read_is_not_the_foregrounds() {
        let mut facts = reading(6);
        facts.threads[0].wait = Wait::Idle;
        assert_eq!(blocking_read(&facts, &written(5)), None);
    }

    /// rule: ready-8
    #[test]
    fn the_modes_say_what_is_wanted() {
        let with = |modes| {
            blocking_read(
                &Facts {
                    modes: Some(modes),
                    ..reading(6)
                },
                &written(5),
            )
        };
        assert_eq!(
            with(Modes {
                echo: false,
                ..LINE
            }),
            Some(WaitingFor::Secret)
        );
        assert_eq!(
            with(Modes {
                canonical: false,
                echo: false,
                min: 1
            }),
            Some(WaitingFor::Keys)
        );
        assert_eq!(
            with(Modes {
                canonical: false,
                echo: false,
                min: 0
            }),
            None
        );
    }
}
