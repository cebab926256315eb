//! The guard: stages of closing, what cannot escape, and what happens without a host.

mod support;

use std::time::{Duration, Instant};

use kai_terminal::sys::{ExitStatus, Report, Terminal};
use support::{Session, exists, marked, parent_of, script, shell, spec, wait_until};

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
        marked("sleep 999.12").is_empty() && !exists(pid)
    });
}

/// rule: Q1, proc-2
#[test]
fn a_python_double_fork_is_found() {
    let text = "
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.environ.clear(); print('daemon', flush=True); time.sleep(999)
    os._exit(0)
os.wait(); time.sleep(999)
";
    let (mut session, _) = Session::start(&spec(["/usr/bin/env", "python3", "-c", text, "999.18"]));
    session.wait_text("daemon");
    assert!(marked("999.18").len() >= 2);
    session.close(Duration::from_millis(200));
    assert_eq!(marked("999.18"), [0; 0]);
}

/// rule: Q1, proc-3
#[test]
fn a_stopped_job_ends() {
    let (mut session, _) = Session::start(&shell());
    session.wait_text("ready> ");
    session.type_text("sleep 999.13\r");
    wait_until("the sleeper", || !marked("sleep 999.13").is_empty());
    session.type_text("\x1a");
    session.wait_text("Stopped");
    let begun = Instant::now();
    let receipt = session.close(GRACE);
    assert!(
        begun.elapsed() < GRACE && !receipt.killed,
        "{receipt:?} after {:?}",
        begun.elapsed()
    );
    assert_eq!(marked("sleep 999.13"), [0; 0]);
}

/// rule: Q1, proc-4
#[test]
fn a_loop_that_forks_daemons_while_being_closed_is_caught() {
    let (mut session, _) = Session::start(&spec([
        "/bin/bash",
        "-c",
        "trap '' TERM HUP; for i in $(seq 200); do (setsid sleep 999.14 &) ; done; echo all; wait; sleep 999.14",
    ]));
    wait_until("some daemons", || marked("sleep 999.14").len() > 20);
    let receipt = session.close(Duration::from_millis(50));
    assert!(receipt.killed);
    assert_eq!(marked("sleep 999.14"), [0; 0]);
}

/// A process that is never the same for long: each forks the next and ends.
const HOPPER: &str = "
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGHUP, signal.SIG_IGN)
print('hops', flush=True)
while True:
    if os.fork() != 0: os._exit(0)
    os.setsid()
";

/// rule: Q1, Q2, proc-4
#[test]
fn a_chain_of_processes_that_replace_each_other_is_caught() {
    let (mut session, _) =
        Session::start(&spec(["/usr/bin/env", "python3", "-c", HOPPER, "999.19"]));
    session.wait_text("hops");
    session.wait_exit();
    session.close(Duration::from_millis(100));
    assert_eq!(marked("999.19"), [0; 0]);
}

/// rule: Q1, proc-12
#[test]
fn a_program_that_saves_on_term_gets_its_grace() {
    let directory = tempfile::tempdir().expect("there is room for a file");
    let saved = directory.path().join("saved");
    let editor = format!(
        "trap 'sleep 0.5; echo text > {}; exit 0' TERM; echo edits; while :; do sleep 0.02; done",
        saved.display()
    );
    let (mut session, _) = Session::start(&shell());
    session.wait_text("ready> ");
    session.type_text(&format!("sh -c '{}'\r", editor.replace('\'', "'\\''")));
    session.wait_text("edits\r\n");
    let receipt = session.close(GRACE);
    assert!(!receipt.killed, "{receipt:?}");
    let user = std::process::Command::new("id")
        .arg("-un")
        .output()
        .expect("it can be asked");
    let user = String::from_utf8_lossy(&user.stdout).trim().to_owned();
    assert!(
        receipt
            .processes
            .iter()
            .any(|p| p.command == "sh" && p.user == user),
        "{receipt:?}"
    );
    assert_eq!(
        std::fs::read_to_string(saved).expect("it was saved"),
        "text\n"
    );
}

/// rule: Q1
#[test]
fn a_grace_of_nothing_kills_at_once_and_hangs_up_all_the_same() {
    let (mut session, _) = Session::start(&script(
        "trap '' TERM HUP; echo ready; while :; do sleep 999.15; done",
    ));
    session.wait_text("ready");
    let receipt = session.close(Duration::ZERO);
    assert!(receipt.killed);
    assert!(session.reports.iter().any(|r| matches!(r, Report::HangUp)));
}

/// rule: Q1
#[test]
fn a_shorter_grace_replaces_the_one_that_runs() {
    let (mut session, _) =
        Session::start(&script("trap '' TERM HUP; sleep 999.16 & echo ready; wait"));
    session.wait_text("ready");
    session
        .terminal
        .terminate(Duration::from_hours(1))
        .expect("it can be asked for");
    let receipt = session.close(Duration::from_millis(50));
    assert!(receipt.killed);
}

/// rule: B3, end-3
#[test]
fn the_exit_is_reported_while_a_job_lives_on_in_the_range() {
    let (mut session, shell) = Session::start(&shell());
    session.wait_text("ready> ");
    session.type_text("sleep 999.17 & exit 1\r");
    assert_eq!(session.wait_exit(), ExitStatus::Code(1));
    wait_until("the shell is reaped", || !exists(shell));
    wait_until("the job runs", || marked("sleep 999.17").len() == 1);
    let receipt = session.close(GRACE);
    assert_eq!(receipt.processes.len(), 1);
    assert_eq!(
        receipt.processes[0].ended,
        Some(ExitStatus::Signal(libc::SIGTERM)),
        "{receipt:?}"
    );
    assert_eq!(marked("sleep 999.17"), [0; 0]);
}

/// rule: B3, end-11
#[test]
fn the_exit_is_reported_though_the_output_never_ends() {
    let (mut session, _) = Session::start(&shell());
    session.wait_text("ready> ");
    session.type_text("trap '' HUP; yes & exit 5\r");
    let status = session.wait_exit();
    assert_eq!(status, ExitStatus::Code(5));
    session.close(GRACE);
}

/// rule: B3, end-11
#[test]
fn a_terminal_that_nobody_has_open_is_no_end() {
    let text = "exec 0<&- 1>&- 2>&-; sleep 0.2; exec 1>/dev/tty; echo back; exec 1>&-; sleep 0.2; echo again > /dev/tty; exit 4";
    let mut session = Session::open(&script(text));
    session.wait_text("back");
    session.wait_text("again");
    assert_eq!(session.wait_exit(), ExitStatus::Code(4));
}

/// rule: Q1
#[test]
fn a_closing_that_begins_before_the_start_is_done_ends_too() {
    for _ in 0..20 {
        let mut session = Session::open(&shell());
        session.close(Duration::from_millis(200));
    }
}

/// rule: Q4
#[test]
fn signals_to_the_guard_do_not_reach_the_session() {
    let (mut session, shell) = Session::start(&shell());
    session.wait_text("ready> ");
    let guard = parent_of(shell);
    for signal in ["INT", "TSTP", "HUP", "TERM", "QUIT", "PIPE", "USR1"] {
        let status = std::process::Command::new("kill")
            .args([&format!("-{signal}"), "--", &format!("-{guard}")])
            .status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "{signal} is delivered"
        );
    }
    session.type_text("echo still-$((40 + 2))\r");
    session.wait_text("still-42");
    session.close(GRACE);
}

/// rule: Q1
#[test]
fn a_guard_that_was_killed_is_reported_as_lost_and_takes_the_shell_along() {
    let (mut session, shell) = Session::start(&shell());
    session.wait_text("ready> ");
    let guard = parent_of(shell).to_string();
    let killed = std::process::Command::new("kill")
        .args(["-KILL", &guard])
        .status();
    assert!(killed.is_ok_and(|status| status.success()));
    session.wait_report("loss", |r| matches!(r, Report::Lost));
    wait_until("the shell is gone", || !exists(shell));
}

/// rule: Q1
#[test]
fn a_guard_that_was_stopped_closes_all_the_same() {
    let (mut session, _) = Session::start(&shell());
    session.wait_text("ready> ");
    session.type_text("setsid sleep 999.20 & kill -STOP $PPID\r");
    session.wait_text("ready> ");
    wait_until("the sleeper", || !marked("sleep 999.20").is_empty());
    session.close(GRACE);
    assert_eq!(marked("sleep 999.20"), [0; 0]);
}
