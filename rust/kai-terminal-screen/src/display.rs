//! The state of the terminal: two grids, a cursor, modes, and the scrollback.

use std::collections::VecDeque;

use crate::charsets::Charsets;
use crate::history::History;
use crate::intern::Interned;
use crate::keyboard::KeyboardFlags;
use crate::line::Line;
use crate::palette::Palette;
use crate::style::StyleId;
use crate::{Modes, Options, Sink, Style};

/// The cursor as a viewer sees it; rows and columns count from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    pub row: usize,
    pub col: usize,
    pub visible: bool,
}

/// Where the next character goes. `pending` says that the last column was written and the next character wraps; a
/// back tab moves the cursor and leaves it pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) row: usize,
    pub(crate) col: usize,
    pub(crate) pending: bool,
}

/// What DECSC saves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Saved {
    pub(crate) place: Place,
    pub(crate) style: Style,
    pub(crate) charsets: Charsets,
    pub(crate) origin: bool,
}

/// One of the two buffers of rows.
#[derive(Debug)]
pub(crate) struct Grid {
    pub(crate) rows: VecDeque<Line>,
    pub(crate) saved: Saved,
    pub(crate) keyboard: KeyboardFlags,
}

impl Grid {
    fn new(rows: usize) -> Grid {
        Grid {
            rows: (0..rows).map(|_| Line::new(StyleId::BLANK)).collect(),
            saved: Saved::default(),
            keyboard: KeyboardFlags::default(),
        }
    }
}

/// The style that is written next, and its ids once they are needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pen {
    pub(crate) style: Style,
    written: Option<StyleId>,
    blank: Option<StyleId>,
}

impl Pen {
    pub(crate) fn new(style: Style) -> Pen {
        Pen {
            style,
            written: None,
            blank: None,
        }
    }
}

/// The state of a terminal. It is reached through [`Screen`](crate::Screen), and inside the callbacks of a [`Sink`].
#[derive(Debug)]
pub struct Display {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) primary: Grid,
    pub(crate) alternate: Grid,
    pub(crate) place: Place,
    /// Where the cursor of the primary screen was when the alternate one took over.
    pub(crate) primary_place: Place,
    pub(crate) pen: Pen,
    pub(crate) interned: Interned,
    pub(crate) palette: Palette,
    /// First and last row of the scroll region.
    pub(crate) top: usize,
    pub(crate) bottom: usize,
    pub(crate) tabs: Vec<bool>,
    pub(crate) charsets: Charsets,
    pub(crate) modes: Modes,
    /// The last character printed, for REP; forgotten at the next control.
    pub(crate) last: Option<char>,
    pub(crate) title: String,
    pub(crate) saved_titles: Vec<String>,
    pub(crate) history: History,
}

impl Display {
    pub(crate) fn new(options: Options) -> Display {
        let columns = usize::from(options.cols.max(1));
        let rows = usize::from(options.rows.max(1));
        Display {
            columns,
            rows,
            primary: Grid::new(rows),
            alternate: Grid::new(rows),
            place: Place::default(),
            primary_place: Place::default(),
            pen: Pen::new(Style::default()),
            interned: Interned::new(),
            palette: Palette::default(),
            top: 0,
            bottom: rows - 1,
            tabs: default_tabs(0, columns).collect(),
            charsets: Charsets::default(),
            modes: Modes::default(),
            last: None,
            title: String::new(),
            saved_titles: Vec::new(),
            history: History::new(options.scrollback_lines, options.scrollback_bytes),
        }
    }

    /// Where the cursor is. At the right edge it stays on the last column until the next character wraps.
    pub fn cursor(&self) -> Cursor {
        Cursor {
            row: self.place.row,
            col: self.place.col,
            visible: self.modes.cursor_visible,
        }
    }

    /// The title the program set last.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The modes in force, those of the screen that shows where each has its own.
    pub fn modes(&self) -> Modes {
        Modes {
            kitty_flags: self.grid().keyboard.current(),
            ..self.modes
        }
    }

    /// Columns and rows.
    pub fn size(&self) -> (u16, u16) {
        (self.columns as u16, self.rows as u16)
    }

    /// About how many bytes of heap memory the rows and the scrollback take.
    pub fn memory(&self) -> usize {
        let rows = |grid: &Grid| {
            grid.rows.capacity() * size_of::<Line>()
                + grid.rows.iter().map(Line::memory).sum::<usize>()
        };
        rows(&self.primary) + rows(&self.alternate) + self.history.memory()
    }

    pub(crate) fn grid(&self) -> &Grid {
        if self.modes.alternate_screen {
            &self.alternate
        } else {
            &self.primary
        }
    }

    pub(crate) fn grid_mut(&mut self) -> &mut Grid {
        if self.modes.alternate_screen {
            &mut self.alternate
        } else {
            &mut self.primary
        }
    }

    pub(crate) fn row_mut(&mut self) -> &mut Line {
        let row = self.place.row;
        &mut self.grid_mut().rows[row]
    }

    /// The style of what is printed now.
    pub(crate) fn written_style(&mut self) -> StyleId {
        if let Some(id) = self.pen.written {
            return id;
        }
        let id = self.intern(self.pen.style);
        self.pen.written = Some(id);
        id
    }

    /// The style of cells that are erased now: nothing but the background.
    pub(crate) fn blank_style(&mut self) -> StyleId {
        if let Some(id) = self.pen.blank {
            return id;
        }
        let style = Style {
            background: self.pen.style.background,
            ..Style::default()
        };
        let id = self.intern(style).blank();
        self.pen.blank = Some(id);
        id
    }

    /// Saves the cursor (DECSC).
    pub(crate) fn save_cursor(&mut self) {
        let saved = Saved {
            place: self.place,
            style: self.pen.style,
            charsets: self.charsets,
            origin: self.modes.origin,
        };
        self.grid_mut().saved = saved;
    }

    /// Restores it (DECRC).
    pub(crate) fn restore_cursor(&mut self) {
        let saved = self.grid().saved;
        self.place = self.clamped(saved.place);
        self.pen = Pen::new(saved.style);
        self.charsets = saved.charsets;
        self.modes.origin = saved.origin;
    }

    /// Restores it at the program's wish: on the last column the next character does not wrap, as in xterm.
    pub(crate) fn recall_cursor(&mut self) {
        self.restore_cursor();
        self.place.pending = false;
    }

    /// A place that may be from before a resize.
    pub(crate) fn clamped(&self, place: Place) -> Place {
        Place {
            row: place.row.min(self.rows - 1),
            col: place.col.min(self.columns - 1),
            pending: place.pending && place.col + 1 >= self.columns,
        }
    }

    /// Shows the other screen. The alternate one is cleared where the mode says so.
    pub(crate) fn set_alternate(&mut self, on: bool, clear: bool) {
        if on == self.modes.alternate_screen {
            return;
        }
        if on {
            self.primary_place = self.place;
        }
        self.modes.alternate_screen = on;
        if on && clear {
            let blank = self.blank_style();
            for row in &mut self.alternate.rows {
                row.reset(blank);
            }
        }
    }

    /// Everything back to the beginning (RIS), but for the scrollback.
    pub(crate) fn reset(&mut self, sink: &mut dyn Sink) {
        self.modes = Modes::default();
        self.primary = Grid::new(self.rows);
        self.alternate = Grid::new(self.rows);
        self.place = Place::default();
        self.pen = Pen::new(Style::default());
        self.reset_region();
        self.tabs = default_tabs(0, self.columns).collect();
        self.charsets = Charsets::default();
        self.last = None;
        self.palette = Palette::default();
        self.saved_titles.clear();
        self.history.close_line();
        if !std::mem::take(&mut self.title).is_empty() {
            sink.event(self, crate::Event::Title(""));
        }
        sink.event(self, crate::Event::Cleared);
    }

    pub(crate) fn reset_region(&mut self) {
        self.top = 0;
        self.bottom = self.rows - 1;
    }
}

/// A stop at every eighth column, for the columns `from..to`.
pub(crate) fn default_tabs(from: usize, to: usize) -> impl Iterator<Item = bool> {
    (from..to).map(|column| column % 8 == 0)
}
