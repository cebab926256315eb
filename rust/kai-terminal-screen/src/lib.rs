//! The terminal emulator of kai-terminal: bytes in; screen, scrollback, events and replies out.
