//! Processes of another user, which a session may start (sudo does) and its host may not signal.
//!
//! Giving a process another user takes a privilege: where there is none, there is nothing to meet, and these tests pass.

mod support;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use kai_terminal::sys::{Process, Signal, SignalError, Terminal};
use support::host::{BE_A_HOST, ROLE, judge};
use support::{RUN, Session, exists, marked, own, shell, wait_until};

/// Names what the other user is to sleep.
const MARK: &str = "KAI_TEST_MARK";

/// Who the host is: nobody (in most tables of users).
const NOBODY: u32 = 65534;

#[test]
#[ignore = "the other tests of this file run it"]
fn be_a_host() {
    match std::env::var(ROLE).expect("a role is given").as_str() {
        "unprivileged" => meet_a_process_of_another_user(),
        "unprivileged-hidden" => meet_a_hidden_process(),
        other => panic!("unknown role {other}"),
    }
}

#[test]
#[ignore = "run with set-user-id by a host that is unprivileged"]
fn be_another_user() {
    let mark = std::env::var(MARK).expect("it is given");
    let error = Command::new("/bin/sleep").arg(own(&mark)).uid(0).exec();
    panic!("no sleep: {error}");
}

/// Copies this program to where anybody may run it, once as it is and once with set-user-id, and gives a command for the
/// first that knows of the second.
fn unprivileged(directory: &Path, role: &str) -> Command {
    let allow = |path: &Path, mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, permissions).expect("it is ours");
    };
    allow(directory, 0o755);
    let program = directory.join("host");
    let other = directory.join("other");
    std::fs::copy(std::env::current_exe().expect("we are a file"), &program)
        .expect("it can be copied");
    std::fs::copy(&program, &other).expect("it can be copied");
    allow(&program, 0o755);
    allow(&other, 0o4755);
    let mut command = Command::new(program);
    command
        .args(BE_A_HOST)
        .env(ROLE, role)
        .env("OTHER", other)
        .env(RUN, std::process::id().to_string());
    command.current_dir("/").stdin(Stdio::null());
    command
}

/// A directory of a file system that honours set-user-id.
fn directory() -> tempfile::TempDir {
    tempfile::Builder::new()
        .tempdir_in("/var/tmp")
        .expect("there is room for a file")
}

/// A shell, and what to type there to become another user.
fn shell_and_other(mark: &str) -> (Session, String) {
    let other = std::env::var("OTHER").expect("it is given");
    let mut shell = shell();
    shell
        .env
        .push((RUN.into(), std::env::var_os(RUN).expect("it is given")));
    shell.env.push((MARK.into(), mark.into()));
    let (mut session, _) = Session::start(&shell);
    session.wait_text("ready> ");
    (
        session,
        format!("{other} --exact be_another_user --ignored --nocapture"),
    )
}

fn survivors(session: &mut Session) -> Vec<Process> {
    session
        .terminal
        .terminate(Duration::from_millis(100))
        .expect("it can be asked for");
    session.wait_survivors()
}

/// rule: Q3, K1, proc-11
#[test]
fn what_may_not_be_killed_is_named_and_closing_can_be_tried_again() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let directory = directory();
    judge(
        unprivileged(directory.path(), "unprivileged")
            .uid(NOBODY)
            .gid(NOBODY),
    );
    // Not even the death of its guard ends what is another user's.
    for pid in marked("sleep 999.24") {
        let _ = Command::new("kill")
            .args(["-KILL", &pid.to_string()])
            .status();
    }
}

fn meet_a_process_of_another_user() {
    let (mut session, become_root) = shell_and_other("999.24");
    session.type_text(&format!("{become_root}\r"));
    wait_until("the other user", || marked("sleep 999.24").len() == 1);
    let other = marked("sleep 999.24")[0];

    // Interrupts go through the terminal, which may; anything else may not, and says whom it met.
    match session.terminal.signal_foreground(Signal::Terminate) {
        Err(SignalError::Denied {
            command,
            user,
            pgid,
        }) => {
            assert_eq!((command.as_str(), user.as_str()), ("sleep", "root"));
            assert_eq!(session.terminal.foreground().ok(), Some(Some(pgid)));
        }
        result => panic!("not denied: {result:?}"),
    }
    session
        .terminal
        .signal_foreground(Signal::Interrupt)
        .expect("it goes through the terminal");
    wait_until("it is interrupted", || !exists(other));
    session.wait_text("ready> ");

    // In the background, out of the session's reach, it survives.
    session.type_text(&format!("setsid {become_root} &\r"));
    wait_until("the other user", || marked("sleep 999.24").len() == 1);
    let other = marked("sleep 999.24")[0];
    for _ in 0..2 {
        let survivors = survivors(&mut session);
        assert_eq!(survivors.len(), 1, "{survivors:?}");
        let survivor = &survivors[0];
        assert_eq!(
            (
                survivor.pid,
                survivor.command.as_str(),
                survivor.user.as_str()
            ),
            (other, "sleep", "root")
        );
    }
    session.abandon();
}

/// rule: Q3
#[test]
fn what_proc_hides_still_counts_as_alive() {
    let root = rustix::process::geteuid().is_root();
    if !root
        || !Command::new("unshare")
            .args(["-mpf", "true"])
            .status()
            .is_ok_and(|status| status.success())
    {
        return;
    }
    let directory = directory();
    let host = unprivileged(directory.path(), "unprivileged-hidden");
    let environment = host
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    // Everything in there ends with its first process, which is the host.
    let hide = "mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$0\" \"$@\"";
    judge(
        Command::new("unshare")
            .args(["-mpf", "sh", "-c", hide])
            .arg(host.get_program())
            .args(host.get_args())
            .envs(environment)
            .stdin(Stdio::null()),
    );
}

fn meet_a_hidden_process() {
    let (mut session, become_root) = shell_and_other("999.28");
    // It is another user's from the moment on when it may not be signalled.
    session.type_text(&format!(
        "{become_root} & while kill -0 $! 2>/dev/null; do :; done; echo hid\"\"den\r"
    ));
    session.wait_text("hidden");
    for _ in 0..2 {
        let survivors = survivors(&mut session);
        assert_eq!(survivors.len(), 1, "{survivors:?}");
        assert_eq!(survivors[0].user, "unknown");
    }
    session.abandon();
}
