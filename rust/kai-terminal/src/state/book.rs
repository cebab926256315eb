//! What is written down while the screen is fed: marks, unread output, the output of commands, replies.

use super::delta::Delta;
use super::marks::{self, Gate, Key, Kind, Mark, Parsed, Verdict};
use super::outbox::Outbox;
use super::output::Output;
use kai_terminal_screen::{Display, Event, Position, Sink};

/// What happened that a person may want to know when something looks odd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Marks that did not carry the session's key.
    pub foreign_marks: u64,
    /// Marks with the key that did not count: old ones, or printed by a foreground program.
    pub refused_marks: u64,
    /// Replies that no program read.
    pub dropped_replies: u64,
    /// Queries that the screen does not answer.
    pub unanswered_queries: u64,
}

/// Where the shell stands, by its marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shell {
    /// No mark yet, or a program that emits none.
    Unknown,
    /// The prompt is up, and nothing was typed at it.
    Prompt,
    /// Keys, or text without Enter, were typed at the prompt. The next prompt, drawn again or new, says that it is up.
    Typed,
    /// The secondary prompt is up: the command is not complete.
    Continuation,
    /// Something was submitted, a command runs, or a prompt is being drawn.
    Busy,
}

/// The last command that ended, as the shell reported it.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) exit_code: Option<i32>,
    pub(super) exit_codes: Option<Vec<i32>>,
    pub(super) command: Option<String>,
}

/// A mark whose verdict waits for the next one, with where it stood.
#[derive(Debug)]
struct Held {
    mark: Mark,
    at: Position,
}

#[derive(Debug)]
pub(super) struct Book {
    key: Option<Key>,
    gate: Gate,
    held: Vec<Held>,
    pub(super) shell: Shell,
    /// How many marks have counted.
    pub(super) marks: u64,
    /// How many prompts, primary and secondary, have come up whole.
    pub(super) prompts: u64,
    pub(super) cwd: Option<String>,
    pub(super) report: Report,
    /// What was submitted at the prompt and has not started yet.
    pub(super) submitted: Option<String>,
    /// The text of the command that runs.
    running: Option<String>,
    /// The shell's own count of commands, where it keeps one.
    commands: u64,
    pub(super) delta: Delta,
    pub(super) output: Output,
    pub(super) outbox: Outbox,
    pub(super) first_prompt: Option<Position>,
    foreign_marks: u64,
    unanswered_queries: u64,
}

impl Book {
    pub(super) fn new(key: Option<Key>, max_output: usize) -> Self {
        Self {
            key,
            gate: Gate::default(),
            held: Vec::new(),
            shell: Shell::Unknown,
            marks: 0,
            prompts: 0,
            cwd: None,
            report: Report::default(),
            submitted: None,
            running: None,
            commands: 0,
            delta: Delta::new(max_output),
            output: Output::new(max_output),
            outbox: Outbox::default(),
            first_prompt: None,
            foreign_marks: 0,
            unanswered_queries: 0,
        }
    }

    pub(super) fn counters(&self) -> Counters {
        Counters {
            foreign_marks: self.foreign_marks,
            refused_marks: self.gate.refused(),
            dropped_replies: self.outbox.dropped_replies(),
            unanswered_queries: self.unanswered_queries,
        }
    }

    fn handle_osc(&mut self, display: &Display, params: &[&[u8]], shell_in_foreground: bool) {
        let mark = match &self.key {
            Some(key) => marks::parse(key, params),
            None => Parsed::Unrelated,
        };
        match mark {
            Parsed::Ours(mark) => self.handle_mark(display, mark, shell_in_foreground),
            Parsed::Foreign => self.foreign_marks += 1,
            Parsed::Unrelated => {}
        }
    }

    fn handle_mark(&mut self, display: &Display, mark: Mark, shell_in_foreground: bool) {
        let at = display.position();
        match self.gate.judge(&mark, shell_in_foreground) {
            Verdict::Accepted => {
                self.refuse_held();
                self.apply(display, mark, at);
            }
            Verdict::AcceptedWithHeld => {
                for held in std::mem::take(&mut self.held) {
                    self.apply(display, held.mark, held.at);
                }
                self.apply(display, mark, at);
            }
            Verdict::Held => {
                if mark.kind != Kind::SecondaryPrompt {
                    self.output.suspend(display, at);
                }
                self.held.push(Held { mark, at });
            }
            Verdict::Redrawn => {
                self.refuse_held();
                if mark.kind == Kind::PromptEnd && self.shell == Shell::Typed {
                    self.shell = Shell::Prompt;
                    self.prompts += 1;
                    self.marks += 1;
                }
            }
            Verdict::Refused => self.refuse_held(),
        }
    }

    pub(super) fn holds_marks(&self) -> bool {
        !self.held.is_empty()
    }

    /// The shell was seen at rest: the marks that were held are its.
    pub(super) fn accept_held(&mut self, display: &Display) {
        self.gate.accept_held();
        for held in std::mem::take(&mut self.held) {
            self.apply(display, held.mark, held.at);
        }
    }

    fn refuse_held(&mut self) {
        if !self.held.is_empty() {
            self.held.clear();
            self.output.resume();
        }
    }

    fn apply(&mut self, display: &Display, mark: Mark, at: Position) {
        self.marks += 1;
        match mark.kind {
            Kind::CommandStart => {
                self.shell = Shell::Busy;
                self.running = mark.text.or_else(|| self.submitted.take());
                self.submitted = None;
                // A pasted text of two commands starts the second without an end of the first.
                self.output.end(display, at);
                self.output.begin(at);
            }
            Kind::OutputEnd => self.output.end(display, at),
            Kind::CommandEnd => {
                self.output.end(display, at);
                self.commands = mark.commands.unwrap_or(self.commands);
                let command = self.running.take();
                self.report = Report {
                    exit_code: mark.status,
                    exit_codes: mark.stages,
                    command,
                };
            }
            Kind::PromptStart => self.begin_prompt(display, mark, at),
            Kind::PromptEnd => {
                self.shell = Shell::Prompt;
                self.prompts += 1;
            }
            Kind::SecondaryPrompt => {
                self.shell = Shell::Continuation;
                self.prompts += 1;
            }
        }
    }

    fn begin_prompt(&mut self, display: &Display, mark: Mark, at: Position) {
        self.shell = Shell::Busy;
        self.output.end(display, at);
        self.first_prompt.get_or_insert(at);
        self.cwd = mark.cwd;
        // Shells that cannot say when a command ends say it here, and count their commands where they can.
        let count = mark.commands.unwrap_or(self.commands);
        let ended = if mark.commands.is_some() {
            count > self.commands
        } else {
            self.running.is_some()
                || self
                    .submitted
                    .as_ref()
                    .is_some_and(|text| !text.trim().is_empty())
        };
        if ended && mark.status.is_some() {
            let command = self.running.take().or_else(|| self.submitted.take());
            self.report = Report {
                exit_code: mark.status,
                exit_codes: mark.stages,
                command,
            };
        }
        self.commands = count;
        self.running = None;
        self.submitted = None;
    }
}

/// The book, open while bytes are fed that were read with this foreground.
pub(super) struct Feed<'a> {
    pub(super) book: &'a mut Book,
    pub(super) shell_in_foreground: bool,
}

impl Sink for Feed<'_> {
    fn reply(&mut self, bytes: &[u8]) {
        self.book.outbox.push_reply(bytes);
    }

    fn row_left(&mut self, line: u64, offset: usize, text: &str, wrapped: bool) {
        self.book.delta.row_left(line, text, wrapped);
        self.book.output.row_left(line, offset, text, wrapped);
    }

    fn event(&mut self, display: &Display, event: Event<'_>) {
        match event {
            Event::Osc(params) => self
                .book
                .handle_osc(display, params, self.shell_in_foreground),
            Event::Cleared => {
                let start = display.screen_start();
                self.book.delta.cleared(start.line);
                self.book.output.cleared(start);
            }
            Event::UnknownQuery(_) => self.book.unanswered_queries += 1,
            Event::Title(_) | Event::Bell | Event::ScrollbackCleared => {}
        }
    }
}
