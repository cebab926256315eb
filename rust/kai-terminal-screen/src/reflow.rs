//! Resizing.

use crate::display::default_tabs;
use crate::line::Line;
use crate::style::StyleId;
use crate::{Display, Sink};

impl Display {
    pub(crate) fn resize(&mut self, columns: usize, rows: usize, sink: &mut dyn Sink) {
        if (columns, rows) == (self.columns, self.rows) {
            return;
        }
        let over = (self.place.row + 1).saturating_sub(rows);
        for _ in 0..over {
            let Some(row) = self.grid_mut().rows.pop_front() else {
                break;
            };
            if !self.modes.alternate_screen {
                self.leave(&row, sink);
            }
        }
        self.place.row -= over;
        for grid in [&mut self.primary, &mut self.alternate] {
            grid.rows.resize_with(rows, || Line::new(StyleId::BLANK));
            for row in &mut grid.rows {
                if row.width() > columns {
                    row.truncate(columns);
                    row.wrapped = false;
                }
            }
        }
        self.tabs.truncate(columns);
        self.tabs.extend(default_tabs(self.columns, columns));
        self.columns = columns;
        self.rows = rows;
        self.reset_region();
        self.place = self.clamped(self.place);
        self.place.pending = false;
        self.primary_place = self.clamped(self.primary_place);
    }
}
