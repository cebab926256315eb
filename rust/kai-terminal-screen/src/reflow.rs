//! Resizing: the text of the primary screen is wrapped anew, the alternate one is cut.
//!
//! Rows that are in the scrollback stay there, also when the screen grows: what a reader was told is final stays so.
//! Rows for which there is no room leave at the top; only what stands below the cursor and cannot be kept is lost,
//! as in xterm.

use std::collections::VecDeque;

use crate::display::{Place, default_tabs};
use crate::line::{Line, Run};
use crate::style::StyleId;
use crate::width::char_width;
use crate::{Display, Sink};

impl Display {
    pub(crate) fn resize(&mut self, columns: usize, rows: usize, sink: &mut dyn Sink) {
        if (columns, rows) == (self.columns, self.rows) {
            return;
        }
        let mut marks = [self.document_place(), self.primary.saved.place];
        self.primary.rows.truncate(self.last_row() + 1);
        if let Some(last) = self.primary.rows.back_mut() {
            last.wrapped = false;
        }
        if columns != self.columns {
            let old = std::mem::take(&mut self.primary.rows);
            self.primary.rows = rewrap(old, columns, &mut marks);
        }
        self.fit_primary(rows, &mut marks, sink);
        let alternate_place = self.fit_alternate(columns, rows);
        self.tabs.truncate(columns);
        self.tabs.extend(default_tabs(self.columns, columns));
        self.columns = columns;
        self.rows = rows;
        self.reset_region();
        let [place, saved] = marks.map(|place| self.clamped(place));
        self.primary.saved.place = saved;
        self.primary_place = place;
        self.place = if self.modes.alternate_screen {
            self.clamped(alternate_place)
        } else {
            place
        };
    }

    /// Gives the primary screen its new height.
    fn fit_primary(&mut self, rows: usize, marks: &mut [Place; 2], sink: &mut dyn Sink) {
        let excess = self.primary.rows.len().saturating_sub(rows);
        let leaving = excess.min(marks[0].row);
        for _ in 0..leaving {
            self.leave_top(sink);
            self.primary.rows.pop_front();
        }
        for mark in marks {
            mark.row = mark.row.saturating_sub(leaving);
        }
        if self.primary.rows.len() > rows {
            self.primary.rows.truncate(rows);
            if let Some(last) = self.primary.rows.back_mut() {
                last.wrapped = false;
            }
        }
        self.primary
            .rows
            .resize_with(rows, || Line::new(StyleId::BLANK));
    }

    /// Cuts the alternate screen; gives where its cursor is then.
    fn fit_alternate(&mut self, columns: usize, rows: usize) -> Place {
        let mut place = Place {
            pending: false,
            ..self.place
        };
        let over = (place.row + 1).saturating_sub(rows);
        if self.modes.alternate_screen {
            self.alternate.rows.drain(..over);
            place.row -= over;
        }
        self.alternate
            .rows
            .resize_with(rows, || Line::new(StyleId::BLANK));
        for row in &mut self.alternate.rows {
            row.truncate(columns);
            row.wrapped = false;
        }
        place
    }
}

/// Wraps rows anew; the marks go with the text.
fn rewrap(old: VecDeque<Line>, columns: usize, marks: &mut [Place; 2]) -> VecDeque<Line> {
    let mut new = VecDeque::new();
    let mut moved = *marks;
    let mut group = Line::new(StyleId::BLANK);
    let mut group_marks = [None; 2];
    for (number, row) in old.into_iter().enumerate() {
        for (mark, column) in marks.iter().zip(&mut group_marks) {
            if mark.row == number {
                *column = Some(group.width() + mark.col + usize::from(mark.pending));
            }
        }
        let wrapped = row.wrapped;
        group.append_row(row);
        if wrapped {
            continue;
        }
        let first = new.len();
        new.extend(std::mem::replace(&mut group, Line::new(StyleId::BLANK)).split(columns));
        for (mark, column) in moved.iter_mut().zip(&mut group_marks) {
            if let Some(column) = column.take() {
                *mark = placed(&new, first, column, columns);
            }
        }
    }
    *marks = moved;
    new
}

/// Where a column of a logical line is, whose rows begin at `first`.
fn placed(rows: &VecDeque<Line>, first: usize, column: usize, columns: usize) -> Place {
    let mut left = column;
    for (number, row) in rows.iter().enumerate().skip(first) {
        if left < row.width() || number + 1 == rows.len() {
            // Behind a full row the next character wraps.
            let pending = left >= columns && row.width() == columns;
            return Place {
                row: number,
                col: left.min(columns - 1),
                pending,
            };
        }
        left -= row.width();
    }
    Place::default()
}

impl Line {
    /// Joins the row below to this one.
    fn append_row(&mut self, row: Line) {
        if self.width() == 0 {
            *self = row;
            return;
        }
        for (text, style) in row.spans() {
            let columns = text.chars().map(char_width).sum();
            self.append(text, columns, style);
        }
        self.set_tail(row.tail());
        self.wrapped = row.wrapped;
    }

    /// Cuts a logical line into rows.
    fn split(mut self, columns: usize) -> Vec<Line> {
        self.trim_blanks();
        if self.width() <= columns {
            return vec![self];
        }
        let mut rows = Vec::new();
        let (mut start, mut width) = (0, 0);
        for (offset, character) in self.full_text().char_indices() {
            let next = char_width(character);
            if next > 0 && width + next > columns {
                rows.push(self.slice(start, offset, width));
                (start, width) = (offset, 0);
            }
            width += next;
        }
        rows.push(self.slice(start, self.full_text().len(), width));
        // In a screen one column wide there is no room for a wide character at all.
        rows.retain_mut(|row| row.width() > 0 && row.width() <= columns);
        if rows.is_empty() {
            rows.push(Line::new(self.tail()));
        }
        let last = rows.len() - 1;
        for row in &mut rows[..last] {
            row.wrapped = true;
        }
        rows[last].set_tail(self.tail());
        rows
    }

    fn slice(&self, from: usize, to: usize, width: usize) -> Line {
        let mut row = Line::new(StyleId::BLANK);
        let text = &self.full_text()[from..to];
        let next = self
            .runs()
            .partition_point(|run| run.start as usize <= from);
        let first = Run {
            start: from as u32,
            style: self.style_at(from),
        };
        let within = self.runs()[next..]
            .iter()
            .take_while(|run| (run.start as usize) < to);
        let runs = std::iter::once(&first).chain(within);
        row.set_text(
            text,
            width,
            runs.map(|run| Run {
                start: run.start - from as u32,
                ..*run
            }),
        );
        row
    }
}
