//! Compiles the guard for the target with the very compiler that cargo is using, and leaves it in `OUT_DIR`, where the
//! library embeds it and where maturin finds it for the wheel (`from = "out-dir"`). The guard is one file without
//! dependencies, so this is one call of the compiler: no second cargo, no network, no lock.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=KAI_TERMINAL_GUARD_BIN");
    let guard = PathBuf::from(variable("OUT_DIR")).join("kai-terminal-guard");
    let linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    if !linux || env::var_os("DOCS_RS").is_some() {
        // Elsewhere there is no subreaper, so nothing runs it; an empty file keeps the embedding and the wheel alike.
        fs::write(&guard, b"").expect("OUT_DIR can be written");
    } else if let Some(ready) = env::var_os("KAI_TERMINAL_GUARD_BIN") {
        // For distributions and toolchains that cannot link from a build script: one that is built already.
        println!("cargo::rerun-if-changed={}", Path::new(&ready).display());
        fs::copy(&ready, &guard)
            .unwrap_or_else(|e| panic!("KAI_TERMINAL_GUARD_BIN={}: {e}", ready.display()));
    } else {
        compile(&guard);
    }
}

fn compile(guard: &Path) {
    let source = guard.with_extension("rs");
    fs::write(&source, kai_terminal_guard::SOURCE).expect("OUT_DIR can be written");
    let mut rustc = Command::new(variable("RUSTC"));
    rustc
        .args([
            "--edition=2024",
            "--crate-name=kai_terminal_guard",
            "--crate-type=bin",
            "--cap-lints=allow",
        ])
        .args([
            "-Copt-level=s",
            "-Cpanic=abort",
            "-Cstrip=symbols",
            "-Ccodegen-units=1",
        ])
        .args(["--target", &variable("TARGET"), "-o"])
        .arg(guard)
        .arg(&source)
        .env("CARGO_PKG_VERSION", kai_terminal_guard::VERSION);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = OsString::from("-Clinker=");
        option.push(linker);
        rustc.arg(option);
    }
    // What was asked of the linker and of the processor holds for the guard too (cross linkers, sysroots).
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    if variable("PROFILE") == "release" && !flags.contains("embed-bitcode") {
        // Worth its seconds in what ships: smaller on disk and in memory.
        rustc.arg("-Clto=fat");
    }
    let status = rustc
        .status()
        .unwrap_or_else(|e| panic!("cannot run {rustc:?}: {e}"));
    assert!(status.success(), "the guard did not compile: {rustc:?}");
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|e| panic!("{name}: {e}"))
}
