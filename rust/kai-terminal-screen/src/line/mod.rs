//! A row of the screen: text and runs of styles, the form in which it also goes into the scrollback.
//!
//! A cell is a stretch of the text: one character with a width and the zero-width ones that follow it. In a row of
//! ASCII the column *is* the byte offset. In any other row a map from columns to offsets is built at the first edit
//! in the middle and kept up to date from then on; a row that is only ever appended to never needs one. Columns
//! right of the text all share one style, the `tail`, so that erasing to the end of a row costs nothing.

#[cfg(test)]
mod check;
mod edit;

use crate::style::StyleId;
use crate::width::char_width;

/// From `start` (a byte offset) on the text has this style. Text before the first run has the default style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: u32,
    pub(crate) style: StyleId,
}

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
