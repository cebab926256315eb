//! Keys for programs that enabled the kitty keyboard protocol
//! (<https://sw.kovidgoyal.net/kitty/keyboard-protocol/>). A named key is a press; no release follows it.

use super::{FUNCTION_NUMBERS, Key, Modifiers};

const DISAMBIGUATE: u8 = 1;
const ALTERNATE_KEYS: u8 = 4;
const ALL_AS_ESCAPES: u8 = 8;
const ASSOCIATED_TEXT: u8 = 16;

/// The flags that change what a press sends.
pub(super) const IN_FORCE: u8 = DISAMBIGUATE | ALL_AS_ESCAPES;

/// The bytes for a key, or `None` where the protocol keeps what terminals always sent.
pub(super) fn encode(key: Key, modifiers: Modifiers, flags: u8) -> Option<Vec<u8>> {
    let all = flags & ALL_AS_ESCAPES != 0;
    let held = modifiers != Modifiers::default();
    match key {
        Key::Escape => Some(unicode(27, None, modifiers, None)),
        // So that a shell can be used after a program that forgot to reset the flags.
        Key::Enter if all || held => Some(unicode(13, None, modifiers, None)),
        Key::Tab if all || held => Some(unicode(9, None, modifiers, None)),
        Key::Backspace if all || held => Some(unicode(127, None, modifiers, None)),
        Key::Enter | Key::Tab | Key::Backspace => None,
        Key::Cursor(last) => Some(lettered(last, modifiers)),
        Key::Numbered(number) => Some(super::numbered(number, modifiers)),
        Key::Function(3) => Some(super::numbered(13, modifiers)),
        Key::Function(number @ 1..=4) => Some(lettered(b'P' + number - 1, modifiers)),
        Key::Function(number @ 5..=12) => Some(super::numbered(
            FUNCTION_NUMBERS[usize::from(number) - 5],
            modifiers,
        )),
        // F13 and the following ones have codes in the private use area.
        Key::Function(number) => Some(unicode(57363 + u32::from(number), None, modifiers, None)),
        Key::Character(character) => self::character(character, modifiers, flags),
    }
}

fn character(character: char, mut modifiers: Modifiers, flags: u8) -> Option<Vec<u8>> {
    let text_only = Modifiers {
        shift: false,
        ..modifiers
    } == Modifiers::default();
    if text_only && flags & ALL_AS_ESCAPES == 0 {
        return None;
    }
    // The key is named by what it gives without Shift.
    let mut lower = character.to_lowercase();
    let base = match (lower.next(), lower.next()) {
        (Some(base), None) => base,
        _ => character,
    };
    // `Ctrl-C` is how people write the key; only on its own, or with Shift named, does a capital mean Shift.
    modifiers.shift |= base != character && text_only;
    let mut upper = base.to_uppercase();
    let shifted = match (upper.next(), upper.next()) {
        (Some(shifted), None) if shifted != base => Some(shifted),
        _ => None,
    };
    let alternate = shifted
        .filter(|_| modifiers.shift && flags & ALTERNATE_KEYS != 0)
        .map(u32::from);
    let typed = if modifiers.shift {
        shifted.unwrap_or(base)
    } else {
        base
    };
    let text = (text_only && flags & ASSOCIATED_TEXT != 0).then_some(typed);
    Some(unicode(u32::from(base), alternate, modifiers, text))
}

/// `CSI code:alternate ; modifiers ; text u`, without what is not needed.
fn unicode(code: u32, alternate: Option<u32>, modifiers: Modifiers, text: Option<char>) -> Vec<u8> {
    let alternate = alternate.map_or(String::new(), |alternate| format!(":{alternate}"));
    let rest = match (modifiers.code(), text.map(u32::from)) {
        (1, None) => String::new(),
        (1, Some(text)) => format!(";;{text}"),
        (code, None) => format!(";{code}"),
        (code, Some(text)) => format!(";{code};{text}"),
    };
    format!("\x1b[{code}{alternate}{rest}u").into_bytes()
}

/// Cursor keys never have the form of application cursor mode here.
fn lettered(last: u8, modifiers: Modifiers) -> Vec<u8> {
    super::lettered(last, modifiers, false)
}

#[cfg(test)]
mod tests {
    use crate::Modes;
    use crate::keys::encode;

    fn check(kitty_flags: u8, cases: &[(&str, &str)]) {
        let modes = Modes {
            kitty_flags,
            application_cursor: true,
            ..Modes::default()
        };
        for (name, bytes) in cases {
            let encoded = encode(name, modes).map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(
                encoded.as_deref(),
                Some(*bytes),
                "{name} with {kitty_flags}"
            );
        }
    }

    /// rule: query-3
    #[test]
    fn keys_are_disambiguated() {
        check(
            1,
            &[
                ("Esc", "\x1b[27u"),
                ("a", "a"),
                ("A", "A"),
                ("Shift-a", "A"),
                ("Ctrl-C", "\x1b[99;5u"),
                ("Ctrl-c", "\x1b[99;5u"),
                ("Ctrl-Shift-c", "\x1b[99;6u"),
                ("Alt-x", "\x1b[120;3u"),
                ("Super-x", "\x1b[120;9u"),
                ("Ctrl-Space", "\x1b[32;5u"),
                ("Enter", "\r"),
                ("Tab", "\t"),
                ("Shift-Tab", "\x1b[9;2u"),
                ("Ctrl-Enter", "\x1b[13;5u"),
                ("Backspace", "\x7f"),
                ("Up", "\x1b[A"),
                ("Ctrl-Up", "\x1b[1;5A"),
                ("F1", "\x1b[P"),
                ("F3", "\x1b[13~"),
                ("F5", "\x1b[15~"),
                ("F13", "\x1b[57376u"),
                ("PageUp", "\x1b[5~"),
            ],
        );
    }

    /// rule: query-3
    #[test]
    fn all_keys_are_escapes() {
        check(
            8,
            &[
                ("a", "\x1b[97u"),
                ("A", "\x1b[97;2u"),
                ("Enter", "\x1b[13u"),
                ("漢", "\x1b[28450u"),
            ],
        );
        check(8 | 4, &[("Shift-a", "\x1b[97:65;2u"), ("a", "\x1b[97u")]);
        check(
            8 | 16,
            &[
                ("a", "\x1b[97;;97u"),
                ("A", "\x1b[97;2;65u"),
                ("Ctrl-a", "\x1b[97;5u"),
            ],
        );
        // Event types alone change nothing about a press.
        check(2, &[("Esc", "\x1b"), ("Up", "\x1bOA")]);
    }
}
