//! Operating system commands (OSC).

use crate::{Display, Event, Sink};

/// How many parameters of a command are told apart; the last one holds what follows.
const MAX_PARAMETERS: usize = 64;

/// The longest title kept, in bytes.
const MAX_TITLE: usize = 4096;

impl Display {
    pub(crate) fn osc(&mut self, command: &[u8], sink: &mut dyn Sink) {
        self.last = None;
        let number = command
            .split(|byte| *byte == b';')
            .next()
            .unwrap_or_default();
        let payload = command.get(number.len() + 1..).unwrap_or_default();
        match number {
            b"0" | b"2" => self.set_title(payload, sink),
            b"1" => {}
            _ => {
                let params: Vec<&[u8]> = command
                    .splitn(MAX_PARAMETERS, |byte| *byte == b';')
                    .collect();
                sink.event(self, Event::Osc(&params));
            }
        }
    }

    fn set_title(&mut self, payload: &[u8], sink: &mut dyn Sink) {
        let mut title = String::from_utf8_lossy(payload).into_owned();
        title.truncate(title.floor_char_boundary(MAX_TITLE));
        if title != self.title {
            self.title = title;
            sink.event(self, Event::Title(&self.title));
        }
    }
}
