//! The screen as a whole: the parser and the state it drives.

use std::ops::Deref;

use crate::parser::Parser;
use crate::{Display, Sink};

/// What a screen is made with. The sizes are at least 1; smaller ones count as 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub cols: u16,
    pub rows: u16,
    /// How many logical lines that left the screen are kept.
    pub scrollback_lines: usize,
    /// How many bytes they may take, styles included.
    pub scrollback_bytes: usize,
}

impl Default for Options {
    /// 80 columns, 24 rows, 10,000 lines and 8 MiB of scrollback.
    fn default() -> Options {
        Options {
            cols: 80,
            rows: 24,
            scrollback_lines: 10_000,
            scrollback_bytes: 8 << 20,
        }
    }
}

/// A terminal emulator. Reading goes through [`Display`], to which it dereferences.
#[derive(Debug)]
pub struct Screen {
    parser: Parser,
    pub(crate) display: Display,
}

impl Screen {
    pub fn new(options: Options) -> Screen {
        Screen {
            parser: Parser::new(),
            display: Display::new(options),
        }
    }

    /// A screen that takes text one character at a time: what the bulk path is compared with.
    #[cfg(test)]
    pub(crate) fn simple(options: Options) -> Screen {
        let mut screen = Screen::new(options);
        screen.parser.simple = true;
        screen
    }

    /// Takes output of the program. The pieces may be cut anywhere: the state and what the sink is told depend on
    /// the bytes alone.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        self.parser.feed(&mut self.display, bytes, sink);
    }

    /// Changes the size. Text of the primary screen is wrapped anew; rows for which there is no room leave at the
    /// top. Rows that have left never come back.
    pub fn resize(&mut self, cols: u16, rows: u16, sink: &mut impl Sink) {
        self.display
            .resize(usize::from(cols.max(1)), usize::from(rows.max(1)), sink);
    }
}

impl Deref for Screen {
    type Target = Display;

    fn deref(&self) -> &Display {
        &self.display
    }
}
