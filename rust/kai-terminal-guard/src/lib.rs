//! The guard as source text, for the build script of `kai-terminal`, which compiles it with one call of the compiler.
//!
//! The program itself is `main.rs`: one file, the standard library and a few declared C functions, so that it needs no
//! dependency to be resolved where it is built. `docs/guard-protocol.md` describes how the host talks to it.

/// The whole program.
pub const SOURCE: &str = include_str!("main.rs");

/// The version that the program prints when it is called with `--version`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
