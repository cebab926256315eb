//! Control functions one by one: what each leaves on a screen of ten columns and five rows, and where the cursor is.

use kai_terminal_screen::{Options, Screen};

fn fed(input: &[u8]) -> Screen {
    let mut screen = Screen::new(Options {
        cols: 10,
        rows: 5,
        ..Options::default()
    });
    screen.feed(input, &mut ());
    screen
}

/// Rows separated by `|`, empty rows at the end left out, and row and column of the cursor.
fn check(cases: &[(&str, &str, (usize, usize))]) {
    for (input, rows, cursor) in cases {
        let screen = fed(input.as_bytes());
        let shown = screen.rows().join("|");
        assert_eq!(shown.trim_end_matches('|'), *rows, "{input:?}");
        let at = screen.cursor();
        assert_eq!((at.row, at.col), *cursor, "{input:?}");
    }
}

/// Five rows of letters, the cursor at row 2, column 3.
const FILLED: &str =
    "\x1b[2J\x1b[Haaaaaaaaaa\r\nbbbbbbbbbb\r\ncccccccccc\r\ndddddddddd\r\neeeeeeeeee\x1b[3;4H";

fn check_filled(cases: &[(&str, &str, (usize, usize))]) {
    for (input, rows, cursor) in cases {
        check(&[(&format!("{FILLED}{input}"), rows, *cursor)]);
    }
}

/// rule: R4, out-5
#[test]
fn controls_move_the_cursor() {
    check(&[
        ("ab\rc", "cb", (0, 1)),
        ("ab\nc", "ab|  c", (1, 3)),
        ("ab\x0bc\x0cd", "ab|  c|   d", (2, 4)),
        ("ab\x08\x08\x08c", "cb", (0, 1)),
        ("a\tb", "a       b", (0, 9)),
        ("a\t\t\tb", "a        b", (0, 9)),
        ("\x07\x00\x7fa\x01", "a", (0, 1)),
        ("\x1b[20hab\nc", "ab|c", (1, 1)),
        ("0123456789\x08x", "01234567x9", (0, 9)),
    ]);
}

/// rule: out-3, R4
#[test]
fn text_wraps_at_the_right_edge() {
    check(&[
        ("0123456789", "0123456789", (0, 9)),
        ("0123456789a", "0123456789|a", (1, 1)),
        ("0123456789\r\na", "0123456789|a", (1, 1)),
        ("0123456789\x1b[Ca", "012345678a", (0, 9)),
        ("0123456789\x1b[K", "0123456789", (0, 9)),
        ("0123456789\x1b[Ka", "012345678a", (0, 9)),
        ("0123456789\x1b[J", "0123456789", (0, 9)),
        ("0123456789\x1b[Ja", "012345678a", (0, 9)),
        ("0123456789\x1b[1ma", "0123456789|a", (1, 1)),
        ("\x1b[?7l0123456789abc", "012345678c", (0, 9)),
        ("012345678漢", "012345678|漢", (1, 2)),
        ("01234567漢", "01234567漢", (0, 9)),
        ("\x1b[?7l012345678漢", "012345678", (0, 9)),
        ("\x1b[?45habc\x1b[2;1H\x08X", "abc      X", (0, 9)),
    ]);
}

/// rule: out-5, out-4
#[test]
fn columns_are_those_of_xterm() {
    check(&[
        ("コ\rX", "X", (0, 1)),
        ("コ\x1b[2GX", " X", (0, 2)),
        ("✅a", "✅a", (0, 3)),
        ("✍a", "✍a", (0, 2)),
        ("👨‍👩‍👧", "👨‍👩‍👧", (0, 6)),
        ("e\u{301}x", "e\u{301}x", (0, 2)),
        ("\u{ad}x", "\u{ad}x", (0, 2)),
        ("\u{301}x", "x", (0, 1)),
        ("012345678e\u{301}", "012345678e\u{301}", (0, 9)),
        ("漢\u{301}x", "漢\u{301}x", (0, 3)),
    ]);
    for (input, row) in [
        (&b"a\xf0\x9f\x98\x80b"[..], "a😀b"),
        (b"a\xf0\x9fb", "a\u{fffd}b"),
        (b"a\xffb\xfe\xfec", "a\u{fffd}b\u{fffd}\u{fffd}c"),
        (b"a\x80\x9bb", "a\u{fffd}\u{fffd}b"),
        (b"a\xc0\xafb", "a\u{fffd}\u{fffd}b"),
        (b"a\xed\xa0\x80b", "a\u{fffd}\u{fffd}\u{fffd}b"),
        (b"a\xe2\x82\x1b[1mb", "a\u{fffd}b"),
    ] {
        assert_eq!(fed(input).rows()[0], row, "{input:?}");
    }
}

/// rule: out-5
#[test]
fn character_sets_are_designated_and_shifted() {
    check(&[
        ("\x1b(0lqk\x1b(Bq", "┌─┐q", (0, 4)),
        ("\x1b)0q\x0eq\x0fq", "q─q", (0, 3)),
        ("\x1b*0\x1bNqq", "─q", (0, 2)),
        ("\x1b+0\x1bOqq\x1boq", "─q─", (0, 3)),
        ("\x1b(A#\x1b(B#", "£#", (0, 2)),
        ("\x1b(0\x1b7\x1b(Bq\x1b8q", "─", (0, 1)),
        ("\x1b(0\x1b[!pq", "q", (0, 1)),
        ("\x1b(0\x1bcq", "q", (0, 1)),
    ]);
}

/// rule: R4
#[test]
fn the_cursor_moves() {
    check_filled(&[
        (
            "\x1b[AX",
            "aaaaaaaaaa|bbbXbbbbbb|cccccccccc|dddddddddd|eeeeeeeeee",
            (1, 4),
        ),
        (
            "\x1b[9A",
            "aaaaaaaaaa|bbbbbbbbbb|cccccccccc|dddddddddd|eeeeeeeeee",
            (0, 3),
        ),
    ]);
    check(&[
        ("\x1b[3;4H", "", (2, 3)),
        ("\x1b[3;4f", "", (2, 3)),
        ("\x1b[99;99H", "", (4, 9)),
        ("\x1b[;5H", "", (0, 4)),
        ("\x1b[3d\x1b[7G", "", (2, 6)),
        ("\x1b[3;4H\x1b[B\x1b[C", "", (3, 4)),
        ("\x1b[3;4H\x1b[2D", "", (2, 1)),
        ("\x1b[3;4H\x1b[9D", "", (2, 0)),
        ("\x1b[3;4H\x1b[E", "", (3, 0)),
        ("\x1b[3;4H\x1b[2F", "", (0, 0)),
        ("\x1b[2a\x1b[2e", "", (2, 2)),
        ("\x1b[3`", "", (0, 2)),
        ("\x1b[65535B\x1b[65535C", "", (4, 9)),
        ("\x1b[3;4H\x1b[s\x1b[H\x1b[u", "", (2, 3)),
        ("\x1b[3;4H\x1b7\x1b[H\x1b8", "", (2, 3)),
        ("\x1bE\x1bD", "", (2, 0)),
        ("\x1b[3;4H\x1bM", "", (1, 3)),
    ]);
}

/// rule: R4
#[test]
fn text_is_erased() {
    check_filled(&[
        (
            "\x1b[K",
            "aaaaaaaaaa|bbbbbbbbbb|ccc|dddddddddd|eeeeeeeeee",
            (2, 3),
        ),
        (
            "\x1b[1K",
            "aaaaaaaaaa|bbbbbbbbbb|    cccccc|dddddddddd|eeeeeeeeee",
            (2, 3),
        ),
        (
            "\x1b[2K",
            "aaaaaaaaaa|bbbbbbbbbb||dddddddddd|eeeeeeeeee",
            (2, 3),
        ),
        (
            "\x1b[?2K",
            "aaaaaaaaaa|bbbbbbbbbb||dddddddddd|eeeeeeeeee",
            (2, 3),
        ),
        ("\x1b[J", "aaaaaaaaaa|bbbbbbbbbb|ccc", (2, 3)),
        ("\x1b[1J", "||    cccccc|dddddddddd|eeeeeeeeee", (2, 3)),
        ("\x1b[2J", "", (2, 3)),
        (
            "\x1b[3J",
            "aaaaaaaaaa|bbbbbbbbbb|cccccccccc|dddddddddd|eeeeeeeeee",
            (2, 3),
        ),
        (
            "\x1b[2X",
            "aaaaaaaaaa|bbbbbbbbbb|ccc  ccccc|dddddddddd|eeeeeeeeee",
            (2, 3),
        ),
        (
            "\x1b[99X",
            "aaaaaaaaaa|bbbbbbbbbb|ccc|dddddddddd|eeeeeeeeee",
            (2, 3),
        ),
        (
            "\x1b[2P",
            "aaaaaaaaaa|bbbbbbbbbb|cccccccc|dddddddddd|eeeeeeeeee",
            (2, 3),
        ),
        (
            "\x1b[2@",
            "aaaaaaaaaa|bbbbbbbbbb|ccc  ccccc|dddddddddd|eeeeeeeeee",
            (2, 3),
        ),
        (
            "\x1b[4hXY",
            "aaaaaaaaaa|bbbbbbbbbb|cccXYccccc|dddddddddd|eeeeeeeeee",
            (2, 5),
        ),
        ("\x1bc", "", (0, 0)),
        ("\x1b[?3h", "", (0, 0)),
        (
            "\x1b#8",
            "EEEEEEEEEE|EEEEEEEEEE|EEEEEEEEEE|EEEEEEEEEE|EEEEEEEEEE",
            (0, 0),
        ),
    ]);
}

/// rule: out-12
#[test]
fn rows_scroll_in_their_region() {
    check_filled(&[
        (
            "\x1b[L",
            "aaaaaaaaaa|bbbbbbbbbb||cccccccccc|dddddddddd",
            (2, 0),
        ),
        ("\x1b[2M", "aaaaaaaaaa|bbbbbbbbbb|eeeeeeeeee", (2, 0)),
        (
            "\x1b[S",
            "bbbbbbbbbb|cccccccccc|dddddddddd|eeeeeeeeee",
            (2, 3),
        ),
        ("\x1b[2T", "||aaaaaaaaaa|bbbbbbbbbb|cccccccccc", (2, 3)),
        (
            "\x1b[2;4r\x1b[S",
            "aaaaaaaaaa|cccccccccc|dddddddddd||eeeeeeeeee",
            (0, 0),
        ),
        (
            "\x1b[2;4r\x1b[T",
            "aaaaaaaaaa||bbbbbbbbbb|cccccccccc|eeeeeeeeee",
            (0, 0),
        ),
        (
            "\x1b[2;4r\x1b[4;1H\n",
            "aaaaaaaaaa|cccccccccc|dddddddddd||eeeeeeeeee",
            (3, 0),
        ),
        (
            "\x1b[2;4r\x1b[5;1H\n",
            "aaaaaaaaaa|bbbbbbbbbb|cccccccccc|dddddddddd|eeeeeeeeee",
            (4, 0),
        ),
        (
            "\x1b[2;4r\x1b[2;1H\x1bM",
            "aaaaaaaaaa||bbbbbbbbbb|cccccccccc|eeeeeeeeee",
            (1, 0),
        ),
        (
            "\x1b[2;4r\x1b[?6h\x1b[9;9HX",
            "aaaaaaaaaa|bbbbbbbbbb|cccccccccc|ddddddddXd|eeeeeeeeee",
            (3, 9),
        ),
        (
            "\x1b[2;4r\x1b[5;1H\x1b[L",
            "aaaaaaaaaa|bbbbbbbbbb|cccccccccc|dddddddddd|eeeeeeeeee",
            (4, 0),
        ),
        (
            "\x1b[4;2r",
            "aaaaaaaaaa|bbbbbbbbbb|cccccccccc|dddddddddd|eeeeeeeeee",
            (2, 3),
        ),
        (
            "\x1b[2;4r\x1b[3;4H\x1b[9A",
            "aaaaaaaaaa|bbbbbbbbbb|cccccccccc|dddddddddd|eeeeeeeeee",
            (1, 3),
        ),
        (
            "\x1b[2;4r\x1b[3;4H\x1b[9B",
            "aaaaaaaaaa|bbbbbbbbbb|cccccccccc|dddddddddd|eeeeeeeeee",
            (3, 3),
        ),
        (
            "\x1b[2 @",
            "aaaaaaaa|bbbbbbbb|cccccccc|dddddddd|eeeeeeee",
            (2, 3),
        ),
        (
            "\x1b[2 A",
            "  aaaaaaaa|  bbbbbbbb|  cccccccc|  dddddddd|  eeeeeeee",
            (2, 3),
        ),
        (
            "\x1b[2'}",
            "aaa  aaaaa|bbb  bbbbb|ccc  ccccc|ddd  ddddd|eee  eeeee",
            (2, 3),
        ),
        (
            "\x1b[2'~",
            "aaaaaaaa|bbbbbbbb|cccccccc|dddddddd|eeeeeeee",
            (2, 3),
        ),
    ]);
}

/// rule: out-5
#[test]
fn tab_stops_are_set_and_cleared() {
    check(&[
        ("\x1b[4G\x1bH\r\tX", "   X", (0, 4)),
        ("\x1b[3g\tX", "         X", (0, 9)),
        ("\x1b[9G\x1b[g\r\tX", "         X", (0, 9)),
        ("\x1b[9Ga\x1b[ZX", "        X", (0, 9)),
        ("\x1b[9G\x1b[ZX", "X", (0, 1)),
        ("\x1b[3g\x1b[?5W\tX", "        X", (0, 9)),
        ("\x1b[2IX", "         X", (0, 9)),
    ]);
}

/// rule: R4
#[test]
fn a_character_is_repeated() {
    check(&[
        ("a\x1b[3b", "aaaa", (0, 4)),
        ("漢\x1b[2b", "漢漢漢", (0, 6)),
        ("a\x1b[1m\x1b[3b", "a", (0, 1)),
        ("\x1b[3b", "", (0, 0)),
        ("a\x1b[12b", "aaaaaaaaaa|aaa", (1, 3)),
    ]);
}

/// rule: out-11
#[test]
fn two_screens_keep_apart() {
    check(&[
        ("ab\x1b[?1049hXY", "  XY", (0, 4)),
        ("ab\x1b[?1049hXY\x1b[?1049l", "ab", (0, 2)),
        ("ab\x1b[?47hXY\x1b[?47lc", "ab  c", (0, 5)),
        ("ab\x1b[?1047hXY\x1b[?1047l\x1b[?47h", "", (0, 4)),
        (
            "ab\x1b[?1049h\x1b[?1049h\x1b[3;3H\x1b[?1049l\x1b[?1049l",
            "ab",
            (0, 2),
        ),
        ("a\x1b[?1048h\x1b[3;3H\x1b[?1048l", "a", (0, 1)),
    ]);
}

/// rule: out-2, R4
#[test]
fn sequences_end_where_they_should() {
    check(&[
        ("a\x1b[1\x18b", "ab", (0, 2)),
        ("a\x1b[1\x1ab", "ab", (0, 2)),
        ("a\x1b]0;t\x18b", "ab", (0, 2)),
        ("a\x1b[\x1b[Cb", "a b", (0, 3)),
        ("a\x1b[2\rCb", "a b", (0, 3)),
        (
            "a\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19;20;21;22;23;24;25;26;27;28;29;30;31;32;33;34mb",
            "ab",
            (0, 2),
        ),
        ("a\x1b[<>?1zb", "ab", (0, 2)),
        ("a\x1b%Gb", "ab", (0, 2)),
        ("a\x1b#3b", "ab", (0, 2)),
        ("a\x1b]0;é\u{9c}b", "ab", (0, 2)),
        ("a\x1b_G\x07x\x1b\\b", "ab", (0, 2)),
        ("a\u{84}b\u{8d}c", "a c| b", (0, 3)),
    ]);
}

/// rule: A4
#[test]
fn a_screen_may_go_to_another_thread() {
    fn sendable<T: Send>(_: &T) {}
    sendable(&fed(b""));
}
