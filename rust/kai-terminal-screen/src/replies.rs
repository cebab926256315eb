//! Questions a program asks the terminal, and the answers.

use vte::Params;

use crate::csi::value;
use crate::{Display, Sink};

impl Display {
    pub(crate) fn answer_csi(
        &mut self,
        params: &Params,
        intermediates: &[u8],
        action: char,
        sink: &mut dyn Sink,
    ) {
        match (intermediates, action, value(params, 0)) {
            ([], 'n', 5) => sink.reply(b"\x1b[0n"),
            ([], 'n', 6) => {
                let row = self.place.row - if self.modes.origin { self.top } else { 0 };
                sink.reply(format!("\x1b[{};{}R", row + 1, self.place.col + 1).as_bytes());
            }
            ([], 'c', 0) => sink.reply(b"\x1b[?62;22c"),
            ([b'>'], 'c', 0) => sink.reply(b"\x1b[>41;1;0c"),
            _ => {}
        }
    }

    /// A device control string.
    pub(crate) fn dcs(&mut self, _command: &[u8], _sink: &mut dyn Sink) {
        self.last = None;
    }
}
