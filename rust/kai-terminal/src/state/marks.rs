//! The shell integration's marks: which are ours, and which count. `docs/marks.md` has their format.
//!
//! A mark counts when its key is this session's, its number is greater than that of every mark accepted before, and the
//! shell owns the foreground. The last is asked of the terminal when the bytes are read, which may be a moment after the
//! shell wrote them: where input was typed ahead, the next command may already own the foreground. So marks that arrive
//! while another group does are *held*: the start of a command (`C`) with the very next number shows that the shell
//! itself went on, and makes them count; anything else refuses them.

use std::fmt;

/// A session's secret: 32 hexadecimal digits. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// `None` where `text` is not 32 hexadecimal digits.
    pub fn new(text: &str) -> Option<Self> {
        (text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| Self(text.to_owned()))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    PromptStart,
    PromptEnd,
    SecondaryPrompt,
    CommandStart,
    CommandEnd,
    OutputEnd,
}

/// A mark with the right key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) kind: Kind,
    pub(super) number: u64,
    pub(super) status: Option<i32>,
    pub(super) stages: Option<Vec<i32>>,
    /// How many commands the shell has started so far.
    pub(super) commands: Option<u64>,
    pub(super) cwd: Option<String>,
    pub(super) text: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    /// Not a mark of a kind we know.
    Unrelated,
    /// A mark, but without the session's key: printed by something else.
    Foreign,
    Ours(Mark),
}

/// Reads the parameters of an OSC 133, the first of which is `133` itself.
pub(super) fn parse(key: &Key, params: &[&[u8]]) -> Parsed {
    let [b"133", kind, rest @ ..] = params else { return Parsed::Unrelated };
    let kind = match *kind {
        b"A" => Kind::PromptStart,
        b"B" => Kind::PromptEnd,
        b"P" => Kind::SecondaryPrompt,
        b"C" => Kind::CommandStart,
        b"D" => Kind::CommandEnd,
        b"E" => Kind::OutputEnd,
        _ => return Parsed::Unrelated,
    };
    let mut mark = Mark { kind, number: 0, status: None, stages: None, commands: None, cwd: None, text: None };
    let mut right_key = false;
    let mut fields = rest;
    if let (Kind::CommandEnd, [status, after @ ..]) = (kind, rest)
        && !status.contains(&b'=')
    {
        mark.status = number(status);
        fields = after;
    }
    while let [field, after @ ..] = fields {
        fields = after;
        let Some(equals) = memchr::memchr(b'=', field) else { continue };
        let (name, value) = (&field[..equals], &field[equals + 1..]);
        match name {
            b"k" => right_key = value == key.0.as_bytes(),
            b"n" => mark.number = number(value).unwrap_or(0),
            b"s" => mark.status = number(value),
            b"p" => mark.stages = stages(value),
            b"c" => mark.commands = number(value),
            // These two run to the end of the mark: a `;` in them is theirs.
            b"d" => {
                mark.cwd = String::from_utf8(to_the_end(value, fields)).ok().filter(|cwd| !cwd.is_empty());
                break;
            }
            b"t" => {
                mark.text = percent_decoded(&to_the_end(value, fields));
                break;
            }
            _ => {}
        }
    }
    if right_key && mark.number > 0 { Parsed::Ours(mark) } else { Parsed::Foreign }
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn stages(value: &[u8]) -> Option<Vec<i32>> {
    let all: Option<Vec<i32>> =
        value.split(|byte| *byte == b' ').filter(|part| !part.is_empty()).map(number).collect();
    all.filter(|stages| !stages.is_empty())
}

fn to_the_end(first: &[u8], rest: &[&[u8]]) -> Vec<u8> {
    let mut whole = first.to_vec();
    for part in rest {
        whole.push(b';');
        whole.extend_from_slice(part);
    }
    whole
}

fn percent_decoded(value: &[u8]) -> Option<String> {
    let mut out = Vec::with_capacity(value.len());
    let mut bytes = value.iter();
    while let Some(&byte) = bytes.next() {
        if byte == b'%' {
            let pair = [*bytes.next()?, *bytes.next()?];
            out.push(u8::from_str_radix(std::str::from_utf8(&pair).ok()?, 16).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

/// What becomes of a mark.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Accepted,
    /// The same prompt drawn again.
    Redrawn,
    /// Held until it is known whether the shell went on. The caller keeps what it needs to apply the mark later.
    Held,
    /// The marks held so far count, and so does this one.
    AcceptedWithHeld,
    Refused,
}

/// Which marks of the right key count.
#[derive(Debug, Default)]
pub(super) struct Gate {
    last: u64,
    /// The number of the newest held mark.
    held: Option<u64>,
    refused: u64,
}

impl Gate {
    /// Judges a mark that was read while the shell did, or did not, own the foreground.
    pub(super) fn judge(&mut self, mark: &Mark, shell_in_foreground: bool) -> Verdict {
        let redraw = matches!(mark.kind, Kind::PromptStart | Kind::PromptEnd) && mark.number == self.last;
        if let Some(held) = self.held {
            let goes_on = mark.number > held && mark.number - held <= 1;
            if mark.kind == Kind::CommandStart && goes_on {
                self.held = None;
                self.last = mark.number;
                return Verdict::AcceptedWithHeld;
            }
            if !shell_in_foreground && mark.number >= held && mark.number - held <= 1 {
                self.held = Some(mark.number);
                return Verdict::Held;
            }
            self.refuse_held();
        }
        if redraw {
            // A prompt's end carries the number of its start in some dialects: the first time it is news.
            return if shell_in_foreground { Verdict::Redrawn } else { self.refuse() };
        }
        if mark.number <= self.last {
            return self.refuse();
        }
        if shell_in_foreground || mark.kind == Kind::CommandStart {
            self.last = mark.number;
            return Verdict::Accepted;
        }
        if mark.number - self.last <= 1 {
            self.held = Some(mark.number);
            return Verdict::Held;
        }
        self.refuse()
    }

    /// How many marks with the right key did not count.
    pub(super) fn refused(&self) -> u64 {
        self.refused
    }

    fn refuse(&mut self) -> Verdict {
        self.refused += 1;
        Verdict::Refused
    }

    fn refuse_held(&mut self) {
        self.held = None;
        self.refused += 1;
    }
}
