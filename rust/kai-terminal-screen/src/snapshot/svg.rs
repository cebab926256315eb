//! The screen as an SVG picture.

use std::fmt::Write;

use super::html::decoration;
use super::{Span, hex, push_escaped};
use crate::replies::CELL;
use crate::{Attributes, Display};

/// How far the base line of the text is below the top of its cell.
const BASE_LINE: usize = 13;

impl Display {
    /// A picture of the screen with its cursor. Every stretch of text is told how wide it is, so that columns stay
    /// in line whatever font the viewer has.
    pub fn svg(&self) -> String {
        let (foreground, background) = self.page_colors();
        let (width, height) = (self.columns * CELL.0, self.rows * CELL.1);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"13\" fill=\"{}\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n",
            hex(foreground),
            hex(background),
        );
        for (number, row) in self.styled_rows().iter().enumerate() {
            let mut column = 0;
            for span in row {
                self.svg_span(&mut out, span, column * CELL.0, number * CELL.1);
                column += span.columns;
            }
        }
        let cursor = self.cursor();
        if cursor.visible {
            let (x, y) = (cursor.col * CELL.0, cursor.row * CELL.1);
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"{}\" fill-opacity=\"0.5\"/>",
                CELL.0,
                CELL.1,
                hex(self.palette.special(crate::palette::Special::Cursor)),
            );
        }
        out.push_str("</svg>\n");
        out
    }

    fn svg_span(&self, out: &mut String, span: &Span, x: usize, y: usize) {
        let (foreground, background) = self.shown_colors(&span.style);
        let (page_foreground, page_background) = self.page_colors();
        let width = span.columns * CELL.0;
        if background != page_background {
            let fill = hex(background);
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{}\" fill=\"{fill}\"/>",
                CELL.1
            );
        }
        let decoration = decoration(&span.style);
        if span.text.trim_matches(' ').is_empty() && decoration.is_empty() {
            return;
        }
        let _ = write!(
            out,
            "<text x=\"{x}\" y=\"{}\" textLength=\"{width}\" xml:space=\"preserve\"",
            y + BASE_LINE
        );
        if foreground != page_foreground {
            let _ = write!(out, " fill=\"{}\"", hex(foreground));
        }
        if span.style.attributes.contains(Attributes::BOLD) {
            out.push_str(" font-weight=\"bold\"");
        }
        if span.style.attributes.contains(Attributes::ITALIC) {
            out.push_str(" font-style=\"italic\"");
        }
        if !decoration.is_empty() {
            let _ = write!(out, " text-decoration=\"{decoration}\"");
        }
        out.push('>');
        push_escaped(out, &span.text);
        out.push_str("</text>\n");
    }
}
