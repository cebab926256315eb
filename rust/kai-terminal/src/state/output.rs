//! What the shell's commands printed: everything between the start of a command and its end, and nothing else.

use super::tail::Tail;
use kai_terminal_screen::{Display, Position};

/// The output of the commands since the last `take`.
#[derive(Debug)]
pub(super) struct Output {
    text: Tail,
    /// Where the running command's output goes on; `None` while none runs.
    from: Option<Position>,
    /// Where an end stood that does not count yet.
    suspended: Option<Position>,
    /// Something ran since the last `take`.
    any: bool,
    /// Something was typed while a command ran: its echo cannot be told from what the command printed.
    mixed: bool,
}

impl Output {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            text: Tail::new(limit),
            from: None,
            suspended: None,
            any: false,
            mixed: false,
        }
    }

    pub(super) fn begin(&mut self, at: Position) {
        self.from = Some(at);
        self.suspended = None;
        self.any = true;
    }

    pub(super) fn running(&self) -> bool {
        self.from.is_some()
    }

    /// Text was typed. Into a running command it may be echoed.
    pub(super) fn typed(&mut self) {
        self.mixed |= self.from.is_some();
    }

    pub(super) fn row_left(&mut self, line: u64, offset: usize, text: &str, wrapped: bool) {
        let Some(from) = self.from else { return };
        let end = Position {
            line,
            offset: offset + text.len(),
        };
        if from.line > line || (from.line == line && from.offset > end.offset) {
            return;
        }
        let skip = if from.line == line {
            from.offset.saturating_sub(offset)
        } else {
            0
        };
        self.text
            .push_row(text.get(skip..).unwrap_or_default(), wrapped);
        self.from = Some(if wrapped {
            end
        } else {
            Position {
                line: line + 1,
                offset: 0,
            }
        });
    }

    /// The screen was cleared: what stood on it is gone, what follows begins at its top.
    pub(super) fn cleared(&mut self, start: Position) {
        if let Some(from) = &mut self.from {
            *from = start.min(*from);
        }
    }

    /// The command's output ends here.
    pub(super) fn end(&mut self, display: &Display, at: Position) {
        self.flush(display, at);
        self.from = None;
        self.suspended = None;
    }

    /// It may have ended here: nothing is added until that is known.
    pub(super) fn suspend(&mut self, display: &Display, at: Position) {
        if self.from.is_some() {
            self.flush(display, at);
            self.from = None;
            self.suspended = Some(at);
        }
    }

    /// It had not.
    pub(super) fn resume(&mut self) {
        if let Some(at) = self.suspended.take() {
            self.from = Some(at);
        }
    }

    /// Gives what was printed since the last `take`, whether its beginning was dropped, and starts again.
    pub(super) fn take(&mut self, display: &Display) -> (Option<String>, bool) {
        if self.from.is_some() {
            self.flush(display, display.position());
        }
        let (text, truncated) = self.text.take();
        let known = self.any && !self.mixed;
        self.any = self.from.is_some();
        self.mixed = false;
        (known.then_some(text), known && truncated)
    }

    fn flush(&mut self, display: &Display, to: Position) {
        let Some(from) = self.from else { return };
        let from = from.max(display.screen_start());
        if from < to {
            self.text
                .append(|text| display.text_between(from, to, text));
            self.from = Some(to);
        }
    }
}
