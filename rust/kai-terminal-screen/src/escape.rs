//! Escape sequences without parameters.

use crate::charsets::Charset;
use crate::{Display, Sink};

impl Display {
    pub(crate) fn escape(&mut self, intermediates: &[u8], byte: u8, sink: &mut dyn Sink) {
        self.last = None;
        match (intermediates, byte) {
            ([], b'D') => self.index(sink),
            ([], b'E') => {
                self.place.col = 0;
                self.index(sink);
            }
            ([], b'H') => self.tabs[self.place.col] = true,
            ([], b'M') => self.reverse_index(),
            ([], b'N') => self.charsets.shift_once(2),
            ([], b'O') => self.charsets.shift_once(3),
            ([], b'7') => self.save_cursor(),
            ([], b'8') => self.recall_cursor(),
            ([], b'=') => self.modes.application_keypad = true,
            ([], b'>') => self.modes.application_keypad = false,
            // DECID, the older form of the question for device attributes.
            ([], b'Z') => sink.reply(crate::replies::DEVICE_ATTRIBUTES),
            ([], b'c') => self.reset(sink),
            ([], b'n') => self.charsets.shift(2),
            ([], b'o') => self.charsets.shift(3),
            ([b'#'], b'8') => self.alignment_test(sink),
            ([slot @ b'('..=b'+'], set) => self
                .charsets
                .designate(slot - b'(', Charset::from_final(set)),
            _ => {}
        }
    }
}
