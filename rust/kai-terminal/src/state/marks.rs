//! The shell integration's marks: which are ours, and which count. `docs/marks.md` has their format.
//!
//! A mark counts when its key is this session's, its number is greater than that of every mark accepted before, and the
//! shell owns the foreground. The last is asked of the terminal when the bytes are read, which may be a moment after the
//! shell wrote them: where input was typed ahead, the next command may already own the foreground. So marks that arrive
//! while another group does are *held*: so may those that stand before a prompt command, which owns the foreground while it
//! runs. The mark with the very next number makes them count, if the shell owns the foreground when it is read or if it
//! starts a command; so does a look at the shell that finds it at rest. Anything else refuses them.

use std::fmt;

/// A session's secret: 32 hexadecimal digits. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// `None` where `text` is not 32 hexadecimal digits.
    pub fn new(text: &str) -> Option<Self> {
        (text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .then(|| Self(text.to_owned()))
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
    let [b"133", kind, rest @ ..] = params else {
        return Parsed::Unrelated;
    };
    let kind = match *kind {
        b"A" => Kind::PromptStart,
        b"B" => Kind::PromptEnd,
        b"P" => Kind::SecondaryPrompt,
        b"C" => Kind::CommandStart,
        b"D" => Kind::CommandEnd,
        b"E" => Kind::OutputEnd,
        _ => return Parsed::Unrelated,
    };
    let mut mark = Mark {
        kind,
        number: 0,
        status: None,
        stages: None,
        commands: None,
        cwd: None,
        text: None,
    };
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
        let Some(equals) = field.iter().position(|byte| *byte == b'=') else {
            continue;
        };
        let (name, value) = (&field[..equals], &field[equals + 1..]);
        match name {
            b"k" => right_key = value == key.0.as_bytes(),
            b"n" => mark.number = number(value).unwrap_or(0),
            b"s" => mark.status = number(value),
            b"p" => mark.stages = stages(value),
            b"c" => mark.commands = number(value),
            // These two run to the end of the mark: a `;` in them is theirs.
            b"d" => {
                mark.cwd = String::from_utf8(to_the_end(value, fields))
                    .ok()
                    .filter(|cwd| !cwd.is_empty());
                break;
            }
            b"t" => {
                mark.text = percent_decoded(&to_the_end(value, fields));
                break;
            }
            _ => {}
        }
    }
    if right_key && mark.number > 0 {
        Parsed::Ours(mark)
    } else {
        Parsed::Foreign
    }
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn stages(value: &[u8]) -> Option<Vec<i32>> {
    let all: Option<Vec<i32>> = value
        .split(|byte| *byte == b' ')
        .filter(|part| !part.is_empty())
        .map(number)
        .collect();
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
    /// The numbers of the newest prompt's start and end: the prompt drawn again repeats them.
    prompt_start: u64,
    prompt_end: u64,
    /// The marks held so far, each with the number after the one before.
    held: Vec<(Kind, u64)>,
    refused: u64,
}

impl Gate {
    /// Judges a mark that was read while the shell did, or did not, own the foreground.
    pub(super) fn judge(&mut self, mark: &Mark, shell_in_foreground: bool) -> Verdict {
        if let Some(&(kind, number)) = self.held.last() {
            if follows(mark, kind, number) {
                if shell_in_foreground || mark.kind == Kind::CommandStart {
                    self.accept_held();
                    self.accept(mark.kind, mark.number);
                    return Verdict::AcceptedWithHeld;
                }
                self.held.push((mark.kind, mark.number));
                return Verdict::Held;
            }
            self.refused += self.held.len() as u64;
            self.held.clear();
        }
        if self.is_redraw(mark) {
            return if shell_in_foreground {
                Verdict::Redrawn
            } else {
                self.refuse()
            };
        }
        let ends_prompt = mark.kind == Kind::PromptEnd
            && mark.number == self.last
            && self.prompt_start == self.last;
        if mark.number <= self.last && !ends_prompt {
            return self.refuse();
        }
        if shell_in_foreground || mark.kind == Kind::CommandStart {
            self.accept(mark.kind, mark.number);
            return Verdict::Accepted;
        }
        if mark.number - self.last <= 1 {
            self.held.push((mark.kind, mark.number));
            return Verdict::Held;
        }
        self.refuse()
    }

    /// The shell was seen to rest with the foreground its own: the held marks were its.
    pub(super) fn accept_held(&mut self) {
        for (kind, number) in std::mem::take(&mut self.held) {
            self.accept(kind, number);
        }
    }

    /// How many marks with the right key did not count.
    pub(super) fn refused(&self) -> u64 {
        self.refused
    }

    fn is_redraw(&self, mark: &Mark) -> bool {
        match mark.kind {
            Kind::PromptStart => mark.number == self.prompt_start,
            Kind::PromptEnd => mark.number == self.prompt_end,
            _ => false,
        }
    }

    fn accept(&mut self, kind: Kind, number: u64) {
        self.last = number;
        match kind {
            Kind::PromptStart => self.prompt_start = number,
            Kind::PromptEnd => self.prompt_end = number,
            _ => {}
        }
    }

    fn refuse(&mut self) -> Verdict {
        self.refused += 1;
        Verdict::Refused
    }
}

/// Whether a mark is the very next one. A dialect may give a prompt's end the number of its start.
fn follows(mark: &Mark, kind: Kind, number: u64) -> bool {
    mark.number == number + 1
        || (mark.number == number && kind == Kind::PromptStart && mark.kind == Kind::PromptEnd)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "0123456789abcdef0123456789abcdef";

    fn read(text: &str) -> Parsed {
        let params: Vec<&[u8]> = text.as_bytes().split(|byte| *byte == b';').collect();
        parse(&Key::new(KEY).unwrap(), &params)
    }

    fn ours(text: &str) -> Mark {
        match read(text) {
            Parsed::Ours(mark) => mark,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn mark(kind: Kind, number: u64) -> Mark {
        Mark {
            kind,
            number,
            status: None,
            stages: None,
            commands: None,
            cwd: None,
            text: None,
        }
    }

    /// rule: N5
    #[test]
    fn the_parameters_come_in_any_order_and_the_last_may_hold_semicolons() {
        let end = ours(&format!("133;D;7;n=3;k={KEY};p=1 7;c=2"));
        assert_eq!(
            (end.kind, end.number, end.status, end.commands),
            (Kind::CommandEnd, 3, Some(7), Some(2))
        );
        assert_eq!(end.stages, Some(vec![1, 7]));
        let start = ours(&format!("133;A;k={KEY};n=4;s=;p=;d=/tmp/a;b"));
        assert_eq!(
            (start.status, start.stages, start.cwd.as_deref()),
            (None, None, Some("/tmp/a;b"))
        );
        let command = ours(&format!("133;C;k={KEY};n=5;t=echo%20a%3Bb"));
        assert_eq!(command.text.as_deref(), Some("echo a;b"));
    }

    /// rule: N5, ready-9
    #[test]
    fn a_mark_without_the_key_is_foreign() {
        assert_eq!(read("133;D;0"), Parsed::Foreign);
        assert_eq!(read("133;A;k=0123;n=1"), Parsed::Foreign);
        assert_eq!(read("133;Z"), Parsed::Unrelated);
        assert_eq!(read("7;file:///"), Parsed::Unrelated);
    }

    /// rule: shell-22, N5
    #[test]
    fn an_old_number_is_refused_and_a_redrawn_prompt_is_not() {
        let mut gate = Gate::default();
        assert_eq!(
            gate.judge(&mark(Kind::PromptStart, 4), true),
            Verdict::Accepted
        );
        assert_eq!(
            gate.judge(&mark(Kind::PromptEnd, 5), true),
            Verdict::Accepted
        );
        assert_eq!(
            gate.judge(&mark(Kind::PromptStart, 4), true),
            Verdict::Redrawn
        );
        assert_eq!(
            gate.judge(&mark(Kind::PromptEnd, 5), true),
            Verdict::Redrawn
        );
        assert_eq!(
            gate.judge(&mark(Kind::CommandEnd, 3), true),
            Verdict::Refused
        );
        assert_eq!(gate.refused(), 1);
    }

    /// rule: N5
    #[test]
    fn a_mark_of_a_foreground_program_is_refused_and_the_counter_stays() {
        let mut gate = Gate::default();
        gate.judge(&mark(Kind::CommandStart, 1), false);
        assert_eq!(
            gate.judge(&mark(Kind::CommandEnd, 99), false),
            Verdict::Refused
        );
        assert_eq!(
            gate.judge(&mark(Kind::CommandEnd, 2), true),
            Verdict::Accepted
        );
    }

    /// rule: N5
    #[test]
    fn held_marks_count_once_the_shell_is_seen_to_have_gone_on() {
        let mut gate = Gate::default();
        gate.judge(&mark(Kind::CommandStart, 1), true);
        assert_eq!(gate.judge(&mark(Kind::CommandEnd, 2), false), Verdict::Held);
        assert_eq!(
            gate.judge(&mark(Kind::PromptStart, 3), false),
            Verdict::Held
        );
        assert_eq!(gate.judge(&mark(Kind::PromptEnd, 4), false), Verdict::Held);
        assert_eq!(
            gate.judge(&mark(Kind::CommandStart, 5), false),
            Verdict::AcceptedWithHeld
        );
        assert_eq!(
            gate.judge(&mark(Kind::CommandEnd, 6), true),
            Verdict::Accepted
        );
    }

    /// rule: N5, shell-5
    #[test]
    fn a_prompt_command_that_owns_the_foreground_costs_no_exit_code() {
        let mut gate = Gate::default();
        gate.judge(&mark(Kind::CommandStart, 1), true);
        assert_eq!(gate.judge(&mark(Kind::CommandEnd, 2), false), Verdict::Held);
        assert_eq!(
            gate.judge(&mark(Kind::PromptStart, 3), true),
            Verdict::AcceptedWithHeld
        );
    }

    /// rule: N5
    #[test]
    fn a_forged_mark_is_dropped_when_the_shells_own_comes_with_its_number() {
        let mut gate = Gate::default();
        gate.judge(&mark(Kind::CommandStart, 1), true);
        assert_eq!(gate.judge(&mark(Kind::CommandEnd, 2), false), Verdict::Held);
        assert_eq!(
            gate.judge(&mark(Kind::CommandEnd, 2), true),
            Verdict::Accepted
        );
        assert_eq!(gate.refused(), 1);
    }

    #[test]
    fn a_prompt_may_end_with_the_number_it_began_with() {
        let mut gate = Gate::default();
        assert_eq!(
            gate.judge(&mark(Kind::PromptStart, 4), true),
            Verdict::Accepted
        );
        assert_eq!(
            gate.judge(&mark(Kind::PromptEnd, 4), true),
            Verdict::Accepted
        );
        assert_eq!(
            gate.judge(&mark(Kind::PromptEnd, 4), true),
            Verdict::Redrawn
        );
    }

    #[test]
    fn the_key_is_never_shown() {
        assert_eq!(format!("{:?}", Key::new(KEY).unwrap()), "Key(..)");
        assert_eq!(Key::new("short"), None);
    }
}
