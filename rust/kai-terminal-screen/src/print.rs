//! Printing: characters go to the cursor and move it.

use crate::width::char_width;
use crate::{Display, Event, Sink};

impl Display {
    /// Prints a run of printable ASCII at once.
    pub(crate) fn print_ascii(&mut self, text: &str, sink: &mut dyn Sink) {
        if !self.takes_runs() {
            text.chars()
                .for_each(|character| self.print(character, sink));
            return;
        }
        self.last = text.chars().next_back();
        let mut rest = text;
        while !rest.is_empty() {
            if self.place.pending {
                self.wrap(sink);
            }
            let (now, later) = rest.split_at(rest.len().min(self.columns - self.place.col));
            self.put_run(now, now.len());
            rest = later;
        }
    }

    /// Prints a run of characters without controls, as much of it at once as the row takes.
    pub(crate) fn print_text(&mut self, text: &str, sink: &mut dyn Sink) {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if !self.takes_runs() || !(1..=self.columns).contains(&char_width(first)) {
                self.print(first, sink);
                rest = &rest[first.len_utf8()..];
                continue;
            }
            if self.place.pending {
                self.wrap(sink);
            }
            let room = self.columns - self.place.col;
            let (mut len, mut width) = (0, 0);
            for character in rest.chars() {
                let next = char_width(character);
                if next == 0 || width + next > room {
                    break;
                }
                len += character.len_utf8();
                width += next;
            }
            if len == 0 {
                // A wide character at the edge.
                len = first.len_utf8();
                self.print(first, sink);
            } else {
                self.last = rest[..len].chars().next_back();
                self.put_run(&rest[..len], width);
            }
            rest = &rest[len..];
        }
    }

    /// Characters stand for themselves and only follow one another, so that many may be written at once.
    fn takes_runs(&self) -> bool {
        !self.modes.insert && self.modes.autowrap && self.charsets.is_plain()
    }

    /// Writes characters for which the row has room.
    fn put_run(&mut self, text: &str, width: usize) {
        let (column, style) = (self.place.col, self.written_style());
        self.row_mut().put(column, text, width, style);
        self.advance(width);
    }

    /// Prints one character.
    pub(crate) fn print(&mut self, character: char, sink: &mut dyn Sink) {
        let character = self.charsets.map(character);
        match char_width(character) {
            0 => self.combine(character),
            width => {
                self.last = Some(character);
                self.put(character, width, sink);
            }
        }
    }

    fn put(&mut self, character: char, width: usize, sink: &mut dyn Sink) {
        if width > self.columns {
            return;
        }
        if self.place.pending && self.modes.autowrap {
            self.wrap(sink);
        }
        if self.place.col + width > self.columns {
            if !self.modes.autowrap {
                return;
            }
            // A wide character does not fit into the last column: the column stays blank and the row wraps.
            let (column, columns, blank) = (self.place.col, self.columns, self.blank_style());
            self.row_mut().erase(column, columns, columns, blank);
            self.wrap(sink);
        }
        let column = self.place.col;
        if self.modes.insert {
            let (columns, blank) = (self.columns, self.blank_style());
            self.row_mut().insert_blanks(column, width, columns, blank);
        }
        let mut buffer = [0; 4];
        self.put_run(character.encode_utf8(&mut buffer), width);
    }

    /// Moves the cursor behind what was written; at the right edge it waits for the next character.
    fn advance(&mut self, width: usize) {
        let column = self.place.col + width;
        self.place.pending = column >= self.columns;
        self.place.col = column.min(self.columns - 1);
    }

    /// A zero-width character joins the cell left of the cursor.
    fn combine(&mut self, character: char) {
        let column = if self.place.pending {
            self.columns - 1
        } else if let Some(column) = self.place.col.checked_sub(1) {
            column
        } else {
            return;
        };
        self.row_mut().combine(column, character);
    }

    /// Goes on in the next row, which belongs to the same logical line.
    fn wrap(&mut self, sink: &mut dyn Sink) {
        self.row_mut().wrapped = true;
        self.place.col = 0;
        self.place.pending = false;
        if self.place.row == self.bottom {
            self.scroll_up(self.top, self.bottom, 1, sink);
        } else if self.place.row + 1 < self.rows {
            self.place.row += 1;
        } else {
            // The last row, below the region: it is written over.
            self.row_mut().wrapped = false;
        }
    }

    /// Prints the last character again (REP).
    pub(crate) fn repeat(&mut self, character: Option<char>, count: usize, sink: &mut dyn Sink) {
        let Some(character) = character else { return };
        // More than a screenful shows no more than a screenful does.
        for _ in 0..count.min(self.columns * self.rows) {
            self.put(character, char_width(character), sink);
        }
    }

    /// A single control (C0).
    pub(crate) fn control(&mut self, byte: u8, sink: &mut dyn Sink) {
        self.last = None;
        match byte {
            0x07 => sink.event(self, Event::Bell),
            0x08 => self.backspace(),
            b'\t' => self.tab_forward(1),
            0x0a..=0x0c => {
                if self.modes.newline {
                    self.place.col = 0;
                }
                self.index(sink);
            }
            b'\r' => {
                self.place.col = 0;
                self.place.pending = false;
            }
            0x0e => self.charsets.shift(1),
            0x0f => self.charsets.shift(0),
            _ => {}
        }
    }

    fn backspace(&mut self) {
        let place = &mut self.place;
        let wraps_back = self.modes.reverse_wrap && self.modes.autowrap;
        if place.pending && wraps_back {
            place.pending = false;
        } else if place.col > 0 {
            place.col -= 1;
            place.pending = false;
        } else if wraps_back && place.row > 0 {
            place.row -= 1;
            place.col = self.columns - 1;
        }
    }

    pub(crate) fn tab_forward(&mut self, count: usize) {
        for _ in 0..count.min(self.columns) {
            let next = (self.place.col + 1..self.columns).find(|column| self.tabs[*column]);
            self.place.col = next.unwrap_or(self.columns - 1);
        }
    }

    pub(crate) fn tab_back(&mut self, count: usize) {
        for _ in 0..count.min(self.columns) {
            let next = (0..self.place.col).rev().find(|column| self.tabs[*column]);
            self.place.col = next.unwrap_or(0);
        }
    }

    /// Down one row, scrolling at the bottom of the region (IND, LF).
    pub(crate) fn index(&mut self, sink: &mut dyn Sink) {
        self.place.pending = false;
        if self.place.row == self.bottom {
            self.sever_below(self.bottom);
            self.scroll_up(self.top, self.bottom, 1, sink);
        } else if self.place.row + 1 < self.rows {
            self.place.row += 1;
        }
    }

    /// Up one row, scrolling at the top of the region (RI).
    pub(crate) fn reverse_index(&mut self) {
        self.place.pending = false;
        if self.place.row == self.top {
            self.scroll_down(self.top, self.bottom, 1);
        } else {
            self.place.row = self.place.row.saturating_sub(1);
        }
    }
}
