//! What decides: deterministic, without a clock, a descriptor, a task or a system call. Time is an argument, facts are
//! arguments, decisions come out as values. [`SessionState`] is the machine; the other files are the parts it is made of.

mod book;
mod delta;
mod marks;
mod outbox;
mod output;
mod quiescence;
mod readiness;
mod send;
mod session;
mod slot;
mod tail;

pub use book::Counters;
pub use marks::Key;
pub use quiescence::Closing;
pub use readiness::Facts;
pub use send::{
    Evidence, Refusal, SendFailure, SendId, SendOutcome, SendRequest, SendResult, Status,
    WaitReason, WaitingFor,
};
pub use session::{Act, SessionOptions, SessionState, Startup};
