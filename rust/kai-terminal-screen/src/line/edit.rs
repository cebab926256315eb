//! Edits in a row. All come down to replacing whole cells by others; a wide character of which one half is touched
//! loses both.

use std::borrow::Cow;

use super::{Line, Run, push_offsets};
use crate::style::StyleId;

/// The longest text of one cell, in bytes: what follows in zero-width characters is dropped.
const MAX_CELL_BYTES: usize = 64;

impl Line {
    /// Writes cells at a column. `text` covers `columns` columns and holds no zero-width character.
    pub(crate) fn put(&mut self, column: usize, text: &str, columns: usize, style: StyleId) {
        if column >= self.width {
            self.pad_to(column);
            self.append(text, columns, style);
            return;
        }
        let end = column + columns;
        self.cut(column);
        self.cut(end);
        self.replace(column, end.min(self.width), text, columns, style);
    }

    /// Adds a zero-width character to the cell that covers a column.
    pub(crate) fn combine(&mut self, column: usize, character: char) {
        if column >= self.width {
            self.pad_to(column + 1);
        }
        let (start, end, end_offset) = self.cell_at(column);
        if end_offset - start + character.len_utf8() > MAX_CELL_BYTES {
            return;
        }
        let style = self.style_at(start);
        if style.is_blank() {
            self.replace_runs(start, end_offset, end_offset - start, style.written());
        }
        self.become_wide_text();
        self.text.insert(end_offset, character);
        let added = character.len_utf8() as u32;
        for run in &mut self.runs {
            if run.start as usize >= end_offset {
                run.start += added;
            }
        }
        for offset in self.map.iter_mut().skip(end) {
            *offset += added;
        }
    }

    /// Erases the columns from `from` up to `to` in a row of `columns` columns.
    pub(crate) fn erase(&mut self, from: usize, to: usize, columns: usize, blank: StyleId) {
        let to = to.min(columns);
        if from >= to {
            return;
        }
        if to == columns {
            self.wrapped = false;
            if from > self.width && blank != self.tail {
                self.pad_to(from);
            }
            self.truncate(from);
            self.tail = blank;
            self.trim();
            return;
        }
        if to >= self.width && blank == self.tail && !self.wrapped {
            self.truncate(from);
            self.trim();
            return;
        }
        self.pad_to(to);
        self.cut(from);
        self.cut(to);
        self.replace(from, to, &spaces(to - from), to - from, blank);
    }

    /// Inserts blank cells; what is pushed over the right edge is lost.
    pub(crate) fn insert_blanks(
        &mut self,
        at: usize,
        count: usize,
        columns: usize,
        blank: StyleId,
    ) {
        let count = count.min(columns.saturating_sub(at));
        if count == 0 {
            return;
        }
        self.wrapped = false;
        if at >= self.width && blank == self.tail {
            return;
        }
        self.pad_to(at);
        self.cut(at);
        self.replace(at, at, &spaces(count), count, blank);
        self.truncate(columns);
    }

    /// Deletes cells; blank ones come in at the right edge.
    pub(crate) fn delete(&mut self, at: usize, count: usize, columns: usize, blank: StyleId) {
        let count = count.min(columns.saturating_sub(at));
        if count == 0 {
            return;
        }
        self.wrapped = false;
        if at < self.width {
            let end = (at + count).min(self.width);
            self.cut(at);
            self.cut(end);
            self.replace(at, end, "", 0, StyleId::DEFAULT);
        }
        if blank != self.tail {
            self.pad_to(columns - count);
            self.tail = blank;
        }
        self.trim();
    }

    /// Drops every column from `columns` on; a wide character across the edge becomes blanks.
    pub(crate) fn truncate(&mut self, columns: usize) {
        if columns >= self.width {
            return;
        }
        self.cut(columns);
        let len = self.offset_of(columns);
        self.text.truncate(len);
        self.map.truncate(columns);
        while self
            .runs
            .last()
            .is_some_and(|run| run.start as usize >= len)
        {
            self.runs.pop();
        }
        self.width = columns;
        if columns == 0 {
            self.ascii = true;
        }
    }

    /// Drops trailing blanks that look like the tail, so that equal rows are stored alike.
    fn trim(&mut self) {
        while let Some(run) = self.runs.last().copied() {
            if run.style != self.tail {
                return;
            }
            self.runs.pop();
            self.width -= self.text.len() - run.start as usize;
            self.text.truncate(run.start as usize);
            self.map.truncate(self.width);
        }
    }

    fn pad_to(&mut self, column: usize) {
        if column > self.width {
            let count = column - self.width;
            self.append(&spaces(count), count, self.tail);
        }
    }

    /// Replaces whole cells: the columns `from..to` by a text that covers `columns`.
    fn replace(&mut self, from: usize, to: usize, text: &str, columns: usize, style: StyleId) {
        if !text.is_ascii() {
            self.become_wide_text();
        }
        self.build_map();
        let (start, end) = (self.offset_of(from), self.offset_of(to));
        self.replace_runs(start, end, text.len(), style);
        self.text.replace_range(start..end, text);
        if !self.map.is_empty() {
            if columns == to - from && text.is_ascii() {
                // The usual case needs no memory of its own.
                for (index, offset) in self.map[from..to].iter_mut().enumerate() {
                    *offset = (start + index) as u32;
                }
            } else {
                let mut fresh = Vec::with_capacity(columns);
                push_offsets(&mut fresh, start, text, columns);
                self.map.splice(from..to, fresh);
            }
            if text.len() != end - start {
                for offset in self.map.iter_mut().skip(from + columns) {
                    *offset = *offset - end as u32 + (start + text.len()) as u32;
                }
            }
        }
        self.width = self.width - (to - from) + columns;
    }

    fn replace_runs(&mut self, start: usize, end: usize, len: usize, style: StyleId) {
        let first = self
            .runs
            .partition_point(|run| (run.start as usize) < start);
        let next = self.runs.partition_point(|run| run.start as usize <= end);
        let style_before = |index: usize| {
            index
                .checked_sub(1)
                .map_or(StyleId::DEFAULT, |i| self.runs[i].style)
        };
        let before = style_before(first);
        let after = style_before(next);
        let here = if len > 0 { style } else { before };
        let mut fresh = [None, None];
        if here != before {
            fresh[0] = Some(Run {
                start: start as u32,
                style: here,
            });
        }
        if end < self.text.len() && after != here {
            fresh[1] = Some(Run {
                start: (start + len) as u32,
                style: after,
            });
        }
        for run in &mut self.runs[next..] {
            run.start = run.start - end as u32 + (start + len) as u32;
        }
        self.runs.splice(first..next, fresh.into_iter().flatten());
    }

    /// If a wide character lies across the border left of `column`, both its halves become spaces.
    fn cut(&mut self, column: usize) {
        if self.ascii || column == 0 || column >= self.width {
            return;
        }
        self.build_map();
        if self.map[column] != self.map[column - 1] {
            return;
        }
        let style = self.style_at(self.map[column] as usize);
        self.replace(column - 1, column + 1, "  ", 2, style);
    }
}

fn spaces(count: usize) -> Cow<'static, str> {
    const SPACES: &str =
        "                                                                                ";
    SPACES
        .get(..count)
        .map_or_else(|| " ".repeat(count).into(), Cow::Borrowed)
}
