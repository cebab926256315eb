//! What a program finds when it starts, and what is reported when it does not.

mod support;

use std::io;
use std::time::Duration;

use kai_terminal::sys::{ExitStatus, Report, Size, Spec, Stage, Terminal};
use support::{Session, script, spec};

/// Runs a program to its end and gives what it printed, with line ends as a program writes them.
fn output(spec: &Spec) -> String {
    let mut session = Session::open(spec);
    session.wait_exit();
    session.wait_quiescent();
    String::from_utf8(session.printed.clone())
        .expect("text was printed")
        .replace("\r\n", "\n")
}

fn failure(spec: &Spec) -> (Stage, Option<i32>) {
    let mut session = Session::open(spec);
    let report = session.wait_report("failure", |r| matches!(r, Report::Failed { .. }));
    let receipt = session.wait_quiescent();
    assert!(receipt.processes.is_empty());
    assert!(
        session.reports.is_empty(),
        "nothing else is reported: {:?}",
        session.reports
    );
    match report {
        Report::Failed { stage, error } => (stage, error.raw_os_error()),
        _ => unreachable!("only failures were asked for"),
    }
}

/// rule: B5
#[test]
fn the_program_leads_a_session_with_the_terminal_as_its_own() {
    // The fields from the fifth on: group, session, controlling terminal, foreground group (proc_pid_stat(5)).
    let text =
        "cut -d' ' -f1,5,6,8 /proc/$$/stat; exec 3</dev/tty && echo opened; tty; tty <&1; tty <&2";
    let output = output(&script(text));
    let lines: Vec<&str> = output.lines().collect();
    let ids: Vec<&str> = lines[0].split(' ').collect();
    assert!(
        ids.iter().all(|id| *id == ids[0]),
        "one pid, group, session and foreground: {ids:?}"
    );
    assert_eq!(lines[1], "opened");
    assert!(
        lines[2].starts_with("/dev/pts/") && lines[2..] == [lines[2]; 3],
        "{lines:?}"
    );
}

/// rule: B5
#[test]
fn dispositions_are_default_and_nothing_is_blocked() {
    let status = output(&spec(["/bin/cat", "/proc/self/status"]));
    let signals: Vec<&str> = status
        .lines()
        .filter(|line| line.starts_with("Sig"))
        .collect();
    let zeros = "0000000000000000";
    let expected = ["Pnd", "Blk", "Ign", "Cgt"].map(|name| format!("Sig{name}:\t{zeros}"));
    assert_eq!(signals[1..], expected);
}

/// rule: B5
#[test]
fn the_terminal_has_its_size_and_erases_whole_characters_from_the_start() {
    let mut spec = script("stty size; stty -a | grep -o ' iutf8'");
    spec.size = Size {
        cols: 100,
        rows: 30,
    };
    assert_eq!(output(&spec), "30 100\n iutf8\n");
}

/// rule: P9
#[test]
fn a_resize_reaches_the_program() {
    let (mut session, _) = Session::start(&script(
        "trap 'stty size' WINCH; echo ready; while :; do read x; done",
    ));
    session.wait_text("ready");
    session
        .terminal
        .resize(Size { cols: 44, rows: 11 })
        .expect("it can be resized");
    session.wait_text("11 44");
}

#[test]
fn environment_directory_and_name_are_exactly_those_given() {
    let mut spec = spec(["/usr/bin/env"]);
    spec.env = vec![("A".into(), "b=c\n".into()), ("EMPTY".into(), "".into())];
    assert_eq!(output(&spec), "A=b=c\n\nEMPTY=\n");
    spec.argv = vec!["/bin/pwd".into()];
    spec.cwd = Some("/usr/lib".into());
    assert_eq!(output(&spec), "/usr/lib\n");
    spec.cwd = None;
    assert_eq!(
        output(&spec).trim(),
        std::env::current_dir()
            .expect("we are somewhere")
            .to_string_lossy()
    );
    spec.argv = vec!["/bin/cat".into(), "/proc/self/cmdline".into()];
    spec.arg0 = Some("-cat".into());
    assert_eq!(output(&spec), "-cat\0/proc/self/cmdline\0");
}

#[test]
fn given_descriptors_hold_their_bytes_and_end_and_nothing_else_is_open() {
    let mut spec = script("cat <&7; wc -c <&9; cd /proc/self/fd; echo [0-9]*");
    spec.descriptors = vec![(9, vec![b'x'; 60_000]), (7, b"seven\n".to_vec())];
    // The shell's own glob has the directory open.
    assert_eq!(output(&spec), "seven\n60000\n0 1 2 3 7 9\n");
}

#[test]
fn descriptors_may_take_the_numbers_that_the_guard_itself_uses() {
    let mut spec = script("cat <&3; cat <&4; cat <&5; cat <&6; cat <&8");
    spec.descriptors = [8, 3, 4, 6, 5]
        .iter()
        .map(|n| (*n, format!("{n}\n").into_bytes()))
        .collect();
    assert_eq!(output(&spec), "3\n4\n5\n6\n8\n");
}

/// rule: B1, end-9
#[test]
fn what_cannot_start_is_reported_by_stage_and_leaves_nothing() {
    assert_eq!(
        failure(&spec(["/nonexistent/program"])),
        (Stage::Exec, Some(libc::ENOENT))
    );
    assert_eq!(
        failure(&spec(["/etc/passwd"])),
        (Stage::Exec, Some(libc::EACCES))
    );
    assert_eq!(failure(&spec(["/"])), (Stage::Exec, Some(libc::EACCES)));
    let mut elsewhere = spec(["/bin/true"]);
    elsewhere.cwd = Some("/nonexistent".into());
    assert_eq!(failure(&elsewhere), (Stage::Directory, Some(libc::ENOENT)));
}

/// rule: B1
#[test]
fn what_no_program_can_be_started_with_is_refused_before_anything_starts() {
    let mut nul = spec(["/bin/echo", "a\0b"]);
    let refused = |spec: &Spec| {
        let error = Session::try_open(spec).err().expect("it is refused");
        (error.stage, error.error.kind())
    };
    let expected = (Stage::Exec, io::ErrorKind::InvalidInput);
    assert_eq!(refused(&nul), expected);
    nul.argv.clear();
    assert_eq!(refused(&nul), expected);
    nul.argv.push("/bin/true".into());
    nul.descriptors.push((1, Vec::new()));
    assert_eq!(refused(&nul), expected);
}

/// rule: P3
#[test]
fn an_environment_larger_than_any_buffer_arrives_or_is_refused_by_the_kernel() {
    let mut large = script("echo ${#LAST}");
    let value = "v".repeat(100_000);
    large
        .env
        .extend((0..15).map(|n| (format!("V{n}").into(), value.clone().into())));
    large.env.push(("LAST".into(), value.clone().into()));
    assert_eq!(output(&large), "100000\n");
    // Beyond 6 MB execve(2) refuses whatever the limits are.
    large
        .env
        .extend((0..80).map(|n| (format!("W{n}").into(), value.clone().into())));
    assert_eq!(failure(&large), (Stage::Exec, Some(libc::E2BIG)));
}

/// rule: B3, end-2
#[test]
fn ends_of_the_top_level_process_are_told_apart() {
    for (text, status) in [
        ("exit 5", ExitStatus::Code(5)),
        ("exec true", ExitStatus::Code(0)),
        ("kill -9 $$", ExitStatus::Signal(libc::SIGKILL)),
        ("set -e; false; echo never", ExitStatus::Code(1)),
    ] {
        let mut session = Session::open(&script(text));
        assert_eq!(session.wait_exit(), status, "{text}");
        assert!(
            matches!(session.reports[..], [Report::Started { .. }, ..]),
            "the start comes first"
        );
        session.wait_quiescent();
    }
}

/// rule: end-9
#[test]
fn a_program_that_never_gets_ready_can_be_closed() {
    let (mut session, _) = Session::start(&script(
        "trap '' TERM HUP INT; echo deaf; while :; do :; done",
    ));
    session.wait_text("deaf");
    assert!(session.close(Duration::from_millis(100)).killed);
}

/// rule: proc-9
#[test]
fn many_threads_of_a_host_may_open_at_once() {
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                for round in 0..15 {
                    let mut spec = script("cat <&5; stty size; exit $1");
                    spec.argv.extend(["sh".into(), round.to_string().into()]);
                    spec.size = Size {
                        cols: 20 + thread,
                        rows: 10 + round,
                    };
                    spec.descriptors = vec![(5, format!("{thread}-{round}\n").into_bytes())];
                    let mut session = Session::open(&spec);
                    assert_eq!(session.wait_exit(), ExitStatus::Code(round.into()));
                    session.wait_quiescent();
                    let printed = String::from_utf8_lossy(&session.printed).replace("\r\n", "\n");
                    let (rows, cols) = (10 + round, 20 + thread);
                    assert_eq!(printed, format!("{thread}-{round}\n{rows} {cols}\n"));
                }
            });
        }
    });
}
