//! Keys by name, as the bytes a terminal sends for them in the modes at hand.

use crate::Modes;

/// The bytes for a key: a name such as `Enter`, `Up`, `F5` or `PageUp`, or a single character, with any of the
/// modifiers `Ctrl-`, `Alt-` and `Shift-` before it. `None` for a name that is not known.
pub fn encode(name: &str, modes: Modes) -> Option<Vec<u8>> {
    let (modifiers, key) = split_modifiers(name);
    if let Some(bytes) = special(key, modifiers, modes) {
        return Some(bytes);
    }
    let mut characters = key.chars();
    let (character, None) = (characters.next()?, characters.next()) else {
        return None;
    };
    character_bytes(character, modifiers)
}

#[derive(Clone, Copy, Debug, Default)]
struct Modifiers {
    shift: bool,
    alt: bool,
    ctrl: bool,
}

impl Modifiers {
    /// The number xterm puts into sequences: one more than a bit set.
    fn code(self) -> u8 {
        1 + u8::from(self.shift) + 2 * u8::from(self.alt) + 4 * u8::from(self.ctrl)
    }
}

fn split_modifiers(name: &str) -> (Modifiers, &str) {
    let mut modifiers = Modifiers::default();
    let mut rest = name;
    while let Some((word, key)) = rest.split_once(['-', '+']) {
        if key.is_empty() {
            break;
        }
        match word.to_ascii_lowercase().as_str() {
            "ctrl" | "control" | "c" => modifiers.ctrl = true,
            "alt" | "meta" | "m" => modifiers.alt = true,
            "shift" | "s" => modifiers.shift = true,
            _ => break,
        }
        rest = key;
    }
    (modifiers, rest)
}

fn special(key: &str, modifiers: Modifiers, modes: Modes) -> Option<Vec<u8>> {
    let lower = key.to_ascii_lowercase();
    let plain = |byte: u8| Some(with_alt(vec![byte], modifiers));
    match lower.as_str() {
        "enter" | "return" => plain(b'\r'),
        "tab" if modifiers.shift => Some(with_alt(b"\x1b[Z".to_vec(), modifiers)),
        "tab" => plain(b'\t'),
        "esc" | "escape" => plain(0x1b),
        "space" => character_bytes(' ', modifiers),
        "backspace" => plain(if modifiers.ctrl { 0x08 } else { 0x7f }),
        "up" => Some(cursor(b'A', modifiers, modes)),
        "down" => Some(cursor(b'B', modifiers, modes)),
        "right" => Some(cursor(b'C', modifiers, modes)),
        "left" => Some(cursor(b'D', modifiers, modes)),
        "home" => Some(cursor(b'H', modifiers, modes)),
        "end" => Some(cursor(b'F', modifiers, modes)),
        "insert" => Some(tilde(2, modifiers)),
        "delete" => Some(tilde(3, modifiers)),
        "pageup" => Some(tilde(5, modifiers)),
        "pagedown" => Some(tilde(6, modifiers)),
        _ => function(lower.strip_prefix('f')?.parse().ok()?, modifiers),
    }
}

fn with_alt(mut bytes: Vec<u8>, modifiers: Modifiers) -> Vec<u8> {
    if modifiers.alt {
        bytes.insert(0, 0x1b);
    }
    bytes
}

fn cursor(last: u8, modifiers: Modifiers, modes: Modes) -> Vec<u8> {
    match modifiers.code() {
        1 if modes.application_cursor => vec![0x1b, b'O', last],
        1 => vec![0x1b, b'[', last],
        code => format!("\x1b[1;{code}{}", char::from(last)).into_bytes(),
    }
}

fn tilde(number: u8, modifiers: Modifiers) -> Vec<u8> {
    match modifiers.code() {
        1 => format!("\x1b[{number}~").into_bytes(),
        code => format!("\x1b[{number};{code}~").into_bytes(),
    }
}

fn function(number: u8, modifiers: Modifiers) -> Option<Vec<u8>> {
    const NUMBERS: [u8; 8] = [15, 17, 18, 19, 20, 21, 23, 24];
    match (number, modifiers.code()) {
        (1..=4, 1) => Some(vec![0x1b, b'O', b'P' + number - 1]),
        (1..=4, code) => {
            Some(format!("\x1b[1;{code}{}", char::from(b'P' + number - 1)).into_bytes())
        }
        (5..=12, _) => Some(tilde(NUMBERS[usize::from(number) - 5], modifiers)),
        _ => None,
    }
}

fn character_bytes(character: char, modifiers: Modifiers) -> Option<Vec<u8>> {
    let bytes = if modifiers.ctrl {
        vec![control(character)?]
    } else if modifiers.shift {
        character.to_uppercase().to_string().into_bytes()
    } else {
        character.to_string().into_bytes()
    };
    Some(with_alt(bytes, modifiers))
}

/// The control code of a character held with Ctrl.
fn control(character: char) -> Option<u8> {
    match character {
        'a'..='z' | 'A'..='Z' | '[' | '\\' | ']' | '^' | '_' | '@' => Some(character as u8 & 0x1f),
        ' ' | '2' => Some(0),
        '3'..='7' => Some(character as u8 - b'3' + 0x1b),
        '8' | '?' => Some(0x7f),
        '/' | '-' => Some(0x1f),
        _ => None,
    }
}
