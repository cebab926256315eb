//! The screen as HTML.

use super::{hex, push_escaped};
use crate::{Attributes, Display, Style, Underline};

impl Display {
    /// A `pre` element with inline styles that shows the screen, without a script or a style sheet. Links are links
    /// only where they lead to http, https, mailto or ftp.
    pub fn html(&self) -> String {
        let (foreground, background) = self.page_colors();
        let mut out = format!(
            "<pre style=\"color:{};background:{};line-height:1.2\">",
            hex(foreground),
            hex(background)
        );
        for (number, row) in self.styled_rows().iter().enumerate() {
            if number > 0 {
                out.push('\n');
            }
            let plain = |style: &Style| *style == Style::default();
            let shown = row
                .iter()
                .rposition(|span| !span.blank || !plain(&span.style))
                .map_or(0, |last| last + 1);
            for span in &row[..shown] {
                let css = self.css(&span.style);
                let link = self.link(&span.style).filter(|uri| is_harmless(uri));
                if let Some(uri) = link {
                    out.push_str("<a href=\"");
                    push_escaped(&mut out, uri);
                    out.push_str("\">");
                }
                if css.is_empty() {
                    push_escaped(&mut out, &span.text);
                } else {
                    out.push_str("<span style=\"");
                    out.push_str(&css);
                    out.push_str("\">");
                    push_escaped(&mut out, &span.text);
                    out.push_str("</span>");
                }
                if link.is_some() {
                    out.push_str("</a>");
                }
            }
        }
        out.push_str("</pre>\n");
        out
    }

    fn css(&self, style: &Style) -> String {
        let (foreground, background) = self.shown_colors(style);
        let (page_foreground, page_background) = self.page_colors();
        let mut css = Vec::new();
        if foreground != page_foreground {
            css.push(format!("color:{}", hex(foreground)));
        }
        if background != page_background {
            css.push(format!("background:{}", hex(background)));
        }
        if style.attributes.contains(Attributes::BOLD) {
            css.push("font-weight:bold".to_owned());
        }
        if style.attributes.contains(Attributes::ITALIC) {
            css.push("font-style:italic".to_owned());
        }
        let decoration = decoration(style);
        if !decoration.is_empty() {
            css.push(format!("text-decoration:{decoration}"));
        }
        css.join(";")
    }
}

/// The lines through, over and under a text, in the words of CSS.
pub(super) fn decoration(style: &Style) -> String {
    let mut words = Vec::new();
    if style.underline != Underline::None {
        words.push("underline");
    }
    if style.attributes.contains(Attributes::STRIKE) {
        words.push("line-through");
    }
    if style.attributes.contains(Attributes::OVERLINE) {
        words.push("overline");
    }
    match style.underline {
        Underline::None | Underline::Single => {}
        Underline::Double => words.push("double"),
        Underline::Curly => words.push("wavy"),
        Underline::Dotted => words.push("dotted"),
        Underline::Dashed => words.push("dashed"),
    }
    words.join(" ")
}

/// A program chooses the address: one that runs something must not become a link.
fn is_harmless(uri: &str) -> bool {
    let scheme = uri
        .split_once(':')
        .map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https" | "mailto" | "ftp"))
}
