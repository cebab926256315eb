//! A session: convert, one call, map the error.

use crate::convert::{self, Exit, PageParts, Seconds, SignalName};
use crate::own::Own;
use crate::port::{Ask, Port};
use crate::screen::{Cursor, ModeParts};
use crate::send::Send;
use crate::{errors, runtime, screen};
use kai_terminal as core;
use kai_terminal::screen::{Display, keys, mouse};
use kai_terminal::sys::{Size, Spec};
use kai_terminal::{Config, Error, SendRequest, Startup};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

#[pyclass(frozen, module = "kai_terminal._core")]
pub(crate) struct Session {
    inner: Own<core::Session>,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct OpenOptions {
    argv: Vec<OsString>,
    arg0: Option<OsString>,
    env: HashMap<OsString, OsString>,
    cwd: Option<PathBuf>,
    descriptors: HashMap<i32, Vec<u8>>,
    cols: i64,
    rows: i64,
    key: Option<String>,
    startup: String,
    startup_timeout: Seconds,
    send_timeout: Option<Seconds>,
    idle_silence: Seconds,
    poll_quiet: Seconds,
    grace: Seconds,
    scrollback_lines: usize,
    scrollback_bytes: usize,
    max_output: usize,
}

impl OpenOptions {
    fn config(self) -> PyResult<Config> {
        let startup = match self.startup.as_str() {
            "marks" => Startup::Marks,
            "evidence" => Startup::Evidence,
            "immediate" => Startup::Immediate,
            other => {
                return Err(PyValueError::new_err(format!(
                    "startup is marks, evidence or immediate, not {other}"
                )));
            }
        };
        if self.argv.is_empty() {
            return Err(PyValueError::new_err(
                "argv must not be empty: its first element is the program",
            ));
        }
        let (cols, rows) = screen::size(self.cols, self.rows)?;
        Ok(Config {
            spec: Spec {
                argv: self.argv,
                arg0: self.arg0,
                env: self.env.into_iter().collect(),
                cwd: self.cwd,
                grace: self.grace.0,
                size: Size { cols, rows },
                descriptors: self.descriptors.into_iter().collect(),
            },
            key: self.key,
            startup,
            startup_timeout: self.startup_timeout.0,
            send_timeout: self.send_timeout.map(|seconds| seconds.0),
            idle_silence: self.idle_silence.0,
            poll_quiet: self.poll_quiet.0,
            scrollback_lines: self.scrollback_lines,
            scrollback_bytes: self.scrollback_bytes,
            max_output: self.max_output,
        })
    }
}

impl Session {
    fn ours(&self, py: Python<'_>) -> PyResult<&core::Session> {
        self.inner.get(py)
    }

    fn look<T: std::marker::Send>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&Display) -> T + std::marker::Send,
    ) -> PyResult<T> {
        let inner = self.ours(py)?;
        Ok(py.detach(|| inner.with_display(look)))
    }
}

/// Runs a verb without holding the interpreter.
fn verb<T: std::marker::Send>(
    py: Python<'_>,
    verb: impl FnOnce() -> Result<T, Error> + std::marker::Send,
) -> PyResult<T> {
    py.detach(verb).map_err(|error| errors::raise(py, &error))
}

// What Python hands over is taken by value.
#[allow(clippy::needless_pass_by_value)]
#[pymethods]
impl Session {
    #[staticmethod]
    fn open(py: Python<'_>, options: OpenOptions) -> PyResult<Self> {
        let config = options.config()?;
        let handle = runtime::handle(py)?;
        let inner = verb(py, || {
            let _inside = handle.enter();
            core::Session::open(config)
        })?;
        Ok(Self {
            inner: Own::new(inner),
        })
    }

    fn started<'py>(
        &self,
        port: &Port,
        event_loop: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Ask)> {
        let session = self.ours(event_loop.py())?.clone();
        port.start(event_loop, async move { session.started().await })
    }

    fn close<'py>(
        &self,
        port: &Port,
        event_loop: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Ask)> {
        let session = self.ours(event_loop.py())?.clone();
        port.start(event_loop, async move {
            session.close().await.map(convert::receipt)
        })
    }

    #[pyo3(signature = (text, *, submit, run, timeout, idle_silence))]
    fn start_send(
        &self,
        py: Python<'_>,
        text: String,
        submit: bool,
        run: bool,
        timeout: Option<Seconds>,
        idle_silence: Option<Seconds>,
    ) -> PyResult<Send> {
        let request = SendRequest {
            text,
            submit,
            run,
            timeout: timeout.map(|seconds| seconds.0),
            idle_silence: idle_silence.map(|seconds: Seconds| -> Duration { seconds.0 }),
        };
        let inner = self.ours(py)?;
        verb(py, || inner.start_send(&request)).map(Send::new)
    }

    fn page(&self, py: Python<'_>, offset: usize, count: usize) -> PyResult<PageParts> {
        self.look(py, |display| display.page(offset, count))
            .map(convert::page)
    }

    fn page_from(&self, py: Python<'_>, line: u64, count: usize) -> PyResult<PageParts> {
        self.look(py, |display| display.page_from(line, count))
            .map(convert::page)
    }

    fn signal(&self, py: Python<'_>, name: SignalName) -> PyResult<i32> {
        let inner = self.ours(py)?;
        verb(py, || inner.signal(name.0))
    }

    fn resize(&self, py: Python<'_>, cols: i64, rows: i64) -> PyResult<()> {
        let (cols, rows) = screen::size(cols, rows)?;
        let inner = self.ours(py)?;
        verb(py, || inner.resize(cols, rows))
    }

    fn press(&self, py: Python<'_>, names: Vec<String>) -> PyResult<()> {
        let modes = self.look(py, Display::modes)?;
        let mut bytes = Vec::new();
        for name in &names {
            let key = keys::encode(name, modes).ok_or_else(|| {
                PyValueError::new_err(format!(
                    "{name:?} is no key: use a character, or a name such as Enter, Tab, Esc, Up, F1, Ctrl-C, Alt-x, Shift-Tab"
                ))
            })?;
            bytes.extend_from_slice(&key);
        }
        let inner = self.ours(py)?;
        verb(py, || inner.type_bytes(&bytes))
    }

    /// Gives whether the program has asked for this kind of report.
    fn mouse(
        &self,
        py: Python<'_>,
        col: u16,
        row: u16,
        button: &str,
        action: &str,
    ) -> PyResult<bool> {
        let events = screen::mouse_events(col, row, button, action)?;
        let modes = self.look(py, Display::modes)?;
        let bytes: Vec<u8> = events
            .into_iter()
            .filter_map(|event| mouse::encode(event, modes))
            .flatten()
            .collect();
        if bytes.is_empty() {
            return Ok(false);
        }
        let inner = self.ours(py)?;
        verb(py, || inner.type_bytes(&bytes)).map(|()| true)
    }

    fn screen_rows(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.look(py, Display::rows)
    }

    fn screen_state(&self, py: Python<'_>) -> PyResult<(Cursor, String, ModeParts, (u16, u16))> {
        self.look(py, |display| {
            (
                Cursor::of(display),
                display.title().to_owned(),
                screen::modes(display),
                display.size(),
            )
        })
    }

    fn screen_snapshot(&self, py: Python<'_>, form: &str) -> PyResult<String> {
        let form = screen::Form::named(form)?;
        self.look(py, move |display| form.of(display))
    }

    fn motd(&self, py: Python<'_>) -> PyResult<String> {
        let inner = self.ours(py)?;
        Ok(py.detach(|| inner.motd()))
    }

    fn status(&self, py: Python<'_>) -> PyResult<Exit> {
        let inner = self.ours(py)?;
        Ok(convert::exit(py.detach(|| inner.status())))
    }

    #[getter]
    fn pid(&self, py: Python<'_>) -> PyResult<Option<i32>> {
        let inner = self.ours(py)?;
        Ok(py.detach(|| inner.pid()))
    }

    fn counters(&self, py: Python<'_>) -> PyResult<HashMap<&'static str, u64>> {
        let inner = self.ours(py)?;
        let counters = py.detach(|| inner.counters());
        Ok(HashMap::from([
            ("foreign_marks", counters.foreign_marks),
            ("refused_marks", counters.refused_marks),
            ("dropped_replies", counters.dropped_replies),
            ("unanswered_queries", counters.unanswered_queries),
        ]))
    }
}
