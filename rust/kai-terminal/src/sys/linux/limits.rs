//! The host's original resource limits (getrlimit(2)), which a session gets back whatever the host did to its own.

use std::sync::OnceLock;

/// How many resources there are; Linux has had 16 since 2.6.25.
const RESOURCES: u32 = 16;

static ORIGINAL: OnceLock<Vec<Limit>> = OnceLock::new();

/// One limit; `RLIM_INFINITY` is all ones.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) resource: u32,
    pub(super) soft: u64,
    pub(super) hard: u64,
}

/// Remembers the limits as they are now. The first call counts: the library calls it when it is loaded.
pub fn remember_limits() {
    ORIGINAL.get_or_init(current);
}

/// The original limits that differ from the host's present ones, which the session would inherit.
pub(super) fn to_restore() -> Vec<Limit> {
    let now = current();
    ORIGINAL
        .get()
        .into_iter()
        .flatten()
        .filter(|limit| !now.contains(limit))
        .copied()
        .collect()
}

fn current() -> Vec<Limit> {
    let read = |resource: u32| {
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: the pointer is to a live rlimit. An unknown resource is refused.
        let result = unsafe { libc::getrlimit(resource as _, &raw mut limit) };
        (result == 0).then_some(Limit {
            resource,
            soft: limit.rlim_cur,
            hard: limit.rlim_max,
        })
    };
    (0..RESOURCES).filter_map(read).collect()
}
