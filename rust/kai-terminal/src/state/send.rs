//! What a send is asked for and what it gives.

use crate::sys::ExitStatus;
use std::fmt;
use std::time::Duration;

/// Names a send within its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SendId(pub(super) u64);

/// Text to type, and how long to wait for what.
#[derive(Clone)]
pub struct SendRequest {
    pub text: String,
    /// Enter follows the text.
    pub submit: bool,
    /// Only at a shell's prompt, and never settled by silence.
    pub run: bool,
    /// `None`: the session's default.
    pub timeout: Option<Duration>,
    /// `None`: the session's default.
    pub idle_silence: Option<Duration>,
}

impl fmt::Debug for SendRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text may be a secret.
        f.debug_struct("SendRequest")
            .field("submit", &self.submit)
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

/// Why a send ended (contract N2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    StdinRead,
    InferredIdle,
    Timeout,
    SessionExit,
}

impl WaitReason {
    pub fn name(self) -> &'static str {
        match self {
            Self::StdinRead => "stdin_read",
            Self::InferredIdle => "inferred_idle",
            Self::Timeout => "timeout",
            Self::SessionExit => "session_exit",
        }
    }
}

/// What showed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    PromptMark,
    BlockingRead,
    Silence,
    Deadline,
    Exit,
}

impl Evidence {
    pub fn name(self) -> &'static str {
        match self {
            Self::PromptMark => "prompt_mark",
            Self::BlockingRead => "blocking_read",
            Self::Silence => "silence",
            Self::Deadline => "deadline",
            Self::Exit => "exit",
        }
    }

    pub(super) fn reason(self) -> WaitReason {
        match self {
            Self::PromptMark | Self::BlockingRead => WaitReason::StdinRead,
            Self::Silence => WaitReason::InferredIdle,
            Self::Deadline => WaitReason::Timeout,
            Self::Exit => WaitReason::SessionExit,
        }
    }
}

/// What kind of input is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitingFor {
    ShellPrompt,
    Continuation,
    /// A canonical read with echo.
    Line,
    /// A canonical read with echo off.
    Secret,
    /// Key by key.
    Keys,
}

impl WaitingFor {
    pub fn name(self) -> &'static str {
        match self {
            Self::ShellPrompt => "shell_prompt",
            Self::Continuation => "continuation",
            Self::Line => "line",
            Self::Secret => "secret",
            Self::Keys => "keys",
        }
    }
}

/// About the top-level process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Running,
    /// `None`: it ended in a way nobody saw, because the guard was lost.
    Exited(Option<ExitStatus>),
}

/// How a send ended. `None`: not known, never guessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendResult {
    pub viewport: String,
    pub wait_reason: WaitReason,
    pub evidence: Evidence,
    pub waiting_for: Option<WaitingFor>,
    pub status: Status,
    pub truncated: bool,
    pub exit_code: Option<i32>,
    pub exit_codes: Option<Vec<i32>>,
    pub command: Option<String>,
    pub cwd: Option<String>,
    pub output: Option<String>,
    pub duration: Duration,
}

/// Why a send could not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendFailure {
    /// The terminal or its guard was lost.
    Transport(String),
}

pub type SendOutcome = Result<SendResult, SendFailure>;

/// Why a send was refused, before a byte was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    Active,
    Closing,
    Exited,
    NotAtPrompt,
    /// A line is longer than the kernel keeps in canonical mode; both in bytes.
    LineTooLong {
        length: usize,
        limit: usize,
    },
}

/// What the line discipline keeps of one line, its end included, is 4,096 bytes (`N_TTY_BUF_SIZE` in `n_tty.c`).
pub(super) const LONGEST_LINE: usize = 4095;

/// The longest line of `text`, in bytes without its end.
pub(super) fn longest_line(text: &str) -> usize {
    text.split(['\n', '\r']).map(str::len).max().unwrap_or(0)
}

/// The bytes to type, and whether they go as one paste.
pub(super) fn encode(text: &str, submit: bool, bracketed_paste: bool) -> (Vec<u8>, bool) {
    let mut bytes = Vec::with_capacity(text.len() + 13);
    let laid_out = |c: char| c == '\n' || c == '\t';
    // Other control characters are typed: an ESC inside a paste could end it.
    let pasted = submit
        && bracketed_paste
        && text.contains(laid_out)
        && !text.contains(|c: char| c.is_control() && !laid_out(c));
    if pasted {
        bytes.extend_from_slice(b"\x1b[200~");
    }
    bytes.extend_from_slice(text.as_bytes());
    if pasted {
        bytes.extend_from_slice(b"\x1b[201~");
    }
    if submit {
        bytes.push(b'\r');
    }
    (bytes, pasted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// rule: N1, in-5, in-6
    #[test]
    fn text_is_pasted_only_where_the_program_asked_and_nothing_can_break_out() {
        assert_eq!(
            encode("a\nb", true, true),
            (b"\x1b[200~a\nb\x1b[201~\r".to_vec(), true)
        );
        assert_eq!(encode("a\nb", true, false), (b"a\nb\r".to_vec(), false));
        assert_eq!(encode("a\nb", false, true), (b"a\nb".to_vec(), false));
        assert_eq!(encode("ab", true, true), (b"ab\r".to_vec(), false));
        assert_eq!(
            encode("a\n\x1b[201~b", true, true),
            (b"a\n\x1b[201~b\r".to_vec(), false)
        );
        assert_eq!(encode("\u{3}", false, true), (vec![3], false));
    }

    /// rule: N13, in-1
    #[test]
    fn a_line_is_measured_between_its_ends() {
        assert_eq!(longest_line(""), 0);
        assert_eq!(longest_line("ab\nc\rdefg"), 4);
        assert_eq!(longest_line(&"x".repeat(5000)), 5000);
    }

    /// rule: host-3
    #[test]
    fn a_request_never_shows_its_text() {
        let request = SendRequest {
            text: "hunter2".into(),
            submit: true,
            run: false,
            timeout: None,
            idle_silence: None,
        };
        assert!(!format!("{request:?}").contains("hunter2"));
    }
}
