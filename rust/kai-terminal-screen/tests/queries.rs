//! Questions a program asks, and what the sink is told.

use kai_terminal_screen::{Display, Event, Options, Screen, Sink};

#[derive(Default)]
struct Heard {
    replies: String,
    events: Vec<String>,
}

impl Sink for Heard {
    fn reply(&mut self, bytes: &[u8]) {
        self.replies.push_str(std::str::from_utf8(bytes).unwrap());
    }

    fn event(&mut self, _: &Display, event: Event<'_>) {
        self.events.push(match event {
            Event::Osc(params) => {
                let params: Vec<_> = params
                    .iter()
                    .map(|bytes| String::from_utf8_lossy(bytes))
                    .collect();
                format!("osc {}", params.join("|"))
            }
            other => format!("{other:?}"),
        });
    }
}

fn ask(input: &str) -> Heard {
    let mut heard = Heard::default();
    let mut screen = Screen::new(Options {
        cols: 80,
        rows: 24,
        ..Options::default()
    });
    screen.feed(input.as_bytes(), &mut heard);
    heard
}

/// rule: query-1, query-2
#[test]
fn questions_are_answered_once_and_truthfully() {
    let version = concat!("\x1bP>|kai-terminal(", env!("CARGO_PKG_VERSION"), ")\x1b\\");
    for (question, answer) in [
        ("\x1b[c", "\x1b[?62;22c"),
        ("\x1b[0c", "\x1b[?62;22c"),
        ("\x1bZ", "\x1b[?62;22c"),
        ("\x1b[>c", "\x1b[>0;277;0c"),
        ("\x1b[=c", "\x1bP!|00000000\x1b\\"),
        ("\x1b[>q", version),
        ("\x1b[>0q", version),
        ("\x1b[5n", "\x1b[0n"),
        ("\x1b[6n", "\x1b[1;1R"),
        ("\x1b[3;7H\x1b[6n", "\x1b[3;7R"),
        ("\x1b[80Gx\x1b[6n", "\x1b[1;80R"),
        ("\x1b[5;9r\x1b[?6h\x1b[2;3H\x1b[6n", "\x1b[2;3R"),
        ("\x1b[3;7H\x1b[?6n", "\x1b[?3;7;1R"),
        ("\x1b[?15n", "\x1b[?13n"),
        ("\x1b[?2004$p", "\x1b[?2004;2$y"),
        ("\x1b[?2004h\x1b[?2004$p", "\x1b[?2004;1$y"),
        ("\x1b[?7$p", "\x1b[?7;1$y"),
        ("\x1b[?25l\x1b[?25$p", "\x1b[?25;2$y"),
        ("\x1b[?2026$p", "\x1b[?2026;2$y"),
        ("\x1b[?1049h\x1b[?1049$p", "\x1b[?1049;1$y"),
        (
            "\x1b[?1006h\x1b[?1006$p\x1b[?1005$p",
            "\x1b[?1006;1$y\x1b[?1005;2$y",
        ),
        ("\x1b[?9999$p", "\x1b[?9999;0$y"),
        ("\x1b[4$p", "\x1b[4;2$y"),
        ("\x1b[4h\x1b[4$p", "\x1b[4;1$y"),
        ("\x1b[99$p", "\x1b[99;0$y"),
        ("\x1b[18t", "\x1b[8;24;80t"),
        ("\x1b[19t", "\x1b[9;24;80t"),
        ("\x1b[14t", "\x1b[4;408;640t"),
        ("\x1b[16t", "\x1b[6;17;8t"),
        ("\x1b]0;secret\x07\x1b[21t", "\x1b]l\x1b\\"),
        ("\x1b]10;?\x07", "\x1b]10;rgb:e5e5/e5e5/e5e5\x07"),
        ("\x1b]11;?\x1b\\", "\x1b]11;rgb:0000/0000/0000\x1b\\"),
        (
            "\x1b]11;#102030\x07\x1b]11;?\x07",
            "\x1b]11;rgb:1010/2020/3030\x07",
        ),
        (
            "\x1b]11;#102030\x07\x1b]111\x07\x1b]11;?\x07",
            "\x1b]11;rgb:0000/0000/0000\x07",
        ),
        (
            "\x1b]10;?;?\x07",
            "\x1b]10;rgb:e5e5/e5e5/e5e5\x07\x1b]11;rgb:0000/0000/0000\x07",
        ),
        ("\x1b]4;1;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x07"),
        (
            "\x1b]4;1;rgb:1/2/3;1;?\x07",
            "\x1b]4;1;rgb:1111/2222/3333\x07",
        ),
        (
            "\x1b]4;1;rgb:1/2/3\x07\x1b]104;1\x07\x1b]4;1;?\x07",
            "\x1b]4;1;rgb:cdcd/0000/0000\x07",
        ),
        ("\x1b]4;256;?\x07", ""),
        ("\x1b[?u", "\x1b[?0u"),
        ("\x1b[>1u\x1b[?u", "\x1b[?1u"),
        ("\x1b[=5;1u\x1b[?u", "\x1b[?5u"),
        ("\x1b[1;31m\x1bP$qm\x1b\\", "\x1bP1$r0;1;31m\x1b\\"),
        (
            "\x1b[4:3;38;5;200;48;2;1;2;3m\x1bP$qm\x1b\\",
            "\x1bP1$r0;4:3;38:5:200;48:2::1:2:3m\x1b\\",
        ),
        ("\x1b[3;9r\x1bP$qr\x1b\\", "\x1bP1$r3;9r\x1b\\"),
        ("\x1bP$qz\x1b\\", "\x1bP0$r\x1b\\"),
        (
            "\x1bP+q544e;zz\x1b\\",
            "\x1bP1+r544e=787465726d2d323536636f6c6f72\x1b\\\x1bP0+r\x1b\\",
        ),
        ("\x1bP$q q\x1b\\", "\x1bP1$r0 q\x1b\\"),
        ("\x1b[5 q\x1bP$q q\x1b\\", "\x1bP1$r5 q\x1b\\"),
        ("\x1b[?2;1S", "\x1b[?2;3;0S"),
        ("\x1b[x", "\x1b[2;1;1;128;128;1;0x"),
        ("\x05", ""),
        ("\x1b]52;c;?\x07", ""),
    ] {
        assert_eq!(ask(question).replies, answer, "{question:?}");
    }
}

/// rule: query-1
#[test]
fn an_answer_stands_at_its_place_in_the_stream() {
    assert_eq!(ask("ab\x1b[6ncd\x1b[6n").replies, "\x1b[1;3R\x1b[1;5R");
    // While the alternate screen shows, the answer is about it.
    assert_eq!(ask("ab\x1b[?1049h\x1b[H\x1b[6n").replies, "\x1b[1;1R");
}

/// rule: query-4
#[test]
fn a_query_that_nobody_answers_is_named() {
    for (query, event) in [
        ("\x1b[99n", "UnknownQuery(\"CSI 99 n\")"),
        ("\x1b[?99n", "UnknownQuery(\"CSI ? 99 n\")"),
        ("\x1b[1$w", "UnknownQuery(\"CSI 1 $ w\")"),
        ("\x1b[1;1;1;1;1;1*y", "UnknownQuery(\"CSI 1 * y\")"),
    ] {
        let heard = ask(query);
        assert_eq!(
            (heard.events, heard.replies),
            (vec![event.to_owned()], String::new()),
            "{query:?}"
        );
    }
    assert_eq!(
        ask("\x1b]52;c;?\x07").events,
        ["osc 52|c|?", "UnknownQuery(\"OSC 52\")"]
    );
}

/// rule: N5, N10
#[test]
fn marks_come_out_as_they_went_in() {
    let heard = ask(
        "\x1b]133;D;0;k=ab;p=1 0\x07\x1b]7;file://h/a%20b\x1b\\\x1b]133;C;t=a%3Bb;c;d\x07\x1b]133;P;\x07",
    );
    let expected = [
        "osc 133|D|0|k=ab|p=1 0",
        "osc 7|file://h/a%20b",
        "osc 133|C|t=a%3Bb|c|d",
        "osc 133|P|",
    ];
    assert_eq!(heard.events, expected);
    // A mark that is cancelled, or is not ended by its own end, is none.
    assert!(ask("\x1b]133;D;0\x18").events.is_empty());
    assert!(ask("\x1b]133;D;0\x1b[m").events.is_empty());
    assert!(ask("\x1b]133;D;0").events.is_empty());
    assert!(ask("\x1bP\x1b]133;D;0").events.is_empty());
}

/// rule: out-2
#[test]
fn titles_are_told_once_and_kept_on_a_stack() {
    let heard = ask("\x1b]0;one\x07\x1b]2;one\x07\x1b[22;0t\x1b]2;two\x07\x1b[23;0t\x1b[23;0t");
    assert_eq!(
        heard.events,
        ["Title(\"one\")", "Title(\"two\")", "Title(\"one\")"]
    );
    let mut screen = Screen::new(Options::default());
    screen.feed("\x1b]2;a\u{9}b;c é\x07".as_bytes(), &mut ());
    assert_eq!(screen.title(), "ab;c é");
    screen.feed(b"\x1bc", &mut ());
    assert_eq!(screen.title(), "");
}

/// rule: out-14
#[test]
fn erasing_from_the_top_is_told() {
    let cleared = |input: &str| {
        ask(input)
            .events
            .iter()
            .filter(|event| *event == "Cleared")
            .count()
    };
    for (input, count) in [
        ("ab\x1b[2J", 1),
        ("ab\x1b[H\x1b[J", 1),
        ("ab\x1b[J", 0),
        ("ab\x1b[1J", 1),
        ("ab\x1bc", 1),
        ("ab\x1b[?3h", 1),
        ("ab\x1b#8", 1),
        ("ab\x1b[?1049h\x1b[2J\x1b[H\x1b[J", 0),
        ("ab\x1b[2K", 0),
    ] {
        assert_eq!(cleared(input), count, "{input:?}");
    }
    assert_eq!(ask("\x07\x1b[3J").events, ["Bell", "ScrollbackCleared"]);
}
