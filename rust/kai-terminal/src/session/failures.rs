//! What the state and the system say, in the words of [`Error`].

use crate::error::{Error, ErrorCode};
use crate::state::{Refusal, SendFailure, SendResult, Status};
use crate::sys::{ExitStatus, OpenError, Process, SignalError, Stage};
use std::io;

pub(super) fn refused(refusal: &Refusal) -> Error {
    match *refusal {
        Refusal::Active => Error::new(
            ErrorCode::SendActive,
            "the send before this one has not settled, or its bytes are still on their way: await it, or cancel it and await it",
        ),
        Refusal::Closing => Error::new(
            ErrorCode::SessionClosing,
            "the session is being closed: it takes no more input",
        ),
        Refusal::Exited => Error::new(
            ErrorCode::SessionExited,
            "the top-level process has ended: read what it left, then close the session and open another one",
        ),
        Refusal::NotAtPrompt => Error::new(
            ErrorCode::NotAtPrompt,
            "no shell prompt is up, so nothing was typed: finish what runs in the foreground, or use a plain send for a program that reads",
        ),
        Refusal::LineTooLong { length, limit } => Error::new(
            ErrorCode::InputRefused,
            format!(
                "a line of {length} bytes does not fit: the terminal is in canonical mode, where the kernel keeps {limit} bytes of a line and drops the rest; nothing was written; send shorter lines, or write a file and have it read"
            ),
        ),
    }
}

pub(super) fn send_failed(failure: &SendFailure) -> Error {
    let SendFailure::Transport(message) = failure;
    Error::new(
        ErrorCode::TransportFailed,
        format!(
            "the connection to the terminal was lost during the send ({message}): close the session and open another one"
        ),
    )
}

/// No terminal could be opened at all.
pub(super) fn not_opened(program: &str, failure: &OpenError) -> Error {
    let exhausted = [
        libc::EMFILE,
        libc::ENFILE,
        libc::EAGAIN,
        libc::ENOMEM,
        libc::ENOSPC,
    ];
    if failure
        .error
        .raw_os_error()
        .is_some_and(|number| exhausted.contains(&number))
    {
        return Error::new(
            ErrorCode::Resources,
            format!(
                "the system has no room for another terminal ({}): close sessions, or raise the limit on descriptors, terminals or processes",
                failure.error
            ),
        );
    }
    not_started(program, None, failure.stage, &failure.error)
}

pub(super) fn not_started(
    program: &str,
    cwd: Option<&str>,
    stage: Stage,
    error: &io::Error,
) -> Error {
    let message = match stage {
        Stage::Directory => format!(
            "{program} was not started: the working directory {} cannot be entered: {error}",
            cwd.unwrap_or("of the host")
        ),
        Stage::Exec => format!(
            "{program} could not be started: {error}; check that it exists and may be executed"
        ),
        Stage::Terminal | Stage::Fork | Stage::Session | Stage::Limits => {
            format!("no terminal could be set up for {program}: {error} (at: {stage:?})")
        }
    };
    Error::new(ErrorCode::StartFailed, message)
}

/// The wait for the first prompt ended in another way.
pub(super) fn start_ended(program: &str, result: &SendResult, limit: std::time::Duration) -> Error {
    let printed = printed(&result.viewport);
    match result.status {
        Status::Exited(status) => Error::new(
            ErrorCode::StartFailed,
            format!(
                "{program} ended during its start-up ({}); {printed}",
                ended(status)
            ),
        ),
        Status::Running => Error::new(
            ErrorCode::StartTimeout,
            format!(
                "{program} was not ready for input within {} s; {printed}; raise startup_timeout, or leave the user's start-up files out",
                limit.as_secs_f64()
            ),
        ),
    }
}

fn printed(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() {
        "it printed nothing".into()
    } else {
        format!("it printed: {text}")
    }
}

fn ended(status: Option<ExitStatus>) -> String {
    match status {
        Some(ExitStatus::Code(code)) => format!("exit code {code}"),
        Some(ExitStatus::Signal(number)) => format!("signal {number}"),
        None => "in a way nobody saw".into(),
    }
}

pub(super) fn signal_failed(error: &SignalError) -> Error {
    match error {
        SignalError::NoForeground => Error::new(
            ErrorCode::SignalFailed,
            "the terminal has no foreground process group that could be signalled",
        ),
        SignalError::Denied {
            pgid,
            command,
            user,
        } => Error::new(
            ErrorCode::SignalDenied,
            format!(
                "the system does not permit to signal {command} of user {user} (process group {pgid}): send SIGINT or SIGTSTP, which go through the terminal, or close the session"
            ),
        ),
        SignalError::Io(error) => Error::new(
            ErrorCode::SignalFailed,
            format!("the signal was not delivered: {error}"),
        ),
    }
}

pub(super) fn survived(survivors: &[Process]) -> Error {
    let names: Vec<String> = survivors
        .iter()
        .map(|process| {
            format!(
                "{} (pid {}, user {})",
                process.command, process.pid, process.user
            )
        })
        .collect();
    Error::new(
        ErrorCode::CloseFailed,
        format!(
            "{} could not be ended: {}; deal with what is left, then close again",
            plural(names.len()),
            names.join(", ")
        ),
    )
}

pub(super) fn guard_lost() -> Error {
    Error::new(
        ErrorCode::CloseFailed,
        "the guard of the session ended before it could show that nothing is left: processes that left the shell's own session may still run",
    )
}

fn plural(count: usize) -> String {
    if count == 1 {
        "1 process".into()
    } else {
        format!("{count} processes")
    }
}
