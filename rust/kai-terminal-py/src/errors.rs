//! One conversion: an error of the library becomes the package's `TerminalError`, with the same code.

use kai_terminal::{Error, ErrorCode};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

static TERMINAL_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// The exception to raise for `error`.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let made = TERMINAL_ERROR
        .import(py, "kai_terminal.errors", "TerminalError")
        .and_then(|class| class.call1((error.to_string(), error.code().name())));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(failure) => failure,
    }
}

/// Every code that this module can raise.
#[pyfunction]
pub(crate) fn error_codes() -> Vec<&'static str> {
    ErrorCode::ALL.iter().map(|code| code.name()).collect()
}
