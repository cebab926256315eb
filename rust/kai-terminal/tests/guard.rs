//! The guard: stages of closing, what cannot escape, and what happens without a host.

mod support;

use std::time::{Duration, Instant};

use kai_terminal::sys::{ExitStatus, Report};
use support::{Session, marked, script, shell, wait_until};

const GRACE: Duration = Duration::from_secs(2);

/// rule: B3, end-2
#[test]
fn an_exit_is_reported_and_an_empty_range_ends_by_itself() {
    let mut session = Session::open(&script("echo hello; exit 5"));
    session.wait_text("hello");
    assert_eq!(session.wait_exit(), ExitStatus::Code(5));
    let receipt = session.wait_quiescent();
    assert!(receipt.processes.is_empty() && !receipt.killed);
}

/// rule: Q1
#[test]
fn an_idle_shell_is_hung_up_at_once() {
    let (mut session, _) = Session::start(&shell());
    session.wait_text("ready> ");
    let begun = Instant::now();
    let receipt = session.close(GRACE);
    assert!(begun.elapsed() < GRACE, "took {:?}", begun.elapsed());
    assert!(
        !receipt.killed && receipt.processes.is_empty(),
        "{receipt:?}"
    );
    assert!(session.reports.iter().any(|r| matches!(r, Report::HangUp)));
}

/// rule: Q1, Q2, proc-1, proc-2, proc-3
#[test]
fn whatever_escapes_a_shell_does_not_escape_the_guard() {
    let (mut session, _) = Session::start(&shell());
    session.wait_text("ready> ");
    session.type_text(concat!(
        "setsid sleep 999.11 &\r",
        "(setsid sh -c 'sleep 999.11 & sleep 999.11') &\r",
        "env -i setsid sleep 999.11 &\r",
        "nohup sleep 999.11 >/dev/null 2>&1 &\r",
        "(trap '' TERM HUP INT; exec sleep 999.11) &\r",
        "echo all-\"\"started\r",
    ));
    session.wait_text("all-started");
    wait_until("six sleepers", || {
        marked("sleep 999.11")
            .iter()
            .filter(|&&pid| is_sleep(pid))
            .count()
            == 6
    });
    let receipt = session.close(Duration::from_millis(300));
    assert!(receipt.killed, "one ignored every signal");
    assert!(
        receipt
            .processes
            .iter()
            .filter(|p| p.command == "sleep")
            .count()
            == 6,
        "{receipt:?}"
    );
    assert_eq!(marked("sleep 999.11"), [0; 0]);
}

fn is_sleep(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "sleep")
}

/// rule: Q4
#[test]
fn a_terminal_that_is_dropped_is_closed_by_its_guard() {
    let (mut session, pid) = Session::start(&shell());
    session.wait_text("ready> ");
    session.type_text("setsid sleep 999.12 &\r");
    wait_until("the sleeper", || !marked("sleep 999.12").is_empty());
    session.abandon();
    wait_until("the end of all", || {
        marked("sleep 999.12").is_empty() && !support::exists(pid)
    });
}
