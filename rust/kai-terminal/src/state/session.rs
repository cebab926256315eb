//! One session as a deterministic machine: the send slot, what the marks and the facts say, and the end.
//!
//! The driver calls `handle_*` when something happened, and afterwards, until nothing is left to do: `next_act` (facts
//! to look up, signals to send), `transmit` and `handle_written` (bytes to write), `deadline` (when to call
//! `handle_timeout`). Callers use the verbs: `begin_send`, `cancel`, `read_output`. Settled sends are picked up with
//! `outcome`.

use super::book::{Book, Counters, Feed, Shell};
use super::delta::document_end;
use super::marks::Key;
use super::quiescence::{Closing, Quiescence};
use super::readiness::{self, Baseline, Facts};
use super::send::{
    self, Evidence, Refusal, SendFailure, SendId, SendOutcome, SendRequest, SendResult, Status,
    WaitingFor,
};
use super::slot::{ActiveSend, Probe, Prompts, Slot};
use crate::sys::{ExitStatus, Modes, Process, Receipt};
use kai_terminal_screen::{Display, Options, Position, Screen};
use std::time::{Duration, Instant};

/// Where nothing of the shell's came since the write, its prompt counts only after a longer rest.
const LONG_REST: Duration = Duration::from_millis(20);
/// The most of what was printed before the first prompt that is kept.
const LONGEST_MOTD: usize = 64 * 1024;

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
    /// Look up the facts, discard unread input, interrupt the foreground, and call `handle_interrupted`.
    Interrupt,
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
    interrupt: bool,
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
            interrupt: false,
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
            run: self.options.startup != Startup::Evidence,
            startup: true,
            wanted: true,
            began: now,
            deadline: Some(now + self.options.startup_timeout),
            idle_silence: Some(self.options.idle_silence),
            pending: None,
            prompts: Prompts::Decisive,
            prompts_before: 0,
            marks_before: 0,
            baseline: Baseline {
                old_waits_count: true,
                ..Baseline::default()
            },
            cancelled: false,
            written: Some(now),
            probe: Probe::default(),
        }
    }

    // The verbs.

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
            run: request.run,
            startup: false,
            wanted: true,
            began: now,
            deadline: timeout.and_then(|timeout| now.checked_add(timeout)),
            idle_silence: Some(request.idle_silence.unwrap_or(self.options.idle_silence)),
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
            }
            if !canonical {
                // The shell edits its line itself: it is not in a read now, so a read that is seen later is a new one.
                self.write_pending();
            }
        }
    }

    fn write_pending(&mut self) {
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
        if bytes.iter().any(|byte| byte.is_ascii_control()) && self.book.shell != Shell::Unknown {
            // It may run what stands in the line; the shell's next mark tells.
            self.book.shell = Shell::Busy;
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
        self.interrupt = true;
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

    /// Begins a close or joins one; gives whether the managed range is to be asked to end.
    pub fn begin_close(&mut self, now: Instant) -> bool {
        self.quiescence.begin_close(now)
    }

    // What happened.

    pub fn handle_started(&mut self, now: Instant, pid: i32) {
        self.shell_pid = Some(pid);
        let immediate = self.options.startup == Startup::Immediate;
        if let Slot::Active(send) = &mut self.slot
            && send.startup
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
            send.prompts == Prompts::Decisive && send.written.is_some() && !self.interrupt;
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
            Slot::Draining if !self.interrupt => self.slot = Slot::Free,
            Slot::Draining | Slot::Free => {}
        }
    }

    /// What the terminal says, asked for by `Act::Examine`.
    pub fn handle_facts(&mut self, now: Instant, facts: &Facts) {
        let Slot::Active(send) = &mut self.slot else {
            return;
        };
        send.baseline.lock_was_free |= facts.reader_blocked == Some(false);
        send.probe.back_off(now);
        if self.shell_rests_at_prompt(now, facts) {
            self.settle_at_prompt(now);
            return;
        }
        let Slot::Active(send) = &self.slot else {
            return;
        };
        // A start-up file that reads is not the shell's prompt.
        if send.startup && self.options.startup == Startup::Marks {
            return;
        }
        if let Some(waiting_for) = readiness::blocking_read(facts, &send.baseline) {
            self.settle(now, Evidence::BlockingRead, Some(waiting_for));
        }
    }

    /// The interrupt was sent to `group` (`None`: it could not be sent). The facts are from just before.
    pub fn handle_interrupted(&mut self, now: Instant, facts: Facts, group: Option<i32>) {
        self.interrupt = false;
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
        let may = !send.startup || document_end(&self.screen) > Position::default();
        if idle && may {
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

    // What to do next.

    pub fn next_act(&mut self, now: Instant) -> Option<Act> {
        if self.interrupt {
            return Some(Act::Interrupt);
        }
        let Slot::Active(send) = &self.slot else {
            return None;
        };
        if send.pending.is_some() {
            return Some(Act::Baseline);
        }
        let waits =
            send.written.is_some() && self.shell_pid.is_some() && self.book.outbox.is_empty();
        if !waits || !send.probe.is_due(now) {
            return None;
        }
        Some(Act::Examine {
            threads: self.prompt_came() || send.cancelled,
        })
    }

    /// The bytes to write next.
    pub fn transmit(&self) -> Option<&[u8]> {
        if self.interrupt {
            None
        } else {
            self.book.outbox.front()
        }
    }

    /// When `handle_timeout` or `next_act` is due.
    pub fn deadline(&self) -> Option<Instant> {
        let Slot::Active(send) = &self.slot else {
            return None;
        };
        let waits =
            send.written.is_some() && self.shell_pid.is_some() && self.book.outbox.is_empty();
        let probe = send
            .probe
            .next()
            .filter(|_| waits && send.pending.is_none());
        let idle = send
            .idle_at(self.last_output)
            .filter(|_| !send.startup || document_end(&self.screen) > Position::default());
        [send.deadline, idle, probe].into_iter().flatten().min()
    }

    // How a send ends.

    fn is_shell(&self, foreground: Option<i32>) -> bool {
        foreground.is_some() && foreground == self.shell_pid
    }

    /// A prompt has come up since the live send was written, and is up now.
    fn prompt_came(&self) -> bool {
        let Slot::Active(send) = &self.slot else {
            return false;
        };
        matches!(self.book.shell, Shell::Prompt | Shell::Continuation)
            && self.book.prompts > send.prompts_before
    }

    fn shell_rests_at_prompt(&self, now: Instant, facts: &Facts) -> bool {
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

    fn settle_at_prompt(&mut self, now: Instant) {
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

    fn end_send(&mut self, now: Instant) {
        self.settle(now, Evidence::Exit, None);
        self.slot = Slot::Free;
    }

    fn forget_input(&mut self) {
        self.interrupt = false;
        self.book.outbox.drop_input();
        if matches!(self.slot, Slot::Draining) {
            self.slot = Slot::Free;
        }
    }

    fn settle(&mut self, now: Instant, evidence: Evidence, waiting_for: Option<WaitingFor>) {
        self.write_pending();
        let draining = self.book.outbox.has_input() || self.interrupt;
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

    fn publish(&mut self, send: &ActiveSend, outcome: SendOutcome) {
        self.settled = true;
        if send.startup {
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
