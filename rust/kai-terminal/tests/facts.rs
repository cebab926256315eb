//! What the kernel tells about who reads and who does not.

mod support;

use std::time::Duration;

use kai_terminal::sys::linux::read_lock_works;
use kai_terminal::sys::{Terminal, Thread, Wait};
use support::{Session, script, shell, spec};

/// Waits until somebody is blocked in a read of the terminal, and gives the threads of the foreground.
fn wait_reader(session: &mut Session) -> Vec<Thread> {
    assert!(read_lock_works());
    session.wait_for("blocked reader", |session| {
        let terminal = &session.terminal;
        if terminal.input_unread().ok()? || terminal.reader_blocked() != Some(true) {
            return None;
        }
        let threads = foreground(session);
        threads
            .iter()
            .any(|t| t.wait == Wait::TerminalRead)
            .then_some(threads)
    })
}

fn foreground(session: &Session) -> Vec<Thread> {
    let group = session
        .terminal
        .foreground()
        .expect("the foreground can be asked for");
    group
        .map(|group| session.terminal.threads(group))
        .unwrap_or_default()
}

/// Waits until some thread of the foreground waits like this, and says that nobody reads the terminal meanwhile.
fn wait_busy(session: &mut Session, wait: Wait) {
    session.wait_for("busy thread", |session| {
        foreground(session)
            .iter()
            .any(|t| t.wait == wait)
            .then_some(())
    });
    assert_eq!(session.terminal.reader_blocked(), Some(false));
    assert!(
        foreground(session)
            .iter()
            .all(|t| t.wait != Wait::TerminalRead)
    );
}

/// rule: N2, ready-3
#[test]
fn readers_of_lines_are_seen_and_each_line_moves_their_counters() {
    for program in [
        spec(["/bin/cat"]),
        spec([
            "/usr/bin/env",
            "python3",
            "-c",
            "while True: input('name? ')",
        ]),
        spec([
            "/bin/bash",
            "--norc",
            "-c",
            "while read -p 'name? ' x; do :; done",
        ]),
    ] {
        let (mut session, _) = Session::start(&program);
        let mut before = wait_reader(&mut session);
        for _ in 0..3 {
            session.type_text("line\r");
            let after = wait_reader(&mut session);
            assert!(after[0].runs > before[0].runs, "{before:?} {after:?}");
            before = after;
        }
        session.close(Duration::ZERO);
    }
}

/// rule: N2, ready-1
#[test]
fn a_reader_of_a_pipe_is_no_reader_of_the_terminal() {
    for text in [
        "sleep 30 | cat",
        "(sleep 30; echo done) 2>&1 | tail -3",
        "sleep 30 | tee /dev/null",
    ] {
        let (mut session, _) = Session::start(&shell());
        session.wait_text("ready> ");
        session.type_text(&format!("{text}\r"));
        wait_busy(&mut session, Wait::OtherRead);
        session.close(Duration::ZERO);
    }
}

/// rule: N2, ready-4
#[test]
fn any_descriptor_of_the_terminal_counts() {
    let (mut session, _) = Session::start(&spec([
        "/bin/bash",
        "--norc",
        "-c",
        "exec 5</dev/tty; read -u 5 x",
    ]));
    wait_reader(&mut session);
}

/// rule: N2, ready-7
#[test]
fn a_sleeper_is_busy_whatever_the_modes() {
    for text in [
        "stty -echo; sleep 30; stty echo",
        "stty raw -echo; sleep 30",
    ] {
        let (mut session, _) = Session::start(&script(text));
        wait_busy(&mut session, Wait::Timer);
        let modes = session.terminal.modes().expect("modes can be read");
        assert_eq!(
            (modes.echo, modes.canonical),
            (false, !text.contains("raw"))
        );
        session.close(Duration::ZERO);
    }
}
