//! How a send ends.

use super::super::book::Shell;
use super::super::readiness::{self, Facts};
use super::super::send::{Evidence, SendOutcome, SendResult, WaitingFor};
use super::super::slot::{ActiveSend, Purpose, Slot};
use super::SessionState;
use kai_terminal_screen::Position;
use std::time::{Duration, Instant};

/// Where nothing of the shell's came since the write, its prompt counts only after a longer rest.
const LONG_REST: Duration = Duration::from_millis(20);
/// The most of what was printed before the first prompt that is kept.
const LONGEST_MOTD: usize = 64 * 1024;

impl SessionState {
    /// A prompt has come up since the live send was written, and is up now.
    pub(super) fn prompt_came(&self) -> bool {
        let Slot::Active(send) = &self.slot else {
            return false;
        };
        matches!(self.book.shell, Shell::Prompt | Shell::Continuation)
            && self.book.prompts > send.prompts_before
    }

    pub(super) fn shell_rests_at_prompt(&self, now: Instant, facts: &Facts) -> bool {
        let Slot::Active(send) = &self.slot else {
            return false;
        };
        if !self
            .shell_pid
            .is_some_and(|shell| readiness::shell_rests(facts, shell))
        {
            return false;
        }
        let since = self
            .last_output
            .max(send.written.unwrap_or(self.last_output));
        let rested = now.saturating_duration_since(since);
        if self.prompt_came() {
            let fresh = self.book.marks > send.marks_before
                && send.written.is_some_and(|at| at <= self.last_output);
            return fresh || rested >= LONG_REST;
        }
        // An interrupt that the shell ignored: its prompt is still the old one, and nothing was left to read.
        send.cancelled
            && !self.book.output.running()
            && self.book.prompts > 0
            && rested >= LONG_REST
    }

    pub(super) fn settle_at_prompt(&mut self, now: Instant) {
        self.stray_prompt = false;
        if self.book.shell == Shell::Busy {
            self.book.shell = Shell::Prompt;
        }
        let waiting_for = if self.book.shell == Shell::Continuation {
            WaitingFor::Continuation
        } else {
            WaitingFor::ShellPrompt
        };
        self.settle(now, Evidence::PromptMark, Some(waiting_for));
    }

    pub(super) fn end_send(&mut self, now: Instant) {
        self.settle(now, Evidence::Exit, None);
        self.slot = Slot::Free;
    }

    pub(super) fn forget_input(&mut self) {
        self.interrupt = None;
        self.book.outbox.drop_input();
        if matches!(self.slot, Slot::Draining) {
            self.slot = Slot::Free;
        }
    }

    pub(super) fn settle(
        &mut self,
        now: Instant,
        evidence: Evidence,
        waiting_for: Option<WaitingFor>,
    ) {
        // During a close a send ends with the session and as nothing else (contract N11).
        if self.quiescence.is_closing() && evidence != Evidence::Exit {
            return;
        }
        self.write_pending();
        let draining = self.book.outbox.has_input() || self.interrupt.is_some();
        let next = if draining { Slot::Draining } else { Slot::Free };
        let Slot::Active(send) = std::mem::replace(&mut self.slot, next) else {
            return;
        };
        let (viewport, viewport_cut) = self.book.delta.take(&self.screen);
        let (output, output_cut) = self.book.output.take(&self.screen);
        let report = std::mem::take(&mut self.book.report);
        let result = SendResult {
            viewport,
            wait_reason: evidence.reason(),
            evidence,
            waiting_for,
            status: self.status,
            truncated: viewport_cut || output_cut,
            exit_code: report.exit_code,
            exit_codes: report.exit_codes,
            command: report.command,
            cwd: self.book.cwd.clone(),
            output,
            duration: now.saturating_duration_since(send.began),
        };
        self.publish(&send, Ok(result));
    }

    pub(super) fn publish(&mut self, send: &ActiveSend, outcome: SendOutcome) {
        self.settled = true;
        if send.purpose == Purpose::Startup {
            self.motd = self.text_before_prompt();
            self.startup = Some(outcome);
        } else if send.wanted {
            self.outcomes.push((send.id, outcome));
        }
    }

    fn text_before_prompt(&self) -> String {
        let mut text = String::new();
        if let Some(prompt) = self.book.first_prompt {
            self.screen
                .text_between(Position::default(), prompt, &mut text);
        }
        if text.len() > LONGEST_MOTD {
            let from = text.ceil_char_boundary(text.len() - LONGEST_MOTD);
            text.drain(..from);
        }
        text
    }
}
