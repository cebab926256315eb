//! Hosts that die, fork, run out of descriptors, or are set up oddly. Each is a process of its own: this test program
//! once more, told by a variable which host to be.
#![allow(
    unsafe_code,
    reason = "a host is set up oddly with calls that have no safe form"
)]

mod support;

use std::process::Command;
use std::time::{Duration, Instant};

use kai_terminal::sys::linux::{guard_path, remember_limits};
use kai_terminal::sys::{ExitStatus, Signal, SignalError, Stage, Terminal};
use support::host::{BE_A_HOST, ROLE, host, judge, run_host, start_host};
use support::{
    PATIENCE, RUN, Session, exists, footprint, marked, parent_of, script, shell, spec, wait_until,
};

#[test]
#[ignore = "the other tests of this file run it"]
fn be_a_host() {
    match std::env::var(ROLE).expect("a role is given").as_str() {
        "escapes" => be_killed("999.21", || {}),
        "escapes-forked" => be_killed("999.22", || {
            fork(|| std::thread::sleep(2 * PATIENCE));
        }),
        "odd" => be_odd(),
        "reaper" => be_a_reaper(),
        "forks" => fork_and_go_on(),
        "forks-and-drops" => fork_and_drop(),
        "few-descriptors" => run_out_of_descriptors(),
        "escapes-nested" => be_killed("999.26", || {}),
        "few-terminals" => run_out_of_terminals(),
        "tracer" => trace_what_is_closed(),
        other => panic!("unknown role {other}"),
    }
}

/// Forks; the copy does its part and leaves without unwinding into the test harness.
fn fork(part: impl FnOnce()) -> i32 {
    // SAFETY: the copy uses nothing that another thread could have held locked, but for the allocator, which the C
    // library keeps usable.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let whole = std::panic::catch_unwind(std::panic::AssertUnwindSafe(part)).is_ok();
        // SAFETY: ends the copy at once.
        unsafe { libc::_exit(i32::from(!whole)) };
    }
    assert!(pid > 0);
    pid
}

fn be_killed(mark: &str, before: impl FnOnce()) {
    let (mut session, shell) = Session::start(&shell());
    session.wait_text("ready> ");
    session.type_text(&format!(
        "setsid sleep {mark} & (setsid sh -c 'sleep {mark} & sleep {mark}') & env -i setsid sleep {mark} &\r\
         nohup sleep {mark} >/dev/null 2>&1 & (trap '' TERM HUP INT; exec sleep {mark}) &\r"
    ));
    let sleeper = format!("sleep {mark}");
    wait_until("the sleepers", || {
        marked(&sleeper)
            .iter()
            .filter(|pid| is_named(**pid, "sleep"))
            .count()
            == 6
    });
    before();
    println!("shell {shell}");
    std::thread::sleep(PATIENCE);
}

fn is_named(pid: i32, name: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
}

/// rule: Q4, proc-5
#[test]
fn a_killed_host_leaves_nothing_behind() {
    let (mut host, shell) = start_host("escapes", "shell ");
    host.kill().expect("it can be killed");
    host.wait().expect("it ends");
    wait_until("the range is gone", || {
        marked("sleep 999.21").is_empty() && !exists(shell.parse().expect("a pid"))
    });
}

/// rule: Q4, proc-5
#[test]
fn a_killed_host_leaves_nothing_behind_though_a_copy_of_it_lives() {
    let (mut host, shell) = start_host("escapes-forked", "shell ");
    let copies = children_of(host.id().cast_signed());
    host.kill().expect("it can be killed");
    host.wait().expect("it ends");
    wait_until("the range is gone", || {
        marked("sleep 999.22").is_empty() && !exists(shell.parse().expect("a pid"))
    });
    let copy = copies
        .into_iter()
        .find(|pid| exists(*pid))
        .expect("the copy lives on");
    let killed = Command::new("kill")
        .args(["-KILL", &copy.to_string()])
        .status();
    assert!(killed.is_ok_and(|status| status.success()));
}

fn children_of(pid: i32) -> Vec<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))
        .expect("it lives")
        .flatten();
    let lists =
        tasks.map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<_>>()
        })
        .collect()
}

/// rule: B5, proc-6
#[test]
fn an_oddly_set_up_host_gives_its_sessions_an_ordinary_start() {
    run_host("odd");
}

fn be_odd() {
    remember_limits();
    let original = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let lowered = rustix::process::Rlimit {
        current: Some(64),
        maximum: original.maximum,
    };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, lowered)
        .expect("it can be lowered");
    // SAFETY: dispositions and the mask of this thread; the set is initialised by the first call.
    unsafe {
        for signal in [
            libc::SIGCHLD,
            libc::SIGINT,
            libc::SIGHUP,
            libc::SIGPIPE,
            libc::SIGTERM,
        ] {
            libc::signal(signal, libc::SIG_IGN);
        }
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
    guard_path().expect("a guard is found though its end cannot be waited for");
    for round in 0..20 {
        let mut session = Session::open(&script("ulimit -n; exec cat /proc/self/status"));
        assert_eq!(session.wait_exit(), ExitStatus::Code(0));
        session.wait_quiescent();
        let text = String::from_utf8_lossy(&session.printed).replace('\r', "");
        let limit = original
            .current
            .map_or("unlimited".to_owned(), |limit| limit.to_string());
        assert_eq!(text.lines().next(), Some(limit.as_str()), "round {round}");
        for field in ["SigBlk", "SigIgn", "SigCgt"] {
            assert!(
                text.contains(&format!("{field}:\t0000000000000000\n")),
                "{field}: {text}"
            );
        }
    }
    let mut session = Session::open(&script("setsid sleep 999.23 & read x; exit 5"));
    wait_until("the sleeper", || {
        marked("sleep 999.23")
            .iter()
            .any(|pid| is_named(*pid, "sleep"))
    });
    session.type_text("\r");
    assert_eq!(session.wait_exit(), ExitStatus::Code(5));
    let receipt = session.close(Duration::from_secs(2));
    assert_eq!(receipt.processes.len(), 1);
}

/// rule: proc-6
#[test]
fn a_host_that_reaps_everything_itself_still_hears_of_every_end() {
    run_host("reaper");
}

fn be_a_reaper() {
    std::thread::spawn(|| {
        loop {
            // SAFETY: waits for any child, as some hosts do.
            if unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } < 0 {
                std::thread::sleep(Duration::from_micros(50));
            }
        }
    });
    guard_path().expect("a guard is found though others reap it");
    for _ in 0..100 {
        let mut session = Session::open(&script("exit 7"));
        assert_eq!(session.wait_exit(), ExitStatus::Code(7));
        session.wait_quiescent();
    }
}

/// rule: Q4, proc-9
#[test]
fn a_forked_copy_can_neither_use_nor_end_the_sessions_of_its_parent() {
    run_host("forks");
}

fn fork_and_go_on() {
    let (mut session, _) = Session::start(&shell());
    session.wait_text("ready> ");
    let mut session = Some(session);
    let copy = fork(|| {
        let session = session.take().expect("it was just made");
        assert!(session.terminal.write(b"exit\r").is_err());
        assert!(session.terminal.read(&mut [0; 16]).is_err());
        assert!(session.terminal.terminate(Duration::ZERO).is_err());
        assert!(session.terminal.next_report().is_err());
        let refused = session.terminal.signal_foreground(Signal::Interrupt);
        assert!(matches!(refused, Err(SignalError::Io(_))));
        session.terminal.hang_up();
        drop(session);
    });
    let mut status = 0;
    // SAFETY: waits for the copy.
    assert_eq!(unsafe { libc::waitpid(copy, &raw mut status, 0) }, copy);
    assert_eq!(status, 0, "the copy was refused everywhere");
    let mut session = session.take().expect("the parent has its own");
    session.type_text("echo still-$((40 + 2))\r");
    session.wait_text("still-42");
    session.close(Duration::from_secs(1));
}

/// rule: Q4
#[test]
fn a_terminal_that_is_dropped_ends_though_a_copy_of_the_host_has_its_descriptors() {
    run_host("forks-and-drops");
}

fn fork_and_drop() {
    let (mut session, shell) = Session::start(&shell());
    session.wait_text("ready> ");
    let copy = fork(|| std::thread::sleep(PATIENCE));
    session.abandon();
    wait_until("the shell is gone", || !exists(shell));
    // SAFETY: ends and reaps the copy, which is a child of ours.
    unsafe {
        libc::kill(copy, libc::SIGKILL);
        libc::waitpid(copy, std::ptr::null_mut(), 0);
    }
}

/// rule: B1, proc-8
#[test]
fn too_few_descriptors_are_an_error_that_leaves_nothing() {
    run_host("few-descriptors");
}

fn run_out_of_descriptors() {
    Session::open(&script("exit")).wait_quiescent();
    let before = footprint();
    let original = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let set = |current| {
        let limit = rustix::process::Rlimit {
            current,
            maximum: original.maximum,
        };
        rustix::process::setrlimit(rustix::process::Resource::Nofile, limit)
            .expect("it can be set");
    };
    let mut refused = 0;
    for room in 0..12 {
        set(Some(64));
        let mut fill =
            std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()).collect::<Vec<_>>();
        fill.truncate(fill.len() - room);
        let opened = Session::try_open(&script("exit"));
        drop(fill);
        set(original.current);
        match opened {
            Ok(mut session) => drop(session.wait_quiescent()),
            Err(error) => {
                refused += 1;
                let errno = error.error.raw_os_error();
                assert_eq!((error.stage, errno), (Stage::Terminal, Some(libc::EMFILE)));
            }
        }
    }
    assert_eq!(refused, 7, "seven descriptors are needed at once");
    wait_until("nothing is left", || {
        Session::open(&script("exit")).wait_quiescent();
        footprint() == before
    });
}

/// rule: Q1
#[test]
fn a_host_with_sessions_of_its_own_can_be_closed_as_part_of_a_session() {
    let program = std::env::current_exe().expect("we are a file");
    let program = program.to_str().expect("its name is text");
    let mut nested = spec([program]);
    nested.argv.extend(BE_A_HOST.map(Into::into));
    nested.env.push((ROLE.into(), "escapes-nested".into()));
    nested
        .env
        .push((RUN.into(), std::process::id().to_string().into()));
    let (mut session, _) = Session::start(&nested);
    session.wait_text("shell ");
    assert!(!marked("sleep 999.26").is_empty());
    session.close(Duration::from_millis(200));
    assert_eq!(marked("sleep 999.26"), [0; 0]);
}

/// Whether a program may make namespaces of these kinds here; sandboxes often forbid it.
fn may_unshare(kinds: &str) -> bool {
    Command::new("unshare")
        .args([kinds, "true"])
        .status()
        .is_ok_and(|status| status.success())
}

/// rule: Q1, proc-2
#[test]
fn what_lives_in_a_namespace_made_below_is_in_the_range() {
    if !may_unshare("-rpf") {
        return;
    }
    let text = "exec unshare -rpf sh -c 'trap \"\" TERM HUP; setsid sleep 999.27 & echo inside; sleep 999.27'";
    let (mut session, _) = Session::start(&script(text));
    session.wait_text("inside");
    wait_until("the sleepers", || {
        marked("sleep 999.27")
            .into_iter()
            .filter(|pid| is_named(*pid, "sleep"))
            .count()
            == 2
    });
    let receipt = session.close(Duration::from_millis(200));
    assert!(
        receipt.killed && receipt.processes.len() >= 3,
        "{receipt:?}"
    );
    assert_eq!(marked("sleep 999.27"), [0; 0]);
}

/// rule: B1
#[test]
fn too_few_terminals_are_an_error_that_leaves_nothing() {
    if !may_unshare("-m") {
        return;
    }
    // A mount of its own with room for three, which nobody else sees.
    let mount = "mount -t devpts -o newinstance,ptmxmode=0666,max=3 devpts /dev/pts && \
                 mount --bind /dev/pts/ptmx /dev/ptmx && exec \"$0\" \"$@\"";
    let host = host("few-terminals");
    let environment = host
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    judge(
        Command::new("unshare")
            .args(["-m", "sh", "-c", mount])
            .arg(host.get_program())
            .args(host.get_args())
            .envs(environment),
    );
}

fn run_out_of_terminals() {
    Session::open(&script("exit")).wait_quiescent();
    let before = footprint();
    let mut sessions: Vec<Session> = (0..3)
        .map(|_| Session::start(&script("read x")).0)
        .collect();
    for _ in 0..20 {
        let error = Session::try_open(&script("exit"))
            .err()
            .expect("there is no room");
        let kind = error.error.kind();
        assert_eq!(
            (error.stage, kind),
            (Stage::Terminal, std::io::ErrorKind::QuotaExceeded)
        );
    }
    for session in &mut sessions {
        session.close(Duration::from_secs(1));
    }
    drop(sessions);
    assert_eq!(footprint(), before);
}

/// rule: Q1
#[test]
fn what_is_dead_but_traced_from_outside_does_not_count_as_alive() {
    run_host("tracer");
}

fn trace_what_is_closed() {
    let (mut session, _) = Session::start(&script("sleep 999.25 & echo started; wait"));
    session.wait_text("started");
    wait_until("the sleeper", || {
        marked("sleep 999.25")
            .iter()
            .any(|pid| is_named(*pid, "sleep"))
    });
    let sleeper = marked("sleep 999.25")
        .into_iter()
        .find(|pid| is_named(*pid, "sleep"));
    let sleeper = sleeper.expect("it was just there");
    // SAFETY: attaches to the sleeper without stopping it; we never wait for it, so that it stays a zombie.
    let attached = unsafe { libc::ptrace(libc::PTRACE_SEIZE, sleeper, 0_usize, 0_usize) };
    assert_eq!(attached, 0);
    let receipt = session.close(Duration::from_millis(100));
    assert_eq!(receipt.processes.len(), 1);
    assert!(exists(sleeper), "it is dead, and held by us");
}

/// rule: Q4, proc-9
#[test]
fn a_session_outlives_the_thread_that_opened_it() {
    let (mut session, _) = std::thread::spawn(|| Session::start(&shell()))
        .join()
        .expect("it opens");
    session.wait_text("ready> ");
    let until = Instant::now() + Duration::from_millis(100);
    while Instant::now() < until {
        session.turn(until);
    }
    session.type_text("echo still-$((40 + 2))\r");
    session.wait_text("still-42");
}

/// rule: Q4, host-4
#[test]
fn a_session_has_no_part_in_the_job_control_of_its_host() {
    let (mut session, shell) = Session::start(&spec(["/bin/cat"]));
    let group =
        |pid: i32| rustix::process::getpgid(rustix::process::Pid::from_raw(pid)).expect("it lives");
    let own = rustix::process::getpgrp();
    assert!(group(parent_of(shell)) != own && group(shell) != own);
    session.close(Duration::ZERO);
}
