//! The colours behind the names, for answers and for pictures.

use std::collections::BTreeMap;

/// Red, green and blue.
pub(crate) type Rgb = (u8, u8, u8);

/// The first sixteen colours, as xterm has them (XTerm-col.ad).
const NAMED: [Rgb; 16] = [
    (0, 0, 0),
    (205, 0, 0),
    (0, 205, 0),
    (205, 205, 0),
    (0, 0, 238),
    (205, 0, 205),
    (0, 205, 205),
    (229, 229, 229),
    (127, 127, 127),
    (255, 0, 0),
    (0, 255, 0),
    (255, 255, 0),
    (92, 92, 255),
    (255, 0, 255),
    (0, 255, 255),
    (255, 255, 255),
];

/// What is not an entry of the 256-colour palette.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Foreground,
    Background,
    Cursor,
}

const SPECIAL: [Rgb; 3] = [(229, 229, 229), (0, 0, 0), (229, 229, 229)];

/// The colours in force: xterm's, and those a program has set (OSC 4, 10, 11, 12).
#[derive(Debug, Default)]
pub(crate) struct Palette {
    indexed: BTreeMap<u8, Rgb>,
    special: [Option<Rgb>; 3],
}

impl Palette {
    pub(crate) fn indexed(&self, index: u8) -> Rgb {
        self.indexed
            .get(&index)
            .copied()
            .unwrap_or_else(|| default_color(index))
    }

    pub(crate) fn special(&self, which: Special) -> Rgb {
        self.special[which as usize].unwrap_or(SPECIAL[which as usize])
    }

    pub(crate) fn set_indexed(&mut self, index: u8, color: Rgb) {
        self.indexed.insert(index, color);
    }

    pub(crate) fn set_special(&mut self, which: Special, color: Rgb) {
        self.special[which as usize] = Some(color);
    }

    pub(crate) fn reset_indexed(&mut self, index: Option<u8>) {
        match index {
            Some(index) => drop(self.indexed.remove(&index)),
            None => self.indexed.clear(),
        }
    }

    pub(crate) fn reset_special(&mut self, which: Special) {
        self.special[which as usize] = None;
    }
}

/// xterm's 256 colours: the named ones, a cube of six steps a side, and a ramp of greys (256colres.pl).
fn default_color(index: u8) -> Rgb {
    match index {
        0..=15 => NAMED[usize::from(index)],
        16..=231 => {
            let step = |value: u8| if value == 0 { 0 } else { value * 40 + 55 };
            let cube = index - 16;
            (step(cube / 36), step(cube / 6 % 6), step(cube % 6))
        }
        232..=255 => {
            let grey = (index - 232) * 10 + 8;
            (grey, grey, grey)
        }
    }
}

/// A colour as a program writes it (XParseColor): `#rgb` to `#rrrrggggbbbb`, or `rgb:r/g/b` with one to four digits.
pub(crate) fn parse_color(text: &str) -> Option<Rgb> {
    let parts: Vec<&str> = if let Some(digits) = text.strip_prefix('#') {
        let width = digits.len() / 3;
        if !digits.is_ascii() || !(1..=4).contains(&width) || digits.len() != width * 3 {
            return None;
        }
        vec![
            &digits[..width],
            &digits[width..2 * width],
            &digits[2 * width..],
        ]
    } else {
        text.strip_prefix("rgb:")?.split('/').collect()
    };
    let [red, green, blue] = parts[..] else {
        return None;
    };
    Some((component(red)?, component(green)?, component(blue)?))
}

/// One to four hexadecimal digits, scaled to a byte.
fn component(digits: &str) -> Option<u8> {
    if !(1..=4).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let largest = (1u32 << (4 * digits.len())) - 1;
    let value = u32::from_str_radix(digits, 16).ok()?;
    Some((value * 255 / largest) as u8)
}

/// A colour as xterm answers it: four digits a part.
pub(crate) fn answer_color((red, green, blue): Rgb) -> String {
    format!("rgb:{red:02x}{red:02x}/{green:02x}{green:02x}/{blue:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// rule: query-2
    #[test]
    fn colors_are_read_in_every_form() {
        for (text, color) in [
            ("#f00", Some((255, 0, 0))),
            ("#102030", Some((16, 32, 48))),
            ("#ffff00008000", Some((255, 0, 127))),
            ("rgb:f/0/8", Some((255, 0, 136))),
            ("rgb:ff/80/00", Some((255, 128, 0))),
            ("rgb:ffff/8080/0000", Some((255, 128, 0))),
            ("rgb:ff/80", None),
            ("rgb:+f/00/00", None),
            ("#é0", None),
            ("red", None),
            ("", None),
        ] {
            assert_eq!(parse_color(text), color, "{text}");
        }
        assert_eq!(default_color(196), (255, 0, 0));
        assert_eq!(default_color(255), (238, 238, 238));
    }
}
