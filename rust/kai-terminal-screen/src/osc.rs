//! Operating system commands (OSC).

use crate::palette::{Special, answer_color, parse_color};
use crate::{Display, Event, Sink};

/// How many parameters of a command are told apart; the last one holds what follows.
const MAX_PARAMETERS: usize = 64;

/// The longest title kept, in bytes.
const MAX_TITLE: usize = 4096;

/// The most titles kept by the window operation that saves them.
const MAX_SAVED_TITLES: usize = 10;

impl Display {
    /// `end` is what ended the command, BEL or ST: answers end in the same way.
    pub(crate) fn osc(&mut self, command: &[u8], end: &str, sink: &mut dyn Sink) {
        self.last = None;
        let number = command
            .split(|byte| *byte == b';')
            .next()
            .unwrap_or_default();
        let payload = command.get(number.len() + 1..).unwrap_or_default();
        match number {
            b"0" | b"2" => {
                let title = String::from_utf8_lossy(payload).into_owned();
                self.set_title(title, sink);
            }
            b"1" => {}
            b"4" => self.palette_command(payload, end, sink),
            b"8" => self.hyperlink(payload),
            b"10" => self.special_colors(Special::Foreground, payload, end, sink),
            b"11" => self.special_colors(Special::Background, payload, end, sink),
            b"12" => self.special_colors(Special::Cursor, payload, end, sink),
            b"104" => self.reset_palette(payload),
            b"110" => self.palette.reset_special(Special::Foreground),
            b"111" => self.palette.reset_special(Special::Background),
            b"112" => self.palette.reset_special(Special::Cursor),
            _ => {
                let params: Vec<&[u8]> = command
                    .splitn(MAX_PARAMETERS, |byte| *byte == b';')
                    .collect();
                sink.event(self, Event::Osc(&params));
                // The numbers by which xterm and kitty are asked for a colour, the clipboard, a font.
                let asks = matches!(
                    number,
                    b"5" | b"13"
                        | b"14"
                        | b"15"
                        | b"16"
                        | b"17"
                        | b"18"
                        | b"19"
                        | b"21"
                        | b"50"
                        | b"52"
                );
                if asks && payload.ends_with(b"?") {
                    self.unknown_query(&format!("OSC {}", String::from_utf8_lossy(number)), sink);
                }
            }
        }
    }

    pub(crate) fn set_title(&mut self, mut title: String, sink: &mut dyn Sink) {
        title.truncate(title.floor_char_boundary(MAX_TITLE));
        if title != self.title {
            self.title = title;
            sink.event(self, Event::Title(&self.title));
        }
    }

    pub(crate) fn save_title(&mut self) {
        if self.saved_titles.len() == MAX_SAVED_TITLES {
            self.saved_titles.remove(0);
        }
        self.saved_titles.push(self.title.clone());
    }

    pub(crate) fn restore_title(&mut self, sink: &mut dyn Sink) {
        if let Some(title) = self.saved_titles.pop() {
            self.set_title(title, sink);
        }
    }

    /// `index;color` pairs; a colour of `?` asks.
    fn palette_command(&mut self, payload: &[u8], end: &str, sink: &mut dyn Sink) {
        let text = String::from_utf8_lossy(payload);
        let mut parts = text.split(';');
        while let (Some(index), Some(color)) = (parts.next(), parts.next()) {
            let Ok(index) = index.parse() else { continue };
            if color == "?" {
                let answer = answer_color(self.palette.indexed(index));
                sink.reply(format!("\x1b]4;{index};{answer}{end}").as_bytes());
            } else if let Some(color) = parse_color(color) {
                self.palette.set_indexed(index, color);
            }
        }
    }

    fn reset_palette(&mut self, payload: &[u8]) {
        if payload.is_empty() {
            self.palette.reset_indexed(None);
        }
        for index in String::from_utf8_lossy(payload)
            .split(';')
            .filter_map(|index| index.parse().ok())
        {
            self.palette.reset_indexed(Some(index));
        }
    }

    /// One command may set or ask for several colours: the following parameters mean the following ones.
    fn special_colors(&mut self, first: Special, payload: &[u8], end: &str, sink: &mut dyn Sink) {
        const ALL: [Special; 3] = [Special::Foreground, Special::Background, Special::Cursor];
        let text = String::from_utf8_lossy(payload);
        for (which, color) in ALL.into_iter().skip(first as usize).zip(text.split(';')) {
            if color == "?" {
                let (number, answer) = (
                    10 + which as usize,
                    answer_color(self.palette.special(which)),
                );
                sink.reply(format!("\x1b]{number};{answer}{end}").as_bytes());
            } else if let Some(color) = parse_color(color) {
                self.palette.set_special(which, color);
            }
        }
    }

    /// `parameters;uri`: what is printed from now on belongs to the link; an empty one ends it.
    fn hyperlink(&mut self, payload: &[u8]) {
        let text = String::from_utf8_lossy(payload);
        let (parameters, uri) = text.split_once(';').unwrap_or_default();
        let id = parameters
            .split(':')
            .find_map(|parameter| parameter.strip_prefix("id="))
            .unwrap_or_default();
        let link = if uri.is_empty() {
            0
        } else {
            self.intern_link(id, uri)
        };
        let style = crate::Style {
            link,
            ..self.pen.style
        };
        self.pen = crate::display::Pen::new(style);
    }
}
