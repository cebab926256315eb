//! Character sets: which characters the codes 0x20 to 0x7E stand for (ISO 2022, as far as terminals use it).

/// A set of 94 characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Charset {
    #[default]
    Ascii,
    /// DEC special graphics: line drawing (`0`).
    Graphics,
    /// The United Kingdom: `#` is the pound sign (`A`).
    British,
}

impl Charset {
    /// The set a designating sequence names by its final byte; unknown ones count as ASCII.
    pub(crate) fn from_final(byte: u8) -> Charset {
        match byte {
            b'0' | b'2' => Charset::Graphics,
            b'A' => Charset::British,
            _ => Charset::Ascii,
        }
    }

    pub(crate) fn map(self, character: char) -> char {
        match (self, character) {
            (Charset::Graphics, '\u{5f}'..='\u{7e}') => GRAPHICS[character as usize - 0x5f],
            (Charset::British, '#') => '£',
            _ => character,
        }
    }
}

/// DEC special graphics from 0x5F to 0x7E (VT220 Programmer Reference Manual, table 2-4).
const GRAPHICS: [char; 32] = [
    ' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─',
    '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
];

/// The four designated sets and which of them is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Charsets {
    sets: [Charset; 4],
    shifted: u8,
    /// A set for the next character only (SS2, SS3).
    single: Option<u8>,
}

impl Charsets {
    pub(crate) fn designate(&mut self, slot: u8, set: Charset) {
        self.sets[usize::from(slot & 3)] = set;
    }

    pub(crate) fn shift(&mut self, slot: u8) {
        self.shifted = slot & 3;
    }

    pub(crate) fn shift_once(&mut self, slot: u8) {
        self.single = Some(slot & 3);
    }

    /// ASCII stands for itself, for this character and the following ones.
    pub(crate) fn is_plain(self) -> bool {
        self.single.is_none() && self.sets[usize::from(self.shifted)] == Charset::Ascii
    }

    /// The character that a printed one stands for.
    pub(crate) fn map(&mut self, character: char) -> char {
        let slot = self.single.take().unwrap_or(self.shifted);
        self.sets[usize::from(slot)].map(character)
    }
}
