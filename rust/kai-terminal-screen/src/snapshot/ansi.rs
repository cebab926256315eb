//! The screen as a stream that draws it again.

use std::fmt::Write;

use crate::replies::sgr_parameters;
use crate::{Display, Style};

impl Display {
    /// What a terminal of the same size, just reset, must be fed to show the same rows and cursor.
    pub fn ansi(&self) -> String {
        let mut out = "\x1b[H\x1b[2J".to_owned();
        let mut style = Style::default();
        // Whether the cursor already stands where the next row begins: behind a full row that wraps.
        let mut in_place = false;
        for (number, row) in self.grid().rows.iter().enumerate() {
            let spans = self.spans(row);
            if spans
                .iter()
                .all(|span| span.blank && span.style == Style::default())
            {
                in_place = false;
                continue;
            }
            if !in_place || spans[0].blank {
                write(&mut out, format_args!("\x1b[{}H", number + 1));
            }
            for (index, span) in spans.iter().enumerate() {
                let last = index + 1 == spans.len();
                if span.blank && span.style == Style::default() && last {
                    break;
                }
                self.change_style(&mut out, &mut style, &span.style);
                match (span.blank, last) {
                    (false, _) => out.push_str(&span.text),
                    (true, true) => out.push_str("\x1b[K"),
                    (true, false) => {
                        write(&mut out, format_args!("\x1b[{0}X\x1b[{0}C", span.columns));
                    }
                }
            }
            in_place = row.wrapped
                && row.width() == self.columns
                && spans.last().is_some_and(|span| !span.blank);
        }
        self.change_style(&mut out, &mut style, &Style::default());
        let cursor = self.cursor();
        write(
            &mut out,
            format_args!("\x1b[{};{}H", cursor.row + 1, cursor.col + 1),
        );
        if !cursor.visible {
            out.push_str("\x1b[?25l");
        }
        out
    }

    fn change_style(&self, out: &mut String, from: &mut Style, to: &Style) {
        if from.link != to.link {
            write(
                out,
                format_args!(
                    "\x1b]8;{};{}\x1b\\",
                    self.link_parameters(to),
                    self.link(to).unwrap_or_default()
                ),
            );
        }
        if sgr_parameters(from) != sgr_parameters(to) {
            write(out, format_args!("\x1b[{}m", sgr_parameters(to)));
        }
        *from = *to;
    }
}

fn write(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(arguments);
}
