//! How many columns a character takes.

use unicode_width::UnicodeWidthChar;

/// Columns of a character: 0 (it joins the cell before it), 1 or 2. Each code point counts for itself, as in xterm:
/// a family joined by ZWJ is as wide as its members together.
pub(crate) fn char_width(character: char) -> usize {
    if character < '\u{7f}' {
        return 1;
    }
    match character {
        // The soft hyphen is drawn by terminals, though a typesetter would not.
        '\u{ad}' => 1,
        _ => character.width().unwrap_or(0).min(2),
    }
}
