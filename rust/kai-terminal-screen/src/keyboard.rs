//! The flags of the kitty keyboard protocol, a stack for each screen
//! (<https://sw.kovidgoyal.net/kitty/keyboard-protocol/>, "Progressive enhancement").

/// The flags that are known: disambiguate, event types, alternate keys, all keys, associated text.
const KNOWN: u8 = 0b1_1111;

/// How many pushed flags are kept; the oldest go first.
const MAX_PUSHED: usize = 16;

#[derive(Clone, Debug, Default)]
pub(crate) struct KeyboardFlags {
    current: u8,
    pushed: Vec<u8>,
}

impl KeyboardFlags {
    pub(crate) fn current(&self) -> u8 {
        self.current
    }

    pub(crate) fn push(&mut self, flags: usize) {
        if self.pushed.len() == MAX_PUSHED {
            self.pushed.remove(0);
        }
        self.pushed.push(self.current);
        self.current = flags as u8 & KNOWN;
    }

    /// Popping more than was pushed resets all flags.
    pub(crate) fn pop(&mut self, count: usize) {
        for _ in 0..count.min(MAX_PUSHED + 1) {
            self.current = self.pushed.pop().unwrap_or(0);
        }
    }

    /// Mode 1 replaces the flags, 2 adds to them, 3 takes from them.
    pub(crate) fn set(&mut self, flags: usize, mode: usize) {
        let flags = flags as u8 & KNOWN;
        match mode {
            0 | 1 => self.current = flags,
            2 => self.current |= flags,
            3 => self.current &= !flags,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// rule: query-3
    #[test]
    fn flags_are_pushed_changed_and_popped() {
        let mut flags = KeyboardFlags::default();
        flags.push(1);
        flags.push(31);
        flags.set(2, 3);
        assert_eq!(flags.current(), 29);
        flags.set(2, 2);
        assert_eq!(flags.current(), 31);
        flags.pop(1);
        assert_eq!(flags.current(), 1);
        flags.pop(9);
        assert_eq!(flags.current(), 0);
        for _ in 0..100 {
            flags.push(5);
        }
        assert_eq!(flags.pushed.len(), MAX_PUSHED);
    }
}
