//! The modes a program has set.

/// Which mouse events a program asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MouseMode {
    #[default]
    Off,
    /// Presses only, in the oldest form (DEC mode 9).
    Press,
    /// Presses and releases (1000).
    PressRelease,
    /// Also motion while a button is held (1002).
    Drag,
    /// All motion (1003).
    Motion,
}

/// How mouse events are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MouseEncoding {
    #[default]
    Default,
    /// Coordinates as UTF-8 characters (1005).
    Utf8,
    /// Decimal numbers (1006).
    Sgr,
}

/// The modes that matter outside the screen, and those that a query can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "the modes of a terminal are independent switches"
)]
pub struct Modes {
    /// The alternate screen shows (47, 1047, 1049).
    pub alternate_screen: bool,
    /// Arrow keys send `ESC O` (DECCKM, 1).
    pub application_cursor: bool,
    /// The keypad sends application codes (DECKPAM).
    pub application_keypad: bool,
    /// Pasted text is to be bracketed (2004).
    pub bracketed_paste: bool,
    pub mouse: MouseMode,
    pub mouse_encoding: MouseEncoding,
    /// The wheel sends arrow keys on the alternate screen (1007).
    pub alternate_scroll: bool,
    /// Focus changes are reported (1004).
    pub focus_events: bool,
    /// The flags of the kitty keyboard protocol in force.
    pub kitty_flags: u8,
    /// Output is to be shown at once when it ends (2026).
    pub synchronized_output: bool,
    /// The cursor is shown (DECTCEM, 25).
    pub cursor_visible: bool,
    /// The form of the cursor a program asked for (DECSCUSR): 0 the default, 1 and 2 a block, 3 and 4 a line below,
    /// 5 and 6 a bar; odd ones blink.
    pub cursor_style: u8,
    /// Text wraps at the right edge (DECAWM, 7).
    pub autowrap: bool,
    /// Cursor positions count from the scroll region (DECOM, 6).
    pub origin: bool,
    /// Characters push the rest of the row to the right (IRM, 4).
    pub insert: bool,
    /// A line feed is also a carriage return (LNM, 20).
    pub newline: bool,
    /// Colours are swapped on the whole screen (DECSCNM, 5).
    pub reverse_screen: bool,
    /// A backspace at the left edge goes to the end of the row above (45).
    pub reverse_wrap: bool,
}

impl Default for Modes {
    fn default() -> Modes {
        Modes {
            alternate_screen: false,
            application_cursor: false,
            application_keypad: false,
            bracketed_paste: false,
            mouse: MouseMode::Off,
            mouse_encoding: MouseEncoding::Default,
            alternate_scroll: false,
            focus_events: false,
            kitty_flags: 0,
            synchronized_output: false,
            cursor_visible: true,
            cursor_style: 0,
            autowrap: true,
            origin: false,
            insert: false,
            newline: false,
            reverse_screen: false,
            reverse_wrap: false,
        }
    }
}
