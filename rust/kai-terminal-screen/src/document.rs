//! The document: the scrollback followed by the primary screen, read as logical lines.

use std::borrow::Cow;

use crate::display::Place;
use crate::{Display, Position};

/// A page of the document. Offsets count lines from the newest one (0), numbers from the first line ever printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The lines in chronological order, joined by line feeds.
    pub text: String,
    /// How many lines the document holds now: the offsets that exist.
    pub total_lines: u64,
    /// The offset of the newest line of the page.
    pub line_begin: u64,
    /// One past the offset of its oldest line.
    pub line_end: u64,
    /// The number of its first line.
    pub first_line: u64,
    /// The first number whose line may still change.
    pub stable_end: u64,
    /// Something that belongs into the page was lost, not only left to another page.
    pub truncated: bool,
}

/// A stretch of a logical line.
struct Piece<'a> {
    start: Position,
    text: &'a str,
}

impl Display {
    /// Where the cursor is in the document; while the alternate screen shows, where the cursor of the primary one is
    /// that will be restored. The offset is not larger than the text of the line.
    pub fn position(&self) -> Position {
        let place = self.document_place();
        let mut position = self.row_position(place.row);
        let row = &self.primary.rows[place.row];
        let offset = if place.pending {
            row.full_text().len()
        } else {
            row.offset_of(place.col)
        };
        position.offset += offset.min(row.text().len());
        position
    }

    /// Where the top row of the primary screen is.
    pub fn screen_start(&self) -> Position {
        self.history.end()
    }

    /// The number of the oldest line kept.
    pub fn first_line(&self) -> u64 {
        self.history.start().line
    }

    /// One past the number of the last line of the document: the cursor's, or the last one that is not empty.
    pub fn document_end(&self) -> u64 {
        self.row_position(self.last_row()).line + 1
    }

    /// A whole logical line, without never-written blanks at its end.
    pub fn line(&self, number: u64) -> Option<String> {
        if !(self.first_line()..self.document_end()).contains(&number) {
            return None;
        }
        let mut text = String::new();
        let end = Position {
            line: number,
            offset: usize::MAX,
        };
        self.text_between(
            Position {
                line: number,
                offset: 0,
            },
            end,
            &mut text,
        );
        Some(text)
    }

    /// Adds the text between two positions, as far as it is still kept; lines are joined by line feeds.
    pub fn text_between(&self, from: Position, to: Position, out: &mut String) {
        let mut line = None;
        for piece in self.pieces_from(from.line) {
            if piece.start.line > to.line {
                return;
            }
            let cut = |position: Position, outside: usize| {
                if piece.start.line == position.line {
                    let offset = position.offset.saturating_sub(piece.start.offset);
                    piece.text.floor_char_boundary(offset)
                } else {
                    outside
                }
            };
            if line.is_some_and(|line| line != piece.start.line) {
                out.push('\n');
            }
            line = Some(piece.start.line);
            out.push_str(
                piece
                    .text
                    .get(cut(from, 0)..cut(to, piece.text.len()))
                    .unwrap_or_default(),
            );
        }
    }

    /// A page backwards from the newest line: `count` lines, the newest of them `offset` lines above the end.
    pub fn page(&self, offset: usize, count: usize) -> Page {
        let (offset, count) = (offset as u64, count as u64);
        let end = self.document_end();
        let newest_end = end.saturating_sub(offset);
        if newest_end <= self.first_line() || count == 0 {
            return Page {
                line_begin: offset,
                line_end: offset,
                ..self.empty_page(self.first_line())
            };
        }
        let wanted = newest_end.saturating_sub(count);
        let mut page = self.page_of(wanted.max(self.first_line()), newest_end);
        page.truncated |= wanted < self.first_line();
        page
    }

    /// A page forwards from an absolute line. Lines that are gone are skipped.
    pub fn page_from(&self, from_line: u64, count: usize) -> Page {
        let first = from_line.max(self.first_line());
        let end = first.saturating_add(count as u64).min(self.document_end());
        let mut page = if first < end {
            self.page_of(first, end)
        } else {
            self.empty_page(first)
        };
        page.truncated |= from_line < self.first_line();
        page
    }

    fn empty_page(&self, first_line: u64) -> Page {
        Page {
            total_lines: self.document_end() - self.first_line(),
            first_line,
            stable_end: self.screen_start().line,
            ..Page::default()
        }
    }

    /// The lines `first..end`, all of which exist.
    fn page_of(&self, first: u64, end: u64) -> Page {
        let document_end = self.document_end();
        let mut page = self.empty_page(first);
        page.line_begin = document_end - end;
        page.line_end = document_end - first;
        page.truncated = first == self.first_line() && self.history.start().offset > 0;
        let last = Position {
            line: end - 1,
            offset: usize::MAX,
        };
        self.text_between(
            Position {
                line: first,
                offset: 0,
            },
            last,
            &mut page.text,
        );
        page
    }

    /// The visible rows, without spaces at their ends.
    pub fn rows(&self) -> Vec<String> {
        self.grid()
            .rows
            .iter()
            .map(|row| row.text().trim_end_matches(' ').to_owned())
            .collect()
    }

    /// The visible rows as one text, without empty rows at its end.
    pub fn text(&self) -> String {
        let mut text = self.rows().join("\n");
        text.truncate(text.trim_end_matches('\n').len());
        text
    }

    /// The place of the cursor in the primary screen.
    pub(crate) fn document_place(&self) -> Place {
        if self.modes.alternate_screen {
            self.primary_place
        } else {
            self.place
        }
    }

    /// Where a row of the primary screen begins.
    fn row_position(&self, row: usize) -> Position {
        self.primary
            .rows
            .iter()
            .take(row)
            .fold(self.history.end(), after)
    }

    /// The last row that belongs to the document.
    pub(crate) fn last_row(&self) -> usize {
        let last = self
            .primary
            .rows
            .iter()
            .rposition(|row| !row.text().is_empty());
        last.unwrap_or(0).max(self.document_place().row)
    }

    /// The logical lines from `line` on, each with the position at which what is kept of it begins.
    pub(crate) fn lines_from(&self, line: u64) -> impl Iterator<Item = (Position, Cow<'_, str>)> {
        let mut pieces = self.pieces_from(line).peekable();
        std::iter::from_fn(move || {
            let first = pieces.next()?;
            let mut text = Cow::Borrowed(first.text);
            while let Some(more) = pieces.next_if(|piece| piece.start.line == first.start.line) {
                text.to_mut().push_str(more.text);
            }
            Some((first.start, text))
        })
    }

    /// The pieces of the lines from `line` on.
    fn pieces_from(&self, line: u64) -> impl Iterator<Item = Piece<'_>> {
        let kept = self.history.parts_from(line).map(|part| Piece {
            start: Position {
                line: part.line,
                offset: part.offset,
            },
            text: part.text,
        });
        let mut at = self.history.end();
        let shown = self
            .primary
            .rows
            .iter()
            .take(self.last_row() + 1)
            .map(move |row| {
                let start = at;
                at = after(at, row);
                Piece {
                    start,
                    text: row.text(),
                }
            });
        kept.chain(shown.skip_while(move |piece| piece.start.line < line))
    }
}

/// Where the row below begins.
fn after(at: Position, row: &crate::line::Line) -> Position {
    if row.wrapped {
        Position {
            offset: at.offset + row.full_text().len(),
            ..at
        }
    } else {
        Position {
            line: at.line + 1,
            offset: 0,
        }
    }
}
