//! Select graphic rendition: the style of what is printed next.

use vte::Params;

use crate::display::Pen;
use crate::{Attributes, Color, Display, Style, Underline};

impl Display {
    pub(crate) fn sgr(&mut self, params: &Params) {
        let mut style = self.pen.style;
        let mut rest = params.iter();
        while let Some(values) = rest.next() {
            match values {
                [code @ (38 | 48 | 58)] => {
                    // The old form: the colour's parts are parameters of their own.
                    let mut next = || rest.next().and_then(|values| values.first()).copied();
                    if let Some(color) = separate_color(&mut next) {
                        set_color(&mut style, *code, color);
                    }
                }
                [code @ (38 | 48 | 58), parts @ ..] => {
                    if let Some(color) = joined_color(parts) {
                        set_color(&mut style, *code, color);
                    }
                }
                [4, kind, ..] => style.underline = underline(*kind).unwrap_or(style.underline),
                [code, ..] => set(&mut style, *code),
                [] => {}
            }
        }
        if style != self.pen.style {
            self.pen = Pen::new(style);
        }
    }
}

fn set(style: &mut Style, code: u16) {
    let attributes = &mut style.attributes;
    match code {
        0 => {
            *style = Style {
                link: style.link,
                ..Style::default()
            }
        }
        1 => attributes.set(Attributes::BOLD, true),
        2 => attributes.set(Attributes::FAINT, true),
        3 => attributes.set(Attributes::ITALIC, true),
        4 => style.underline = Underline::Single,
        5 | 6 => attributes.set(Attributes::BLINK, true),
        7 => attributes.set(Attributes::INVERSE, true),
        8 => attributes.set(Attributes::HIDDEN, true),
        9 => attributes.set(Attributes::STRIKE, true),
        21 => style.underline = Underline::Double,
        22 => {
            attributes.set(Attributes::BOLD, false);
            attributes.set(Attributes::FAINT, false);
        }
        23 => attributes.set(Attributes::ITALIC, false),
        24 => style.underline = Underline::None,
        25 => attributes.set(Attributes::BLINK, false),
        27 => attributes.set(Attributes::INVERSE, false),
        28 => attributes.set(Attributes::HIDDEN, false),
        29 => attributes.set(Attributes::STRIKE, false),
        30..=37 => style.foreground = Color::Indexed((code - 30) as u8),
        39 => style.foreground = Color::Default,
        40..=47 => style.background = Color::Indexed((code - 40) as u8),
        49 => style.background = Color::Default,
        53 => attributes.set(Attributes::OVERLINE, true),
        55 => attributes.set(Attributes::OVERLINE, false),
        59 => style.underline_color = Color::Default,
        90..=97 => style.foreground = Color::Indexed((code - 82) as u8),
        100..=107 => style.background = Color::Indexed((code - 92) as u8),
        _ => {}
    }
}

fn set_color(style: &mut Style, code: u16, color: Color) {
    match code {
        38 => style.foreground = color,
        48 => style.background = color,
        _ => style.underline_color = color,
    }
}

fn underline(kind: u16) -> Option<Underline> {
    Some(match kind {
        0 => Underline::None,
        1 => Underline::Single,
        2 => Underline::Double,
        3 => Underline::Curly,
        4 => Underline::Dotted,
        5 => Underline::Dashed,
        _ => return None,
    })
}

/// A part of a colour; what does not fit into a byte makes the colour void.
fn byte(value: Option<u16>) -> Option<u8> {
    u8::try_from(value?).ok()
}

/// `5;n` or `2;r;g;b`, as parameters of their own.
fn separate_color(next: &mut impl FnMut() -> Option<u16>) -> Option<Color> {
    match next()? {
        5 => Some(Color::Indexed(byte(next())?)),
        2 => {
            let (red, green, blue) = (next(), next(), next());
            Some(Color::Rgb(byte(red)?, byte(green)?, byte(blue)?))
        }
        _ => None,
    }
}

/// `5:n`, `2:r:g:b`, or with a colour space `2:space:r:g:b` (ISO 8613-6).
fn joined_color(parts: &[u16]) -> Option<Color> {
    match *parts {
        [5, index, ..] => Some(Color::Indexed(byte(Some(index))?)),
        [2, red, green, blue] | [2, _, red, green, blue, ..] => Some(Color::Rgb(
            byte(Some(red))?,
            byte(Some(green))?,
            byte(Some(blue))?,
        )),
        _ => None,
    }
}
