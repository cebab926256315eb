//! What is on its way to the terminal.

/// Replies to a program's questions go first, then input. Both are written in pieces as the terminal has room.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    replies: Vec<u8>,
    input: Vec<u8>,
    /// How much of `input` the terminal has taken.
    taken: usize,
    dropped_replies: u64,
}

/// A program that asks without reading the answers must not fill the host's memory.
const MOST_REPLIES: usize = 64 * 1024;

impl Outbox {
    pub(super) fn push_reply(&mut self, bytes: &[u8]) {
        if self.replies.len() + bytes.len() > MOST_REPLIES {
            self.dropped_replies += 1;
        } else {
            self.replies.extend_from_slice(bytes);
        }
    }

    pub(super) fn push_input(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    /// The next piece to write.
    pub(super) fn front(&self) -> Option<&[u8]> {
        if !self.replies.is_empty() {
            return Some(&self.replies);
        }
        let rest = &self.input[self.taken..];
        (!rest.is_empty()).then_some(rest)
    }

    /// The terminal took `count` bytes of `front`.
    pub(super) fn advance(&mut self, count: usize) {
        if self.replies.is_empty() {
            self.taken += count;
            if self.taken >= self.input.len() {
                self.drop_input();
            }
        } else {
            self.replies.drain(..count);
        }
    }

    pub(super) fn has_input(&self) -> bool {
        self.taken < self.input.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.replies.is_empty() && !self.has_input()
    }

    /// Forgets input that was not written yet.
    pub(super) fn drop_input(&mut self) {
        self.input = Vec::new();
        self.taken = 0;
    }

    pub(super) fn dropped_replies(&self) -> u64 {
        self.dropped_replies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// rule: in-3
    #[test]
    fn partial_writes_are_resumed_where_they_stopped() {
        let mut outbox = Outbox::default();
        outbox.push_input(b"hello");
        outbox.advance(2);
        assert_eq!(outbox.front(), Some(&b"llo"[..]));
        outbox.push_reply(b"\x1b[0n");
        assert_eq!(outbox.front(), Some(&b"\x1b[0n"[..]));
        outbox.advance(4);
        assert_eq!(outbox.front(), Some(&b"llo"[..]));
        outbox.advance(3);
        assert!(outbox.is_empty());
    }

    /// rule: N6
    #[test]
    fn dropping_input_keeps_replies() {
        let mut outbox = Outbox::default();
        outbox.push_input(b"secret");
        outbox.push_reply(b"r");
        outbox.drop_input();
        assert_eq!(outbox.front(), Some(&b"r"[..]));
        assert!(!outbox.has_input());
    }

    /// rule: query-2
    #[test]
    fn unread_replies_are_bounded_and_counted() {
        let mut outbox = Outbox::default();
        for _ in 0..=MOST_REPLIES {
            outbox.push_reply(b"12");
        }
        assert_eq!(outbox.front().map(<[u8]>::len), Some(MOST_REPLIES));
        assert!(outbox.dropped_replies() > 0);
    }
}
