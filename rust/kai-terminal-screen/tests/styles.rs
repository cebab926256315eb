//! Styles, links and modes: what sequences change without showing a character.

use kai_terminal_screen::{Attributes, Color, Options, Screen, Style, Underline};

fn fed(input: &[u8]) -> Screen {
    let mut screen = Screen::new(Options {
        cols: 10,
        rows: 5,
        ..Options::default()
    });
    screen.feed(input, &mut ());
    screen
}

fn style_after(input: &str) -> Style {
    let screen = fed(format!("{input}x").as_bytes());
    screen.styled_rows()[0]
        .iter()
        .find(|span| !span.blank)
        .unwrap()
        .style
}

/// rule: A4
#[test]
fn styles_are_set_and_reset() {
    let plain = Style::default();
    let with = |attributes: Attributes| Style {
        attributes,
        ..plain
    };
    let foreground = |foreground: Color| Style {
        foreground,
        ..plain
    };
    let background = |background: Color| Style {
        background,
        ..plain
    };
    let underlined = |underline: Underline| Style { underline, ..plain };
    for (input, style) in [
        ("", plain),
        ("\x1b[1m", with(Attributes::BOLD)),
        ("\x1b[2m", with(Attributes::FAINT)),
        ("\x1b[3m", with(Attributes::ITALIC)),
        ("\x1b[5m", with(Attributes::BLINK)),
        ("\x1b[7m", with(Attributes::INVERSE)),
        ("\x1b[8m", with(Attributes::HIDDEN)),
        ("\x1b[9m", with(Attributes::STRIKE)),
        ("\x1b[53m", with(Attributes::OVERLINE)),
        (
            "\x1b[1;2;3;5;7;8;9;53;4m\x1b[22;23;25;27;28;29;55;24m",
            plain,
        ),
        ("\x1b[1;31;44;4m\x1b[m", plain),
        ("\x1b[1;31m\x1b[;m", plain),
        ("\x1b[4m", underlined(Underline::Single)),
        ("\x1b[21m", underlined(Underline::Double)),
        ("\x1b[4:3m", underlined(Underline::Curly)),
        ("\x1b[4:4m", underlined(Underline::Dotted)),
        ("\x1b[4:5m", underlined(Underline::Dashed)),
        ("\x1b[4:3m\x1b[4:0m", plain),
        ("\x1b[31m", foreground(Color::Indexed(1))),
        ("\x1b[97m", foreground(Color::Indexed(15))),
        ("\x1b[31m\x1b[39m", plain),
        ("\x1b[42m", background(Color::Indexed(2))),
        ("\x1b[103m", background(Color::Indexed(11))),
        ("\x1b[103m\x1b[49m", plain),
        ("\x1b[38;5;200m", foreground(Color::Indexed(200))),
        ("\x1b[38:5:200m", foreground(Color::Indexed(200))),
        ("\x1b[38;2;1;2;3m", foreground(Color::Rgb(1, 2, 3))),
        ("\x1b[38:2:1:2:3m", foreground(Color::Rgb(1, 2, 3))),
        ("\x1b[38:2::1:2:3m", foreground(Color::Rgb(1, 2, 3))),
        ("\x1b[48;2;1;2;3m", background(Color::Rgb(1, 2, 3))),
        ("\x1b[38;5;300m", plain),
        (
            "\x1b[38;2;1;2;3;1m",
            Style {
                attributes: Attributes::BOLD,
                ..foreground(Color::Rgb(1, 2, 3))
            },
        ),
        (
            "\x1b[58:5:9m",
            Style {
                underline_color: Color::Indexed(9),
                ..plain
            },
        ),
        ("\x1b[58;2;1;2;3m\x1b[59m", plain),
        ("\x1b[38m", plain),
        ("\x1b[38;5m", plain),
        ("\x1b[>4;2m", plain),
        ("\x1b[?4m", plain),
    ] {
        assert_eq!(style_after(input), style, "{input:?}");
    }
}

/// rule: A4
#[test]
fn erasing_takes_the_background() {
    let screen = fed(b"abc\x1b[2D\x1b[44m\x1b[K");
    let row = &screen.styled_rows()[0];
    assert_eq!(
        (row[0].text.as_str(), row[1].columns, row[1].blank),
        ("a", 9, true)
    );
    assert_eq!(row[1].style.background, Color::Indexed(4));
    assert_eq!(screen.rows()[0], "a");
    assert_eq!(screen.page(0, 1).text, "a");
}

/// rule: A4
#[test]
fn links_belong_to_the_text() {
    let screen = fed(b"\x1b]8;id=1;https://a.example/\x1b\\ab\x1b]8;;\x07c");
    let row = &screen.styled_rows()[0];
    assert_eq!(
        (row[0].text.as_str(), screen.link(&row[0].style)),
        ("ab", Some("https://a.example/"))
    );
    assert_eq!(
        (row[1].text.as_str(), screen.link(&row[1].style)),
        ("c", None)
    );
    assert!(
        screen
            .html()
            .contains("<a href=\"https://a.example/\">ab</a>")
    );
    let screen = fed(b"\x1b]8;;javascript:alert(1)\x1b\\ab");
    assert!(!screen.html().contains("href"));
}

/// rule: query-3
#[test]
fn modes_are_told() {
    let modes = |input: &str| fed(input.as_bytes()).modes();
    assert!(modes("\x1b[?1h").application_cursor);
    assert!(!modes("\x1b[?1h\x1b[?1l").application_cursor);
    assert!(modes("\x1b=").application_keypad);
    assert!(!modes("\x1b=\x1b>").application_keypad);
    assert!(modes("\x1b[?2004h").bracketed_paste);
    assert!(modes("\x1b[?1004h").focus_events);
    assert!(modes("\x1b[?1049h").alternate_screen);
    assert!(modes("\x1b[?2026h").synchronized_output);
    assert!(!modes("\x1b[?25l").cursor_visible);
    assert!(modes("\x1b[?5h").reverse_screen);
    assert_eq!(modes("\x1b[>5u").kitty_flags, 5);
    assert_eq!(modes("\x1b[>5u\x1b[?1049h").kitty_flags, 0);
    assert_eq!(modes("\x1b[>5u\x1b[<u").kitty_flags, 0);
    assert_eq!(modes("\x1b[?1h\x1b[?2004h\x1b[>5u\x1bc"), modes(""));
    let encoding = |input: &str| modes(input).mouse_encoding;
    assert_eq!(
        encoding("\x1b[?1006h\x1b[?1005l"),
        kai_terminal_screen::MouseEncoding::Sgr
    );
    assert_eq!(
        encoding("\x1b[?1006h\x1b[?1006l"),
        kai_terminal_screen::MouseEncoding::Default
    );
    assert_eq!(modes("\x1b[?1;2004h"), modes("\x1b[?1h\x1b[?2004h"));
}

/// rule: A4
#[test]
fn pictures_show_text_and_colours() {
    let screen = fed("a<b>&\x1b[1;31mred\x1b[m\r\n\x1b[7mx\x1b[m\x1b[?25l".as_bytes());
    let html = screen.html();
    assert!(
        html.contains("a&lt;b&gt;&amp;<span style=\"color:#ff0000;font-weight:bold\">red</span>"),
        "{html}"
    );
    assert!(
        html.contains("<span style=\"color:#000000;background:#e5e5e5\">x</span>"),
        "{html}"
    );
    let svg = screen.svg();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("width=\"80\" height=\"85\""), "{svg}");
    assert!(
        svg.contains(">a&lt;b&gt;&amp;</text>")
            && svg.contains("fill=\"#ff0000\" font-weight=\"bold\">red</text>")
    );
    assert!(!svg.contains("fill-opacity"), "the cursor is hidden");
    assert_eq!(screen.text(), "a<b>&red\nx");
    assert!(screen.ansi().contains("\x1b[0;1;31mred"));
}
