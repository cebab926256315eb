//! What was printed and not yet handed out: the output of the live send, as a person would have seen it.

use super::tail::Tail;
use kai_terminal_screen::{Display, Position};

/// Where reading stands, by whole lines, and what left the screen since.
///
/// A line is handed out when the cursor has gone on from it. The last, unfinished line is handed out as it stands; when
/// it has grown, the rest follows, and when it was rewritten, a carriage return and the whole of it.
#[derive(Debug)]
pub(super) struct Delta {
    /// The first line that was not handed out whole.
    line: u64,
    /// What of that line was handed out.
    delivered: String,
    /// The rows of `line` and later that have left the screen.
    left: Tail,
}

impl Delta {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            line: 0,
            delivered: String::new(),
            left: Tail::new(limit),
        }
    }

    pub(super) fn row_left(&mut self, line: u64, text: &str, wrapped: bool) {
        if line >= self.line {
            self.left.push_row(text, wrapped);
        }
    }

    /// The screen was cleared: its lines begin again at `start`.
    pub(super) fn cleared(&mut self, start: u64) {
        if self.line >= start {
            self.line = start;
            self.delivered.clear();
        }
    }

    /// Whether `take` would give something.
    pub(super) fn has_unread(&self, display: &Display) -> bool {
        if !self.left.is_empty() {
            return true;
        }
        let end = document_end(display);
        end.line > self.line || self.on_screen(display, end) != self.delivered
    }

    /// Gives what is unread and whether some of it was lost, and counts it as read.
    pub(super) fn take(&mut self, display: &Display) -> (String, bool) {
        let end = document_end(display);
        let rest = self.on_screen(display, end);
        let (mut text, truncated) = self.left.take();
        text.push_str(&rest);
        let last_line = text.rfind('\n').map_or(0, |at| at + 1);
        let unfinished = text[last_line..].to_owned();
        let fresh = if truncated {
            text
        } else {
            self.without_delivered(text)
        };
        self.line = end.line;
        self.delivered = unfinished;
        (fresh, truncated)
    }

    fn on_screen(&self, display: &Display, end: Position) -> String {
        let mut text = String::new();
        let from = Position {
            line: self.line,
            offset: 0,
        }
        .max(display.screen_start());
        if from <= end {
            display.text_between(from, end, &mut text);
        }
        text
    }

    fn without_delivered(&self, text: String) -> String {
        if self.delivered.is_empty() {
            return text;
        }
        let first_line = text.split('\n').next().unwrap_or_default();
        if first_line.starts_with(&self.delivered) {
            text[self.delivered.len()..].to_owned()
        } else {
            format!("\r{text}")
        }
    }
}

/// The end of the document: the cursor's line, or the last line with text, whichever is lower.
pub(super) fn document_end(display: &Display) -> Position {
    let last = display.document_end().saturating_sub(1);
    Position {
        line: last,
        offset: usize::MAX,
    }
    .max(display.position())
}
