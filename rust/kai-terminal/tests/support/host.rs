//! Hosts as processes of their own: a test program once more, told by a variable which host to be. Each such program has
//! an ignored test `be_a_host` for them.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use super::RUN;

/// Names the host to be.
pub const ROLE: &str = "KAI_TEST_HOST";

/// What makes a test program run the one test that is a host.
pub const BE_A_HOST: [&str; 5] = [
    "--exact",
    "be_a_host",
    "--ignored",
    "--nocapture",
    "--test-threads=1",
];

pub fn host(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("we are a file"));
    command.args(BE_A_HOST);
    command
        .env(ROLE, role)
        .env(RUN, std::process::id().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs a host that judges itself.
pub fn run_host(role: &str) {
    judge(&mut host(role));
}

pub fn judge(command: &mut Command) {
    let output = command.output().expect("the host starts");
    let text = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&text)
    );
}

/// Starts a host and reads what it prints up to a line that begins with `word`; gives the rest of that line.
pub fn start_host(role: &str, word: &str) -> (Child, String) {
    let mut child = host(role).spawn().expect("the host starts");
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    // The harness may print before us in the same line.
    let found = lines
        .map_while(Result::ok)
        .find_map(|l| Some(l.split_once(word)?.1.trim().to_owned()));
    let Some(rest) = found else {
        let mut errors = String::new();
        let _ = child
            .stderr
            .take()
            .expect("it is piped")
            .read_to_string(&mut errors);
        panic!("{role} ended early: {errors}");
    };
    (child, rest)
}
