//! Whole streams: bulk and simple path, cuts, sizes, and what the sink is told.

use std::fmt::Write;

use proptest::prelude::*;

use crate::{Event, Options, Position, Screen, Sink};

/// Everything a screen is, as text that can be compared and read.
pub(crate) fn dump(screen: &Screen) -> String {
    let mut out = String::new();
    for (name, grid) in [
        ("primary", &screen.primary),
        ("alternate", &screen.alternate),
    ] {
        for row in &grid.rows {
            row.check(screen.columns);
            let _ = write!(out, "{name} {:?} {}", row.text(), row.wrapped);
            for (text, style) in row.cells(screen.columns) {
                let _ = write!(
                    out,
                    " {text:?} {} {}",
                    style.is_blank(),
                    short(screen.interned.styles.get(style))
                );
            }
            out.push('\n');
        }
        let _ = writeln!(out, "{:?}", grid.saved);
    }
    for number in screen.first_line()..screen.document_end() {
        let styled: String = screen
            .styled_line(number)
            .unwrap()
            .into_iter()
            .map(|span| span.text)
            .collect();
        assert_eq!(screen.line(number).unwrap(), styled);
    }
    assert!(screen.place.row < screen.rows && screen.place.col < screen.columns);
    assert!(
        screen.top < screen.bottom || screen.rows == 1,
        "{} {}",
        screen.top,
        screen.bottom
    );
    assert!(screen.bottom < screen.rows);
    assert_eq!(screen.tabs.len(), screen.columns);
    let _ = writeln!(
        out,
        "{:?} {:?} {:?} {:?}",
        screen.place, screen.pen.style, screen.charsets, screen.modes
    );
    let _ = writeln!(
        out,
        "{} {} {:?} {:?}",
        screen.top, screen.bottom, screen.tabs, screen.last
    );
    let _ = writeln!(out, "{:?}", screen.page(0, usize::MAX));
    out
}

fn short(style: crate::Style) -> String {
    if style == crate::Style::default() {
        String::new()
    } else {
        format!("{style:?}")
    }
}

/// Writes down what it is told.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Log {
    pub(crate) told: Vec<String>,
    pub(crate) left: Vec<(u64, usize, String, bool)>,
}

impl Sink for Log {
    fn reply(&mut self, bytes: &[u8]) {
        self.told.push(format!("reply {bytes:?}"));
    }

    fn row_left(&mut self, line: u64, offset: usize, text: &str, wrapped: bool) {
        self.told
            .push(format!("left {line} {offset} {text:?} {wrapped}"));
        self.left.push((line, offset, text.to_owned(), wrapped));
    }

    fn event(&mut self, display: &crate::Display, event: Event<'_>) {
        let (position, end) = (display.position(), display.document_end());
        assert!(position.line < end && position >= display.screen_start());
        self.told.push(format!(
            "{event:?} {position:?} {end} {:?}",
            display.screen_start()
        ));
    }
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => "[ -~]{1,30}".prop_map(String::into_bytes),
        2 => prop::sample::select(vec!["é", "漢字", "👨‍👩‍👧", "e\u{301}", "コ", "\u{85}", "\u{9b}2J", "\u{ad}", "\u{9d}0;t\u{9c}"])
            .prop_map(|text| text.as_bytes().to_vec()),
        3 => prop::sample::select(vec![&b"\r\n"[..], b"\r", b"\n", b"\t", b"\x08", b"\x0e", b"\x0f", b"\x07"])
            .prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 1..6),
    ]
}

fn sequence() -> impl Strategy<Value = Vec<u8>> {
    let csi = (
        prop::sample::select(vec!["", "", "", "?", ">", "=", "!", " ", "'", "$", "<"]),
        prop::collection::vec(prop_oneof![4 => 0u16..12, 1 => any::<u16>()], 0..4),
        "[@-~]",
    )
        .prop_map(|(mark, values, last)| {
            let values: Vec<String> = values.iter().map(u16::to_string).collect();
            let values = values.join(";");
            if "?>=<".contains(mark) {
                format!("\x1b[{mark}{values}{last}").into_bytes()
            } else {
                format!("\x1b[{values}{mark}{last}").into_bytes()
            }
        });
    let modes = prop::sample::select(vec![
        "?1049h",
        "?1049l",
        "?47h",
        "?47l",
        "?1047h",
        "?1047l",
        "?1048h",
        "?1048l",
        "?7h",
        "?7l",
        "?6h",
        "?6l",
        "4h",
        "4l",
        "20h",
        "20l",
        "?45h",
        "?45l",
        "?3h",
        "?2026h",
        "1;31m",
        "48;5;9m",
        "0m",
        "4:3m",
        "2;3r",
        "r",
        "38;2;1;2;3m",
        "J",
        "2J",
        "3J",
        "1J",
        "K",
        "1K",
        "2K",
        "?69h",
    ])
    .prop_map(|text| format!("\x1b[{text}").into_bytes());
    let others = prop::sample::select(vec![
        "\x1b7",
        "\x1b8",
        "\x1bD",
        "\x1bE",
        "\x1bM",
        "\x1bH",
        "\x1bc",
        "\x1b#8",
        "\x1b(0",
        "\x1b(B",
        "\x1b)0",
        "\x1bN",
        "\x1bn",
        "\x1b]0;title\x07",
        "\x1b]133;A;k=1\x1b\\",
        "\x1b]8;;http://x\x1b\\",
        "\x1b]8;;\x07",
        "\x1bPx\x1b\\",
        "\x1b_apc\x1b\\",
        "\x1bP$qm\x1b\\",
        "\x1b]4;1;?\x07",
        "\x1b[",
        "\x1b",
        "\x1b]",
        "\x18",
        "\x1a",
        "\x1b\\",
        "\x1bP+q\x1b\\",
        "\x1b]11;?\x07",
    ])
    .prop_map(|text| text.as_bytes().to_vec());
    prop_oneof![3 => csi, 2 => modes, 2 => others]
}

pub(crate) fn stream() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![2 => text(), 1 => sequence()], 0..30)
        .prop_map(|parts| parts.concat())
}

fn options() -> impl Strategy<Value = Options> {
    (
        1u16..14,
        1u16..6,
        0usize..12,
        prop_oneof![Just(1usize << 20), 0usize..2000],
    )
        .prop_map(|(cols, rows, scrollback_lines, scrollback_bytes)| Options {
            cols,
            rows,
            scrollback_lines,
            scrollback_bytes,
        })
}

fn fed(mut screen: Screen, pieces: &[&[u8]]) -> (String, Log) {
    let mut log = Log::default();
    for piece in pieces {
        screen.feed(piece, &mut log);
    }
    (dump(&screen), log)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// rule: A4
    #[test]
    fn bulk_text_and_single_characters_give_the_same(options in options(), stream in stream()) {
        let bulk = fed(Screen::new(options), &[&stream]);
        let simple = fed(Screen::simple(options), &[&stream]);
        prop_assert_eq!(bulk, simple);
    }

    /// rule: A4
    #[test]
    fn cuts_change_nothing(options in options(), stream in stream(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let whole = fed(Screen::new(options), &[&stream]);
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        prop_assert_eq!(&whole, &fed(Screen::new(options), &bytes));
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut rest = &stream[..];
        for cut in cuts.into_iter().rev() {
            let (head, tail) = rest.split_at(cut.min(rest.len()));
            pieces.insert(0, tail);
            rest = head;
        }
        pieces.insert(0, rest);
        prop_assert_eq!(&whole, &fed(Screen::new(options), &pieces));
    }

    /// rule: R4, out-13
    #[test]
    fn resizing_changes_neither_text_nor_position(
        cols in 2u16..14, rows in 1u16..6,
        parts in prop::collection::vec("[ -~é漢\u{301}]{0,20}(\r\n)?", 0..12),
        moves in prop::option::of((1usize..4, 1usize..3)),
        sizes in prop::collection::vec((2u16..14, 1u16..6), 1..4),
    ) {
        let mut screen = Screen::new(Options { cols, rows, scrollback_lines: 1 << 20, scrollback_bytes: 1 << 26 });
        screen.feed(parts.concat().as_bytes(), &mut ());
        if let Some((left, up)) = moves {
            screen.feed(format!("\x1b[{left}D\x1b[{up}A").as_bytes(), &mut ());
        }
        let state = |screen: &Screen| {
            let text = screen.page(0, usize::MAX).text;
            (text.trim_end_matches('\n').to_owned(), screen.position())
        };
        let before = state(&screen);
        for (cols, rows) in sizes {
            // What stands below the cursor is lost when there is no room for it.
            screen.resize(cols, if moves.is_some() { 150 } else { rows }, &mut ());
            dump(&screen);
            prop_assert_eq!(&before, &state(&screen));
        }
    }

    /// rule: A4
    #[test]
    fn the_screen_as_a_stream_draws_itself_again(options in options(), stream in stream()) {
        let mut screen = Screen::new(options);
        screen.feed(&stream, &mut ());
        let mut copy = Screen::new(options);
        copy.feed(screen.ansi().as_bytes(), &mut ());
        prop_assert_eq!(screen.cursor(), copy.cursor());
        let spans = |screen: &Screen| {
            let mut rows = screen.styled_rows();
            let links = rows.iter().flatten().map(|span| screen.link(&span.style).map(str::to_owned)).collect::<Vec<_>>();
            rows.iter_mut().flatten().for_each(|span| span.style.link = 0);
            (rows, links)
        };
        prop_assert_eq!(spans(&screen), spans(&copy), "{:?}", screen.ansi());
        // Pictures hold the same text, and their tags are closed.
        for picture in [screen.html(), screen.svg()] {
            prop_assert_eq!(picture.matches('<').count(), picture.matches('>').count());
            assert!(!picture.chars().any(|character| character.is_control() && character != '\n'));
        }
    }

    /// rule: N10, R4, R5
    #[test]
    fn what_left_is_what_the_scrollback_holds(
        cols in 1u16..14, rows in 1u16..6,
        steps in prop::collection::vec((stream(), prop::option::weighted(0.5, (1u16..14, 1u16..6))), 1..4),
    ) {
        let options = Options { cols, rows, scrollback_lines: 1 << 20, scrollback_bytes: 1 << 26 };
        let mut screen = Screen::new(options);
        let mut log = Log::default();
        for (stream, size) in steps {
            // ED 3 would empty the scrollback, and two CUP-like bytes could make one by chance.
            let stream: Vec<u8> = stream.into_iter().filter(|byte| *byte != b'3').collect();
            screen.feed(&stream, &mut log);
            if let Some((cols, rows)) = size {
                screen.resize(cols, rows, &mut log);
            }
            dump(&screen);
            let (mut next, mut open) = (Position::default(), false);
            let mut lines: Vec<String> = Vec::new();
            for (line, offset, text, wrapped) in &log.left {
                // A line whose continuation was erased from the screen ends without a word.
                if open && *line == next.line + 1 {
                    next = Position { line: *line, offset: 0 };
                }
                assert_eq!((next.line, next.offset), (*line, *offset));
                lines.resize(usize::try_from(*line).unwrap() + 1, String::new());
                lines.last_mut().unwrap().push_str(text);
                open = *wrapped;
                next = if open {
                    Position { line: *line, offset: offset + text.len() }
                } else {
                    Position { line: line + 1, offset: 0 }
                };
            }
            let start = screen.screen_start();
            assert!(start == next || open && start == Position { line: next.line + 1, offset: 0 });
            for (number, line) in lines.iter().enumerate() {
                let kept = screen.line(number as u64).unwrap();
                let same = if number as u64 == start.line { kept.starts_with(line.as_str()) } else { kept == *line };
                prop_assert!(same, "line {}: {:?} left, {:?} kept", number, line, kept);
            }
        }
    }
}
