//! The async shell around the state: a handle that anybody may hold, and one driver that moves the session.

mod driver;
mod failures;
mod handle;
mod watch;

pub use handle::{Closed, Config, Send, Session};
