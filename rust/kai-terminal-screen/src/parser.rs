//! From bytes to actions. Text and controls are found here; the grammar of escape and control sequences is `vte`'s.
//!
//! The parser follows just enough of the state machine to know when the stream is in its ground state, where text
//! can be taken in bulk, and to bound the strings (OSC, DCS, APC, PM, SOS), which `vte` does not. An OSC counts only
//! when it is ended by BEL or ST: any other escape sequence, CAN or SUB cancels it, as in xterm.

use vte::{Params, Perform};

use crate::{Display, Sink};

/// The longest operating system command that is kept; what is longer ends early.
const MAX_OSC: usize = 128 * 1024;

/// The longest device control string that is looked at.
const MAX_DCS: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ground,
    /// Behind an ESC, with or without intermediate bytes.
    Escape {
        intermediate: bool,
    },
    Csi,
    String(Kind),
    /// An ESC in a string: whether it ends the string shows at the next byte, a backslash.
    StringEscape(Kind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Osc,
    Dcs,
    /// APC, PM or SOS: swallowed.
    Ignored,
}

pub(crate) struct Parser {
    state: State,
    sequences: vte::Parser,
    /// The string being collected, an OSC or a DCS.
    string: Vec<u8>,
    /// The beginning of a character whose other bytes are still to come.
    partial: [u8; 4],
    partial_len: usize,
    /// The last byte of a string was 0xC2, the first of a C1 control in UTF-8.
    c1_lead: bool,
    /// Text goes one character at a time: slow, simple, and what the bulk path is compared with.
    pub(crate) simple: bool,
}

impl std::fmt::Debug for Parser {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Parser")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Parser {
    pub(crate) fn new() -> Parser {
        Parser {
            state: State::Ground,
            sequences: vte::Parser::new(),
            string: Vec::new(),
            partial: [0; 4],
            partial_len: 0,
            c1_lead: false,
            simple: false,
        }
    }

    pub(crate) fn feed(&mut self, display: &mut Display, bytes: &[u8], sink: &mut dyn Sink) {
        let mut performer = Performer { display, sink };
        let mut rest = bytes;
        while !rest.is_empty() {
            let used = match self.state {
                State::Ground => self.ground(&mut performer, rest),
                State::Escape { .. } | State::Csi => self.sequence(&mut performer, rest),
                State::String(kind) => self.string(&mut performer, kind, rest),
                State::StringEscape(kind) => self.string_escape(&mut performer, kind, rest[0]),
            };
            rest = &rest[used..];
        }
    }

    /// Text and single controls, up to the first escape sequence.
    fn ground(&mut self, performer: &mut Performer<'_>, bytes: &[u8]) -> usize {
        if self.partial_len > 0 {
            return self.complete_partial(performer, bytes);
        }
        match bytes[0] {
            0x1b => {
                self.begin_sequence(performer);
                1
            }
            byte @ 0x00..=0x1f => {
                performer.display.control(byte, performer.sink);
                1
            }
            0x7f => 1,
            0x20..=0x7e => {
                let len = if self.simple { 1 } else { printable_len(bytes) };
                if let Ok(text) = std::str::from_utf8(&bytes[..len]) {
                    if self.simple {
                        performer.display.print(bytes[0] as char, performer.sink);
                    } else {
                        performer.display.print_ascii(text, performer.sink);
                    }
                }
                len
            }
            0x80.. => self.multibyte(performer, bytes),
        }
    }

    /// A run of bytes above 0x7F.
    fn multibyte(&mut self, performer: &mut Performer<'_>, bytes: &[u8]) -> usize {
        let len = bytes
            .iter()
            .position(|byte| *byte < 0x80)
            .unwrap_or(bytes.len());
        let (valid, bad) = match std::str::from_utf8(&bytes[..len]) {
            Ok(text) => (text, None),
            Err(error) => {
                let valid = error.valid_up_to();
                let text = std::str::from_utf8(&bytes[..valid]).unwrap_or_default();
                (text, Some(error.error_len()))
            }
        };
        if let Some(used) = self.characters(performer, valid) {
            return used;
        }
        match bad {
            None => valid.len(),
            Some(Some(bad)) => {
                performer
                    .display
                    .print(char::REPLACEMENT_CHARACTER, performer.sink);
                valid.len() + bad
            }
            Some(None) if len < bytes.len() => {
                performer
                    .display
                    .print(char::REPLACEMENT_CHARACTER, performer.sink);
                len
            }
            Some(None) => {
                self.partial_len = len - valid.len();
                self.partial[..self.partial_len].copy_from_slice(&bytes[valid.len()..len]);
                len
            }
        }
    }

    /// Prints characters; after a C1 control, which may begin a sequence, it says how many bytes it took.
    fn characters(&mut self, performer: &mut Performer<'_>, text: &str) -> Option<usize> {
        let control = text
            .char_indices()
            .find(|(_, character)| ('\u{80}'..='\u{9f}').contains(character));
        let text = &text[..control.map_or(text.len(), |(offset, _)| offset)];
        if self.simple {
            text.chars()
                .for_each(|character| performer.display.print(character, performer.sink));
        } else {
            performer.display.print_text(text, performer.sink);
        }
        let (offset, character) = control?;
        self.c1(performer, character);
        Some(offset + character.len_utf8())
    }

    /// A C1 control is the escape sequence with the same meaning.
    fn c1(&mut self, performer: &mut Performer<'_>, character: char) {
        self.begin_sequence(performer);
        let byte = (character as u32 - 0x40) as u8;
        self.sequence(performer, &[byte]);
    }

    fn complete_partial(&mut self, performer: &mut Performer<'_>, bytes: &[u8]) -> usize {
        self.partial[self.partial_len] = bytes[0];
        let len = self.partial_len + 1;
        match std::str::from_utf8(&self.partial[..len]) {
            Ok(text) => {
                let character = text.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER);
                self.partial_len = 0;
                let mut buffer = [0; 4];
                self.characters(performer, character.encode_utf8(&mut buffer));
                1
            }
            Err(error) if error.error_len().is_none() => {
                self.partial_len = len;
                1
            }
            Err(_) => {
                // The new byte does not belong to the character; it is looked at again on its own.
                self.partial_len = 0;
                performer
                    .display
                    .print(char::REPLACEMENT_CHARACTER, performer.sink);
                0
            }
        }
    }

    fn begin_sequence(&mut self, performer: &mut Performer<'_>) {
        self.state = State::Escape {
            intermediate: false,
        };
        self.sequences.advance(performer, b"\x1b");
    }

    /// Feeds an escape or control sequence up to its end.
    fn sequence(&mut self, performer: &mut Performer<'_>, bytes: &[u8]) -> usize {
        let mut state = self.state;
        for (index, byte) in bytes.iter().copied().enumerate() {
            let next = match (state, byte) {
                (_, 0x1b) => State::Escape {
                    intermediate: false,
                },
                (
                    State::Escape {
                        intermediate: false,
                    },
                    b'[',
                ) => State::Csi,
                (
                    State::Escape {
                        intermediate: false,
                    },
                    b']',
                ) => State::String(Kind::Osc),
                (
                    State::Escape {
                        intermediate: false,
                    },
                    b'P',
                ) => State::String(Kind::Dcs),
                (
                    State::Escape {
                        intermediate: false,
                    },
                    b'X' | b'^' | b'_',
                ) => State::String(Kind::Ignored),
                (State::Escape { .. }, 0x20..=0x2f) => State::Escape { intermediate: true },
                (_, 0x18 | 0x1a)
                | (State::Escape { .. }, 0x30..=0x7e)
                | (State::Csi, 0x40..=0x7e) => State::Ground,
                _ => state,
            };
            match next {
                State::String(_) => {
                    // The strings are ours: `vte` stays behind the ESC, which the next one starts over.
                    self.sequences.advance(performer, &bytes[..index]);
                    self.state = next;
                    self.string.clear();
                    self.c1_lead = false;
                    return index + 1;
                }
                State::Ground => {
                    self.state = next;
                    self.sequences.advance(performer, &bytes[..=index]);
                    return index + 1;
                }
                _ => state = next,
            }
        }
        self.state = state;
        self.sequences.advance(performer, bytes);
        bytes.len()
    }

    /// Collects or skips a string up to its end.
    fn string(&mut self, performer: &mut Performer<'_>, kind: Kind, bytes: &[u8]) -> usize {
        let is_end = |byte: &u8| matches!(byte, 0x07 | 0x18 | 0x1a | 0x1b | 0x9c);
        let end = bytes.iter().position(is_end).unwrap_or(bytes.len());
        self.collect(kind, &bytes[..end]);
        if end > 0 {
            self.c1_lead = bytes[end - 1] == 0xc2;
        }
        let Some(byte) = bytes.get(end) else {
            return end;
        };
        match byte {
            0x18 | 0x1a => self.state = State::Ground,
            0x1b => self.state = State::StringEscape(kind),
            0x07 if kind == Kind::Osc => self.end_string(performer, kind, "\x07"),
            0x9c if self.c1_lead => {
                // U+009C is ST; its first byte was taken for text.
                if self.string.last() == Some(&0xc2) {
                    self.string.pop();
                }
                self.end_string(performer, kind, "\x1b\\");
            }
            byte => self.collect(kind, &[*byte]),
        }
        self.c1_lead = false;
        end + 1
    }

    fn string_escape(&mut self, performer: &mut Performer<'_>, kind: Kind, byte: u8) -> usize {
        if byte == b'\\' {
            self.end_string(performer, kind, "\x1b\\");
            return 1;
        }
        self.begin_sequence(performer);
        0
    }

    fn end_string(&mut self, performer: &mut Performer<'_>, kind: Kind, end: &str) {
        self.state = State::Ground;
        match kind {
            Kind::Osc => performer.display.osc(&self.string, end, performer.sink),
            Kind::Dcs => performer.display.dcs(&self.string, performer.sink),
            Kind::Ignored => {}
        }
        self.string.clear();
        self.string.shrink_to(1024);
    }

    fn collect(&mut self, kind: Kind, bytes: &[u8]) {
        let limit = match kind {
            Kind::Osc => MAX_OSC,
            Kind::Dcs => MAX_DCS,
            Kind::Ignored => return,
        };
        let room = limit - self.string.len();
        self.string.extend(
            bytes
                .iter()
                .copied()
                .filter(|byte| *byte >= 0x20)
                .take(room),
        );
    }
}

/// How many printable ASCII bytes stand at the beginning.
fn printable_len(bytes: &[u8]) -> usize {
    const CHUNK: usize = 32;
    let printable = |byte: u8| byte.wrapping_sub(0x20) < 0x5f;
    let mut len = 0;
    for chunk in bytes.chunks_exact(CHUNK) {
        // Without a branch inside, the compiler checks the chunk in a few vector instructions.
        if !chunk.iter().fold(true, |all, byte| all & printable(*byte)) {
            break;
        }
        len += CHUNK;
    }
    len + bytes[len..]
        .iter()
        .position(|byte| !printable(*byte))
        .unwrap_or(bytes.len() - len)
}

/// Hands what `vte` found to the display.
pub(crate) struct Performer<'a> {
    pub(crate) display: &'a mut Display,
    pub(crate) sink: &'a mut dyn Sink,
}

impl Perform for Performer<'_> {
    fn execute(&mut self, byte: u8) {
        self.display.control(byte, self.sink);
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: char) {
        if !ignore {
            self.display.csi(params, intermediates, action, self.sink);
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], ignore: bool, byte: u8) {
        if !ignore {
            self.display.escape(intermediates, byte, self.sink);
        }
    }
}
