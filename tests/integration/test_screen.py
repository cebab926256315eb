"""The emulator alone, and the screen of a terminal while programs draw on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kai_terminal import Screen, Terminal
from programs import PROMPT, bash, how, needs

STREAMS = {
    "text": "one\r\ntwo é 漢字 👨‍👩‍👧\r\n" + "long " * 40 + "\r\n",
    "colours": "\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3mrgb\x1b[4:3m curly\x1b[m\r\n",
    "cursor": "\x1b[2J\x1b[5;10Hhere\x1b[3Aup\x1b[1K\x1b[10Cright\x1b[2D\x1b[K\x1b7\x1b[1;1H\x1b8back",
    "region": "\x1b[3;6r\x1b[3;1H" + "".join(f"line {n}\r\n" for n in range(10)) + "\x1b[r\x1b[Hend",
    "strings": "a\x1b]0;title\x07b\x1bPq#0~~\x1b\\c\x1b_apc\x1b\\d\x1b^pm\x1b\\e\x1bXsos\x1b\\f",
    "alternate": "shell\r\n\x1b[?1049heditor\x1b[?25l\x1b[5;5Hx\x1b[?1049l\x1b[?25hafter",
    "questions": "\x1b[6n\x1b[c\x1b[>c\x1b[5n\x1b[?2004$p\x1b[>q",
    "box": "\x1b(0lqqk\r\nx  x\r\nmqqj\x1b(B plain",
    "history": "".join(f"{n:05d}\r\n" for n in range(300)),
    "bad": "a\x1b[999;999;999Hb\x1b[?zc\x1b[38;5md\x18e\x1b\x1b[Bf",
}

FORMS = ("text", "ansi", "html", "svg")


def state(screen: Screen) -> tuple[object, ...]:
    cursor = screen.cursor
    return (
        screen.rows(),
        screen.text,
        (cursor.row, cursor.col, cursor.visible),
        screen.title,
        screen.modes,
        screen.size,
        screen.history(0, 1000),
        [screen.snapshot(form) for form in FORMS],
    )


@pytest.mark.rule("A4")
@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("piece", [1, 3, 7])
def test_the_state_does_not_depend_on_how_the_bytes_are_cut(name: str, piece: int) -> None:
    data = STREAMS[name].encode()
    whole, cut = Screen(40, 10, 100), Screen(40, 10, 100)
    replies = whole.feed(data)
    assert b"".join(cut.feed(data[at : at + piece]) for at in range(0, len(data), piece)) == replies
    assert state(cut) == state(whole)


@pytest.mark.rule("A4", "query-1", "query-2")
def test_replies_are_those_of_a_terminal() -> None:
    screen = Screen(40, 10)
    assert screen.feed(b"ab\r\ncd\x1b[6n") == b"\x1b[2;3R"
    assert screen.feed(b"\x1b[5n") == b"\x1b[0n"
    assert screen.feed(b"\x1b[c").startswith(b"\x1b[?")
    assert screen.feed(b"\x1b[?2004$p") == b"\x1b[?2004;2$y"
    assert screen.feed(b"\x1b[?2004h\x1b[?2004$p") == b"\x1b[?2004;1$y"
    assert screen.feed(b"no question") == b""


@pytest.mark.rule("A4", "R2", "R4")
def test_history_pages_are_those_of_a_read() -> None:
    screen = Screen(20, 5, scrollback_lines=50)
    screen.feed("".join(f"line {n}\r\n" for n in range(200)).encode() + b"x" * 45)
    page = screen.history(0, 2)
    assert page.text.splitlines() == ["line 199", "x" * 45]
    assert (page.line_begin, page.line_end) == (0, 2)
    older = screen.history(page.line_end, 3)
    assert older.text.splitlines() == ["line 196", "line 197", "line 198"]
    assert screen.history(10_000).text == ""
    with pytest.raises(ValueError):
        screen.history(0, 0)


@pytest.mark.rule("A4", "R4")
def test_a_resize_wraps_anew_and_loses_nothing() -> None:
    screen = Screen(20, 5)
    screen.feed(b"a" * 30 + b"\r\nend")
    assert screen.rows()[:3] == ["a" * 20, "a" * 10, "end"]
    screen.resize(10, 5)
    assert screen.size == (10, 5)
    assert screen.rows()[:4] == ["a" * 10, "a" * 10, "a" * 10, "end"]
    screen.resize(40, 5)
    assert screen.rows()[:2] == ["a" * 30, "end"]
    assert screen.history().text.splitlines() == ["a" * 30, "end"]
    for size in ((0, 5), (5, 0), (70_000, 5), (-1, 5)):
        with pytest.raises(ValueError):
            screen.resize(*size)
    assert screen.size == (40, 5)


@pytest.mark.rule("A4")
def test_a_screen_of_an_impossible_size_is_refused() -> None:
    for size in ((0, 24), (80, 0), (70_000, 24), (80, -1)):
        with pytest.raises(ValueError):
            Screen(*size)


@pytest.mark.rule("A4")
@pytest.mark.parametrize("name", ["text", "colours", "cursor", "box", "region"])
def test_the_ansi_form_rebuilds_the_screen(name: str) -> None:
    screen, again = Screen(40, 10), Screen(40, 10)
    screen.feed(STREAMS[name].encode())
    again.feed(screen.snapshot("ansi").encode())
    assert again.rows() == screen.rows()
    assert again.cursor == screen.cursor
    assert again.snapshot("html") == screen.snapshot("html")


@pytest.mark.rule("A4")
def test_the_forms_are_what_they_say_and_escape_what_they_hold() -> None:
    screen = Screen(20, 3)
    screen.feed(b"<b>&\x1b[31mred")
    assert screen.snapshot("text").startswith("<b>&red")
    assert "<b>" not in screen.snapshot("html")
    assert "&lt;b&gt;&amp;" in screen.snapshot("html")
    assert screen.snapshot("svg").startswith("<svg")
    assert "\x1b[" in screen.snapshot("ansi")
    with pytest.raises(ValueError):
        screen.snapshot("other")  # type: ignore[arg-type]


@pytest.mark.rule("A4")
def test_title_and_cursor_and_modes_are_told() -> None:
    screen = Screen()
    screen.feed(b"\x1b]2;a title\x07\x1b[3;4H\x1b[?25l\x1b[?2004h")
    assert screen.title == "a title"
    assert (screen.cursor.row, screen.cursor.col, screen.cursor.visible) == (2, 3, False)
    plain = Screen().modes
    assert {name for name, value in screen.modes.items() if plain[name] != value}


# The screen of a terminal.


@pytest.mark.rule("out-11", "R2", "A2")
async def test_a_pager_is_on_the_screen_and_not_in_the_history(terminal: Terminal, tmp_path: Path) -> None:
    needs("less")
    (tmp_path / "text").write_text("".join(f"paged {n}\n" for n in range(100)))
    result = await terminal.send(f"echo before; less {tmp_path / 'text'}")
    assert result.waiting_for == "keys"
    screen = terminal.screen()
    assert screen.rows()[0] == "paged 0"
    assert "paged 22" in screen.text
    assert "paged" not in terminal.read().text
    await terminal.press("Space")
    assert (await terminal.send("", submit=False)).waiting_for == "keys"
    assert "paged 40" in terminal.screen().text
    assert how(await terminal.send("q", submit=False)) == PROMPT
    assert "paged" not in terminal.screen().text
    assert "before" in terminal.read().text
    assert "paged" not in terminal.read().text


@pytest.mark.rule("out-11", "in-7", "query-3")
async def test_an_editor_is_on_the_screen_and_takes_keys(terminal: Terminal, tmp_path: Path) -> None:
    needs("vi")
    new = tmp_path / "new"
    await terminal.run("echo before")
    await terminal.send(f"vi -u NONE {new}", idle_silence=0.7)
    assert "~" in terminal.screen().text
    await terminal.send("ihello", submit=False, idle_silence=0.3)
    assert terminal.screen().rows()[0] == "hello"
    await terminal.press("Esc")
    await terminal.send("", submit=False, idle_silence=0.3)
    result = await terminal.send(":wq")
    assert (how(result), result.exit_code) == (PROMPT, 0)
    assert new.read_text() == "hello\n"
    assert "before" in terminal.screen().text
    assert "~" not in terminal.read().text.split()


@pytest.mark.rule("A2", "A4")
async def test_a_screen_is_the_moments_and_stays_so() -> None:
    async with bash(cols=40, rows=5) as terminal:
        await terminal.run("echo first")
        screen = terminal.screen()
        await terminal.run("clear; echo second")
        assert "first" in screen.text
        assert "second" in terminal.screen().text
        assert len(screen.rows()) == 5
