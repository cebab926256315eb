//! Styles: what a character looks like, interned so that a run of text carries two bytes.

use std::collections::HashMap;

/// A colour as the program named it; which colour an index shows is the viewer's choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Color {
    /// The terminal's own foreground or background.
    #[default]
    Default,
    /// An entry of the 256-colour palette (0 to 15 are the named ones).
    Indexed(u8),
    /// Red, green and blue.
    Rgb(u8, u8, u8),
}

/// The kind of underline (SGR 4, 4:0 to 4:5 and 21).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Underline {
    #[default]
    None,
    Single,
    Double,
    Curly,
    Dotted,
    Dashed,
}

/// The attributes that are on or off, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attributes(u16);

impl Attributes {
    pub const BOLD: Attributes = Attributes(1);
    pub const FAINT: Attributes = Attributes(1 << 1);
    pub const ITALIC: Attributes = Attributes(1 << 2);
    pub const BLINK: Attributes = Attributes(1 << 3);
    pub const INVERSE: Attributes = Attributes(1 << 4);
    pub const HIDDEN: Attributes = Attributes(1 << 5);
    pub const STRIKE: Attributes = Attributes(1 << 6);
    pub const OVERLINE: Attributes = Attributes(1 << 7);

    pub fn contains(self, other: Attributes) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn set(&mut self, other: Attributes, on: bool) {
        if on {
            self.0 |= other.0;
        } else {
            self.0 &= !other.0;
        }
    }
}

/// Everything about the look of a character but its shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Style {
    pub foreground: Color,
    pub background: Color,
    pub underline_color: Color,
    pub underline: Underline,
    pub attributes: Attributes,
    /// The hyperlink (OSC 8) the text belongs to, as an index into the display's links; 0 is none.
    pub link: u16,
}

/// An interned style. The top bit says that the cells were never written (or were erased): such cells show only
/// their background, and where a line ends in them they are no part of its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StyleId(pub(crate) u16);

impl StyleId {
    pub(crate) const DEFAULT: StyleId = StyleId(0);
    pub(crate) const BLANK: StyleId = StyleId(BLANK_BIT);

    pub(crate) fn is_blank(self) -> bool {
        self.0 & BLANK_BIT != 0
    }

    pub(crate) fn blank(self) -> StyleId {
        StyleId(self.0 | BLANK_BIT)
    }

    pub(crate) fn written(self) -> StyleId {
        StyleId(self.0 & !BLANK_BIT)
    }

    pub(crate) fn index(self) -> usize {
        usize::from(self.written().0)
    }
}

impl Style {
    /// A place in the table of recent styles.
    fn slot(&self) -> usize {
        let color = |color: Color| match color {
            Color::Default => 0,
            Color::Indexed(index) => 0x100 + usize::from(index),
            Color::Rgb(red, green, blue) => {
                usize::from(red) * 7 + usize::from(green) * 5 + usize::from(blue) * 3
            }
        };
        let mix = color(self.foreground)
            + color(self.background) * 11
            + usize::from(self.attributes.0) * 13;
        (mix + self.underline as usize + usize::from(self.link)) % RECENT
    }
}

/// How many recent styles are remembered.
const RECENT: usize = 64;

const BLANK_BIT: u16 = 1 << 15;

/// How many distinct styles a screen and its scrollback may use at once.
pub(crate) const MAX_STYLES: usize = BLANK_BIT as usize;

/// The new ids after [`Styles::retain`].
pub(crate) struct Renamed(Vec<StyleId>);

impl Renamed {
    pub(crate) fn id(&self, old: StyleId) -> StyleId {
        let id = self.0.get(old.index()).copied().unwrap_or_default();
        if old.is_blank() { id.blank() } else { id }
    }
}

/// The table of styles in use. Entry 0 is the default style.
#[derive(Debug)]
pub(crate) struct Styles {
    all: Vec<Style>,
    ids: HashMap<Style, StyleId>,
    /// Styles asked for lately, each at the place its hash gives: most output goes to and fro between a few.
    recent: [StyleId; RECENT],
}

impl Styles {
    pub(crate) fn new() -> Styles {
        let mut styles = Styles {
            all: Vec::new(),
            ids: HashMap::new(),
            recent: [StyleId::DEFAULT; RECENT],
        };
        styles.insert(Style::default());
        styles
    }

    pub(crate) fn get(&self, id: StyleId) -> Style {
        self.all.get(id.index()).copied().unwrap_or_default()
    }

    /// The id of a style, or `None` when the table is full and the style is not in it.
    pub(crate) fn intern(&mut self, style: Style) -> Option<StyleId> {
        let slot = style.slot();
        if self.get(self.recent[slot]) == style {
            return Some(self.recent[slot]);
        }
        let known = self.ids.get(&style).copied();
        let id = known.or_else(|| (self.all.len() < MAX_STYLES).then(|| self.insert(style)))?;
        self.recent[slot] = id;
        Some(id)
    }

    /// Keeps only the styles that `used` holds, under new ids; gives the new id of each old one.
    pub(crate) fn retain(&mut self, used: &[bool]) -> Renamed {
        let old = std::mem::replace(self, Styles::new());
        let mut ids = vec![StyleId::DEFAULT; old.all.len()];
        for (index, style) in old.all.iter().enumerate().skip(1) {
            if used.get(index).copied().unwrap_or(false) {
                ids[index] = self.insert(*style);
            }
        }
        Renamed(ids)
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Style> {
        self.all.iter().copied()
    }

    fn insert(&mut self, style: Style) -> StyleId {
        let id = StyleId(self.all.len() as u16);
        self.all.push(style);
        self.ids.insert(style, id);
        id
    }
}
