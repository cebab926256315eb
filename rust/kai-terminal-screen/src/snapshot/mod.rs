//! Pictures of the screen: as styled rows, as text with escape sequences, as HTML and as SVG.

mod ansi;
mod html;
mod svg;

use crate::history::Part;
use crate::line::Line;
use crate::palette::{Rgb, Special};
use crate::style::StyleId;
use crate::width::char_width;
use crate::{Attributes, Color, Display, Style};

/// A stretch of a row in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub style: Style,
    /// How many columns it covers.
    pub columns: usize,
    /// The cells were never written or were erased: spaces that show only their background.
    pub blank: bool,
}

impl Display {
    /// The visible rows in stretches of one style, each row to the right edge.
    pub fn styled_rows(&self) -> Vec<Vec<Span>> {
        self.grid().rows.iter().map(|row| self.spans(row)).collect()
    }

    /// A whole logical line of the document in stretches of one style.
    pub fn styled_line(&self, number: u64) -> Option<Vec<Span>> {
        if !(self.first_line()..self.document_end()).contains(&number) {
            return None;
        }
        let kept = self
            .history
            .parts_from(number)
            .take_while(|part| part.line == number);
        let mut spans: Vec<Span> = kept
            .flat_map(Part::spans)
            .map(|(text, style)| self.text_span(text, style))
            .collect();
        let mut at = self.screen_start().line;
        for row in &self.primary.rows {
            if at == number {
                let before = spans.len();
                spans.extend(row.spans().map(|(text, style)| self.text_span(text, style)));
                while !row.wrapped
                    && spans.len() > before
                    && spans.last().is_some_and(|span| span.blank)
                {
                    spans.pop();
                }
            }
            at += u64::from(!row.wrapped);
        }
        Some(spans)
    }

    fn text_span(&self, text: &str, style: StyleId) -> Span {
        self.span(text, style, text.chars().map(char_width).sum())
    }

    fn spans(&self, row: &Line) -> Vec<Span> {
        let mut spans: Vec<Span> = row
            .spans()
            .map(|(text, style)| self.text_span(text, style))
            .collect();
        if let Some(rest) = self
            .columns
            .checked_sub(row.width())
            .filter(|rest| *rest > 0)
        {
            spans.push(self.span(&" ".repeat(rest), row.tail(), rest));
        }
        spans
    }

    fn span(&self, text: &str, style: StyleId, columns: usize) -> Span {
        Span {
            text: text.to_owned(),
            style: self.interned.styles.get(style),
            columns,
            blank: style.is_blank(),
        }
    }

    /// The colours a style shows: foreground and background, after inversion, fainting and hiding.
    fn shown_colors(&self, style: &Style) -> (Rgb, Rgb) {
        let color = |color: Color, default: Special| match color {
            Color::Default => self.palette.special(default),
            Color::Indexed(index) => self.palette.indexed(index),
            Color::Rgb(red, green, blue) => (red, green, blue),
        };
        let foreground = match style.foreground {
            // Bold text in one of the first eight colours is shown bright, as most terminals do.
            Color::Indexed(index @ 0..=7) if style.attributes.contains(Attributes::BOLD) => {
                Color::Indexed(index + 8)
            }
            other => other,
        };
        let mut shown = (
            color(foreground, Special::Foreground),
            color(style.background, Special::Background),
        );
        if style.attributes.contains(Attributes::INVERSE) != self.modes.reverse_screen {
            shown = (shown.1, shown.0);
        }
        if style.attributes.contains(Attributes::FAINT) {
            shown.0 = halfway(shown.0, shown.1);
        }
        if style.attributes.contains(Attributes::HIDDEN) {
            shown.0 = shown.1;
        }
        shown
    }

    /// The colours of cells in which nothing is set.
    fn page_colors(&self) -> (Rgb, Rgb) {
        self.shown_colors(&Style::default())
    }
}

fn halfway(one: Rgb, other: Rgb) -> Rgb {
    (
        one.0.midpoint(other.0),
        one.1.midpoint(other.1),
        one.2.midpoint(other.2),
    )
}

fn hex((red, green, blue): Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Text for HTML and XML. Controls, which XML has no way to write, do not occur on a screen.
fn push_escaped(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push(char::REPLACEMENT_CHARACTER),
            other => out.push(other),
        }
    }
}
