//! Descriptors that the provider owns, watched by tokio.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The number of a descriptor that somebody else keeps open for as long as this is watched.
#[derive(Debug)]
pub(super) struct Number(RawFd);

impl AsRawFd for Number {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

// `AsyncFd::with_interest` is deprecated because nothing ties the descriptor's life to the watch, and its successor is
// unsafe for the same reason. The driver keeps that promise: it owns the provider and drops the watch first.
#[allow(deprecated)]
/// Watches for readability. Must be called inside the runtime; to be dropped before the descriptor is closed.
pub(super) fn watch(number: RawFd) -> io::Result<AsyncFd<Number>> {
    AsyncFd::with_interest(Number(number), Interest::READABLE)
}
