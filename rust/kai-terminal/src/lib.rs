//! Terminal sessions that a program can hold: open a program in a terminal, send it input, know when it wants more,
//! read what it printed, interrupt it, close it, and be sure that nothing is left.
//!
//! Three layers, and the arrows go one way: `session` (the async handle and its driver) asks `state` (which decides,
//! without a clock or a descriptor) and lets [`sys`] touch the operating system.

mod error;
mod session;
pub mod state;
pub mod sys;

pub use error::{Error, ErrorCode};
pub use kai_terminal_screen as screen;
pub use session::{Closed, Config, Send, Session};
pub use state::{
    Counters, Evidence, SendRequest, SendResult, Startup, Status, WaitReason, WaitingFor,
};
