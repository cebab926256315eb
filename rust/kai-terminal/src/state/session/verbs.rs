//! What callers ask for.

use super::super::book::{Feed, Shell};
use super::super::readiness::Baseline;
use super::super::send::{self, Refusal, SendId, SendOutcome, SendRequest, Status};
use super::super::slot::{ActiveSend, Probe, Prompts, Purpose, Slot};
use super::{Interrupt, SessionState};
use crate::sys::Modes;
use std::time::Instant;

impl SessionState {
    /// Accepts a send, or says why not. `modes` and `foreground` are the terminal's at this moment, where known.
    pub fn begin_send(
        &mut self,
        now: Instant,
        request: &SendRequest,
        modes: Option<Modes>,
        foreground: Option<i32>,
    ) -> Result<SendId, Refusal> {
        self.check_can_type()?;
        if !matches!(self.slot, Slot::Free) {
            return Err(Refusal::Active);
        }
        let shell_up = matches!(self.book.shell, Shell::Prompt | Shell::Continuation)
            && self.is_shell(foreground);
        if request.run && !(shell_up && self.book.shell == Shell::Prompt) {
            return Err(Refusal::NotAtPrompt);
        }
        let canonical = modes.is_some_and(|modes| modes.canonical);
        let length = send::longest_line(&request.text);
        if canonical && length > send::LONGEST_LINE {
            return Err(Refusal::LineTooLong {
                length,
                limit: send::LONGEST_LINE,
            });
        }
        let (bytes, pasted) = send::encode(
            &request.text,
            request.submit,
            self.screen.modes().bracketed_paste,
        );
        let one_line = pasted || !request.text.contains(['\n', '\r']);
        let ends_line = request.submit || request.text.ends_with(['\n', '\r']);
        self.sends += 1;
        let id = SendId(self.sends);
        let decisive = shell_up && one_line && request.submit && !self.stray_prompt;
        let timeout = request.timeout.or(self.options.send_timeout);
        let wakes_nobody = bytes.is_empty() || (canonical && !ends_line && one_line);
        let send = ActiveSend {
            id,
            purpose: if request.run {
                Purpose::Run
            } else {
                Purpose::Send
            },
            wanted: true,
            began: now,
            deadline: timeout.and_then(|timeout| now.checked_add(timeout)),
            idle_silence: (!request.run)
                .then(|| request.idle_silence.unwrap_or(self.options.idle_silence)),
            prompts: if decisive {
                Prompts::Decisive
            } else {
                Prompts::NeedRest
            },
            prompts_before: self.book.prompts,
            marks_before: self.book.marks,
            baseline: Baseline {
                foreground,
                old_waits_count: wakes_nobody,
                ..Baseline::default()
            },
            cancelled: false,
            shell_interrupted: false,
            // Nothing to write counts as written.
            written: bytes.is_empty().then_some(now),
            pending: (!bytes.is_empty()).then_some(bytes),
            probe: Probe::default(),
        };
        let waits_on = send.pending.is_none();
        self.slot = Slot::Active(Box::new(send));
        if waits_on {
            self.wait_on(now, shell_up);
        } else {
            self.type_in(request, shell_up, canonical, ends_line);
        }
        Ok(id)
    }

    /// A send that writes nothing: what holds already settles it.
    fn wait_on(&mut self, now: Instant, shell_up: bool) {
        if shell_up && !self.stray_prompt {
            self.settle_at_prompt(now);
        } else if let Slot::Active(send) = &mut self.slot {
            send.probe.restart(now);
        }
    }

    fn type_in(&mut self, request: &SendRequest, shell_up: bool, canonical: bool, ends_line: bool) {
        self.book.output.typed();
        if shell_up {
            if ends_line {
                if self.book.shell == Shell::Prompt {
                    self.book.submitted = Some(request.text.clone());
                }
                self.book.shell = Shell::Busy;
            } else {
                self.book.shell = Shell::Typed;
            }
            if !canonical {
                // The shell edits its line itself: it is not in a read now, so a read that is seen later is a new one.
                self.write_pending();
            }
        }
    }

    pub(super) fn write_pending(&mut self) {
        if let Slot::Active(send) = &mut self.slot
            && let Some(bytes) = send.pending.take()
        {
            self.book.outbox.push_input(&bytes);
        }
    }

    /// Types bytes beside any send: keys and mouse reports.
    pub fn type_bytes(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        self.check_can_type()?;
        self.book.outbox.push_input(bytes);
        self.book.output.typed();
        if matches!(self.book.shell, Shell::Prompt | Shell::Continuation) {
            self.book.shell = Shell::Typed;
        }
        Ok(())
    }

    fn check_can_type(&self) -> Result<(), Refusal> {
        if self.quiescence.is_closing() {
            return Err(Refusal::Closing);
        }
        if self.status != Status::Running {
            return Err(Refusal::Exited);
        }
        Ok(())
    }

    /// Drops what was not written yet and asks for an interrupt. `false` once the send has settled.
    pub fn cancel(&mut self, id: SendId) -> bool {
        let Slot::Active(send) = &mut self.slot else {
            return false;
        };
        if send.id != id {
            return false;
        }
        send.pending = None;
        send.cancelled = true;
        self.book.outbox.drop_input();
        self.interrupt = Some(Interrupt::Asked);
        true
    }

    /// What the live send has produced since the last call; nothing once it has settled.
    pub fn read_output(&mut self, id: SendId) -> (String, bool) {
        if self.is_active(id) {
            self.book.delta.take(&self.screen)
        } else {
            (String::new(), false)
        }
    }

    pub fn has_output(&self, id: SendId) -> bool {
        self.is_active(id) && self.book.delta.has_unread(&self.screen)
    }

    pub fn is_active(&self, id: SendId) -> bool {
        matches!(&self.slot, Slot::Active(send) if send.id == id)
    }

    /// The outcome of a settled send; it is given once.
    pub fn outcome(&mut self, id: SendId) -> Option<SendOutcome> {
        let at = self
            .outcomes
            .iter()
            .position(|(settled, _)| *settled == id)?;
        Some(self.outcomes.swap_remove(at).1)
    }

    /// Nobody will ask for the outcome of this send.
    pub fn forget(&mut self, id: SendId) {
        self.outcomes.retain(|(settled, _)| *settled != id);
        if let Slot::Active(send) = &mut self.slot
            && send.id == id
        {
            send.wanted = false;
        }
    }

    /// Whether a send has settled since the last call.
    pub fn take_settled(&mut self) -> bool {
        std::mem::take(&mut self.settled)
    }

    /// How the start went, once that is known.
    pub fn startup(&self) -> Option<&SendOutcome> {
        self.startup.as_ref()
    }

    pub fn resize(&mut self, cols: u16, rows: u16) {
        let mut feed = Feed {
            book: &mut self.book,
            shell_in_foreground: false,
        };
        self.screen.resize(cols, rows, &mut feed);
    }

    /// Begins a close or joins one; gives whether the managed range is to be asked to end.
    pub fn begin_close(&mut self, now: Instant) -> bool {
        self.quiescence.begin_close(now)
    }
}
