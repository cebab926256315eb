//! A row of the screen: text and runs of styles, the form in which it also goes into the scrollback.
//!
//! A cell is a stretch of the text: one character with a width and the zero-width ones that follow it. In a row of
//! ASCII the column *is* the byte offset. In any other row a map from columns to offsets is built at the first edit
//! in the middle and kept up to date from then on; a row that is only ever appended to never needs one. Columns
//! right of the text all share one style, the `tail`, so that erasing to the end of a row costs nothing.

use crate::style::StyleId;
use crate::width::char_width;

/// From `start` (a byte offset) on the text has this style. Text before the first run has the default style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: u32,
    pub(crate) style: StyleId,
}

/// The longest text of one cell, in bytes: what follows in zero-width characters is dropped.
const MAX_CELL_BYTES: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Line {
    text: String,
    runs: Vec<Run>,
    /// Columns covered by the text.
    width: usize,
    ascii: bool,
    /// The offset of the cell that covers each column; empty when not built, or when the row is ASCII.
    map: Vec<u32>,
    tail: StyleId,
    /// The logical line goes on in the next row.
    pub(crate) wrapped: bool,
}

impl Line {
    pub(crate) fn new(tail: StyleId) -> Line {
        Line {
            text: String::new(),
            runs: Vec::new(),
            width: 0,
            ascii: true,
            map: Vec::new(),
            tail,
            wrapped: false,
        }
    }

    /// Makes the row empty, keeping its memory.
    pub(crate) fn reset(&mut self, tail: StyleId) {
        self.text.clear();
        self.runs.clear();
        self.map.clear();
        self.width = 0;
        self.ascii = true;
        self.tail = tail;
        self.wrapped = false;
    }

    /// The whole text, with the blanks that end it.
    pub(crate) fn full_text(&self) -> &str {
        &self.text
    }

    /// The text as a reader gets it: without never-written cells at its end, unless the line goes on in the next row.
    pub(crate) fn text(&self) -> &str {
        if self.wrapped {
            &self.text
        } else {
            &self.text[..self.written_len()]
        }
    }

    fn written_len(&self) -> usize {
        let mut end = self.text.len();
        for run in self.runs.iter().rev() {
            if !run.style.is_blank() {
                break;
            }
            end = run.start as usize;
        }
        end
    }

    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn tail(&self) -> StyleId {
        self.tail
    }

    pub(crate) fn set_tail(&mut self, tail: StyleId) {
        self.tail = tail;
    }

    /// Makes the row hold a text that covers `width` columns.
    pub(crate) fn set_text(&mut self, text: &str, width: usize, runs: impl Iterator<Item = Run>) {
        self.reset(self.tail);
        self.text.push_str(text);
        self.ascii = text.is_ascii();
        self.width = width;
        let mut style = StyleId::DEFAULT;
        for run in runs {
            if run.style != style {
                style = run.style;
                self.runs.push(run);
            }
        }
    }

    /// The heap memory taken, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.text.capacity()
            + self.runs.capacity() * size_of::<Run>()
            + self.map.capacity() * size_of::<u32>()
    }

    /// The text in stretches of one style.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (&str, StyleId)> {
        spans(&self.text, &self.runs, 0)
    }

    /// Drops the never-written cells at the end of the text, whatever their colour.
    pub(crate) fn trim_blanks(&mut self) {
        let len = self.written_len();
        self.width -= self.text.len() - len;
        self.text.truncate(len);
        self.map.truncate(self.width);
        self.runs.retain(|run| (run.start as usize) < len);
    }

    /// The byte offset of the cell that covers a column; the length of the text for columns right of it.
    pub(crate) fn offset_of(&self, column: usize) -> usize {
        if column >= self.width {
            return self.text.len();
        }
        if self.ascii {
            return column;
        }
        if let Some(offset) = self.map.get(column) {
            return *offset as usize;
        }
        let mut at = 0;
        let mut start = 0;
        for (offset, character) in self.text.char_indices() {
            let width = char_width(character);
            if width == 0 {
                continue;
            }
            start = offset;
            at += width;
            if at > column {
                break;
            }
        }
        start
    }

    /// Writes cells at a column. `text` covers `columns` columns, ASCII or a single cell.
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

    /// Where the cell that covers a column begins, the column behind it, and where it ends.
    fn cell_at(&self, column: usize) -> (usize, usize, usize) {
        if column + 1 == self.width && self.map.is_empty() {
            // The last cell, the usual one, is found from the end of the text.
            let start = self
                .text
                .char_indices()
                .rev()
                .find(|(_, character)| char_width(*character) > 0);
            return (
                start.map_or(0, |(start, _)| start),
                self.width,
                self.text.len(),
            );
        }
        let start = self.offset_of(column);
        let mut end = column + 1;
        while end < self.width && self.offset_of(end) == start {
            end += 1;
        }
        (start, end, self.offset_of(end))
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

    pub(crate) fn append(&mut self, text: &str, columns: usize, style: StyleId) {
        let at = self.text.len();
        if self.runs.last().map_or(StyleId::DEFAULT, |run| run.style) != style {
            self.runs.push(Run {
                start: at as u32,
                style,
            });
        }
        if !text.is_ascii() {
            self.become_wide_text();
        }
        if !self.map.is_empty() {
            push_offsets(&mut self.map, at, text, columns);
        }
        self.text.push_str(text);
        self.width += columns;
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

    /// Shows every style the row uses, to be read or renamed.
    pub(crate) fn each_style(&mut self, visit: &mut impl FnMut(&mut StyleId)) {
        self.runs.iter_mut().for_each(|run| visit(&mut run.style));
        visit(&mut self.tail);
    }

    pub(crate) fn style_at(&self, offset: usize) -> StyleId {
        let next = self
            .runs
            .partition_point(|run| run.start as usize <= offset);
        next.checked_sub(1)
            .map_or(StyleId::DEFAULT, |index| self.runs[index].style)
    }

    /// From now on columns and offsets differ.
    fn become_wide_text(&mut self) {
        if self.ascii {
            self.ascii = false;
            self.map.clear();
        }
    }

    fn build_map(&mut self) {
        if self.ascii || self.map.len() == self.width {
            return;
        }
        self.map.clear();
        let text = std::mem::take(&mut self.text);
        push_offsets(&mut self.map, 0, &text, self.width);
        self.text = text;
    }
}

/// Cuts a text at its runs, whose starts count from `base`.
pub(crate) fn spans<'a>(
    text: &'a str,
    runs: &'a [Run],
    base: u32,
) -> impl Iterator<Item = (&'a str, StyleId)> {
    let start = move |run: &Run| (run.start - base) as usize;
    let first = std::iter::once((0, StyleId::DEFAULT));
    let starts = first.chain(runs.iter().map(move |run| (start(run), run.style)));
    let ends = runs.iter().map(start).chain(std::iter::once(text.len()));
    starts
        .zip(ends)
        .map(|((start, style), end)| (&text[start..end], style))
        .filter(|(text, _)| !text.is_empty())
}

#[cfg(test)]
impl Line {
    /// The cells with their columns, for comparing; a wide character covers two.
    pub(crate) fn cells(&self, columns: usize) -> Vec<(String, StyleId)> {
        let mut cells: Vec<(String, StyleId)> = Vec::new();
        for (offset, character) in self.text.char_indices() {
            match char_width(character) {
                0 => {
                    let last = cells.iter_mut().rev().find(|cell| !cell.0.is_empty());
                    last.expect("a cell before a zero-width character")
                        .0
                        .push(character);
                }
                width => {
                    cells.push((character.to_string(), self.style_at(offset)));
                    cells.extend((1..width).map(|_| (String::new(), self.style_at(offset))));
                }
            }
        }
        cells.resize(cells.len().max(columns), (" ".to_owned(), self.tail));
        cells
    }

    /// Panics when the row contradicts itself.
    pub(crate) fn check(&self, columns: usize) {
        assert!(self.width <= columns, "{self:?}");
        assert_eq!(
            self.width,
            self.text.chars().map(char_width).sum::<usize>(),
            "{self:?}"
        );
        assert!(!self.ascii || self.text.is_ascii(), "{self:?}");
        assert!(self.tail.is_blank());
        let mut style = StyleId::DEFAULT;
        let mut start = None;
        for run in &self.runs {
            assert!(
                start.is_none_or(|start| start < run.start) && run.style != style,
                "{self:?}"
            );
            assert!(
                (run.start as usize) < self.text.len()
                    && self.text.is_char_boundary(run.start as usize)
            );
            (start, style) = (Some(run.start), run.style);
        }
        if !self.map.is_empty() {
            let mut map = Vec::new();
            push_offsets(&mut map, 0, &self.text, self.width);
            assert_eq!(map, self.map, "{self:?}");
        }
    }
}

/// Adds the offsets of the cells of a text that begins at `base` and covers `columns`.
fn push_offsets(map: &mut Vec<u32>, base: usize, text: &str, columns: usize) {
    if text.is_ascii() {
        map.extend(base as u32..(base + columns) as u32);
        return;
    }
    for (offset, character) in text.char_indices() {
        for _ in 0..char_width(character) {
            map.push((base + offset) as u32);
        }
    }
}

fn spaces(count: usize) -> std::borrow::Cow<'static, str> {
    const SPACES: &str =
        "                                                                                ";
    SPACES
        .get(..count)
        .map_or_else(|| " ".repeat(count).into(), std::borrow::Cow::Borrowed)
}
