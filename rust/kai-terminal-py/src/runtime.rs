//! One current-thread runtime on one thread of ours. It ends before the interpreter does, and after a fork it is useless
//! and says so.

use crate::errors;
use kai_terminal::{Error, ErrorCode};
use pyo3::prelude::*;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

struct Running {
    /// The process that started it: a forked copy has the memory, but not the thread.
    pid: u32,
    handle: Handle,
    stop: Mutex<Option<Stop>>,
}

/// The way to stop it, once.
struct Stop {
    ask: oneshot::Sender<Duration>,
    /// Ends, without a word, when the runtime has ended.
    ended: mpsc::Receiver<()>,
    thread: JoinHandle<()>,
}

static RUNNING: OnceLock<Running> = OnceLock::new();

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What the locks here protect is never left half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The runtime, started at the first use.
///
/// # Errors
/// `FORKED` in a forked copy of the process that started it, `SHUT_DOWN` at the interpreter's exit.
pub(crate) fn handle(py: Python<'_>) -> PyResult<&'static Handle> {
    let running = if let Some(running) = RUNNING.get() {
        running
    } else {
        let started = start()?;
        RUNNING.get_or_init(|| started)
    };
    check_owner(py, running.pid)?;
    if lock(&running.stop).is_none() {
        return Err(errors::raise(py, &stopped()));
    }
    Ok(&running.handle)
}

/// Why nothing is answered any more.
pub(crate) fn stopped() -> Error {
    Error::new(
        ErrorCode::ShutDown,
        "the interpreter is exiting and the terminals' runtime has stopped: close terminals before the program ends",
    )
}

/// # Errors
/// `FORKED` in a forked copy of the process that started the runtime.
pub(crate) fn check_forked(py: Python<'_>) -> PyResult<()> {
    RUNNING
        .get()
        .map_or(Ok(()), |running| check_owner(py, running.pid))
}

/// # Errors
/// `FORKED` where this is not the process `pid`.
pub(crate) fn check_owner(py: Python<'_>, pid: u32) -> PyResult<()> {
    if pid == std::process::id() {
        return Ok(());
    }
    Err(errors::raise(
        py,
        &Error::new(
            ErrorCode::Forked,
            "a terminal was used in a forked copy of the process that opened it: use it there, or start this process with 'spawn'",
        ),
    ))
}

fn start() -> PyResult<Running> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let (ask, asked) = oneshot::channel();
    let (end, ended) = mpsc::channel();
    let thread = std::thread::Builder::new()
        .name("kai-terminal".into())
        .spawn(move || {
            let bound = runtime.block_on(asked).unwrap_or_default();
            // Drops every task: the sessions' channels end, and their guards close what is left.
            runtime.shutdown_timeout(bound);
            drop(end);
        })?;
    Ok(Running {
        pid: std::process::id(),
        handle,
        stop: Mutex::new(Some(Stop { ask, ended, thread })),
    })
}

/// Registered with `atexit` by the package, so that the thread ends while the interpreter is whole.
#[pyfunction]
pub(crate) fn shutdown(py: Python<'_>, timeout_ms: u64) {
    let Some(running) = RUNNING.get() else { return };
    if running.pid != std::process::id() {
        return;
    }
    let Some(stop) = lock(&running.stop).take() else {
        return;
    };
    let bound = Duration::from_millis(timeout_ms);
    // The thread is gone already if nobody receives this: nothing is left to stop then.
    let _ = stop.ask.send(bound);
    py.detach(move || {
        // A runtime that is stuck in a task is left behind: it never touches the interpreter.
        if stop.ended.recv_timeout(bound) == Err(RecvTimeoutError::Disconnected) {
            let _ = stop.thread.join();
        }
    });
}
