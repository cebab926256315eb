//! Terminal sessions that a program can hold.
