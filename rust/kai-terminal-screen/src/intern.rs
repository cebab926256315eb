//! Interning styles and links, and throwing out those that nothing uses any more.
//!
//! Both tables are bounded. When one is full, the rows and the scrollback are searched for what they still use and
//! the rest is forgotten; a program that shows more styles at once than fit loses colours, never text.

use std::collections::HashMap;
use std::sync::Arc;

use crate::display::Pen;
use crate::style::{MAX_STYLES, StyleId, Styles};
use crate::{Display, Style};

/// The most links kept at once.
const MAX_LINKS: usize = 4096;

/// The longest id and address of a link together; 2083 bytes is what others take for an address.
const MAX_LINK_BYTES: usize = 2083 + 250;

/// How many refusals must follow a search that freed little: a search walks over the whole scrollback.
const SEARCH_EVERY: u32 = 4096;

/// The target of a hyperlink (OSC 8).
#[derive(Debug, PartialEq, Eq, Hash)]
struct Link {
    id: String,
    uri: String,
}

/// The styles and links that the text refers to.
#[derive(Debug)]
pub(crate) struct Interned {
    pub(crate) styles: Styles,
    links: Vec<Option<Arc<Link>>>,
    /// Places in `links` that hold none.
    free_links: Vec<u16>,
    link_ids: HashMap<Arc<Link>, u16>,
    /// Refusals that must still come before the next search.
    refusals_left: u32,
}

impl Interned {
    pub(crate) fn new() -> Interned {
        Interned {
            styles: Styles::new(),
            links: Vec::new(),
            free_links: Vec::new(),
            link_ids: HashMap::new(),
            refusals_left: 0,
        }
    }

    fn link(&self, style: &Style) -> Option<&Link> {
        self.links
            .get(usize::from(style.link).checked_sub(1)?)?
            .as_deref()
    }

    /// The number of a link, 0 when there is no room for it.
    fn add_link(&mut self, link: Link) -> Option<u16> {
        if let Some(number) = self.link_ids.get(&link) {
            return Some(*number);
        }
        let slot = match self.free_links.pop() {
            Some(free) => usize::from(free),
            None if self.links.len() < MAX_LINKS => {
                self.links.push(None);
                self.links.len() - 1
            }
            None => return None,
        };
        let link = Arc::new(link);
        let number = slot as u16 + 1;
        self.links[slot] = Some(Arc::clone(&link));
        self.link_ids.insert(link, number);
        Some(number)
    }

    fn retain_links(&mut self, used: &[bool]) {
        for (slot, link) in self.links.iter_mut().enumerate() {
            if !used[slot + 1]
                && let Some(link) = link.take()
            {
                self.link_ids.remove(&link);
                self.free_links.push(slot as u16);
            }
        }
    }

    /// Whether a search may be made now; a refusal counts towards the next one.
    fn may_search(&mut self) -> bool {
        let left = self.refusals_left;
        self.refusals_left = left.saturating_sub(1);
        left == 0
    }

    /// After a search that freed little, the next one must wait.
    fn searched(&mut self) {
        let full =
            self.styles.len() > MAX_STYLES / 8 * 7 || self.link_ids.len() > MAX_LINKS / 8 * 7;
        self.refusals_left = if full { SEARCH_EVERY } else { 0 };
    }
}

impl Display {
    /// The id of a style. It is good until the next one is asked for, since that may rename all. When the table is
    /// full the text loses its colours, not its letters.
    pub(crate) fn intern(&mut self, style: Style) -> StyleId {
        if let Some(id) = self.interned.styles.intern(style) {
            return id;
        }
        if self.interned.may_search() {
            self.forget_unused();
        }
        self.interned
            .styles
            .intern(style)
            .unwrap_or(StyleId::DEFAULT)
    }

    /// The number of a link for [`Style::link`], 0 when it cannot be kept.
    pub(crate) fn intern_link(&mut self, id: &str, uri: &str) -> u16 {
        if id.len() + uri.len() > MAX_LINK_BYTES {
            return 0;
        }
        let link = || Link {
            id: id.to_owned(),
            uri: uri.to_owned(),
        };
        if let Some(number) = self.interned.add_link(link()) {
            return number;
        }
        if self.interned.may_search() {
            self.forget_unused();
        }
        self.interned.add_link(link()).unwrap_or(0)
    }

    /// The address a style's link leads to.
    pub fn link(&self, style: &Style) -> Option<&str> {
        self.interned.link(style).map(|link| link.uri.as_str())
    }

    /// The parameters of a style's link: its id, when it has one.
    pub(crate) fn link_parameters(&self, style: &Style) -> String {
        match self.interned.link(style) {
            Some(link) if !link.id.is_empty() => format!("id={}", link.id),
            _ => String::new(),
        }
    }

    fn forget_unused(&mut self) {
        let mut used = vec![false; self.interned.styles.len()];
        self.each_style(&mut |id| used[id.index()] = true);
        let renamed = self.interned.styles.retain(&used);
        self.each_style(&mut |id| *id = renamed.id(*id));
        // The pen's ids are from before.
        self.pen = Pen::new(self.pen.style);
        let mut linked = vec![false; MAX_LINKS + 1];
        let pens = [
            self.pen.style,
            self.primary.saved.style,
            self.alternate.saved.style,
        ];
        for style in self.interned.styles.iter().chain(pens) {
            linked[usize::from(style.link).min(MAX_LINKS)] = true;
        }
        self.interned.retain_links(&linked);
        self.interned.searched();
    }

    fn each_style(&mut self, visit: &mut impl FnMut(&mut StyleId)) {
        for grid in [&mut self.primary, &mut self.alternate] {
            grid.rows.iter_mut().for_each(|row| row.each_style(visit));
        }
        self.history.each_style(visit);
    }
}
