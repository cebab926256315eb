//! Keys by name, as the bytes a terminal sends for them in the modes at hand.
//!
//! Sources: xterm's ctlseqs (PC-style function keys, "Alt and Meta Keys"), and the kitty keyboard protocol for
//! programs that enabled it.

mod kitty;

use crate::Modes;

/// The bytes for a key: a name such as `Enter`, `Up`, `F5` or `PageUp`, or a single character, with any of the
/// modifiers `Ctrl-`, `Alt-`, `Shift-` and `Super-` before it. Names do not depend on case. `None` for a name that
/// is not known, or for a combination that no terminal sends.
pub fn encode(name: &str, modes: Modes) -> Option<Vec<u8>> {
    let (modifiers, key) = parse(name)?;
    if modes.kitty_flags & kitty::IN_FORCE != 0
        && let Some(bytes) = kitty::encode(key, modifiers, modes.kitty_flags)
    {
        return Some(bytes);
    }
    legacy(key, modifiers, modes)
}

/// What a terminal sends when it gains or loses the focus; nothing where the program did not ask for it.
pub fn focus(gained: bool, modes: Modes) -> Option<&'static [u8]> {
    let report: &[u8] = if gained { b"\x1b[I" } else { b"\x1b[O" };
    modes.focus_events.then_some(report)
}

/// A key without its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Character(char),
    Enter,
    Tab,
    Escape,
    Backspace,
    /// A key whose sequence ends in a letter: arrows, Home, End and Begin.
    Cursor(u8),
    /// A key whose sequence is a number and a tilde.
    Numbered(u8),
    Function(u8),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a key that is held or not"
)]
struct Modifiers {
    shift: bool,
    alt: bool,
    ctrl: bool,
    logo: bool,
}

impl Modifiers {
    /// The number xterm and kitty put into sequences: one more than a bit set.
    fn code(self) -> u8 {
        1 + u8::from(self.shift)
            + 2 * u8::from(self.alt)
            + 4 * u8::from(self.ctrl)
            + 8 * u8::from(self.logo)
    }
}

fn parse(name: &str) -> Option<(Modifiers, Key)> {
    let mut modifiers = Modifiers::default();
    let mut rest = name;
    while let Some((word, key)) = rest.split_once(['-', '+']) {
        let modifier = match word.to_ascii_lowercase().as_str() {
            "ctrl" | "control" => &mut modifiers.ctrl,
            "alt" | "meta" | "option" => &mut modifiers.alt,
            "shift" => &mut modifiers.shift,
            "super" | "cmd" | "win" => &mut modifiers.logo,
            _ => break,
        };
        *modifier = true;
        rest = key;
    }
    Some((modifiers, key(rest)?))
}

fn key(name: &str) -> Option<Key> {
    let mut characters = name.chars();
    if let (Some(character), None) = (characters.next(), characters.next()) {
        return match character {
            '\r' | '\n' => Some(Key::Enter),
            '\t' => Some(Key::Tab),
            '\u{1b}' => Some(Key::Escape),
            '\u{7f}' | '\u{8}' => Some(Key::Backspace),
            _ => Some(Key::Character(character)),
        };
    }
    let name = name.to_ascii_lowercase();
    Some(match name.as_str() {
        "enter" | "return" => Key::Enter,
        "tab" => Key::Tab,
        "esc" | "escape" => Key::Escape,
        "backspace" => Key::Backspace,
        "space" => Key::Character(' '),
        "minus" => Key::Character('-'),
        "plus" => Key::Character('+'),
        "up" => Key::Cursor(b'A'),
        "down" => Key::Cursor(b'B'),
        "right" => Key::Cursor(b'C'),
        "left" => Key::Cursor(b'D'),
        "begin" => Key::Cursor(b'E'),
        "end" => Key::Cursor(b'F'),
        "home" => Key::Cursor(b'H'),
        "insert" | "ins" => Key::Numbered(2),
        "delete" | "del" => Key::Numbered(3),
        "pageup" | "pgup" => Key::Numbered(5),
        "pagedown" | "pgdn" => Key::Numbered(6),
        _ => {
            let number = name.strip_prefix('f')?.parse().ok()?;
            (1..=20)
                .contains(&number)
                .then_some(Key::Function(number))?
        }
    })
}

fn legacy(key: Key, modifiers: Modifiers, modes: Modes) -> Option<Vec<u8>> {
    Some(match key {
        Key::Enter if modes.newline => with_alt(b"\r\n".to_vec(), modifiers),
        Key::Enter => with_alt(vec![b'\r'], modifiers),
        Key::Tab if modifiers.shift => with_alt(b"\x1b[Z".to_vec(), modifiers),
        Key::Tab => with_alt(vec![b'\t'], modifiers),
        Key::Escape => with_alt(vec![0x1b], modifiers),
        Key::Backspace => with_alt(vec![if modifiers.ctrl { 0x08 } else { 0x7f }], modifiers),
        Key::Cursor(last) => lettered(last, modifiers, modes.application_cursor),
        Key::Numbered(number) => numbered(number, modifiers),
        Key::Function(number @ 1..=4) => lettered(b'P' + number - 1, modifiers, true),
        Key::Function(number) => numbered(FUNCTION_NUMBERS[usize::from(number) - 5], modifiers),
        Key::Character(character) => return text(character, modifiers),
    })
}

/// The numbers of F5 to F20 in their sequences (xterm's ctlseqs, VT220-style function keys).
const FUNCTION_NUMBERS: [u8; 16] = [
    15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 31, 32, 33, 34,
];

/// Alt is an ESC before the key.
fn with_alt(mut bytes: Vec<u8>, modifiers: Modifiers) -> Vec<u8> {
    if modifiers.alt {
        bytes.insert(0, 0x1b);
    }
    bytes
}

fn lettered(last: u8, modifiers: Modifiers, application: bool) -> Vec<u8> {
    match modifiers.code() {
        1 if application => vec![0x1b, b'O', last],
        1 => vec![0x1b, b'[', last],
        code => format!("\x1b[1;{code}{}", char::from(last)).into_bytes(),
    }
}

fn numbered(number: u8, modifiers: Modifiers) -> Vec<u8> {
    match modifiers.code() {
        1 => format!("\x1b[{number}~").into_bytes(),
        code => format!("\x1b[{number};{code}~").into_bytes(),
    }
}

fn text(character: char, modifiers: Modifiers) -> Option<Vec<u8>> {
    if modifiers.logo {
        return None;
    }
    let bytes = if modifiers.ctrl {
        vec![control(character)?]
    } else if modifiers.shift {
        character.to_uppercase().to_string().into_bytes()
    } else {
        character.to_string().into_bytes()
    };
    Some(with_alt(bytes, modifiers))
}

/// The control code of a character held with Ctrl (xterm: as on a VT220 keyboard).
fn control(character: char) -> Option<u8> {
    Some(match character {
        'a'..='z' | 'A'..='Z' | '[' | '\\' | ']' | '^' | '_' | '@' => character as u8 & 0x1f,
        ' ' | '2' | '`' => 0,
        '3'..='7' => character as u8 - b'3' + 0x1b,
        '8' | '?' => 0x7f,
        '/' | '-' => 0x1f,
        '~' => 0x1e,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(modes: Modes, cases: &[(&str, &str)]) {
        for (name, bytes) in cases {
            let encoded = encode(name, modes).map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(encoded.as_deref(), Some(*bytes), "{name}");
        }
    }

    /// rule: in-7
    #[test]
    fn keys_in_normal_modes() {
        check(
            Modes::default(),
            &[
                ("Enter", "\r"),
                ("enter", "\r"),
                ("Tab", "\t"),
                ("Shift-Tab", "\x1b[Z"),
                ("Esc", "\x1b"),
                ("Backspace", "\x7f"),
                ("Ctrl-Backspace", "\x08"),
                ("Alt-Backspace", "\x1b\x7f"),
                ("Up", "\x1b[A"),
                ("Down", "\x1b[B"),
                ("Right", "\x1b[C"),
                ("Left", "\x1b[D"),
                ("Home", "\x1b[H"),
                ("End", "\x1b[F"),
                ("Ctrl-Right", "\x1b[1;5C"),
                ("Ctrl-Shift-Right", "\x1b[1;6C"),
                ("Alt-Up", "\x1b[1;3A"),
                ("Insert", "\x1b[2~"),
                ("Delete", "\x1b[3~"),
                ("Shift-Delete", "\x1b[3;2~"),
                ("PageUp", "\x1b[5~"),
                ("PageDown", "\x1b[6~"),
                ("F1", "\x1bOP"),
                ("F4", "\x1bOS"),
                ("Shift-F1", "\x1b[1;2P"),
                ("F5", "\x1b[15~"),
                ("F10", "\x1b[21~"),
                ("F11", "\x1b[23~"),
                ("F12", "\x1b[24~"),
                ("Ctrl-F12", "\x1b[24;5~"),
                ("Ctrl-C", "\x03"),
                ("Ctrl-c", "\x03"),
                ("Ctrl-D", "\x04"),
                ("Ctrl-Z", "\x1a"),
                ("Ctrl-\\", "\x1c"),
                ("Ctrl-]", "\x1d"),
                ("Ctrl-_", "\x1f"),
                ("Ctrl--", "\x1f"),
                ("Ctrl-Space", "\0"),
                ("Ctrl-@", "\0"),
                ("Alt-x", "\x1bx"),
                ("Alt-X", "\x1bX"),
                ("Ctrl-Alt-x", "\x1b\x18"),
                ("Shift-a", "A"),
                ("a", "a"),
                ("-", "-"),
                ("+", "+"),
                ("é", "é"),
                ("漢", "漢"),
                ("Space", " "),
            ],
        );
        for unknown in [
            "", "Ctrl-", "Hyper-x", "F0", "F21", "Fx", "abc", "Ctrl-é", "Super-x",
        ] {
            assert_eq!(encode(unknown, Modes::default()), None, "{unknown}");
        }
    }

    /// rule: in-7, query-3
    #[test]
    fn keys_in_application_cursor_mode() {
        let modes = Modes {
            application_cursor: true,
            ..Modes::default()
        };
        check(
            modes,
            &[
                ("Up", "\x1bOA"),
                ("Left", "\x1bOD"),
                ("Home", "\x1bOH"),
                ("End", "\x1bOF"),
                ("Ctrl-Up", "\x1b[1;5A"),
                ("F1", "\x1bOP"),
                ("Delete", "\x1b[3~"),
            ],
        );
    }

    /// rule: query-3
    #[test]
    fn focus_is_reported_when_asked_for() {
        assert_eq!(focus(true, Modes::default()), None);
        let modes = Modes {
            focus_events: true,
            ..Modes::default()
        };
        assert_eq!(focus(true, modes), Some(&b"\x1b[I"[..]));
        assert_eq!(focus(false, modes), Some(&b"\x1b[O"[..]));
    }
}
