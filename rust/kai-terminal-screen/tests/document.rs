//! The document: scrollback, pages, positions.

use kai_terminal_screen::{Event, Options, Position, Screen, Sink};

fn screen(cols: u16, rows: u16, scrollback_lines: usize) -> Screen {
    Screen::new(Options {
        cols,
        rows,
        scrollback_lines,
        scrollback_bytes: 1 << 20,
    })
}

/// A sink that writes down what it is told.
#[derive(Default)]
struct Log(Vec<String>);

impl Sink for Log {
    fn reply(&mut self, bytes: &[u8]) {
        self.0.push(format!(
            "reply {}",
            String::from_utf8_lossy(bytes).escape_debug()
        ));
    }

    fn row_left(&mut self, line: u64, offset: usize, text: &str, wrapped: bool) {
        self.0.push(format!(
            "left {line}+{offset} {text}{}",
            if wrapped { " ..." } else { "" }
        ));
    }

    fn event(&mut self, display: &kai_terminal_screen::Display, event: Event<'_>) {
        let Position { line, offset } = display.position();
        let event = match event {
            Event::Osc(params) => {
                let params: Vec<_> = params
                    .iter()
                    .map(|bytes| String::from_utf8_lossy(bytes))
                    .collect();
                format!("osc {}", params.join(";"))
            }
            other => format!("{other:?}"),
        };
        self.0.push(format!("{event} at {line}+{offset}"));
    }
}

/// rule: out-1, R4
#[test]
fn a_rewritten_line_reads_as_it_ended() {
    let mut screen = screen(80, 24, 100);
    for percent in 1..=100 {
        screen.feed(format!("\r{percent}%").as_bytes(), &mut ());
    }
    screen.feed(b"\r\n", &mut ());
    assert_eq!(screen.page(0, 10).text, "100%\n");
}

/// rule: out-3, R4
#[test]
fn wrapped_rows_are_one_line() {
    let mut screen = screen(80, 2, 100);
    let line = format!("{:0300}", 7);
    screen.feed(format!("{line}\r\nnext\r\nlast").as_bytes(), &mut ());
    assert_eq!(screen.page(0, 10).text, format!("{line}\nnext\nlast"));
    assert_eq!(screen.line(0), Some(line));
}

/// rule: R2, R5
#[test]
fn pages_go_backwards_from_the_newest_line() {
    let mut screen = screen(80, 3, 5);
    for number in 0..20 {
        screen.feed(format!("{number}\r\n").as_bytes(), &mut ());
    }
    // Lines 13 to 17 are in the scrollback; 18, 19 and the empty line of the cursor are on the screen.
    let page = screen.page(0, 3);
    assert_eq!(
        (page.text.as_str(), page.line_begin, page.line_end),
        ("18\n19\n", 0, 3)
    );
    assert_eq!(
        (
            page.first_line,
            page.stable_end,
            page.total_lines,
            page.truncated
        ),
        (18, 18, 8, false)
    );
    let page = screen.page(3, 100);
    assert_eq!(
        (page.text.as_str(), page.line_begin, page.line_end),
        ("13\n14\n15\n16\n17", 3, 8)
    );
    assert!(page.truncated);
    let page = screen.page(8, 10);
    assert_eq!(
        (page.text.as_str(), page.line_begin, page.line_end),
        ("", 8, 8)
    );
    let page = screen.page_from(2, 2);
    assert_eq!(
        (page.text.as_str(), page.first_line, page.truncated),
        ("13\n14", 13, true)
    );
    let page = screen.page_from(15, 2);
    assert_eq!(
        (page.text.as_str(), page.first_line, page.truncated),
        ("15\n16", 15, false)
    );
    assert_eq!((page.line_begin, page.line_end), (4, 6));
}

/// rule: N10
#[test]
fn rows_leave_in_stream_order() {
    let mut screen = screen(4, 2, 5);
    let mut log = Log::default();
    screen.feed(b"abcdefghij\x1b]133;D;0;k=1\x07\r\nx\r\n\x1b[6ny", &mut log);
    let expected = [
        "left 0+0 abcd ...",
        "osc 133;D;0;k=1 at 0+10",
        "left 0+4 efgh ...",
        "left 0+8 ij",
        "reply \\u{1b}[2;1R",
    ];
    assert_eq!(log.0, expected);
    assert_eq!(screen.screen_start(), Position { line: 1, offset: 0 });
    assert_eq!(screen.position(), Position { line: 2, offset: 1 });
    let mut text = String::new();
    screen.text_between(
        Position { line: 0, offset: 3 },
        Position { line: 2, offset: 0 },
        &mut text,
    );
    assert_eq!(text, "defghij\nx\n");
}

/// rule: out-11, R2
#[test]
fn the_alternate_screen_is_not_in_the_document() {
    let mut screen = screen(20, 3, 5);
    screen.feed(
        b"one\r\ntwo\x1b[?1049h\x1b[Hfull screen\r\n\n\n\n\n",
        &mut (),
    );
    assert_eq!(screen.rows(), ["", "", ""]);
    assert_eq!(screen.page(0, 9).text, "one\ntwo");
    assert_eq!(screen.position(), Position { line: 1, offset: 3 });
    screen.feed(b"\x1b[?1049l!", &mut ());
    assert_eq!(screen.page(0, 9).text, "one\ntwo!");
}

/// rule: out-12
#[test]
fn rows_leave_above_a_region_anchored_at_the_top() {
    let mut screen = screen(20, 4, 5);
    screen.feed(
        b"\x1b[1;3r\x1b[4;1Hstatus\x1b[3;1H1\r\n2\r\n3\r\n4\r\n5",
        &mut (),
    );
    assert_eq!(screen.rows(), ["3", "4", "5", "status"]);
    assert_eq!(screen.page(0, 9).text, "\n\n1\n2\n3\n4\n5\nstatus");
}

/// rule: out-14
#[test]
fn clearing_reuses_the_numbers() {
    let mut screen = screen(20, 3, 5);
    let mut log = Log::default();
    screen.feed(b"1\r\n2\r\n3\r\n4\x1b[H\x1b[2J", &mut log);
    assert_eq!(log.0, ["left 0+0 1", "Cleared at 1+0"]);
    assert_eq!(screen.page(0, 9).text, "1\n");
    screen.feed(b"\x1b[3J", &mut log);
    assert_eq!(log.0.last().unwrap(), "ScrollbackCleared at 1+0");
    assert_eq!(screen.page(0, 9).text, "");
    assert_eq!(screen.first_line(), 1);
}

/// rule: R1
#[test]
fn one_endless_line_stays_within_the_bytes() {
    let mut screen = Screen::new(Options {
        cols: 80,
        rows: 24,
        scrollback_lines: 100,
        scrollback_bytes: 100_000,
    });
    let piece = vec![b'x'; 64 * 1024];
    for _ in 0..64 {
        screen.feed(&piece, &mut ());
    }
    let page = screen.page(0, 5);
    assert!(page.truncated);
    assert!(
        page.text.len() <= 102_000 && page.text.len() >= 80_000,
        "{}",
        page.text.len()
    );
    assert_eq!(page.first_line, 0);
    screen.feed(b"\r\nend", &mut ());
    assert_eq!(screen.page(0, 1).text, "end");
}

/// rule: out-2
#[test]
fn strings_are_swallowed_whole() {
    for introducer in ["P", "_", "^", "X", "P1;2|", "]52;c;"] {
        let mut screen = screen(20, 3, 5);
        screen.feed(
            format!("a\x1b{introducer}q#0~~\x1b\\b\n").as_bytes(),
            &mut (),
        );
        assert_eq!(screen.rows()[0], "ab", "{introducer}");
    }
    let mut screen = screen(20, 3, 5);
    screen.feed(
        format!("a\x1b]777;{}\x07b", "x".repeat(100_000)).as_bytes(),
        &mut (),
    );
    assert_eq!(screen.rows()[0], "ab");
}

/// rule: out-13
#[test]
fn a_smaller_screen_hands_rows_over() {
    let mut screen = screen(20, 4, 50);
    let mut log = Log::default();
    screen.feed(b"1\r\n2\r\n3\r\n4", &mut log);
    screen.resize(20, 2, &mut log);
    assert_eq!(log.0, ["left 0+0 1", "left 1+0 2"]);
    assert_eq!(screen.rows(), ["3", "4"]);
    assert_eq!(screen.page(0, 9).text, "1\n2\n3\n4");
    assert_eq!(screen.cursor().row, 1);
}

/// rule: A2
#[test]
fn text_is_found_across_wraps_and_in_the_scrollback() {
    let mut screen = screen(8, 2, 50);
    screen.feed(
        "one Listening on two\r\n漢 Listening\r\nx\r\ny Listening".as_bytes(),
        &mut (),
    );
    let at = |line: u64, offset: usize| Position { line, offset };
    assert_eq!(screen.find("Listening on", at(0, 0)), Some(at(0, 4)));
    assert_eq!(screen.find("Listening", at(0, 5)), Some(at(1, 4)));
    assert_eq!(screen.find("Listening", at(3, 3)), None);
    assert_eq!(
        screen.find_all("Listening", at(0, 0), 10),
        [at(0, 4), at(1, 4), at(3, 2)]
    );
    assert_eq!(screen.find_all("n", at(0, 0), 2), [at(0, 1), at(0, 9)]);
    // An offset inside a character counts from the next one.
    assert_eq!(screen.find("漢", at(1, 1)), None);
    assert_eq!(screen.find("", at(0, 0)), None);
}
