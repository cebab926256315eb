//! What needs no second process, or only a simple one. `kai-terminal` tests the rest with real sessions.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use super::channel::Channel;
use super::tree::Tree;
use super::wire::Start;

/// A START with one of everything, as `docs/guard-protocol.md` writes it.
fn start_payload() -> Vec<u8> {
    let mut payload = Vec::new();
    let text = |payload: &mut Vec<u8>, text: &[u8]| {
        payload.extend((text.len() as u32 + 1).to_le_bytes());
        payload.extend(text);
        payload.push(0);
    };
    for number in [super::PROTOCOL, 42, 2000, 1, 7] {
        payload.extend(number.to_le_bytes());
    }
    payload.extend(1024_u64.to_le_bytes());
    payload.extend(u64::MAX.to_le_bytes());
    text(&mut payload, b"/bin/sh");
    payload.extend(2_u32.to_le_bytes());
    text(&mut payload, b"-sh");
    text(&mut payload, b"");
    payload.extend(1_u32.to_le_bytes());
    text(&mut payload, b"A=b");
    payload.extend(1_u32.to_le_bytes());
    text(&mut payload, b"/");
    payload.extend(1_u32.to_le_bytes());
    payload.extend(9_i32.to_le_bytes());
    payload.extend(3_u32.to_le_bytes());
    payload.extend(b"x\0y");
    payload
}

#[test]
fn a_start_is_taken_apart() {
    let payload = start_payload();
    let start = Start::parse(&payload).unwrap();
    assert_eq!((start.host, start.grace_ms), (42, 2000));
    assert_eq!(start.limits, [(7, 1024, u64::MAX)]);
    assert_eq!(
        (start.argv.len(), start.env.len()),
        (3, 2),
        "both end with a null pointer"
    );
    assert!(start.directory.is_some());
    assert_eq!(start.descriptors, [(9, &b"x\0y"[..])]);
}

#[test]
fn a_start_that_is_not_whole_is_refused_wherever_it_is_cut() {
    let payload = start_payload();
    for end in 0..payload.len() {
        assert!(Start::parse(&payload[..end]).is_none(), "cut at {end}");
    }
    let longer = [&payload[..], &[0]].concat();
    assert!(Start::parse(&longer).is_none());
    let mut later = payload;
    later[0] = 200;
    assert!(Start::parse(&later).is_none(), "another version");
}

#[test]
fn requests_are_understood_however_they_arrive_and_unknown_ones_are_skipped() {
    let (host, guard) = UnixStream::pair().unwrap();
    let mut channel = Channel::new(guard.as_raw_fd()).unwrap();
    let bytes = [3, 0, 0, 0, 77, 1, 2, 5, 0, 0, 0, 2, 0xd0, 7, 0, 0];
    for (index, byte) in bytes.iter().enumerate() {
        assert_eq!(channel.next_terminate(), None, "before byte {index}");
        (&host).write_all(&[*byte]).unwrap();
    }
    assert_eq!(channel.next_terminate(), Some(2000));
    assert!(!channel.ended());
    drop(host);
    assert_eq!(channel.next_terminate(), None);
    assert!(channel.ended());
}

/// rule: Q1
#[test]
fn a_host_that_does_not_read_neither_stops_the_guard_nor_costs_the_last_report() {
    let (mut host, guard) = UnixStream::pair().unwrap();
    let mut channel = Channel::new(guard.as_raw_fd()).unwrap();
    let tree = Tree::new();
    channel.started(7);
    for _ in 0..200_000 {
        channel.survivors(&tree);
    }
    channel.quiescent(true, &[]);
    // What the socket took, and then, as the host reads, what was kept.
    host.set_nonblocking(true).unwrap();
    let mut received = Vec::new();
    let mut buffer = vec![0; 65536];
    while let Ok(count) = host.read(&mut buffer) {
        received.extend_from_slice(&buffer[..count]);
        channel.flush();
    }
    assert_eq!(received[..9], [5, 0, 0, 0, 1, 7, 0, 0, 0]);
    assert_eq!(received[received.len() - 6..], [2, 0, 0, 0, 5, 1]);
}

/// rule: Q2
#[test]
fn descendants_are_found_with_and_without_lists_of_children() {
    let mut child = Command::new("/bin/sh")
        .args(["-c", "sleep 77 & wait"])
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    let pid = i32::try_from(child.id()).unwrap();
    let mut trees = [Tree::new(), Tree::without_lists()];
    let mut counts = [0, 0];
    while counts != [2, 2] && Instant::now() < deadline {
        for (count, tree) in counts.iter_mut().zip(&mut trees) {
            tree.look();
            *count = tree
                .alive()
                .filter(|entry| entry.is_below(pid, tree))
                .count();
        }
    }
    let tree = &trees[1];
    let ours = |other| {
        tree.alive()
            .any(|e| e.pid == other && e.is_below(pid, tree))
    };
    tree.signal_all(&[super::os::SIGKILL], ours);
    child.wait().unwrap();
    assert_eq!(counts, [2, 2]);
}
