//! The whole library over a real shell: state, driver, guard and kernel together.

use kai_terminal::state::{
    Evidence, SendRequest, SendResult, Startup, Status, WaitReason, WaitingFor,
};
use kai_terminal::sys::{ExitStatus, Size, Spec};
use kai_terminal::{Config, ErrorCode, Session};
use std::future::Future;
use std::time::Duration;

const KEY: &str = "00112233445566778899aabbccddeeff";

/// The smallest integration that speaks the marks; the real ones are the Python package's.
const RC: &str = r#"exec 63<&-
k=00112233445566778899aabbccddeeff n=0
PROMPT_COMMAND='s=$?; [ -z "$ran" ] || printf "\e]133;D;$s;k=$k;n=$((n+=1))\a"; ran='
PS0='${ran:0:$((ran=1,0))}\e]133;C;k=$k;n=$((n+=1))\a'
PS1='\[\e]133;A;k=$k;n=$((n+=1));d=$PWD\a\]$ \[\e]133;B;k=$k;n=$((n+=1))\a\]'
PS2='\[\e]133;P;k=$k;n=$((n+=1))\a\]> '
"#;

fn config(argv: &[&str]) -> Config {
    Config {
        spec: Spec {
            argv: argv.iter().map(Into::into).collect(),
            arg0: None,
            env: vec![
                (
                    "PATH".into(),
                    std::env::var_os("PATH").expect("a search path"),
                ),
                ("TERM".into(), "xterm-256color".into()),
                ("LANG".into(), "C.UTF-8".into()),
                ("HOME".into(), "/".into()),
            ],
            cwd: Some("/".into()),
            grace: Duration::from_secs(2),
            size: Size { cols: 80, rows: 24 },
            descriptors: vec![(63, RC.into())],
        },
        key: Some(KEY.into()),
        startup: Startup::Marks,
        startup_timeout: Duration::from_secs(10),
        send_timeout: Some(Duration::from_secs(20)),
        idle_silence: Duration::from_secs(2),
        poll_quiet: Duration::from_secs(1),
        scrollback_lines: 10_000,
        scrollback_bytes: 8 << 20,
        max_output: 1 << 20,
    }
}

fn bash() -> Config {
    config(&["/bin/bash", "--rcfile", "/dev/fd/63", "-i"])
}

fn request(text: &str) -> SendRequest {
    SendRequest {
        text: text.into(),
        submit: true,
        run: false,
        timeout: None,
        idle_silence: None,
    }
}

/// Runs a test on a runtime of its own, with a limit.
fn on_runtime(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(50), test)
            .await
            .expect("the test took too long");
    });
}

async fn open(config: Config) -> Session {
    let session = Session::open(config).unwrap();
    session.started().await.unwrap();
    session
}

async fn send(session: &Session, text: &str) -> SendResult {
    session
        .start_send(&request(text))
        .unwrap()
        .done()
        .await
        .unwrap()
}

/// rule: end-1, out-9, N2
#[test]
fn commands_give_their_output_and_their_code() {
    on_runtime(async {
        let session = open(bash()).await;
        let hi = send(&session, "echo hi").await;
        assert_eq!(
            (hi.output.as_deref(), hi.exit_code),
            (Some("hi\n"), Some(0))
        );
        assert_eq!(
            (hi.evidence, hi.waiting_for),
            (Evidence::PromptMark, Some(WaitingFor::ShellPrompt))
        );
        assert_eq!(hi.command.as_deref(), Some("echo hi"));
        assert_eq!(hi.viewport, "echo hi\nhi\n$ ");
        let seven = send(&session, "(exit 7)").await;
        assert_eq!(
            (seven.output.as_deref(), seven.exit_code),
            (Some(""), Some(7))
        );
        let bare = send(&session, "printf hello").await;
        assert_eq!(bare.output.as_deref(), Some("hello"));
        let moved = send(&session, "cd /tmp; nothing-of-this-name").await;
        assert_eq!(
            (moved.exit_code, moved.cwd.as_deref()),
            (Some(127), Some("/tmp"))
        );
        session.close().await.unwrap();
    });
}

/// rule: out-8
#[test]
fn long_output_is_whole() {
    on_runtime(async {
        let session = open(bash()).await;
        let result = send(&session, "seq 30000").await;
        let expected: String =
            (1..=30000).fold(String::new(), |all, n| all + &n.to_string() + "\n");
        assert_eq!(result.output.as_deref(), Some(expected.as_str()));
        session.close().await.unwrap();
    });
}

/// rule: ready-3, ready-8, N4
#[test]
fn a_blocked_read_is_proven_and_an_old_one_is_not() {
    on_runtime(async {
        let session = open(bash()).await;
        let asked = send(&session, r#"python3 -c 'print("hi", input("name? "))'"#).await;
        assert_eq!(
            (asked.evidence, asked.waiting_for),
            (Evidence::BlockingRead, Some(WaitingFor::Line))
        );
        let answered = send(&session, "bob").await;
        assert_eq!(
            (answered.evidence, answered.exit_code),
            (Evidence::PromptMark, Some(0))
        );
        assert!(
            answered.viewport.contains("hi bob"),
            "{}",
            answered.viewport
        );
        let cat = send(&session, "cat").await;
        assert_eq!(cat.evidence, Evidence::BlockingRead);
        for line in ["one", "two", "three"] {
            let result = send(&session, line).await;
            assert_eq!(result.evidence, Evidence::BlockingRead);
            assert_eq!(result.viewport, format!("{line}\n{line}\n"));
        }
        let secret = {
            let operation = session
                .start_send(&SendRequest {
                    submit: false,
                    ..request("\u{4}")
                })
                .unwrap();
            operation.done().await.unwrap();
            send(&session, "read -s -p 'Password: ' x").await
        };
        assert_eq!(secret.waiting_for, Some(WaitingFor::Secret));
        let given = send(&session, "hunter2").await;
        assert!(!given.viewport.contains("hunter2"));
        session.close().await.unwrap();
    });
}

/// rule: ready-1, N6, proc-7
#[test]
fn a_pipe_is_busy_and_a_cancel_interrupts_it() {
    on_runtime(async {
        let session = open(bash()).await;
        let operation = session.start_send(&request("sleep 5 | cat")).unwrap();
        let early = tokio::time::timeout(Duration::from_millis(700), operation.done()).await;
        assert!(early.is_err(), "{early:?}");
        assert!(operation.cancel());
        let result = operation.done().await.unwrap();
        assert_eq!(
            (result.evidence, result.exit_code),
            (Evidence::PromptMark, Some(130))
        );
        assert!(!operation.cancel());
        assert_eq!(
            send(&session, "echo again").await.output.as_deref(),
            Some("again\n")
        );
        session.close().await.unwrap();
    });
}

/// rule: N2, N8, ready-2
#[test]
fn a_timeout_leaves_the_command_and_a_wait_picks_it_up() {
    on_runtime(async {
        let session = open(bash()).await;
        let short = SendRequest {
            timeout: Some(Duration::from_millis(200)),
            ..request("sleep 1; echo end")
        };
        let result = session.start_send(&short).unwrap().done().await.unwrap();
        assert_eq!(
            (result.wait_reason, result.exit_code),
            (WaitReason::Timeout, None)
        );
        let wait = SendRequest {
            submit: false,
            ..request("")
        };
        let rest = session.start_send(&wait).unwrap().done().await.unwrap();
        assert_eq!(
            (rest.evidence, rest.exit_code),
            (Evidence::PromptMark, Some(0))
        );
        assert_eq!(rest.output.as_deref(), Some("end\n"));
        session.close().await.unwrap();
    });
}

/// rule: ready-6
#[test]
fn an_unfinished_command_says_so_at_once() {
    on_runtime(async {
        let session = open(bash()).await;
        let open_quote = send(&session, "echo \"a 'b").await;
        assert_eq!(open_quote.waiting_for, Some(WaitingFor::Continuation));
        let closed = send(&session, "c\"").await;
        assert_eq!(
            (closed.exit_code, closed.output.as_deref()),
            (Some(0), Some("a 'b\nc\n"))
        );
        session.close().await.unwrap();
    });
}

/// rule: end-2, S13
#[test]
fn an_exit_settles_at_once_and_refuses_what_follows() {
    on_runtime(async {
        let session = open(bash()).await;
        let result = send(&session, "exit 5").await;
        assert_eq!(result.evidence, Evidence::Exit);
        assert_eq!(result.status, Status::Exited(Some(ExitStatus::Code(5))));
        let refused = session.start_send(&request("echo")).err().unwrap();
        assert_eq!(refused.code(), ErrorCode::SessionExited);
        assert!(session.page(0, 500).text.contains("exit 5"));
        session.close().await.unwrap();
    });
}

/// rule: Q1, proc-1, N11
#[test]
fn closing_ends_everything_and_settles_the_send() {
    on_runtime(async {
        let session = open(bash()).await;
        send(
            &session,
            "setsid sleep 4242 & (trap '' TERM HUP; sleep 4243) &",
        )
        .await;
        let operation = session.start_send(&request("sleep 4244")).unwrap();
        let closed = session.close().await.unwrap();
        assert!(
            closed.performed && closed.receipt.processes.len() >= 2,
            "{closed:?}"
        );
        assert_eq!(
            operation.done().await.unwrap().wait_reason,
            WaitReason::SessionExit
        );
    });
}

/// rule: end-9, N12
#[test]
fn a_start_that_fails_says_why() {
    on_runtime(async {
        let missing = Session::open(config(&["/nothing/of/this/name"])).unwrap();
        let error = missing.started().await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::StartFailed);
        missing.close().await.unwrap();
        let gone = Session::open(config(&["/bin/sh", "-c", "echo broken; exit 3"])).unwrap();
        let error = gone.started().await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::StartFailed);
        assert!(
            error.to_string().contains("broken") && error.to_string().contains("exit code 3"),
            "{error}"
        );
        gone.close().await.unwrap();
        let slow = Session::open(Config {
            startup_timeout: Duration::from_millis(200),
            ..config(&["/bin/sleep", "100"])
        })
        .unwrap();
        assert_eq!(
            slow.started().await.unwrap_err().code(),
            ErrorCode::StartTimeout
        );
        slow.close().await.unwrap();
    });
}

/// rule: in-1, N13
#[test]
fn a_line_that_the_kernel_would_cut_is_refused() {
    on_runtime(async {
        let session = open(bash()).await;
        send(&session, "cat >/dev/null").await;
        let refused = session
            .start_send(&request(&"x".repeat(5000)))
            .err()
            .unwrap();
        assert_eq!(refused.code(), ErrorCode::InputRefused);
        assert!(refused.to_string().contains("5000") && refused.to_string().contains("4095"));
        session.close().await.unwrap();
    });
}

/// rule: in-2, in-3
#[test]
fn large_input_arrives_whole() {
    on_runtime(async {
        let session = open(bash()).await;
        let long = send(&session, &format!("echo {} | wc -c", "a".repeat(20_000))).await;
        assert_eq!(long.output.as_deref().map(str::trim), Some("20001"));
        send(&session, "wc -c").await;
        let lines = "0123456789\n".repeat(100_000);
        let result = session
            .start_send(&SendRequest {
                submit: false,
                ..request(&lines)
            })
            .unwrap()
            .done()
            .await
            .unwrap();
        assert_eq!(result.evidence, Evidence::BlockingRead);
        let end = session
            .start_send(&SendRequest {
                submit: false,
                ..request("\u{4}")
            })
            .unwrap()
            .done()
            .await
            .unwrap();
        assert!(end.viewport.contains("1100000"), "{}", end.viewport);
        session.close().await.unwrap();
    });
}

/// rule: host-2
#[test]
fn a_runtime_that_stops_leaves_nobody_waiting() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (session, sleeping) = runtime.block_on(async {
        let session = open(bash()).await;
        let sleeping = session.start_send(&request("sleep 99")).unwrap();
        (session, sleeping)
    });
    drop(runtime);
    on_runtime(async {
        let error = sleeping.done().await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::TransportFailed);
        sleeping.wait_output().await;
        let error = session
            .start_send(&request("true"))
            .map(|_| ())
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::SessionExited);
        // Nobody heard that nothing is left, so it is not claimed.
        assert_eq!(
            session.close().await.unwrap_err().code(),
            ErrorCode::CloseFailed
        );
    });
}

/// rule: A7, N2
#[test]
fn a_time_that_no_clock_reaches_is_for_ever() {
    on_runtime(async {
        let session = open(Config {
            startup_timeout: Duration::MAX,
            send_timeout: Some(Duration::MAX),
            idle_silence: Duration::MAX,
            ..bash()
        })
        .await;
        let result = send(&session, "sleep 0.1").await;
        assert_eq!(result.evidence, Evidence::PromptMark);
        session.close().await.unwrap();
    });
}
