//! The emulator alone, and what a live session's screen shares with it.

use crate::convert::{self, Count, PageParts, Whole};
use kai_terminal::screen as emulator;
use kai_terminal::screen::mouse::{Action, Button, MouseEvent};
use kai_terminal::screen::{Display, Options, Sink};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most cells in a row or column: a screen of 1,000 by 1,000 takes 20 MB.
const LARGEST: i64 = 1000;

/// # Errors
/// `ValueError` outside 1 to 1,000 cells.
pub(crate) fn size(cols: Whole, rows: Whole) -> PyResult<(u16, u16)> {
    let (cols, rows) = (cols.0, rows.0);
    match (within(cols), within(rows)) {
        (Some(cols), Some(rows)) => Ok((cols, rows)),
        _ => Err(PyValueError::new_err(format!(
            "a terminal has 1 to {LARGEST} columns and rows, not {cols} columns and {rows} rows"
        ))),
    }
}

fn within(cells: i64) -> Option<u16> {
    (1..=LARGEST)
        .contains(&cells)
        .then(|| u16::try_from(cells).ok())
        .flatten()
}

/// Where the cursor is; rows and columns count from 0.
#[pyclass(frozen, eq, get_all, module = "kai_terminal._core")]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    row: usize,
    col: usize,
    visible: bool,
}

#[pymethods]
impl Cursor {
    fn __repr__(&self) -> String {
        let visible = if self.visible { "True" } else { "False" };
        format!(
            "Cursor(row={}, col={}, visible={visible})",
            self.row, self.col
        )
    }
}

impl Cursor {
    pub(crate) fn of(display: &Display) -> Self {
        let cursor = display.cursor();
        Self {
            row: cursor.row,
            col: cursor.col,
            visible: cursor.visible,
        }
    }
}

/// The modes by name: switches, but for the kitty flags and the cursor's style.
pub(crate) type ModeParts = HashMap<&'static str, u32>;

pub(crate) fn modes(display: &Display) -> ModeParts {
    let modes = display.modes();
    HashMap::from([
        ("alternate_screen", u32::from(modes.alternate_screen)),
        ("application_cursor", u32::from(modes.application_cursor)),
        ("application_keypad", u32::from(modes.application_keypad)),
        ("autowrap", u32::from(modes.autowrap)),
        ("bracketed_paste", u32::from(modes.bracketed_paste)),
        ("cursor_style", u32::from(modes.cursor_style)),
        ("cursor_visible", u32::from(modes.cursor_visible)),
        ("focus_events", u32::from(modes.focus_events)),
        ("insert", u32::from(modes.insert)),
        ("kitty_flags", u32::from(modes.kitty_flags)),
        ("mouse", modes.mouse as u32),
        ("newline", u32::from(modes.newline)),
        ("origin", u32::from(modes.origin)),
        ("reverse_screen", u32::from(modes.reverse_screen)),
        ("synchronized_output", u32::from(modes.synchronized_output)),
    ])
}

/// The form of a snapshot.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Text,
    Ansi,
    Html,
    Svg,
}

impl Form {
    pub(crate) fn named(name: &str) -> PyResult<Self> {
        match name {
            "text" => Ok(Self::Text),
            "ansi" => Ok(Self::Ansi),
            "html" => Ok(Self::Html),
            "svg" => Ok(Self::Svg),
            _ => Err(PyValueError::new_err(format!(
                "a snapshot is text, ansi, html or svg, not {name:?}"
            ))),
        }
    }

    pub(crate) fn of(self, display: &Display) -> String {
        match self {
            Self::Text => display.text(),
            Self::Ansi => display.ansi(),
            Self::Html => display.html(),
            Self::Svg => display.svg(),
        }
    }
}

/// The cell at a column and a row, counted from 0.
///
/// # Errors
/// `ValueError` for one that the terminal does not have.
pub(crate) fn cell(col: Whole, row: Whole, (cols, rows): (u16, u16)) -> PyResult<(u16, u16)> {
    let at = |whole: Whole, end: u16| u16::try_from(whole.0).ok().filter(|&cell| cell < end);
    at(col, cols).zip(at(row, rows)).ok_or_else(|| {
        PyValueError::new_err(format!(
            "there is no cell in column {} of row {}: they count from 0, in a terminal of {cols} columns and {rows} rows",
            col.0, row.0
        ))
    })
}

/// The events of a mouse action at a cell; a click is a press and a release.
pub(crate) fn mouse_events(
    (col, row): (u16, u16),
    button: &str,
    action: &str,
) -> PyResult<Vec<MouseEvent>> {
    let button = match button {
        "left" => Button::Left,
        "middle" => Button::Middle,
        "right" => Button::Right,
        "wheel_up" => Button::WheelUp,
        "wheel_down" => Button::WheelDown,
        _ => {
            return Err(PyValueError::new_err(format!(
                "a button is left, middle, right, wheel_up or wheel_down, not {button:?}"
            )));
        }
    };
    let actions: &[Action] = match action {
        "click" if matches!(button, Button::WheelUp | Button::WheelDown) => &[Action::Press],
        "click" => &[Action::Press, Action::Release],
        "press" => &[Action::Press],
        "release" => &[Action::Release],
        "move" => &[Action::Move],
        _ => {
            return Err(PyValueError::new_err(format!(
                "an action is click, press, release or move, not {action:?}"
            )));
        }
    };
    let event = |&action| MouseEvent {
        action,
        button,
        row,
        col,
        shift: false,
        alt: false,
        ctrl: false,
    };
    Ok(actions.iter().map(event).collect())
}

#[derive(Default)]
struct Replies(Vec<u8>);

impl Sink for Replies {
    fn reply(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

/// A terminal emulator alone, for whoever has a terminal's bytes and no program.
#[pyclass(frozen, module = "kai_terminal._core")]
pub(crate) struct Screen {
    inner: Mutex<emulator::Screen>,
}

impl Screen {
    fn lock(&self) -> MutexGuard<'_, emulator::Screen> {
        // Its state is whole after any byte.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look<T: Send>(&self, py: Python<'_>, look: impl FnOnce(&Display) -> T + Send) -> T {
        py.detach(|| look(&self.lock()))
    }
}

#[pymethods]
impl Screen {
    #[new]
    #[pyo3(signature = (cols=Whole(80), rows=Whole(24), scrollback_lines=Count(10_000), scrollback_bytes=Count(8_388_608)), text_signature = "(cols=80, rows=24, scrollback_lines=10_000, scrollback_bytes=8388608)")]
    fn new(
        cols: Whole,
        rows: Whole,
        scrollback_lines: Count,
        scrollback_bytes: Count,
    ) -> PyResult<Self> {
        let (cols, rows) = size(cols, rows)?;
        let options = Options {
            cols,
            rows,
            scrollback_lines: scrollback_lines.0,
            scrollback_bytes: scrollback_bytes.0,
        };
        Ok(Self {
            inner: Mutex::new(emulator::Screen::new(options)),
        })
    }

    fn feed<'py>(&self, py: Python<'py>, data: &[u8]) -> Bound<'py, PyBytes> {
        let replies = py.detach(|| {
            let mut replies = Replies::default();
            self.lock().feed(data, &mut replies);
            replies.0
        });
        PyBytes::new(py, &replies)
    }

    fn resize(&self, py: Python<'_>, cols: Whole, rows: Whole) -> PyResult<()> {
        let (cols, rows) = size(cols, rows)?;
        py.detach(|| self.lock().resize(cols, rows, &mut ()));
        Ok(())
    }

    fn rows(&self, py: Python<'_>) -> Vec<String> {
        self.look(py, Display::rows)
    }

    #[getter]
    fn text(&self, py: Python<'_>) -> String {
        self.look(py, Display::text)
    }

    #[getter]
    fn cursor(&self, py: Python<'_>) -> Cursor {
        self.look(py, Cursor::of)
    }

    #[getter]
    fn title(&self, py: Python<'_>) -> String {
        self.look(py, |display| display.title().to_owned())
    }

    #[getter]
    fn modes(&self, py: Python<'_>) -> ModeParts {
        self.look(py, modes)
    }

    #[getter]
    fn size(&self, py: Python<'_>) -> (u16, u16) {
        self.look(py, Display::size)
    }

    #[pyo3(signature = (offset=Count(0), count=Count(500)), text_signature = "($self, offset=0, count=500)")]
    fn history<'py>(
        &self,
        py: Python<'py>,
        offset: Count,
        count: Count,
    ) -> PyResult<Bound<'py, PyAny>> {
        if count.0 == 0 {
            return Err(PyValueError::new_err("count must be one or more"));
        }
        let page: PageParts =
            convert::page(self.look(py, |display| display.page(offset.0, count.0)));
        py.import("kai_terminal.types")?
            .getattr("TerminalReadResult")?
            .call1(page)
    }

    #[pyo3(signature = (form="text"))]
    fn snapshot(&self, py: Python<'_>, form: &str) -> PyResult<String> {
        let form = Form::named(form)?;
        Ok(self.look(py, move |display| form.of(display)))
    }
}
