//! What happened: output, facts, reports of the managed range, time.

use super::super::book::{Feed, Shell};
use super::super::readiness::{self, Baseline, Facts};
use super::super::send::{Evidence, SendFailure, Status};
use super::super::slot::{Prompts, Purpose, Slot};
use super::{Interrupt, SessionState, Startup};
use crate::sys::{ExitStatus, Process, Receipt, Thread};
use std::time::{Duration, Instant};

/// How long an interrupt waits for the shell to have started what it is just starting, and how often that is looked at.
const LONGEST_HOLD: Duration = Duration::from_millis(30);
const HOLD_STEP: Duration = Duration::from_millis(1);

impl SessionState {
    pub fn handle_started(&mut self, now: Instant, pid: i32) {
        self.shell_pid = Some(pid);
        let immediate = self.options.startup == Startup::Immediate;
        if let Slot::Active(send) = &mut self.slot
            && send.purpose == Purpose::Startup
        {
            if immediate {
                self.settle(now, Evidence::PromptMark, None);
            } else {
                send.probe.restart(now);
            }
        }
    }

    /// Bytes came. `foreground` was asked right after they were read.
    pub fn handle_output(&mut self, now: Instant, bytes: &[u8], foreground: Option<i32>) {
        let shell_in_foreground = self.is_shell(foreground);
        let mut feed = Feed {
            book: &mut self.book,
            shell_in_foreground,
        };
        self.screen.feed(bytes, &mut feed);
        self.last_output = now;
        let Slot::Active(send) = &mut self.slot else {
            if matches!(self.book.shell, Shell::Prompt) && shell_in_foreground {
                self.stray_prompt = false;
            }
            return;
        };
        send.probe.restart(now);
        send.baseline.ran |= self.book.marks > send.marks_before;
        let decisive =
            send.prompts == Prompts::Decisive && send.written.is_some() && self.interrupt.is_none();
        if decisive && shell_in_foreground && self.prompt_came() {
            self.settle_at_prompt(now);
        }
    }

    pub fn handle_baseline(&mut self, facts: Facts) {
        if let Slot::Active(send) = &mut self.slot {
            send.baseline.foreground = facts.foreground;
            send.baseline.threads = facts.threads;
        }
        self.write_pending();
    }

    /// The terminal took `count` bytes of `transmit`.
    pub fn handle_written(&mut self, now: Instant, count: usize) {
        let had_input = self.book.outbox.has_input();
        self.book.outbox.advance(count);
        if !had_input || self.book.outbox.has_input() {
            return;
        }
        match &mut self.slot {
            Slot::Active(send) => {
                send.written = Some(now);
                send.probe.restart(now);
            }
            Slot::Draining if self.interrupt.is_none() => self.slot = Slot::Free,
            Slot::Draining | Slot::Free => {}
        }
    }

    /// What the terminal says, asked for by `Act::Examine`.
    ///
    /// They are from the moment `taken`. What came from the terminal later may have been printed before it, so facts that
    /// are older than the newest output prove nothing.
    pub fn handle_facts(&mut self, now: Instant, facts: &Facts, taken: Instant) {
        if let Some(Interrupt::Held { longest, .. }) = self.interrupt {
            self.handle_facts_for_interrupt(now, facts, longest);
            return;
        }
        if self.last_output < taken
            && self.book.holds_marks()
            && self
                .shell_pid
                .is_some_and(|shell| readiness::shell_rests(facts, shell))
        {
            self.book.accept_held(&self.screen);
        }
        let Slot::Active(send) = &mut self.slot else {
            return;
        };
        send.baseline.lock_was_free |= facts.reader_blocked == Some(false);
        if self.last_output >= taken {
            send.probe.restart(now);
            return;
        }
        send.probe.back_off(now);
        if send.shell_interrupted
            && facts.foreground.is_some()
            && facts.foreground != self.shell_pid
        {
            // The shell was just starting the command and took the interrupt for itself; now the command is there.
            send.shell_interrupted = false;
            self.interrupt = Some(Interrupt::Due);
            return;
        }
        if self.shell_rests_at_prompt(now, facts) {
            self.settle_at_prompt(now);
            return;
        }
        let Slot::Active(send) = &self.slot else {
            return;
        };
        // A start-up file that reads is not the shell's prompt.
        if send.purpose == Purpose::Startup && self.options.startup == Startup::Marks {
            return;
        }
        if let Some(waiting_for) = readiness::blocking_read(facts, &send.baseline) {
            self.settle(now, Evidence::BlockingRead, Some(waiting_for));
        }
    }

    /// What no program had read is gone. The signal follows, as soon as the shell is not just starting something.
    pub fn handle_discarded(&mut self, now: Instant) {
        self.interrupt = Some(Interrupt::Held {
            look: now,
            longest: now + LONGEST_HOLD,
        });
    }

    fn handle_facts_for_interrupt(&mut self, now: Instant, facts: &Facts, longest: Instant) {
        let starting = |thread: &Thread| thread.only_forked && Some(thread.pid) != self.shell_pid;
        let settled = facts.shell_sleeps && !facts.threads.iter().any(starting);
        self.interrupt = Some(if settled || now >= longest {
            Interrupt::Due
        } else {
            Interrupt::Held {
                look: now + HOLD_STEP,
                longest,
            }
        });
    }

    /// The interrupt was sent to `group` (`None`: it could not be sent). The facts are from just before.
    pub fn handle_interrupted(&mut self, now: Instant, facts: Facts, group: Option<i32>) {
        self.interrupt = None;
        let to_shell = group.is_some() && group == self.shell_pid;
        self.stray_prompt |= to_shell;
        match &mut self.slot {
            Slot::Active(send) => {
                send.written = Some(now);
                send.probe.restart(now);
                send.baseline = Baseline {
                    foreground: facts.foreground,
                    threads: facts.threads,
                    ..Baseline::default()
                };
                send.marks_before = self.book.marks;
                send.shell_interrupted = to_shell;
                if to_shell {
                    // It may have come to its prompt before the signal: the one it draws because of it is what counts.
                    send.prompts = Prompts::NeedRest;
                    send.prompts_before = self.book.prompts;
                }
            }
            Slot::Draining if !self.book.outbox.has_input() => self.slot = Slot::Free,
            Slot::Draining | Slot::Free => {}
        }
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        let Slot::Active(send) = &self.slot else {
            return;
        };
        if send.deadline.is_some_and(|deadline| deadline <= now) {
            self.settle(now, Evidence::Deadline, None);
            return;
        }
        let idle = send
            .idle_at(self.last_output)
            .is_some_and(|idle| idle <= now);
        if idle && self.silence_counts(send) {
            self.settle(now, Evidence::Silence, None);
        }
    }

    /// The top-level process ended, and what it printed has been read.
    pub fn handle_exit(&mut self, now: Instant, status: ExitStatus) {
        self.status = Status::Exited(Some(status));
        self.forget_input();
        // While it is being closed a send ends when nothing is left, not before (contract N11).
        if !self.quiescence.is_closing() {
            self.end_send(now);
        }
    }

    pub fn handle_quiescent(&mut self, now: Instant, receipt: Receipt) {
        self.quiescence.handle_quiescent(now, receipt);
        if self.status == Status::Running {
            self.status = Status::Exited(None);
        }
        self.forget_input();
        self.end_send(now);
    }

    pub fn handle_survivors(&mut self, now: Instant, survivors: Vec<Process>) {
        self.quiescence.handle_survivors(survivors);
        if self.status != Status::Running {
            self.end_send(now);
        }
    }

    /// The terminal failed, or its guard is gone. The session is over; what is left of it is to be closed.
    pub fn handle_transport_failure(&mut self, message: &str, guard_lost: bool) {
        if guard_lost {
            self.quiescence.handle_lost();
        }
        if self.status == Status::Running {
            self.status = Status::Exited(None);
        }
        self.forget_input();
        if let Slot::Active(send) = std::mem::replace(&mut self.slot, Slot::Free) {
            let failure = Err(SendFailure::Transport(message.to_owned()));
            self.publish(&send, failure);
        }
    }
}
