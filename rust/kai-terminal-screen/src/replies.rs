//! Questions a program asks the terminal, and the answers.
//!
//! What is claimed is kept small and true: a VT220 with colours. Programs that want more ask for it by name (DECRQM,
//! XTGETTCAP) and are told.

use vte::Params;

use crate::csi::value;
use crate::{Attributes, Color, Display, Event, MouseEncoding, MouseMode, Sink, Style, Underline};

/// The size of a cell in pixels. There are no pixels; programs that ask get the size of a cell in a picture of the
/// screen, so that their proportions come out right.
pub(crate) const CELL: (usize, usize) = (8, 17);

/// A VT220 with colours.
pub(crate) const DEVICE_ATTRIBUTES: &[u8] = b"\x1b[?62;22c";

impl Display {
    /// Whatever control sequence is not an action.
    pub(crate) fn answer_csi(
        &mut self,
        params: &Params,
        intermediates: &[u8],
        action: char,
        sink: &mut dyn Sink,
    ) {
        let first = value(params, 0);
        match (intermediates, action, first) {
            ([], 'c', 0) => sink.reply(DEVICE_ATTRIBUTES),
            // Type 0, version 277: vim takes it for an xterm that has the SGR mouse.
            ([b'>'], 'c', 0) => sink.reply(b"\x1b[>0;277;0c"),
            ([b'='], 'c', 0) => sink.reply(b"\x1bP!|00000000\x1b\\"),
            ([b'>'], 'q', 0) => {
                sink.reply(
                    concat!("\x1bP>|kai-terminal(", env!("CARGO_PKG_VERSION"), ")\x1b\\")
                        .as_bytes(),
                );
            }
            ([], 'n', _) => self.status_report(first, sink),
            ([b'?'], 'n', _) => self.private_status_report(first, sink),
            ([b'$'], 'p', _) => self.mode_report(first, false, sink),
            ([b'?', b'$'], 'p', _) => self.mode_report(first, true, sink),
            ([], 't', _) => self.window_operation(first, value(params, 1), sink),
            ([], 'x', 0 | 1) => {
                sink.reply(format!("\x1b[{};1;1;128;128;1;0x", first + 2).as_bytes());
            }
            ([b'?'], 'u', _) => {
                sink.reply(format!("\x1b[?{}u", self.grid().keyboard.current()).as_bytes());
            }
            ([b'>'], 'u', _) => self.grid_mut().keyboard.push(first),
            ([b'<'], 'u', _) => self.grid_mut().keyboard.pop(first.max(1)),
            ([b'='], 'u', _) => {
                let mode = value(params, 1);
                self.grid_mut().keyboard.set(first, mode);
            }
            // No key is modified in xterm's way, and there are no graphics.
            ([b'?'], 'm', 4) => sink.reply(b"\x1b[>4;0m"),
            ([b'?'], 'S', _) => sink.reply(format!("\x1b[?{first};3;0S").as_bytes()),
            _ => self.note_query(first, intermediates, action, sink),
        }
    }

    fn status_report(&mut self, what: usize, sink: &mut dyn Sink) {
        match what {
            5 => sink.reply(b"\x1b[0n"),
            6 => sink.reply(format!("\x1b[{}R", self.reported_position()).as_bytes()),
            _ => self.unknown_query(&format!("CSI {what} n"), sink),
        }
    }

    fn private_status_report(&mut self, what: usize, sink: &mut dyn Sink) {
        match what {
            6 => sink.reply(format!("\x1b[?{};1R", self.reported_position()).as_bytes()),
            // No printer, keys that cannot be redefined, an unknown keyboard, no locator, a dark background.
            15 => sink.reply(b"\x1b[?13n"),
            25 => sink.reply(b"\x1b[?21n"),
            26 => sink.reply(b"\x1b[?27;0;0;0n"),
            53 | 55 => sink.reply(b"\x1b[?53n"),
            56 => sink.reply(b"\x1b[?57;0n"),
            996 => sink.reply(b"\x1b[?997;1n"),
            _ => self.unknown_query(&format!("CSI ? {what} n"), sink),
        }
    }

    /// Row and column of the cursor, counted from 1; with origin mode the row counts from the region.
    fn reported_position(&self) -> String {
        let top = if self.modes.origin { self.top } else { 0 };
        format!(
            "{};{}",
            self.place.row.saturating_sub(top) + 1,
            self.place.col + 1
        )
    }

    /// DECRPM: 1 set, 2 reset, 0 not known, 4 always reset.
    fn mode_report(&self, mode: usize, private: bool, sink: &mut dyn Sink) {
        let state = if private {
            self.private_mode(mode)
        } else {
            self.ansi_mode(mode)
        };
        let state = state.map_or(0, |on| if on { 1 } else { 2 });
        let mark = if private { "?" } else { "" };
        sink.reply(format!("\x1b[{mark}{mode};{state}$y").as_bytes());
    }

    fn ansi_mode(&self, mode: usize) -> Option<bool> {
        match mode {
            4 => Some(self.modes.insert),
            20 => Some(self.modes.newline),
            _ => None,
        }
    }

    fn private_mode(&self, mode: usize) -> Option<bool> {
        let modes = &self.modes;
        Some(match mode {
            1 => modes.application_cursor,
            5 => modes.reverse_screen,
            6 => modes.origin,
            7 => modes.autowrap,
            9 => modes.mouse == MouseMode::Press,
            25 => modes.cursor_visible,
            45 => modes.reverse_wrap,
            47 | 1047 | 1049 => modes.alternate_screen,
            66 => modes.application_keypad,
            1000 => modes.mouse == MouseMode::PressRelease,
            1002 => modes.mouse == MouseMode::Drag,
            1003 => modes.mouse == MouseMode::Motion,
            1004 => modes.focus_events,
            1005 => modes.mouse_encoding == MouseEncoding::Utf8,
            1006 => modes.mouse_encoding == MouseEncoding::Sgr,
            1007 => modes.alternate_scroll,
            2004 => modes.bracketed_paste,
            2026 => modes.synchronized_output,
            _ => return None,
        })
    }

    /// Window operations (XTWINOPS): the questions, and the stack of titles.
    fn window_operation(&mut self, operation: usize, which: usize, sink: &mut dyn Sink) {
        let (columns, rows) = (self.columns, self.rows);
        match operation {
            11 => sink.reply(b"\x1b[1t"),
            13 => sink.reply(b"\x1b[3;0;0t"),
            14 => sink.reply(format!("\x1b[4;{};{}t", rows * CELL.1, columns * CELL.0).as_bytes()),
            15 => sink.reply(format!("\x1b[5;{};{}t", rows * CELL.1, columns * CELL.0).as_bytes()),
            16 => sink.reply(format!("\x1b[6;{};{}t", CELL.1, CELL.0).as_bytes()),
            18 => sink.reply(format!("\x1b[8;{rows};{columns}t").as_bytes()),
            19 => sink.reply(format!("\x1b[9;{rows};{columns}t").as_bytes()),
            // A title that a program chose must not come back as input: the answer is empty.
            20 => sink.reply(b"\x1b]L\x1b\\"),
            21 => sink.reply(b"\x1b]l\x1b\\"),
            22 if which != 1 => self.save_title(),
            23 if which != 1 => self.restore_title(sink),
            _ => {}
        }
    }

    /// A device control string: DECRQSS and XTGETTCAP are questions, everything else is swallowed.
    pub(crate) fn dcs(&mut self, command: &[u8], sink: &mut dyn Sink) {
        self.last = None;
        if let Some(what) = command.strip_prefix(b"$q") {
            match self.setting(what) {
                Some(setting) => sink.reply(format!("\x1bP1$r{setting}\x1b\\").as_bytes()),
                None => sink.reply(b"\x1bP0$r\x1b\\"),
            }
        } else if let Some(names) = command.strip_prefix(b"+q") {
            for name in names.split(|byte| *byte == b';') {
                sink.reply(capability(name).as_bytes());
            }
        }
    }

    fn setting(&self, what: &[u8]) -> Option<String> {
        match what {
            b"m" => Some(format!("{}m", sgr_parameters(&self.pen.style))),
            b"r" => Some(format!("{};{}r", self.top + 1, self.bottom + 1)),
            b" q" => Some(format!("{} q", self.modes.cursor_style)),
            b"\"p" => Some("62;1\"p".to_owned()),
            b"\"q" => Some("0\"q".to_owned()),
            _ => None,
        }
    }

    /// Names a control sequence that asks for something nobody answers.
    fn note_query(
        &mut self,
        first: usize,
        intermediates: &[u8],
        action: char,
        sink: &mut dyn Sink,
    ) {
        let asks = matches!(
            (intermediates, action),
            ([b'$'], 'w' | 'u')
                | ([b'*'], 'y')
                | ([b'&'], 'u')
                | ([b'?'], 'm')
                | ([b'#'], 'R' | 'S')
                | ([b'>' | b'='], 'c' | 'q')
        );
        if asks {
            let marks = String::from_utf8_lossy(intermediates);
            let name = if marks.starts_with(['?', '>', '=']) {
                format!("CSI {marks} {first} {action}")
            } else {
                format!("CSI {first} {marks} {action}")
            };
            self.unknown_query(&name, sink);
        }
    }

    pub(crate) fn unknown_query(&self, name: &str, sink: &mut dyn Sink) {
        sink.event(self, Event::UnknownQuery(name));
    }
}

/// The answer about a terminfo capability, whose name comes in hexadecimal (XTGETTCAP).
fn capability(name: &[u8]) -> String {
    let decoded: Option<Vec<u8>> = name
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    let value = match decoded.as_deref() {
        Some(b"TN" | b"name") => "xterm-256color",
        Some(b"Co" | b"colors") => "256",
        Some(b"RGB") => "8",
        _ => {
            let name: String = String::from_utf8_lossy(name)
                .chars()
                .filter(char::is_ascii_hexdigit)
                .collect();
            return format!("\x1bP0+r{name}\x1b\\");
        }
    };
    let name = String::from_utf8_lossy(name);
    let value = value
        .bytes()
        .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    format!("\x1bP1+r{name}={value}\x1b\\")
}

/// The parameters that make a style out of none: `0`, or `0;1;31`.
pub(crate) fn sgr_parameters(style: &Style) -> String {
    const CODES: [(Attributes, &str); 8] = [
        (Attributes::BOLD, ";1"),
        (Attributes::FAINT, ";2"),
        (Attributes::ITALIC, ";3"),
        (Attributes::BLINK, ";5"),
        (Attributes::INVERSE, ";7"),
        (Attributes::HIDDEN, ";8"),
        (Attributes::STRIKE, ";9"),
        (Attributes::OVERLINE, ";53"),
    ];
    let mut out = "0".to_owned();
    for (attribute, code) in CODES {
        if style.attributes.contains(attribute) {
            out.push_str(code);
        }
    }
    out.push_str(match style.underline {
        Underline::None => "",
        Underline::Single => ";4",
        Underline::Double => ";4:2",
        Underline::Curly => ";4:3",
        Underline::Dotted => ";4:4",
        Underline::Dashed => ";4:5",
    });
    push_color(&mut out, style.foreground, Some(30), "38");
    push_color(&mut out, style.background, Some(40), "48");
    push_color(&mut out, style.underline_color, None, "58");
    out
}

fn push_color(out: &mut String, color: Color, base: Option<u8>, extended: &str) {
    let parameters = match (color, base) {
        (Color::Default, _) => return,
        (Color::Indexed(index @ 0..=7), Some(base)) => format!(";{}", base + index),
        (Color::Indexed(index @ 8..=15), Some(base)) => format!(";{}", base + 52 + index),
        (Color::Indexed(index), _) => format!(";{extended}:5:{index}"),
        (Color::Rgb(red, green, blue), _) => format!(";{extended}:2::{red}:{green}:{blue}"),
    };
    out.push_str(&parameters);
}
