//! Text of which only the newest part is kept.

/// A text bounded in bytes. What is dropped is dropped from the front, at a character boundary, and remembered.
#[derive(Debug)]
pub(super) struct Tail {
    text: String,
    limit: usize,
    truncated: bool,
}

impl Tail {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            text: String::new(),
            limit,
            truncated: false,
        }
    }

    /// Appends through `write`, which only ever pushes to the string it is given.
    pub(super) fn append(&mut self, write: impl FnOnce(&mut String)) {
        write(&mut self.text);
        // Cutting at twice the limit makes the cost of moving the rest a constant for each byte.
        if self.text.len() > self.limit.saturating_mul(2) {
            self.cut();
        }
    }

    pub(super) fn push_row(&mut self, text: &str, wrapped: bool) {
        self.append(|own| {
            own.push_str(text);
            if !wrapped {
                own.push('\n');
            }
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && !self.truncated
    }

    /// Gives what is kept and whether something was dropped, and starts again empty.
    pub(super) fn take(&mut self) -> (String, bool) {
        if self.text.len() > self.limit {
            self.cut();
        }
        (
            std::mem::take(&mut self.text),
            std::mem::take(&mut self.truncated),
        )
    }

    fn cut(&mut self) {
        let from = ceil_char_boundary(&self.text, self.text.len() - self.limit);
        self.text.drain(..from);
        self.truncated = true;
    }
}

fn ceil_char_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_newest_and_says_so() {
        let mut tail = Tail::new(4);
        tail.append(|text| text.push_str("abc"));
        assert_eq!(tail.take(), ("abc".into(), false));
        tail.append(|text| text.push_str("abcé"));
        tail.append(|text| text.push_str("defg"));
        assert_eq!(tail.take(), ("defg".into(), true));
        assert_eq!(tail.take(), (String::new(), false));
    }

    #[test]
    fn never_cuts_a_character() {
        let mut tail = Tail::new(3);
        tail.append(|text| text.push_str("ééééé"));
        let (text, truncated) = tail.take();
        assert_eq!((text.as_str(), truncated), ("é", true));
    }
}
