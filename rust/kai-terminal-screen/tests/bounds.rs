//! Nothing a program prints makes the screen grow without end.

use kai_terminal_screen::{Color, Display, Event, Options, Screen, Sink};

const BYTES: usize = 256 * 1024;

fn screen() -> Screen {
    Screen::new(Options {
        cols: 80,
        rows: 24,
        scrollback_lines: 10_000,
        scrollback_bytes: BYTES,
    })
}

/// The scrollback, a block more, and the rows.
fn assert_bounded(screen: &Screen) {
    assert!(screen.memory() < BYTES + BYTES / 2, "{}", screen.memory());
}

/// rule: R1
#[test]
fn a_line_without_an_end_loses_its_beginning() {
    let mut screen = screen();
    let mut position = 0;
    for number in 0..2_000 {
        screen.feed(
            format!("{number:08} {}", "x".repeat(8_000)).as_bytes(),
            &mut (),
        );
        position += 8_009;
    }
    assert_bounded(&screen);
    assert_eq!(
        (screen.position().line, screen.position().offset),
        (0, position)
    );
    let page = screen.page(0, 1);
    assert!(page.truncated && page.first_line == 0 && page.total_lines == 1);
    assert!(
        page.text.len() > BYTES - BYTES / 8 && page.text.len() < BYTES + 2_000,
        "{}",
        page.text.len()
    );
    // The offsets are still those of the whole line.
    let mut text = String::new();
    let found = screen
        .find("00001999 ", kai_terminal_screen::Position::default())
        .unwrap();
    assert_eq!(found.offset, 1_999 * 8_009);
    let end = kai_terminal_screen::Position {
        offset: found.offset + 9,
        ..found
    };
    screen.text_between(found, end, &mut text);
    assert_eq!(text, "00001999 ");
}

/// rule: R1, out-8
#[test]
fn many_lines_are_bounded_in_bytes_and_in_lines() {
    let mut screen = screen();
    for number in 0..100_000 {
        screen.feed(
            format!("\x1b[3{}mline\x1b[m {number}\r\n", number % 8).as_bytes(),
            &mut (),
        );
    }
    assert_bounded(&screen);
    assert_eq!(screen.document_end(), 100_001);
    assert_eq!(screen.line(99_999).unwrap(), "line 99999");
    assert_eq!(screen.line(99_000).unwrap(), "line 99000");
    assert_eq!(screen.line(0), None);

    let mut screen = Screen::new(Options {
        scrollback_lines: 10,
        ..Options::default()
    });
    for number in 0..100 {
        screen.feed(format!("{number}\r\n").as_bytes(), &mut ());
    }
    assert_eq!((screen.first_line(), screen.screen_start().line), (67, 77));
    screen.feed("\r\n".repeat(100_000).as_bytes(), &mut ());
    assert_eq!(screen.document_end() - screen.first_line(), 34);
}

/// rule: R1
#[test]
fn a_scrollback_of_nothing_keeps_nothing() {
    for (scrollback_lines, scrollback_bytes) in [(0, 0), (0, 1 << 20), (100, 0)] {
        let mut screen = Screen::new(Options {
            cols: 10,
            rows: 2,
            scrollback_lines,
            scrollback_bytes,
        });
        screen.feed(
            b"1\r\n2\r\n3\r\n4\r\n0123456789abcdefghijklmnopqrstuvwxyz",
            &mut (),
        );
        let page = screen.page(0, 100);
        assert_eq!(
            (page.text.as_str(), page.first_line, page.truncated),
            ("klmnopqrstuvwxyz", 4, true)
        );
    }
}

#[derive(Default)]
struct Longest(usize);

impl Sink for Longest {
    fn event(&mut self, _: &Display, event: Event<'_>) {
        if let Event::Osc(params) = event {
            self.0 = self.0.max(params.iter().map(|bytes| bytes.len()).sum());
        }
    }
}

/// rule: out-2, R1
#[test]
fn strings_without_an_end_are_cut() {
    for introducer in ["\x1b]777;", "\x1bP", "\x1b_", "\x1b^", "\x1bX"] {
        let mut screen = screen();
        let mut longest = Longest::default();
        screen.feed(b"a", &mut longest);
        screen.feed(introducer.as_bytes(), &mut longest);
        for _ in 0..300 {
            screen.feed(&vec![b'p'; 65_536], &mut longest);
        }
        screen.feed(b"\x1b\\b", &mut longest);
        assert_bounded(&screen);
        assert!(longest.0 <= 128 * 1024);
        assert_eq!(screen.rows()[0], "ab");
    }
}

/// rule: R1
#[test]
fn a_cell_does_not_grow_with_combining_marks() {
    let mut screen = screen();
    screen.feed(
        format!("e{}x", "\u{301}".repeat(10_000)).as_bytes(),
        &mut (),
    );
    assert!(screen.rows()[0].len() < 80 && screen.rows()[0].ends_with('x'));
    let row = format!("e{}", "\u{301}".repeat(40)).repeat(80);
    for _ in 0..50 {
        screen.feed(row.as_bytes(), &mut ());
    }
    // 64 bytes a cell, in strings that double as they grow.
    assert!(
        screen.memory() < BYTES * 3 / 2 + 2 * 80 * 24 * 64,
        "{}",
        screen.memory()
    );
}

/// rule: R1
#[test]
fn styles_and_links_that_are_gone_make_room() {
    let mut screen = Screen::new(Options {
        cols: 80,
        rows: 4,
        scrollback_lines: 100,
        scrollback_bytes: BYTES,
    });
    for number in 0..50_000u32 {
        let [_, red, green, blue] = number.to_be_bytes();
        screen.feed(
            format!(
                "\x1b[38;2;{red};{green};{blue}mx\x1b]8;;http://h/{number}\x07y\x1b]8;;\x07\r\n"
            )
            .as_bytes(),
            &mut (),
        );
    }
    screen.feed(b"\x1b[38;2;9;8;7mz\x1b]8;;http://last/\x07y", &mut ());
    let rows = screen.styled_rows();
    assert_eq!(rows[3][0].style.foreground, Color::Rgb(9, 8, 7));
    assert_eq!(screen.link(&rows[3][1].style), Some("http://last/"));
    assert_eq!(rows[2][0].style.foreground, Color::Rgb(0, 195, 79));
    assert_bounded(&screen);
}

/// rule: R1
#[test]
fn more_styles_than_fit_lose_colours_not_letters() {
    let options = Options {
        cols: 80,
        rows: 4,
        scrollback_lines: 1 << 20,
        scrollback_bytes: 1 << 24,
    };
    let mut screen = Screen::new(options);
    for number in 0..40_000u32 {
        let [_, red, green, blue] = number.to_be_bytes();
        screen.feed(
            format!("\x1b[38;2;{red};{green};{blue}mx").as_bytes(),
            &mut (),
        );
    }
    assert_eq!(screen.line(0).unwrap(), "x".repeat(40_000));
}

/// rule: A4
#[test]
fn the_largest_counts_and_sizes_are_survived() {
    let mut screen = Screen::new(Options {
        cols: 1,
        rows: 1,
        ..Options::default()
    });
    let all = "\x1b[65535@\x1b[65535L\x1b[65535M\x1b[65535P\x1b[65535S\x1b[65535T\x1b[65535X\x1bx\x1b[65535b\x1b[65535I\x1b[65535Z漢";
    screen.feed(all.as_bytes(), &mut ());
    screen.resize(u16::MAX, u16::MAX, &mut ());
    screen.feed(format!("\x1b[65535;65535H{all}").as_bytes(), &mut ());
    screen.resize(1, 1, &mut ());
    screen.feed(all.as_bytes(), &mut ());
    assert_eq!(screen.size(), (1, 1));
}

/// rule: R1
#[test]
fn renaming_styles_changes_no_colour() {
    let mut screen = Screen::new(Options {
        cols: 7,
        rows: 3,
        scrollback_lines: 10,
        scrollback_bytes: 4096,
    });
    let color = |number: u32| {
        let [_, red, green, blue] = number.to_be_bytes();
        (red, green, blue)
    };
    for number in 0..80_000u32 {
        let (red, green, blue) = color(number);
        // Another background for each character too, so that blanks have styles of their own, and inserted characters.
        let mode = if number % 5 == 0 {
            "\x1b[4h"
        } else {
            "\x1b[4l"
        };
        let sequence =
            format!("{mode}\x1b[38;2;{red};{green};{blue}m\x1b[48;2;{blue};{red};{green}mx");
        screen.feed(sequence.as_bytes(), &mut ());
        if number % 997 != 0 || number < 100 {
            continue;
        }
        let rows = screen.styled_rows();
        let shown: Vec<_> = rows.iter().flatten().filter(|span| !span.blank).collect();
        for (back, span) in shown.iter().rev().enumerate() {
            let (red, green, blue) = color(number - u32::try_from(back).unwrap());
            assert_eq!(
                span.style.foreground,
                Color::Rgb(red, green, blue),
                "{number} {back}"
            );
            assert_eq!(
                span.style.background,
                Color::Rgb(blue, red, green),
                "{number} {back}"
            );
        }
    }
}
