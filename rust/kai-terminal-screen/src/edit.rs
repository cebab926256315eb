//! Erasing, inserting, deleting and scrolling.

use crate::display::Place;
use crate::{Display, Event, Sink};

impl Display {
    /// Moves the rows of a region up; new rows come in at its bottom. What leaves at the top of the primary screen
    /// goes to the scrollback.
    pub(crate) fn scroll_up(
        &mut self,
        top: usize,
        bottom: usize,
        count: usize,
        sink: &mut dyn Sink,
    ) {
        let keep = top == 0 && !self.modes.alternate_screen;
        let blank = self.blank_style();
        if top > 0 {
            self.sever_above(top);
        }
        for _ in 0..count.min(bottom - top + 1) {
            if keep {
                self.leave_top(sink);
            }
            let rows = &mut self.grid_mut().rows;
            if top == 0 && bottom + 1 == rows.len() {
                // The usual case: one row moves, whatever the height.
                rows.rotate_left(1);
            } else if let Some(row) = rows.remove(top) {
                rows.insert(bottom, row);
            }
            rows[bottom].reset(blank);
        }
    }

    /// Hands the top row of the primary screen to the scrollback; the row itself is the caller's to take away.
    pub(crate) fn leave_top(&mut self, sink: &mut dyn Sink) {
        let Some(row) = self.primary.rows.front() else {
            return;
        };
        let (at, text) = (self.history.end(), row.text());
        self.history.push(text, row.runs(), row.wrapped);
        sink.row_left(at.line, at.offset, text, row.wrapped);
    }

    /// Moves the rows of a region down; what leaves at its bottom is lost.
    pub(crate) fn scroll_down(&mut self, top: usize, bottom: usize, count: usize) {
        let blank = self.blank_style();
        self.sever_above(top);
        self.sever_below(bottom);
        for _ in 0..count.min(bottom - top + 1) {
            let Some(mut row) = self.grid_mut().rows.remove(bottom) else {
                return;
            };
            row.reset(blank);
            self.grid_mut().rows.insert(top, row);
        }
        self.grid_mut().rows[bottom].wrapped = false;
    }

    /// Deletes rows from the cursor's on (DL). They are lost, at the top of the screen too.
    pub(crate) fn delete_rows(&mut self, count: usize) {
        let (row, bottom, blank) = (self.place.row, self.bottom, self.blank_style());
        if !(self.top..=bottom).contains(&row) {
            return;
        }
        self.sever_above(row);
        self.sever_below(bottom);
        for _ in 0..count.min(bottom - row + 1) {
            let Some(mut line) = self.grid_mut().rows.remove(row) else {
                return;
            };
            line.reset(blank);
            self.grid_mut().rows.insert(bottom, line);
        }
        self.carriage_return();
    }

    /// Inserts rows at the cursor's (IL).
    pub(crate) fn insert_rows(&mut self, count: usize) {
        if !(self.top..=self.bottom).contains(&self.place.row) {
            return;
        }
        self.scroll_down(self.place.row, self.bottom, count);
        self.carriage_return();
    }

    fn carriage_return(&mut self) {
        self.place.col = 0;
        self.place.pending = false;
    }

    /// What stands in a row from now on does not continue the row above it, which may be in the scrollback.
    pub(crate) fn sever_above(&mut self, row: usize) {
        match row.checked_sub(1) {
            Some(above) => self.grid_mut().rows[above].wrapped = false,
            None if self.modes.alternate_screen => {}
            None => self.history.close_line(),
        }
    }

    /// What stands below a row from now on does not continue it.
    pub(crate) fn sever_below(&mut self, row: usize) {
        self.grid_mut().rows[row].wrapped = false;
    }

    /// Erases in the display (ED).
    pub(crate) fn erase_display(&mut self, kind: usize, sink: &mut dyn Sink) {
        let Place { row, col, .. } = self.place;
        let behind = self.behind_last_column();
        let (columns, blank) = (self.columns, self.blank_style());
        let rows = &mut self.grid_mut().rows;
        let from_top = match kind {
            0 => {
                self.place.pending = false;
                let rows = &mut self.grid_mut().rows;
                rows[row].erase(if behind { columns } else { col }, columns, columns, blank);
                rows[row].wrapped = false;
                rows.iter_mut()
                    .skip(row + 1)
                    .for_each(|line| line.reset(blank));
                row == 0 && col == 0 && !behind
            }
            1 => {
                rows.iter_mut().take(row).for_each(|line| line.reset(blank));
                rows[row].erase(0, col + 1, columns, blank);
                true
            }
            2 => {
                for line in rows {
                    line.reset(blank);
                }
                true
            }
            3 => {
                self.history.clear();
                sink.event(self, Event::ScrollbackCleared);
                return;
            }
            _ => return,
        };
        if from_top && !self.modes.alternate_screen {
            self.sever_above(0);
            sink.event(self, Event::Cleared);
        }
    }

    /// The last column was just written; what a back tab leaves pending does not count.
    fn behind_last_column(&self) -> bool {
        self.place.pending && self.place.col + 1 == self.columns
    }

    /// Erases in the line (EL).
    pub(crate) fn erase_line(&mut self, kind: usize) {
        let (col, columns, blank) = (self.place.col, self.columns, self.blank_style());
        if kind == 0 && self.behind_last_column() {
            // Nothing is right of the cursor, but the next character does not wrap any more, as in xterm. The one in
            // the last column stays, which xterm erases: a coloured grep would lose the ends of its longest lines.
            self.place.pending = false;
            self.row_mut().wrapped = false;
            return;
        }
        let row = self.row_mut();
        match kind {
            0 => row.erase(col, columns, columns, blank),
            1 => row.erase(0, col + 1, columns, blank),
            2 => row.erase(0, columns, columns, blank),
            _ => {}
        }
    }

    /// Erases characters from the cursor on (ECH).
    pub(crate) fn erase_characters(&mut self, count: usize) {
        let (col, columns, blank) = (self.place.col, self.columns, self.blank_style());
        self.place.pending = false;
        self.row_mut()
            .erase(col, col.saturating_add(count), columns, blank);
    }

    /// Shifts the rows of the region sideways from a column on: left by deleting, right by inserting
    /// (SL, SR, DECDC, DECIC).
    pub(crate) fn shift_columns(&mut self, column: usize, count: usize, left: bool) {
        if !(self.top..=self.bottom).contains(&self.place.row) {
            return;
        }
        let (top, bottom, columns, blank) =
            (self.top, self.bottom, self.columns, self.blank_style());
        for row in self.grid_mut().rows.range_mut(top..=bottom) {
            if left {
                row.delete(column, count, columns, blank);
            } else {
                row.insert_blanks(column, count, columns, blank);
            }
        }
    }

    /// Fills the screen with E (DECALN).
    pub(crate) fn alignment_test(&mut self, sink: &mut dyn Sink) {
        let columns = self.columns;
        let text = "E".repeat(columns);
        for row in &mut self.grid_mut().rows {
            row.reset(crate::style::StyleId::BLANK);
            row.append(&text, columns, crate::style::StyleId::DEFAULT);
        }
        self.sever_above(0);
        self.reset_region();
        self.place = Place::default();
        if !self.modes.alternate_screen {
            sink.event(self, Event::Cleared);
        }
    }
}
