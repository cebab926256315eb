//! Interning styles and links, and throwing out those that nothing uses any more.
//!
//! Both tables are bounded. When one is full, the rows and the scrollback are searched for what they still use and
//! the rest is forgotten; a program that shows more styles at once than fit loses colours, never text.

use crate::display::Pen;
use crate::style::StyleId;
use crate::{Display, Style};

/// The most links kept, and the longest address.
const MAX_LINKS: usize = 1024;
const MAX_LINK_BYTES: usize = 4096;

/// The target of a hyperlink (OSC 8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    id: String,
    uri: String,
}

impl Display {
    /// The id of a style. When the table is full the text loses its colours, not its letters.
    pub(crate) fn intern(&mut self, style: Style) -> StyleId {
        if let Some(id) = self.styles.intern(style) {
            return id;
        }
        // Searching everything pays only if it frees enough; else it would be done again for each new style.
        if self.styles.len() > self.styles_kept + self.styles.len() / 8 {
            self.forget_unused();
            if let Some(id) = self.styles.intern(style) {
                return id;
            }
        }
        StyleId::DEFAULT
    }

    /// The index of a link, 0 when it cannot be kept.
    pub(crate) fn intern_link(&mut self, id: &str, uri: &str) -> u16 {
        if id.len() + uri.len() > MAX_LINK_BYTES {
            return 0;
        }
        let link = Link {
            id: id.to_owned(),
            uri: uri.to_owned(),
        };
        if let Some(known) = self
            .links
            .iter()
            .position(|known| known.as_ref() == Some(&link))
        {
            return known as u16 + 1;
        }
        if self.links.len() == MAX_LINKS && !self.links.contains(&None) {
            self.forget_unused();
        }
        let free = self.links.iter().position(Option::is_none);
        if let Some(free) = free {
            self.links[free] = Some(link);
            return free as u16 + 1;
        }
        if self.links.len() == MAX_LINKS {
            return 0;
        }
        self.links.push(Some(link));
        self.links.len() as u16
    }

    /// The address a style's link leads to.
    pub fn link(&self, style: &Style) -> Option<&str> {
        let index = usize::from(style.link).checked_sub(1)?;
        self.links
            .get(index)?
            .as_ref()
            .map(|link| link.uri.as_str())
    }

    /// The parameters of a style's link: its id, when it has one.
    pub(crate) fn link_parameters(&self, style: &Style) -> String {
        let link = usize::from(style.link)
            .checked_sub(1)
            .and_then(|index| self.links.get(index)?.as_ref());
        match link {
            Some(link) if !link.id.is_empty() => format!("id={}", link.id),
            _ => String::new(),
        }
    }

    fn forget_unused(&mut self) {
        let mut used = vec![false; self.styles.len()];
        self.each_style(&mut |id| used[id.index()] = true);
        let renamed = self.styles.retain(&used);
        self.each_style(&mut |id| *id = renamed.id(*id));
        self.pen = Pen::new(self.pen.style);
        self.styles_kept = self.styles.len();
        let mut linked = vec![false; self.links.len() + 1];
        let pens = [
            self.pen.style,
            self.primary.saved.style,
            self.alternate.saved.style,
        ];
        for style in self.styles.iter().chain(pens) {
            if let Some(linked) = linked.get_mut(usize::from(style.link)) {
                *linked = true;
            }
        }
        for (link, linked) in self.links.iter_mut().zip(linked.into_iter().skip(1)) {
            if !linked {
                *link = None;
            }
        }
    }

    fn each_style(&mut self, visit: &mut impl FnMut(&mut StyleId)) {
        for grid in [&mut self.primary, &mut self.alternate] {
            grid.rows.iter_mut().for_each(|row| row.each_style(visit));
        }
        self.history.each_style(visit);
    }
}
