//! A session: convert, one call, map the error.

use crate::convert::{self, Count, Exit, PageParts, Seconds, SignalName, Whole};
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
    cols: Whole,
    rows: Whole,
    key: Option<String>,
    startup: String,
    startup_timeout: Seconds,
    send_timeout: Option<Seconds>,
    idle_silence: Seconds,
    poll_quiet: Seconds,
    grace: Seconds,
    scrollback_lines: Count,
    scrollback_bytes: Count,
    max_output: Count,
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
            scrollback_lines: self.scrollback_lines.0,
            scrollback_bytes: self.scrollback_bytes.0,
            max_output: self.max_output.0,
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

    fn page(&self, py: Python<'_>, offset: Count, count: Count) -> PyResult<PageParts> {
        self.look(py, |display| display.page(offset.0, count.0))
            .map(convert::page)
    }

    fn page_from(&self, py: Python<'_>, line: Count, count: Count) -> PyResult<PageParts> {
        self.look(py, |display| display.page_from(line.0 as u64, count.0))
            .map(convert::page)
    }

    fn signal(&self, py: Python<'_>, name: SignalName) -> PyResult<i32> {
        let inner = self.ours(py)?;
        verb(py, || inner.signal(name.0))
    }

    fn resize(&self, py: Python<'_>, cols: Whole, rows: Whole) -> PyResult<()> {
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
        col: Whole,
        row: Whole,
        button: &str,
        action: &str,
    ) -> PyResult<bool> {
        let (modes, size) = self.look(py, |display| (display.modes(), display.size()))?;
        let events = screen::mouse_events(screen::cell(col, row, size)?, button, action)?;
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

    #[allow(clippy::type_complexity)] // Named only here, and in the stub.
    fn screen(
        &self,
        py: Python<'_>,
    ) -> PyResult<(Vec<String>, Cursor, String, ModeParts, (u16, u16))> {
        self.look(py, |display| {
            (
                display.rows(),
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
