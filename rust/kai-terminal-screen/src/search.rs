//! Looking for text in the document.

use memchr::memmem;

use crate::{Display, Position};

impl Display {
    /// Where a text stands first, at or behind a position. It is looked for in each logical line, so a wrapped row
    /// does not hide it; a text that holds a line feed is in no line.
    pub fn find(&self, text: &str, from: Position) -> Option<Position> {
        self.find_all(text, from, 1).pop()
    }

    /// Every place at which a text stands, from a position on, at most `limit` of them. They do not overlap.
    pub fn find_all(&self, text: &str, from: Position, limit: usize) -> Vec<Position> {
        let finder = memmem::Finder::new(text);
        let mut found = Vec::new();
        if text.is_empty() {
            return found;
        }
        for (start, line) in self.lines_from(from.line) {
            let skip = if start.line == from.line {
                from.offset.saturating_sub(start.offset)
            } else {
                0
            };
            let skip = line.ceil_char_boundary(skip);
            for offset in finder.find_iter(&line.as_bytes()[skip..]) {
                if found.len() == limit {
                    return found;
                }
                found.push(Position {
                    line: start.line,
                    offset: start.offset + skip + offset,
                });
            }
        }
        found
    }
}
