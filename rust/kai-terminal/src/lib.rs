//! Terminal sessions that a program can hold.

pub mod sys;
