//! Conversions, in both directions, as types.

use kai_terminal::screen::Page;
use kai_terminal::sys::{ExitStatus, Process, Signal};
use kai_terminal::{Closed, SendResult, Status};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use std::time::Duration;

/// Seconds as Python has them.
pub(crate) struct Seconds(pub(crate) Duration);

impl<'py> FromPyObject<'_, 'py> for Seconds {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let seconds: f64 = value.extract()?;
        if !seconds.is_finite() || seconds < 0.0 {
            return Err(PyValueError::new_err(format!(
                "a time is a finite number of seconds, zero or more, not {seconds}"
            )));
        }
        // Beyond what a duration holds it is for ever.
        Ok(Self(
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
        ))
    }
}

/// A whole number; one that is too large in either direction is the largest there is.
#[derive(Clone, Copy)]
pub(crate) struct Whole(pub(crate) i64);

impl<'py> FromPyObject<'_, 'py> for Whole {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match value.extract() {
            Ok(whole) => Ok(Self(whole)),
            Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
                Ok(Self(if value.lt(0)? { i64::MIN } else { i64::MAX }))
            }
            Err(error) => Err(error),
        }
    }
}

/// How many, or how far: zero or more.
#[derive(Clone, Copy)]
pub(crate) struct Count(pub(crate) usize);

impl<'py> FromPyObject<'_, 'py> for Count {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let Whole(whole) = value.extract()?;
        usize::try_from(whole)
            .map(Self)
            .map_err(|_| PyValueError::new_err(format!("a count is zero or more, not {whole}")))
    }
}

/// A signal by its name.
#[derive(Clone, Copy)]
pub(crate) struct SignalName(pub(crate) Signal);

impl<'py> FromPyObject<'_, 'py> for SignalName {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let name: String = value.extract()?;
        Ok(Self(match name.as_str() {
            "SIGINT" => Signal::Interrupt,
            "SIGTERM" => Signal::Terminate,
            "SIGKILL" => Signal::Kill,
            "SIGTSTP" => Signal::Stop,
            "SIGHUP" => Signal::HangUp,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "{name} is not a signal that can be sent: use SIGINT, SIGTERM, SIGKILL, SIGTSTP or SIGHUP"
                )));
            }
        }))
    }
}

/// The names of signal(7), by their numbers from 1 on.
const SIGNAL_NAMES: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

fn signal_name(number: i32) -> String {
    let name = usize::try_from(number - 1)
        .ok()
        .and_then(|at| SIGNAL_NAMES.get(at));
    name.map_or_else(|| format!("signal {number}"), ToString::to_string)
}

/// `None` while it runs, else its exit code and the name of the signal that ended it.
pub(crate) type Exit = Option<(Option<i32>, Option<String>)>;

pub(crate) fn exit(status: Status) -> Exit {
    match status {
        Status::Running => None,
        Status::Exited(None) => Some((None, None)),
        Status::Exited(Some(ended)) => Some(ended_as(ended)),
    }
}

fn ended_as(ended: ExitStatus) -> (Option<i32>, Option<String>) {
    match ended {
        ExitStatus::Code(code) => (Some(code), None),
        ExitStatus::Signal(number) => (None, Some(signal_name(number))),
    }
}

/// A page, in the order of `TerminalReadResult`'s fields.
pub(crate) type PageParts = (String, u64, u64, u64, u64, u64, bool);

pub(crate) fn page(page: Page) -> PageParts {
    (
        page.text,
        page.total_lines,
        page.line_begin,
        page.line_end,
        page.first_line,
        page.stable_end,
        page.truncated,
    )
}

/// A settled send, for Python to make its `TerminalSendResult` of.
#[derive(IntoPyObject)]
pub(crate) struct Settled {
    viewport: String,
    wait_reason: &'static str,
    evidence: &'static str,
    waiting_for: Option<&'static str>,
    status: Exit,
    truncated: bool,
    exit_code: Option<i32>,
    exit_codes: Option<Vec<i32>>,
    command: Option<String>,
    cwd: Option<String>,
    output: Option<String>,
    duration: f64,
}

impl From<SendResult> for Settled {
    fn from(result: SendResult) -> Self {
        Self {
            viewport: result.viewport,
            wait_reason: result.wait_reason.name(),
            evidence: result.evidence.name(),
            waiting_for: result.waiting_for.map(kai_terminal::WaitingFor::name),
            status: exit(result.status),
            truncated: result.truncated,
            exit_code: result.exit_code,
            exit_codes: result.exit_codes,
            command: result.command,
            cwd: result.cwd,
            output: result.output,
            duration: result.duration.as_secs_f64(),
        }
    }
}

/// A process of a receipt: pid, command, user, and how it ended where that was seen.
type ProcessParts = (i32, String, String, Exit);

/// What a close found and did: the processes, whether any had to be killed, the seconds it took, whether it was ours.
pub(crate) type Receipt = (Vec<ProcessParts>, bool, f64, bool);

pub(crate) fn receipt(closed: Closed) -> Receipt {
    let parts = |process: Process| {
        (
            process.pid,
            process.command,
            process.user,
            process.ended.map(ended_as),
        )
    };
    let processes = closed.receipt.processes.into_iter().map(parts).collect();
    (
        processes,
        closed.receipt.killed,
        closed.duration.as_secs_f64(),
        closed.performed,
    )
}
