//! A row of text and runs behaves like a plain array of cells.

use proptest::prelude::*;

use crate::line::Line;
use crate::style::StyleId;
use crate::width::char_width;

const COLUMNS: usize = 9;

#[derive(Clone, Debug)]
enum Edit {
    Put(usize, &'static str, u16),
    Combine(usize, char),
    Erase(usize, usize, u16),
    Insert(usize, usize, u16),
    Delete(usize, usize, u16),
}

/// The model: one entry a column, an empty text for the right half of a wide character.
struct Cells {
    cells: Vec<(String, StyleId)>,
}

impl Cells {
    fn cut(&mut self, column: usize) {
        if column > 0 && column < COLUMNS && self.cells[column].0.is_empty() {
            for half in [column - 1, column] {
                self.cells[half].0 = " ".to_owned();
            }
        }
    }

    fn fill(&mut self, from: usize, to: usize, blank: StyleId) {
        self.cut(from);
        self.cut(to);
        self.cells[from..to].fill((" ".to_owned(), blank));
    }

    fn apply(&mut self, edit: &Edit) {
        match *edit {
            Edit::Put(column, text, style) => {
                let width: usize = text.chars().map(char_width).sum();
                self.fill(column, column + width, StyleId(style));
                let mut at = column;
                for character in text.chars() {
                    self.cells[at].0 = character.to_string();
                    if char_width(character) == 2 {
                        self.cells[at + 1].0.clear();
                    }
                    at += char_width(character);
                }
            }
            Edit::Combine(column, character) => {
                let lead = if self.cells[column].0.is_empty() {
                    column - 1
                } else {
                    column
                };
                if self.cells[lead].0.len() + character.len_utf8() <= 64 {
                    self.cells[lead].0.push(character);
                    for cell in &mut self.cells[lead..=column] {
                        cell.1 = cell.1.written();
                    }
                    if lead == column && column + 1 < COLUMNS && self.cells[column + 1].0.is_empty()
                    {
                        self.cells[column + 1].1 = self.cells[column + 1].1.written();
                    }
                }
            }
            Edit::Erase(from, to, style) if from < to => {
                self.fill(from, to.min(COLUMNS), StyleId(style).blank());
            }
            Edit::Insert(at, count, style) if count > 0 => {
                self.cut(at);
                let blank = StyleId(style).blank();
                for _ in 0..count.min(COLUMNS - at) {
                    self.cells.insert(at, (" ".to_owned(), blank));
                }
                // A wide character pushed half over the edge is gone, its other half blank.
                if self
                    .cells
                    .get(COLUMNS)
                    .is_some_and(|cell| cell.0.is_empty())
                {
                    self.cells[COLUMNS - 1].0 = " ".to_owned();
                }
                self.cells.truncate(COLUMNS);
            }
            Edit::Delete(at, count, style) if count > 0 => {
                let count = count.min(COLUMNS - at);
                self.cut(at);
                self.cut(at + count);
                self.cells.drain(at..at + count);
                self.cells
                    .resize(COLUMNS, (" ".to_owned(), StyleId(style).blank()));
            }
            Edit::Erase(..) | Edit::Insert(..) | Edit::Delete(..) => {}
        }
    }
}

fn apply(line: &mut Line, edit: &Edit) {
    match *edit {
        Edit::Put(column, text, style) => {
            line.put(
                column,
                text,
                text.chars().map(char_width).sum(),
                StyleId(style),
            );
        }
        Edit::Combine(column, character) => line.combine(column, character),
        Edit::Erase(from, to, style) => line.erase(from, to, COLUMNS, StyleId(style).blank()),
        Edit::Insert(at, count, style) => {
            line.insert_blanks(at, count, COLUMNS, StyleId(style).blank());
        }
        Edit::Delete(at, count, style) => line.delete(at, count, COLUMNS, StyleId(style).blank()),
    }
}

fn edit() -> impl Strategy<Value = Edit> {
    let texts = prop::sample::select(vec!["a", "xyz", "é", "漢", "😀", "    ", "ab"]);
    let column = 0..COLUMNS;
    let style = 0..3u16;
    prop_oneof![
        4 => (column.clone(), texts, style.clone())
            .prop_filter("fits", |(column, text, _)| column + text.chars().map(char_width).sum::<usize>() <= COLUMNS)
            .prop_map(|(column, text, style)| Edit::Put(column, text, style)),
        1 => (column.clone(), prop::sample::select(vec!['\u{301}', '\u{200d}', '\u{20dd}']))
            .prop_map(|(column, character)| Edit::Combine(column, character)),
        2 => (column.clone(), 0..COLUMNS + 3, style.clone()).prop_map(|(from, to, style)| Edit::Erase(from, to, style)),
        1 => (column.clone(), 0..COLUMNS + 3, style.clone()).prop_map(|(at, n, style)| Edit::Insert(at, n, style)),
        1 => (column, 0..COLUMNS + 3, style).prop_map(|(at, n, style)| Edit::Delete(at, n, style)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// rule: R4, out-5
    #[test]
    fn edits_give_what_an_array_of_cells_gives(edits in prop::collection::vec(edit(), 1..25)) {
        let mut line = Line::new(StyleId::BLANK);
        let mut model = Cells { cells: vec![(" ".to_owned(), StyleId::BLANK); COLUMNS] };
        for edit in &edits {
            apply(&mut line, edit);
            model.apply(edit);
            line.check(COLUMNS);
            prop_assert_eq!(&line.cells(COLUMNS), &model.cells, "after {:?}", edit);
        }
    }
}
