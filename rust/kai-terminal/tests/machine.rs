//! The rules of a session against an explicit clock and made-up facts: no process, no terminal, no waiting.

use kai_terminal::state::{
    Act, Evidence, Facts, Key, Refusal, SendId, SendOutcome, SendRequest, SendResult,
    SessionOptions, SessionState, Startup, WaitReason, WaitingFor,
};
use kai_terminal::sys::{ExitStatus, Modes, Receipt, Thread, Wait};
use std::time::{Duration, Instant};

const KEY: &str = "00112233445566778899aabbccddeeff";
const SHELL: i32 = 100;
const PROGRAM: i32 = 200;
const RAW: Modes = Modes {
    canonical: false,
    echo: false,
    min: 1,
};
const LINE: Modes = Modes {
    canonical: true,
    echo: true,
    min: 1,
};

/// A session with a clock that only the test moves.
struct Story {
    state: SessionState,
    now: Instant,
    mark: u64,
}

impl Story {
    /// A shell that has come to its first prompt.
    fn at_prompt() -> Self {
        let now = Instant::now();
        let options = SessionOptions {
            cols: 80,
            rows: 24,
            key: Key::new(KEY),
            startup: Startup::Marks,
            startup_timeout: Duration::from_secs(10),
            send_timeout: None,
            idle_silence: Duration::from_secs(2),
            scrollback_lines: 1000,
            scrollback_bytes: 1 << 20,
            max_output: 1 << 20,
        };
        let mut story = Self {
            state: SessionState::new(options, now),
            now,
            mark: 0,
        };
        story.state.handle_started(now, SHELL);
        story.prompt();
        assert!(story.state.startup().is_some());
        story
    }

    fn later(&mut self, milliseconds: u64) {
        self.now += Duration::from_millis(milliseconds);
        self.state.handle_timeout(self.now);
    }

    fn printed(&mut self, text: &str, foreground: i32) {
        self.state
            .handle_output(self.now, text.as_bytes(), Some(foreground));
    }

    fn marked(&mut self, kind: &str) -> String {
        self.mark += 1;
        format!("\x1b]133;{kind};k={KEY};n={}\x07", self.mark)
    }

    fn prompt(&mut self) {
        let text = self.marked("A") + "$ " + &self.marked("B");
        self.printed(&text, SHELL);
    }

    fn runs(&mut self) {
        let text = String::from("\r\n") + &self.marked("C");
        self.printed(&text, SHELL);
    }

    fn ended(&mut self, code: i32) {
        let text = self.marked(&format!("D;{code}"));
        self.printed(&text, SHELL);
        self.prompt();
    }

    fn send(&mut self, text: &str) -> SendId {
        self.begin(&request(text)).unwrap()
    }

    fn begin(&mut self, request: &SendRequest) -> Result<SendId, Refusal> {
        let id = self
            .state
            .begin_send(self.now, request, Some(RAW), Some(SHELL))?;
        self.write_all();
        Ok(id)
    }

    fn write_all(&mut self) -> Vec<u8> {
        let mut written = Vec::new();
        while let Some(bytes) = self.state.transmit() {
            let count = bytes.len();
            written.extend_from_slice(bytes);
            self.state.handle_written(self.now, count);
        }
        written
    }

    fn settled(&mut self, id: SendId) -> Option<SendResult> {
        self.state.outcome(id).map(Result::unwrap)
    }

    fn examined(&mut self, facts: &Facts) {
        self.later(5);
        assert!(matches!(
            self.state.next_act(self.now),
            Some(Act::Examine { .. })
        ));
        self.state.handle_facts(self.now, facts, self.now);
    }
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

/// A program that is blocked in a read.
fn reading(modes: Modes) -> Facts {
    Facts {
        foreground: Some(PROGRAM),
        modes: Some(modes),
        unread: Some(false),
        reader_blocked: Some(true),
        threads: vec![Thread {
            pid: PROGRAM,
            tid: PROGRAM,
            state: b'S',
            runs: Some(5),
            wait: Wait::TerminalRead,
            only_forked: false,
        }],
        shell_sleeps: true,
    }
}

/// rule: N2, end-1
#[test]
fn a_command_settles_with_its_prompt_and_not_before() {
    let mut story = Story::at_prompt();
    let id = story.send("make");
    story.runs();
    story.printed("building\r\n", PROGRAM);
    story.later(1500);
    assert_eq!(story.settled(id), None);
    story.ended(3);
    let result = story.settled(id).unwrap();
    assert_eq!(
        (result.evidence, result.exit_code),
        (Evidence::PromptMark, Some(3))
    );
    assert_eq!(result.output.as_deref(), Some("building\n"));
    assert_eq!(result.command.as_deref(), Some("make"));
}

/// rule: N2, ready-2
#[test]
fn silence_is_never_proof() {
    let mut story = Story::at_prompt();
    let id = story.send("sleep 5");
    story.runs();
    story.later(1999);
    assert_eq!(story.settled(id), None);
    story.later(1);
    assert_eq!(
        story.settled(id).unwrap().wait_reason,
        WaitReason::InferredIdle
    );
}

/// rule: A3
#[test]
fn a_run_outlasts_any_silence() {
    let mut story = Story::at_prompt();
    let id = story
        .begin(&SendRequest {
            run: true,
            ..request("sleep 5")
        })
        .unwrap();
    story.runs();
    story.later(3_600_000);
    assert_eq!(story.settled(id), None);
}

/// rule: A3
#[test]
fn a_run_needs_the_prompt() {
    let mut story = Story::at_prompt();
    story.send("cat");
    story.runs();
    story.later(2000);
    let run = SendRequest {
        run: true,
        ..request("ls")
    };
    assert_eq!(story.begin(&run), Err(Refusal::NotAtPrompt));
    assert!(story.state.transmit().is_none());
}

/// rule: S13
#[test]
fn one_send_at_a_time() {
    let mut story = Story::at_prompt();
    story.send("cat");
    assert_eq!(story.begin(&request("ls")), Err(Refusal::Active));
}

/// rule: N4
#[test]
fn facts_that_are_older_than_the_newest_output_prove_nothing() {
    let mut story = Story::at_prompt();
    let id = story.send("cat");
    story.runs();
    story.later(5);
    let taken = story.now;
    story.printed("something\r\n", PROGRAM);
    story.state.handle_facts(story.now, &reading(LINE), taken);
    assert_eq!(story.settled(id), None);
    story.examined(&reading(LINE));
    let result = story.settled(id).unwrap();
    assert_eq!(
        (result.evidence, result.waiting_for),
        (Evidence::BlockingRead, Some(WaitingFor::Line))
    );
}

/// rule: N4, ready-3
#[test]
fn a_wait_from_before_the_write_is_not_taken_for_a_new_one() {
    let mut story = Story::at_prompt();
    let first = story.send("cat");
    story.runs();
    story.examined(&reading(LINE));
    assert!(story.settled(first).is_some());
    let second = story
        .state
        .begin_send(story.now, &request("abc"), Some(LINE), Some(PROGRAM))
        .unwrap();
    assert_eq!(story.state.next_act(story.now), Some(Act::Baseline));
    assert!(story.state.transmit().is_none());
    story.state.handle_baseline(reading(LINE));
    assert_eq!(story.write_all(), b"abc\r");
    story.examined(&reading(LINE));
    assert_eq!(story.settled(second), None);
    let mut moved = reading(LINE);
    moved.threads[0].runs = Some(6);
    story.later(5);
    story.state.handle_facts(story.now, &moved, story.now);
    assert_eq!(
        story.settled(second).unwrap().evidence,
        Evidence::BlockingRead
    );
}

/// rule: N5, ready-9
#[test]
fn a_mark_of_the_foreground_program_settles_nothing() {
    let mut story = Story::at_prompt();
    let id = story.send("cat log");
    story.runs();
    let forged = format!(
        "\x1b]133;D;0;k={KEY};n=90\x07\x1b]133;A;k={KEY};n=91\x07$ \x1b]133;B;k={KEY};n=92\x07"
    );
    story.printed(&forged, PROGRAM);
    story.printed("\x1b]133;D;0\x07\x1b]133;A\x07$ \x1b]133;B\x07", SHELL);
    assert_eq!(story.settled(id), None);
    story.ended(4);
    assert_eq!(story.settled(id).unwrap().exit_code, Some(4));
    let counters = story.state.counters();
    assert_eq!((counters.refused_marks, counters.foreign_marks), (3, 3));
}

/// rule: N6, N8
#[test]
fn a_cancel_drops_what_was_not_written_and_then_interrupts() {
    let mut story = Story::at_prompt();
    let id = story
        .state
        .begin_send(story.now, &request("abcdef"), Some(RAW), Some(SHELL))
        .unwrap();
    story.state.handle_written(story.now, 2);
    assert!(story.state.cancel(id));
    assert!(story.state.transmit().is_none());
    assert_eq!(story.state.next_act(story.now), Some(Act::Discard));
    story.state.handle_discarded(story.now);
    let rests = Facts {
        foreground: Some(SHELL),
        unread: Some(false),
        shell_sleeps: true,
        ..Facts::default()
    };
    assert_eq!(
        story.state.next_act(story.now),
        Some(Act::Examine { threads: true })
    );
    story.state.handle_facts(story.now, &rests, story.now);
    assert_eq!(story.state.next_act(story.now), Some(Act::Interrupt));
    story
        .state
        .handle_interrupted(story.now, rests.clone(), Some(SHELL));
    story.prompt();
    story.later(5);
    story.state.handle_facts(story.now, &rests, story.now);
    let result = story.settled(id).unwrap();
    assert_eq!(
        (result.evidence, result.exit_code),
        (Evidence::PromptMark, None)
    );
    assert!(!story.state.cancel(id));
}

/// rule: N8, N9
#[test]
fn a_timed_out_send_keeps_its_slot_until_its_bytes_are_written() {
    let mut story = Story::at_prompt();
    let short = SendRequest {
        timeout: Some(Duration::from_millis(50)),
        ..request("abcdef")
    };
    let id = story
        .state
        .begin_send(story.now, &short, Some(RAW), Some(SHELL))
        .unwrap();
    story.later(50);
    assert_eq!(story.settled(id).unwrap().wait_reason, WaitReason::Timeout);
    assert_eq!(story.begin(&request("x")), Err(Refusal::Active));
    assert_eq!(story.write_all(), b"abcdef\r");
    assert!(story.begin(&request("x")).is_ok());
}

/// rule: N11
#[test]
fn during_a_close_a_send_ends_with_the_session_only() {
    let mut story = Story::at_prompt();
    let id = story
        .begin(&SendRequest {
            timeout: Some(Duration::from_millis(10)),
            ..request("make")
        })
        .unwrap();
    story.runs();
    assert!(story.state.begin_close(story.now));
    story.later(5000);
    story.ended(0);
    assert_eq!(story.state.deadline(), None);
    story.state.handle_exit(story.now, ExitStatus::Code(0));
    assert_eq!(story.settled(id), None);
    story.state.handle_quiescent(story.now, Receipt::default());
    assert_eq!(story.settled(id).unwrap().evidence, Evidence::Exit);
    assert_eq!(story.begin(&request("x")), Err(Refusal::Closing));
}

/// rule: B4
#[test]
fn a_lost_terminal_fails_the_send() {
    let mut story = Story::at_prompt();
    let id = story.send("make");
    story.state.handle_transport_failure("it broke", false);
    let outcome: Option<SendOutcome> = story.state.outcome(id);
    assert!(outcome.is_some_and(|outcome| outcome.is_err()));
    assert_eq!(story.begin(&request("x")), Err(Refusal::Exited));
}

/// rule: N14
#[test]
fn an_empty_send_settles_at_once_where_the_prompt_is_up() {
    let mut story = Story::at_prompt();
    let wait = SendRequest {
        submit: false,
        ..request("")
    };
    let id = story.begin(&wait).unwrap();
    assert_eq!(
        story.settled(id).unwrap().waiting_for,
        Some(WaitingFor::ShellPrompt)
    );
}

/// rule: out-14
#[test]
fn a_prompt_drawn_again_after_a_key_is_the_prompt() {
    let mut story = Story::at_prompt();
    story.state.type_bytes(b"\x0c").unwrap();
    story.write_all();
    story.mark -= 2;
    story.prompt();
    let run = SendRequest {
        run: true,
        ..request("ls")
    };
    assert!(story.begin(&run).is_ok());
}

/// rule: N10
#[test]
fn deltas_hand_out_each_line_once_and_a_rewritten_one_anew() {
    let mut story = Story::at_prompt();
    let id = story.send("job");
    story.runs();
    assert_eq!(story.state.read_output(id).0, "\n");
    story.printed("one\r\n10%", PROGRAM);
    assert_eq!(story.state.read_output(id).0, "one\n10%");
    assert!(!story.state.has_output(id));
    story.printed("\r100%", PROGRAM);
    assert_eq!(story.state.read_output(id).0, "\r100%");
    story.printed(" done\r\n", PROGRAM);
    assert_eq!(story.state.read_output(id).0, " done\n");
}
