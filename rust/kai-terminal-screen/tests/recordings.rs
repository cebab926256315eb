//! Recorded streams of real programs and of conformance tests: the screen they must give, however they are cut.

use std::path::{Path, PathBuf};

use kai_terminal_screen::{Options, Screen};

struct Recording {
    name: String,
    input: Vec<u8>,
    options: Options,
    rows: Vec<String>,
}

fn recordings() -> Vec<Recording> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths.iter().map(|path| load(path)).collect()
}

fn load(path: &Path) -> Recording {
    let expected = std::fs::read(path.join("expect.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_slice(&expected).unwrap();
    let number = |name: &str| u16::try_from(expected[name].as_u64().unwrap()).unwrap();
    Recording {
        name: path.file_name().unwrap().to_string_lossy().into_owned(),
        input: std::fs::read(path.join("input.bin")).unwrap(),
        options: Options {
            cols: number("cols"),
            rows: number("rows"),
            ..Options::default()
        },
        rows: expected["screen"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row.as_str().unwrap().to_owned())
            .collect(),
    }
}

/// Feeds the pieces and says where the screen differs from what is expected.
fn difference<'a>(recording: &Recording, pieces: impl Iterator<Item = &'a [u8]>) -> Option<String> {
    let mut screen = Screen::new(recording.options);
    for piece in pieces {
        screen.feed(piece, &mut ());
    }
    let rows = screen.rows();
    let at = (0..rows.len().max(recording.rows.len()))
        .find(|row| rows.get(*row) != recording.rows.get(*row))?;
    Some(format!(
        "{} row {at}:\n  got  {:?}\n  want {:?}",
        recording.name,
        rows.get(at),
        recording.rows.get(at)
    ))
}

/// rule: A4, out-1, out-2
#[test]
fn every_recording_gives_its_screen() {
    let recordings = recordings();
    assert_eq!(recordings.len(), 65);
    let wrong: Vec<String> = recordings
        .iter()
        .filter_map(|recording| difference(recording, std::iter::once(&recording.input[..])))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// rule: A4
#[test]
fn byte_by_byte_gives_the_same_screen() {
    let wrong: Vec<String> = recordings()
        .iter()
        .filter_map(|recording| difference(recording, recording.input.chunks(1)))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// rule: A4
#[test]
fn cut_anywhere_gives_the_same_screen() {
    // A small generator of our own, so that a failure can be told by its number.
    let mut state = 1u64;
    let mut wrong = Vec::new();
    for recording in recordings() {
        for _ in 0..8 {
            let mut rest = &recording.input[..];
            let mut pieces = Vec::new();
            while !rest.is_empty() {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let length = usize::try_from(state >> 33).unwrap() % 700 + 1;
                let (piece, later) = rest.split_at(length.min(rest.len()));
                pieces.push(piece);
                rest = later;
            }
            wrong.extend(difference(&recording, pieces.into_iter()));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// rule: A4, out-13
#[test]
fn every_recording_survives_every_size() {
    for recording in recordings() {
        let mut screen = Screen::new(recording.options);
        for (number, piece) in recording.input.chunks(101).enumerate() {
            screen.feed(piece, &mut ());
            let number = u16::try_from(number % 1000).unwrap();
            screen.resize(1 + number * 7 % 120, 1 + number * 5 % 50, &mut ());
            let (cols, rows) = screen.size();
            assert!(
                screen.cursor().row < usize::from(rows) && screen.cursor().col < usize::from(cols)
            );
            assert_eq!(screen.rows().len(), usize::from(rows));
        }
    }
}
