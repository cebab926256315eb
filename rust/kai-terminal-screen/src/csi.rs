//! Control sequences (CSI).

use vte::Params;

use crate::display::Place;
use crate::{Display, MouseEncoding, MouseMode, Sink};

/// The first value of the parameter at `index`; 0 when it is not given.
pub(crate) fn value(params: &Params, index: usize) -> usize {
    params
        .iter()
        .nth(index)
        .and_then(|values| values.first())
        .map_or(0, |value| usize::from(*value))
}

impl Display {
    pub(crate) fn csi(
        &mut self,
        params: &Params,
        intermediates: &[u8],
        action: char,
        sink: &mut dyn Sink,
    ) {
        let last = self.last.take();
        let first = value(params, 0);
        // Most counts mean 1 when they are 0 or not given.
        let count = first.max(1);
        match (intermediates, action) {
            ([], 'm') => self.sgr(params),
            ([], '@') => self.insert_characters(count),
            ([], 'A') => self.up(count),
            ([], 'B') => self.down(count),
            ([], 'C' | 'a') => self.move_to_column(self.place.col + count),
            ([], 'D') => self.back(count),
            ([], 'E') => {
                self.down(count);
                self.place.col = 0;
            }
            ([], 'F') => {
                self.up(count);
                self.place.col = 0;
            }
            ([], 'G' | '`') => self.move_to_column(count - 1),
            ([], 'H' | 'f') => self.move_to(count - 1, value(params, 1).max(1) - 1),
            ([], 'I') => self.tab_forward(count),
            ([] | [b'?'], 'J') => self.erase_display(first, sink),
            ([] | [b'?'], 'K') => self.erase_line(first),
            ([], 'L') => self.insert_rows(count),
            ([], 'M') => self.delete_rows(count),
            ([], 'P') => self.delete_characters(count),
            ([], 'S') => {
                self.sever_below(self.bottom);
                self.scroll_up(self.top, self.bottom, count, sink);
            }
            ([], 'T') if params.len() <= 1 => self.scroll_down(self.top, self.bottom, count),
            ([], 'X') => self.erase_characters(count),
            ([], 'Z') => self.tab_back(count),
            ([], 'b') => self.repeat(last, count, sink),
            ([], 'd') => self.move_to(count - 1, self.place.col),
            ([], 'e') => {
                self.place.row = (self.place.row + count).min(self.rows - 1);
                self.place.pending = false;
            }
            ([], 'g') => self.clear_tabs(first),
            ([], 'h' | 'l') => self.set_modes(params, false, action == 'h', sink),
            ([b'?'], 'h' | 'l') => self.set_modes(params, true, action == 'h', sink),
            ([], 'r') => self.set_region(count, value(params, 1)),
            ([], 's') => self.save_cursor(),
            ([], 'u') => self.recall_cursor(),
            ([b' '], 'q') => self.modes.cursor_style = if first <= 6 { first as u8 } else { 0 },
            ([b'?'], 'W') if first == 5 => {
                self.tabs = crate::display::default_tabs(0, self.columns).collect();
            }
            ([b'!'], 'p') => self.soft_reset(),
            ([b' '], '@') => self.shift_columns(0, count, true),
            ([b' '], 'A') => self.shift_columns(0, count, false),
            ([b'\''], '~') => self.shift_columns(self.place.col, count, true),
            ([b'\''], '}') => self.shift_columns(self.place.col, count, false),
            _ => self.answer_csi(params, intermediates, action, sink),
        }
    }

    /// To a row and column; with origin mode the row counts from the region and stays in it.
    pub(crate) fn move_to(&mut self, row: usize, column: usize) {
        self.place = Place {
            row: if self.modes.origin {
                (row + self.top).min(self.bottom)
            } else {
                row.min(self.rows - 1)
            },
            col: column.min(self.columns - 1),
            pending: false,
        };
    }

    fn move_to_column(&mut self, column: usize) {
        self.place.col = column.min(self.columns - 1);
        self.place.pending = false;
    }

    /// Up, not out of the region when inside or below it.
    fn up(&mut self, count: usize) {
        let limit = if self.place.row >= self.top {
            self.top
        } else {
            0
        };
        self.place.row = self.place.row.saturating_sub(count).max(limit);
        self.place.pending = false;
    }

    /// Down, not out of the region when inside or above it.
    fn down(&mut self, count: usize) {
        let limit = if self.place.row <= self.bottom {
            self.bottom
        } else {
            self.rows - 1
        };
        self.place.row = (self.place.row + count).min(limit);
        self.place.pending = false;
    }

    fn back(&mut self, count: usize) {
        self.place.col = self.place.col.saturating_sub(count);
        self.place.pending = false;
    }

    fn insert_characters(&mut self, count: usize) {
        let (column, columns, blank) = (self.place.col, self.columns, self.blank_style());
        self.place.pending = false;
        self.row_mut().insert_blanks(column, count, columns, blank);
    }

    fn delete_characters(&mut self, count: usize) {
        let (column, columns, blank) = (self.place.col, self.columns, self.blank_style());
        self.place.pending = false;
        self.row_mut().delete(column, count, columns, blank);
    }

    fn clear_tabs(&mut self, kind: usize) {
        match kind {
            0 => self.tabs[self.place.col] = false,
            3 => self.tabs.fill(false),
            _ => {}
        }
    }

    /// Sets the scroll region (DECSTBM); rows count from 1, a bottom of 0 is the last row.
    fn set_region(&mut self, top: usize, bottom: usize) {
        let bottom = if bottom == 0 {
            self.rows
        } else {
            bottom.min(self.rows)
        };
        if top < bottom {
            self.top = top - 1;
            self.bottom = bottom - 1;
            self.move_to(0, 0);
        }
    }

    /// DECSTR: modes and margins as at the beginning; the text stays.
    fn soft_reset(&mut self) {
        self.reset_region();
        self.modes.origin = false;
        self.modes.insert = false;
        self.modes.autowrap = true;
        self.modes.cursor_visible = true;
        self.modes.application_cursor = false;
        self.modes.application_keypad = false;
        self.pen = crate::display::Pen::new(crate::Style::default());
        self.charsets = crate::charsets::Charsets::default();
        self.grid_mut().saved = crate::display::Saved::default();
    }

    fn set_modes(&mut self, params: &Params, private: bool, on: bool, sink: &mut dyn Sink) {
        for values in params {
            match values.first() {
                Some(mode) if private => self.set_private_mode(*mode, on, sink),
                Some(4) => self.modes.insert = on,
                Some(20) => self.modes.newline = on,
                _ => {}
            }
        }
    }

    fn set_private_mode(&mut self, mode: u16, on: bool, sink: &mut dyn Sink) {
        match mode {
            1 => self.modes.application_cursor = on,
            3 => self.switch_width(sink),
            5 => self.modes.reverse_screen = on,
            6 => {
                self.modes.origin = on;
                self.move_to(0, 0);
            }
            7 => {
                self.modes.autowrap = on;
                self.place.pending &= on;
            }
            9 => self.set_mouse(MouseMode::Press, on),
            25 => self.modes.cursor_visible = on,
            45 => self.modes.reverse_wrap = on,
            66 => self.modes.application_keypad = on,
            1000 => self.set_mouse(MouseMode::PressRelease, on),
            1002 => self.set_mouse(MouseMode::Drag, on),
            1003 => self.set_mouse(MouseMode::Motion, on),
            1004 => self.modes.focus_events = on,
            1005 => self.set_mouse_encoding(MouseEncoding::Utf8, on),
            1006 => self.set_mouse_encoding(MouseEncoding::Sgr, on),
            1007 => self.modes.alternate_scroll = on,
            47 => self.set_alternate(on, false),
            1047 => {
                if !on && self.modes.alternate_screen {
                    self.erase_display(2, sink);
                }
                self.set_alternate(on, false);
            }
            1048 if on => self.save_cursor(),
            1048 => self.restore_cursor(),
            1049 if on && !self.modes.alternate_screen => {
                self.save_cursor();
                self.set_alternate(true, true);
            }
            1049 if !on && self.modes.alternate_screen => {
                self.set_alternate(false, false);
                self.restore_cursor();
            }
            2004 => self.modes.bracketed_paste = on,
            2026 => self.modes.synchronized_output = on,
            _ => {}
        }
    }

    fn set_mouse(&mut self, mode: MouseMode, on: bool) {
        self.modes.mouse = if on { mode } else { MouseMode::Off };
    }

    fn set_mouse_encoding(&mut self, encoding: MouseEncoding, on: bool) {
        if on {
            self.modes.mouse_encoding = encoding;
        } else if self.modes.mouse_encoding == encoding {
            self.modes.mouse_encoding = MouseEncoding::Default;
        }
    }

    /// DECCOLM clears the screen and resets the margins; the size is the caller's and stays.
    fn switch_width(&mut self, sink: &mut dyn Sink) {
        self.reset_region();
        self.erase_display(2, sink);
        self.move_to(0, 0);
    }
}
