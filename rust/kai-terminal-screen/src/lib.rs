//! The terminal emulator of kai-terminal: bytes in; screen, scrollback, events and replies out.
//!
//! It knows no operating system and no clock. [`Screen::feed`] takes what a program printed, in pieces of any size,
//! and the state afterwards depends on the bytes alone. No input makes it panic, and its memory is bounded by the
//! size of the screen and by [`Options`].
//!
//! ```
//! use kai_terminal_screen::{Options, Screen};
//!
//! let mut screen = Screen::new(Options { cols: 80, rows: 24, ..Options::default() });
//! screen.feed(b"\x1b[1mhello\x1b[m\r\nworld", &mut ());
//! assert_eq!(screen.rows()[..2], ["hello", "world"]);
//! assert_eq!(screen.page(0, 1).text, "world");
//! ```

mod charsets;
mod csi;
mod display;
mod document;
mod edit;
mod escape;
mod history;
mod intern;
mod keyboard;
pub mod keys;
mod line;
mod modes;
pub mod mouse;
mod osc;
mod palette;
mod parser;
mod print;
mod reflow;
mod replies;
mod screen;
mod search;
mod sgr;
mod snapshot;
mod style;
#[cfg(test)]
mod tests;
mod width;

pub use display::{Cursor, Display};
pub use document::Page;
pub use modes::{Modes, MouseEncoding, MouseMode};
pub use screen::{Options, Screen};
pub use snapshot::Span;
pub use style::{Attributes, Color, Style, Underline};

/// A place in the document: the absolute number of a logical line (0 is the first line ever printed) and a byte
/// offset in its text. It stays true while the text scrolls and when the screen is resized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    pub line: u64,
    pub offset: usize,
}

/// What comes out of a screen while it is fed, in the order of the stream.
pub trait Sink {
    /// What a terminal sends back to the program, at its place in the stream.
    fn reply(&mut self, _bytes: &[u8]) {}

    /// A row of the primary screen moved into the scrollback. `line` is the absolute number of its logical line,
    /// `offset` the byte offset of `text` in that line; `wrapped` says that the line goes on in the next row.
    fn row_left(&mut self, _line: u64, _offset: usize, _text: &str, _wrapped: bool) {}

    /// Something happened that the state alone does not tell.
    fn event(&mut self, _display: &Display, _event: Event<'_>) {}
}

impl Sink for () {}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn reply(&mut self, bytes: &[u8]) {
        (**self).reply(bytes);
    }

    fn row_left(&mut self, line: u64, offset: usize, text: &str, wrapped: bool) {
        (**self).row_left(line, offset, text, wrapped);
    }

    fn event(&mut self, display: &Display, event: Event<'_>) {
        (**self).event(display, event);
    }
}

/// See [`Sink::event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The parameters of an operating system command: of OSC 7 and 133, and of every number the screen does not
    /// handle itself. Raw bytes, bounded in length: what is longer ends early.
    Osc(&'a [&'a [u8]]),
    /// The title changed.
    Title(&'a str),
    Bell,
    /// Lines of the primary screen were erased from its top: their numbers are used again, from
    /// [`Display::screen_start`] on.
    Cleared,
    /// The scrollback was forgotten at the program's wish (ED 3).
    ScrollbackCleared,
    /// A query that is not answered, named.
    UnknownQuery(&'a str),
}
