//! The Python binding: thin verbs over `kai-terminal`, the runtime they run on, and the port their results come out of.
//!
//! `python/kai_terminal/_core.pyi` holds the documentation of everything here.

mod convert;
mod errors;
mod own;
mod port;
mod runtime;
mod screen;
mod send;
mod session;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::errors::error_codes;
    #[pymodule_export]
    use super::port::{Ask, Port};
    #[pymodule_export]
    use super::runtime::shutdown;
    #[pymodule_export]
    use super::screen::{Cursor, Screen};
    #[pymodule_export]
    use super::send::Send;
    #[pymodule_export]
    use super::session::Session;
    #[pymodule_export]
    use super::{check_size, configure_guard, guard_path};

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    use pyo3::prelude::*;

    #[pymodule_init]
    #[allow(clippy::unnecessary_wraps)] // The signature is pyo3's.
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        // The limits as they are now are the host's own; it may lower them later for itself.
        kai_terminal::sys::linux::remember_limits();
        Ok(())
    }
}

#[pyfunction]
fn configure_guard(path: std::path::PathBuf) {
    kai_terminal::sys::linux::configure_guard(path);
}

#[pyfunction]
fn check_size(cols: convert::Whole, rows: convert::Whole) -> PyResult<()> {
    screen::size(cols, rows).map(|_| ())
}

#[pyfunction]
fn guard_path(py: Python<'_>) -> PyResult<std::path::PathBuf> {
    Ok(py.detach(kai_terminal::sys::linux::guard_path)?)
}
