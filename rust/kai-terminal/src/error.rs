//! What can go wrong, by name. The codes are those of the Python package; `docs/errors.md` says what to do about each.

use std::fmt;

macro_rules! codes {
    ($($name:ident = $text:literal),* $(,)?) => {
        /// The code of an [`Error`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ErrorCode { $($name),* }

        impl ErrorCode {
            /// Every code, for whoever keeps a list of their own in step.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its spelling.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }
    };
}

codes! {
    SendActive = "SEND_ACTIVE",
    SessionClosing = "SESSION_CLOSING",
    SessionExited = "SESSION_EXITED",
    InputRefused = "INPUT_REFUSED",
    NotAtPrompt = "NOT_AT_PROMPT",
    SignalDenied = "SIGNAL_DENIED",
    SignalFailed = "SIGNAL_FAILED",
    StartFailed = "START_FAILED",
    StartTimeout = "START_TIMEOUT",
    CloseFailed = "CLOSE_FAILED",
    TransportFailed = "TRANSPORT_FAILED",
    Resources = "RESOURCES",
    Forked = "FORKED",
    ShutDown = "SHUT_DOWN",
}

/// A refusal or a failure: a code for programs, a message for people. The message never holds text that was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    code: ErrorCode,
    message: String,
}

impl Error {
    pub fn new(code: ErrorCode, message: impl fmt::Display) -> Self {
        Self {
            code,
            message: message.to_string(),
        }
    }

    pub fn code(&self) -> ErrorCode {
        self.code
    }
}
