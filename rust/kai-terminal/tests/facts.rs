//! What the kernel tells about who reads and who does not.

mod support;

use std::time::{Duration, Instant};

use kai_terminal::sys::linux::read_lock_works;
use kai_terminal::sys::{Modes, Read, Signal, SignalError, Terminal, Thread, Wait};
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

/// rule: N2, ready-7
#[test]
fn a_receiver_is_no_reader_of_the_terminal() {
    let text = "import socket; s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname()); c.recv(1)";
    let (mut session, _) = Session::start(&spec(["/usr/bin/env", "python3", "-c", text]));
    wait_busy(&mut session, Wait::OtherRead);
}

/// rule: N2, ready-8
#[test]
fn a_reader_of_a_secret_is_seen_with_echo_off() {
    let (mut session, _) = Session::start(&spec([
        "/bin/bash",
        "--norc",
        "-c",
        "read -s x; echo got-$x",
    ]));
    wait_reader(&mut session);
    let modes = session.terminal.modes().expect("modes can be read");
    assert_eq!(
        modes,
        Modes {
            canonical: true,
            echo: false,
            min: modes.min
        }
    );
    session.type_text("pw\r");
    session.wait_text("got-pw");
}

/// rule: N2, ready-5
#[test]
fn readline_polls_and_nobody_holds_the_read_lock() {
    let (mut session, shell) = Session::start(&shell());
    session.wait_text("ready> ");
    wait_busy(&mut session, Wait::Poll);
    assert_eq!(session.terminal.foreground().ok(), Some(Some(shell)));
    let threads = foreground(&session);
    assert!(
        threads
            .iter()
            .all(|t| t.pid == shell && t.state == b'S' && t.runs.is_some()),
        "{threads:?}"
    );
}

/// rule: N2
#[test]
fn a_stopped_and_continued_poll_is_still_a_poll() {
    let text =
        "import select; p = select.poll(); p.register(0, 1); print('polls'); p.poll(3600000)";
    let (mut session, _) = Session::start(&shell());
    session.wait_text("ready> ");
    session.type_text(&format!("python3 -c \"{text}\"\r"));
    session.wait_text("polls\r\n");
    wait_busy(&mut session, Wait::Poll);
    session
        .terminal
        .signal_foreground(Signal::Stop)
        .expect("it can be stopped");
    session.wait_text("Stopped");
    session.type_text("fg\r");
    session.wait_text("fg\r\n");
    wait_busy(&mut session, Wait::Poll);
}

/// rule: N2
#[test]
fn a_reader_in_another_thread_is_seen_with_its_idle_siblings() {
    let text = "import sys, threading; threading.Thread(target=sys.stdin.readline).start()";
    let (mut session, _) = Session::start(&spec(["/usr/bin/env", "python3", "-c", text]));
    let threads = wait_reader(&mut session);
    let reading = threads
        .iter()
        .find(|t| t.wait == Wait::TerminalRead)
        .expect("one reads");
    assert_ne!(reading.pid, reading.tid);
    session.wait_for("idle main thread", |session| {
        foreground(session)
            .iter()
            .any(|t| t.pid == t.tid && t.wait == Wait::Idle)
            .then_some(())
    });
}

/// rule: N2, N4
#[test]
fn unread_input_is_seen_and_can_be_discarded() {
    let (mut session, _) = Session::start(&script("stty -echo; echo set; sleep 1000"));
    session.wait_text("set");
    let unread = |session: &Session| {
        session
            .terminal
            .input_unread()
            .expect("it can be asked for")
    };
    assert!(!unread(&session));
    session.type_text("line\r");
    assert!(unread(&session));
    session
        .terminal
        .discard_input()
        .expect("it can be discarded");
    assert!(!unread(&session));
    // An end of file is no byte, and is unread input all the same.
    session.type_text("\x04");
    assert!(unread(&session));
}

/// rule: N2, N4
#[test]
fn what_was_read_is_unread_no_more_two_thousand_times() {
    let (mut session, _) = Session::start(&spec(["/bin/cat"]));
    wait_reader(&mut session);
    for round in 0..2000 {
        session.type_text(&format!("{round}\r"));
        // cat's own copy comes after the echo, and is written after the read.
        session.wait_text(&format!("{round}\r\n{round}\r\n"));
        assert!(
            !session
                .terminal
                .input_unread()
                .expect("it can be asked for")
        );
    }
}

/// A key-by-key reader that is told of input by edges only, as event loops with edge-triggered descriptors are. It
/// answers each key, and would hang at the first edge it lost.
const EDGE_TRIGGERED: &str = "
import os, select, tty
tty.setraw(0); os.set_blocking(0, False)
poll = select.epoll(); poll.register(0, select.EPOLLIN | select.EPOLLET)
os.write(1, b'edges')
while True:
    poll.poll()
    while True:
        try: os.write(1, os.read(0, 16))
        except BlockingIOError: break
";

/// rule: N2
#[test]
fn asking_for_the_read_lock_costs_an_edge_triggered_reader_nothing() {
    let (mut session, _) = Session::start(&spec(["/usr/bin/env", "python3", "-c", EDGE_TRIGGERED]));
    session.wait_text("edges");
    let mut asked = 0;
    for round in 0..3000_u32 {
        let key = char::from(b'a' + (round % 26) as u8).to_string();
        session.type_text(&key);
        let deadline = Instant::now() + support::PATIENCE;
        while session.printed.is_empty() {
            assert!(
                Instant::now() < deadline,
                "key {round} was lost, after {asked} questions"
            );
            if !session
                .terminal
                .input_unread()
                .expect("it can be asked for")
            {
                asked += 1;
                session
                    .terminal
                    .reader_blocked()
                    .expect("it can be asked for");
            }
            session.turn(Instant::now());
        }
        session.wait_text(&key);
    }
    assert!(asked > 0);
}

/// rule: B3
#[test]
fn no_slave_is_opened_before_the_start_or_after_the_exit() {
    let mut session = Session::open(&script("exit 3"));
    assert!(session.terminal.input_unread().is_err());
    assert_eq!(session.terminal.reader_blocked(), None);
    session.wait_exit();
    assert!(session.terminal.input_unread().is_err());
    assert!(session.terminal.discard_input().is_err());
    session.wait_quiescent();
}

/// rule: K1, proc-7
#[test]
fn signals_reach_the_foreground_group_even_in_raw_mode() {
    let (mut session, shell) = Session::start(&shell());
    session.wait_text("ready> ");
    for (signal, status) in [
        (Signal::Interrupt, 130),
        (Signal::Terminate, 143),
        (Signal::Kill, 137),
        (Signal::HangUp, 129),
    ] {
        session.type_text("stty raw; sleep 1000; echo code-$?-; stty sane\r");
        session.wait_for("sleeper", |session| {
            foreground(session)
                .iter()
                .any(|t| t.wait == Wait::Timer)
                .then_some(())
        });
        let group = session
            .terminal
            .signal_foreground(signal)
            .expect("it is delivered");
        assert_ne!(group, shell);
        if signal == Signal::Interrupt {
            // An interactive shell drops the rest of the line too.
            session.wait_text("ready> ");
            session.type_text("stty sane; echo code-$?-\r");
            session.wait_text("code-");
        } else {
            session.wait_text(&format!("code-{status}-"));
        }
        session.wait_text("ready> ");
    }
}

/// rule: K1
#[test]
fn a_stop_reaches_the_foreground_group() {
    let (mut session, _) = Session::start(&shell());
    session.wait_text("ready> ");
    session.type_text("sleep 1000\r");
    session.wait_for("sleeper", |session| {
        foreground(session)
            .iter()
            .any(|t| t.wait == Wait::Timer)
            .then_some(())
    });
    session
        .terminal
        .signal_foreground(Signal::Stop)
        .expect("it is delivered");
    session.wait_text("Stopped");
}

/// rule: K1
#[test]
fn without_a_terminal_there_is_no_foreground_and_calls_say_so() {
    let (mut session, _) = Session::start(&shell());
    session.wait_text("ready> ");
    session.close(Duration::from_secs(1));
    let closed = session.terminal.signal_foreground(Signal::Interrupt);
    assert!(
        matches!(closed, Err(SignalError::NoForeground)),
        "{closed:?}"
    );
    for error in [
        session.terminal.modes().err(),
        session.terminal.foreground().err(),
        session.terminal.write(b"x").err(),
        session.terminal.read(&mut [0]).err(),
        session.terminal.input_unread().err(),
    ] {
        assert_eq!(error.and_then(|e| e.raw_os_error()), Some(libc::ENXIO));
    }
    // Asking an empty range to close is no error: its answer has been given.
    session
        .terminal
        .terminate(Duration::ZERO)
        .expect("it has ended");
}

/// rule: K1
#[test]
fn a_foreground_group_that_has_ended_is_none() {
    // The leader of the session gives the terminal to a group of its own making, and that ends.
    let text = "
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0); os.tcsetpgrp(0, os.getpid()); os._exit(0)
os.waitpid(pid, 0); print('alone', flush=True); signal.pause()
";
    let (mut session, _) = Session::start(&spec(["/usr/bin/env", "python3", "-c", text]));
    session.wait_text("alone");
    for signal in [Signal::Interrupt, Signal::Stop, Signal::Terminate] {
        let result = session.terminal.signal_foreground(signal);
        assert!(
            matches!(result, Err(SignalError::NoForeground)),
            "{signal:?}: {result:?}"
        );
    }
}

/// rule: B3, N13
#[test]
fn what_is_written_while_nobody_has_the_terminal_open_is_not_lost() {
    let text = "exec <&- >&- 2>&-; sleep 0.3; read x < /dev/tty; echo got-$x > /dev/tty";
    let (mut session, _) = Session::start(&script(text));
    session.wait_for("moment without a holder", |session| {
        (session.terminal.read(&mut [0; 64]).ok()? == Read::Unattached).then_some(())
    });
    session.type_text("early\r");
    session.wait_text("got-early");
}

/// rule: B3, out-6
#[test]
fn nothing_of_the_tail_is_lost_two_hundred_times() {
    for round in 0..200 {
        let mut session = Session::open(&script("head -c 20000 /dev/zero | tr '\\0' x; exit"));
        session.wait_exit();
        let mut buffer = [0; 8192];
        while let Ok(Read::Bytes(count)) = session.terminal.read(&mut buffer) {
            session.printed.extend_from_slice(&buffer[..count]);
        }
        assert_eq!(session.printed.len(), 20_000, "round {round}");
        session.wait_quiescent();
    }
}

/// rule: N6, in-4
#[test]
fn of_what_fills_the_terminal_nothing_reaches_a_later_reader() {
    let text = "stty raw -echo; echo set; read -r go < $1; stty cooked; echo reading; cat";
    let directory = tempfile::tempdir().expect("there is room for a file");
    let gate = directory.path().join("gate");
    let made = std::process::Command::new("mkfifo").arg(&gate).status();
    assert!(made.is_ok_and(|status| status.success()));
    let gate = gate.to_str().expect("its name is text");
    for round in 0..20 {
        let (mut session, _) = Session::start(&spec(["/bin/sh", "-c", text, "sh", gate]));
        session.wait_text("set");
        let mut taken = 0;
        let mut refusals = 0;
        while refusals < 5 {
            let count = session
                .terminal
                .write(&[b'x'; 4096])
                .expect("it can be written to");
            taken += count;
            refusals += usize::from(count == 0);
        }
        assert!(taken > 8192, "{taken}: more than the line discipline holds");
        session
            .terminal
            .discard_input()
            .expect("it can be discarded");
        assert!(
            !session
                .terminal
                .input_unread()
                .expect("it can be asked for"),
            "round {round}"
        );
        std::fs::write(gate, "go\n").expect("the program waits for it");
        session.wait_text("reading");
        session.type_text("fresh\r");
        let printed = session.wait_for("what was read", |session| {
            session
                .printed
                .ends_with(b"fresh\r\n")
                .then(|| std::mem::take(&mut session.printed))
        });
        let printed = String::from_utf8_lossy(&printed).replace("\r\n", "\n");
        assert_eq!(printed, "\nfresh\n", "round {round}");
    }
}

/// rule: N13, in-3
#[test]
fn a_megabyte_in_lines_arrives_whole_through_partial_writes() {
    let directory = tempfile::tempdir().expect("there is room for a file");
    let copy = directory.path().join("copy");
    let path = copy.to_str().expect("its name is text");
    let (mut session, _) = Session::start(&spec([
        "/bin/sh",
        "-c",
        "stty -echo; echo set; cat > $0",
        path,
    ]));
    session.wait_text("set");
    let lines: Vec<String> = (0..1 << 14).map(|n| format!("{n:063}\r")).collect();
    let text = lines.concat();
    session.type_text(&text);
    session.type_text("\x04");
    session.wait_exit();
    let arrived = std::fs::read_to_string(&copy).expect("it was written");
    assert!(
        arrived == text.replace('\r', "\n"),
        "{} of {} bytes",
        arrived.len(),
        text.len()
    );
}
