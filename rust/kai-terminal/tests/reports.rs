//! Reports wake an event loop that is told of edges only, as tokio's is, and each of them exactly when it is due.

mod support;

use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use kai_terminal::sys::linux::{LinuxTerminal, open};
use kai_terminal::sys::{ExitStatus, Report, Terminal};
use support::script;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

struct Number(RawFd);

impl AsRawFd for Number {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

async fn next(terminal: &LinuxTerminal, events: &AsyncFd<Number>) -> Report {
    let wait = async {
        loop {
            let mut ready = events.readable().await.expect("it can be watched");
            match terminal.next_report().expect("reports can be read") {
                Some(report) => return report,
                None => ready.clear_ready(),
            }
        }
    };
    tokio::time::timeout(support::PATIENCE, wait)
        .await
        .expect("the report wakes the loop")
}

/// rule: B3, Q1
#[tokio::test(flavor = "current_thread")]
async fn every_report_wakes_an_event_loop_that_is_told_of_edges() {
    for _ in 0..100 {
        let terminal = open(&script("read x; sleep 999.31 & exit 5")).expect("it opens");
        #[allow(unsafe_code)]
        // SAFETY: the terminal keeps the descriptor open for longer than it is watched.
        let events = unsafe {
            AsyncFd::register_with_interest(Number(terminal.report_fd()), Interest::READABLE)
        };
        let events = events.expect("it can be watched");
        assert!(matches!(
            next(&terminal, &events).await,
            Report::Started { .. }
        ));
        terminal.write(b"\r").expect("it can be written to");
        assert!(matches!(
            next(&terminal, &events).await,
            Report::Exited(ExitStatus::Code(5))
        ));
        terminal
            .terminate(Duration::ZERO)
            .expect("it can be asked for");
        loop {
            match next(&terminal, &events).await {
                Report::HangUp => terminal.hang_up(),
                Report::Quiescent(_) => break,
                other => panic!("unexpected: {other:?}"),
            }
        }
        assert!(
            terminal
                .next_report()
                .expect("it can be asked for")
                .is_none()
        );
    }
}
