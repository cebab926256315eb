//! Mouse events, as the bytes a terminal sends for them in the modes at hand (xterm's ctlseqs, "Mouse Tracking").

use crate::{Modes, MouseEncoding, MouseMode};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Button {
    Left,
    Middle,
    Right,
    WheelUp,
    WheelDown,
    WheelLeft,
    WheelRight,
    /// Motion without a button.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Press,
    Release,
    Move,
}

/// What the mouse did; row and column count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MouseEvent {
    pub action: Action,
    pub button: Button,
    pub row: u16,
    pub col: u16,
    pub shift: bool,
    pub alt: bool,
    pub ctrl: bool,
}

/// The bytes for an event, or `None` where the program did not ask for it or the coordinates cannot be written.
///
/// On the alternate screen the wheel is three arrow keys where the program set that mode (1007) and takes no mouse.
pub fn encode(event: MouseEvent, modes: Modes) -> Option<Vec<u8>> {
    if modes.mouse == MouseMode::Off {
        return wheel_as_keys(event, modes);
    }
    if !is_wanted(event, modes.mouse) {
        return None;
    }
    let code = code(event, modes);
    let (column, row) = (u32::from(event.col) + 1, u32::from(event.row) + 1);
    match modes.mouse_encoding {
        MouseEncoding::Sgr => {
            let last = if event.action == Action::Release {
                'm'
            } else {
                'M'
            };
            Some(format!("\x1b[<{code};{column};{row}{last}").into_bytes())
        }
        MouseEncoding::Default => {
            let mut bytes = b"\x1b[M".to_vec();
            for value in [code, column, row] {
                bytes.push(u8::try_from(value + 32).ok()?);
            }
            Some(bytes)
        }
        MouseEncoding::Utf8 => {
            let mut text = "\x1b[M".to_owned();
            for value in [code, column, row] {
                // Two bytes reach to 2047; xterm reports nothing beyond.
                text.push(
                    char::from_u32(value + 32).filter(|character| character.len_utf8() <= 2)?,
                );
            }
            Some(text.into_bytes())
        }
    }
}

fn is_wanted(event: MouseEvent, mode: MouseMode) -> bool {
    let wheel = is_wheel(event.button);
    match event.action {
        Action::Press => event.button != Button::None,
        // The wheel is not let go.
        Action::Release => !wheel && event.button != Button::None && mode != MouseMode::Press,
        Action::Move if event.button == Button::None => mode == MouseMode::Motion,
        Action::Move => !wheel && matches!(mode, MouseMode::Drag | MouseMode::Motion),
    }
}

fn is_wheel(button: Button) -> bool {
    matches!(
        button,
        Button::WheelUp | Button::WheelDown | Button::WheelLeft | Button::WheelRight
    )
}

fn code(event: MouseEvent, modes: Modes) -> u32 {
    let sgr = modes.mouse_encoding == MouseEncoding::Sgr;
    let button = match event.button {
        // The older forms do not say which button was let go.
        _ if event.action == Action::Release && !sgr => 3,
        Button::Left => 0,
        Button::Middle => 1,
        Button::Right => 2,
        Button::None => 3,
        Button::WheelUp => 64,
        Button::WheelDown => 65,
        Button::WheelLeft => 66,
        Button::WheelRight => 67,
    };
    let motion = if event.action == Action::Move { 32 } else { 0 };
    // The oldest mode has no modifiers.
    let modifiers = if modes.mouse == MouseMode::Press {
        0
    } else {
        4 * u32::from(event.shift) + 8 * u32::from(event.alt) + 16 * u32::from(event.ctrl)
    };
    button + motion + modifiers
}

fn wheel_as_keys(event: MouseEvent, modes: Modes) -> Option<Vec<u8>> {
    let key = match event.button {
        Button::WheelUp => "Up",
        Button::WheelDown => "Down",
        _ => return None,
    };
    if !(modes.alternate_screen && modes.alternate_scroll && event.action == Action::Press) {
        return None;
    }
    Some(crate::keys::encode(key, modes)?.repeat(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(action: Action, button: Button) -> MouseEvent {
        MouseEvent {
            action,
            button,
            row: 4,
            col: 9,
            shift: false,
            alt: false,
            ctrl: false,
        }
    }

    fn modes(mouse: MouseMode, mouse_encoding: MouseEncoding) -> Modes {
        Modes {
            mouse,
            mouse_encoding,
            ..Modes::default()
        }
    }

    fn text(event: MouseEvent, modes: Modes) -> Option<String> {
        encode(event, modes).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    /// rule: query-3
    #[test]
    fn the_modern_form() {
        let modes = modes(MouseMode::Drag, MouseEncoding::Sgr);
        for (action, button, expected) in [
            (Action::Press, Button::Left, Some("\x1b[<0;10;5M")),
            (Action::Release, Button::Left, Some("\x1b[<0;10;5m")),
            (Action::Press, Button::Right, Some("\x1b[<2;10;5M")),
            (Action::Press, Button::WheelDown, Some("\x1b[<65;10;5M")),
            (Action::Release, Button::WheelDown, None),
            (Action::Move, Button::Left, Some("\x1b[<32;10;5M")),
            (Action::Move, Button::None, None),
            (Action::Press, Button::None, None),
        ] {
            assert_eq!(
                text(event(action, button), modes).as_deref(),
                expected,
                "{action:?} {button:?}"
            );
        }
        let with_ctrl = MouseEvent {
            ctrl: true,
            shift: true,
            ..event(Action::Press, Button::Middle)
        };
        assert_eq!(text(with_ctrl, modes).as_deref(), Some("\x1b[<21;10;5M"));
    }

    /// rule: query-3
    #[test]
    fn the_older_forms() {
        let pressed = event(Action::Press, Button::Left);
        let released = event(Action::Release, Button::Left);
        let default = modes(MouseMode::PressRelease, MouseEncoding::Default);
        assert_eq!(text(pressed, default).as_deref(), Some("\x1b[M *%"));
        assert_eq!(text(released, default).as_deref(), Some("\x1b[M#*%"));
        assert_eq!(
            encode(
                MouseEvent {
                    col: 222,
                    ..pressed
                },
                default
            ),
            Some(b"\x1b[M \xff%".to_vec())
        );
        assert_eq!(
            encode(
                MouseEvent {
                    col: 223,
                    ..pressed
                },
                default
            ),
            None
        );
        let utf8 = modes(MouseMode::PressRelease, MouseEncoding::Utf8);
        assert_eq!(
            text(
                MouseEvent {
                    col: 223,
                    ..pressed
                },
                utf8
            )
            .as_deref(),
            Some("\x1b[M \u{100}%")
        );
        assert_eq!(
            text(
                MouseEvent {
                    col: 2015,
                    ..pressed
                },
                utf8
            ),
            None
        );
        let oldest = modes(MouseMode::Press, MouseEncoding::Default);
        assert_eq!(text(released, oldest), None);
        assert_eq!(text(pressed, Modes::default()), None);
    }

    /// rule: query-3
    #[test]
    fn the_wheel_is_arrow_keys_where_the_program_says_so() {
        let modes = Modes {
            alternate_screen: true,
            alternate_scroll: true,
            ..Modes::default()
        };
        assert_eq!(
            text(event(Action::Press, Button::WheelUp), modes).as_deref(),
            Some("\x1b[A\x1b[A\x1b[A")
        );
        assert_eq!(text(event(Action::Press, Button::Left), modes), None);
        assert_eq!(
            text(event(Action::Press, Button::WheelUp), Modes::default()),
            None
        );
    }
}
