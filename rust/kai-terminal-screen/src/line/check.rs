//! For tests: a row as plain cells, and whether it contradicts itself.

use super::{Line, push_offsets};
use crate::style::StyleId;
use crate::width::char_width;

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
