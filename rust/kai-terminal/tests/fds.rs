//! What opening and closing costs the host: nothing that stays.

mod support;

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use kai_terminal::sys::Report;
use support::{Session, footprint, script, spec};

/// One test, because these count what the whole process has, threads too: a second test would come and go beside it in
/// a thread of its own.
///
/// rule: proc-8, B1, P8
#[test]
fn opening_and_closing_leaves_the_host_as_it_was() {
    six_hundred_sessions_leave_no_descriptor_no_thread_and_no_process();
    fifty_failures_leave_nothing();
    sessions_that_were_let_go_are_reaped_by_the_next_open();
    no_concurrent_start_of_the_host_inherits_a_descriptor();
}

fn six_hundred_sessions_leave_no_descriptor_no_thread_and_no_process() {
    Session::open(&script("exit")).wait_quiescent();
    let before = footprint();
    for round in 0..600 {
        let mut session = Session::open(&script("echo on; read x"));
        if round % 2 == 0 {
            session.wait_text("on");
        }
        session.close(Duration::from_millis(500));
    }
    assert_eq!(footprint(), before);
}

fn fifty_failures_leave_nothing() {
    Session::open(&script("exit")).wait_quiescent();
    let before = footprint();
    for _ in 0..50 {
        let mut session = Session::open(&spec(["/nonexistent/program"]));
        session.wait_report("failure", |r| matches!(r, Report::Failed { .. }));
        session.wait_quiescent();
        assert!(Session::try_open(&spec(["/bin/echo", "\0"])).is_err());
    }
    assert_eq!(footprint(), before);
}

fn sessions_that_were_let_go_are_reaped_by_the_next_open() {
    Session::open(&script("exit")).wait_quiescent();
    let before = footprint();
    for _ in 0..20 {
        Session::start(&script("read x")).0.abandon();
    }
    support::wait_until("all are reaped", || {
        Session::open(&script("exit")).wait_quiescent();
        footprint() == before
    });
}

fn no_concurrent_start_of_the_host_inherits_a_descriptor() {
    let stop = AtomicBool::new(false);
    let seen: BTreeSet<String> = thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                Session::open(&script("exit")).wait_quiescent();
            }
        });
        let list = || {
            Command::new("/bin/sh")
                .args(["-c", "cd /proc/self/fd; readlink [0-9]*"])
                .output()
        };
        let seen = (0..200).flat_map(|_| {
            let output = list().expect("a program starts");
            String::from_utf8_lossy(&output.stdout)
                .lines()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        });
        let seen = seen.collect();
        stop.store(true, Ordering::Relaxed);
        seen
    });
    let ours =
        |path: &String| path.contains("ptmx") || path.contains("/pts/") || path.contains("socket:");
    let inherited =
        std::fs::read_link("/proc/self/fd/0").map(|path| path.to_string_lossy().into_owned());
    let leaked: Vec<&String> = seen
        .iter()
        .filter(|p| ours(p) && inherited.as_ref().ok() != Some(*p))
        .collect();
    assert_eq!(leaked, [""; 0]);
}
