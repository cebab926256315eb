"""A shell on a terminal of its own, and a strict reader of its marks (docs/marks.md).

Nothing sleeps: whoever waits, waits for a mark or for text, with a deadline.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pty
import re
import secrets
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fcntl import ioctl
from pathlib import Path
from types import TracebackType
from typing import Self

from kai_terminal.shells import Launch, ShellOptions, dialect_for

DEADLINE = 10.0

_CURSOR_QUERY = b"\x1b[6n"

_MARK = re.compile(rb"\x1b\]133;(?P<body>[^\x07\x1b]*)(?:\x07|\x1b\\)")
_FORMS = {
    "A": {"required": {"k", "n"}, "optional": {"s", "p", "c", "d"}},
    "B": {"required": {"k", "n"}, "optional": set()},
    "P": {"required": {"k", "n"}, "optional": set()},
    "C": {"required": {"k", "n", "c"}, "optional": {"t"}},
    "D": {"required": {"k", "n", "p", "c"}, "optional": set()},
    "E": {"required": {"k", "n"}, "optional": set()},
}


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark with the right key, and where it stands in what the terminal got."""

    kind: str
    number: int
    status: int | None
    stages: tuple[int, ...] | None
    commands: int | None
    cwd: str | None
    text: str | None
    begin: int
    end: int


def parse(body: bytes, key: str, begin: int, end: int) -> Mark | None:
    """The mark, or `None` where the key is not ours. Raises for a mark of ours that breaks the format."""
    if b"k=" + key.encode() not in body.split(b";"):
        return None
    kind, *rest = body.decode().split(";")
    fields: dict[str, str] = {}
    status: int | None = None
    if kind == "D":
        status = int(rest.pop(0))
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        assert equals, f"a field without a value in {body!r}"
        assert name not in fields, f"{name} twice in {body!r}"
        if name in "dt":
            value, rest = ";".join([value, *rest]), []
        fields[name] = value
    form = _FORMS[kind]
    assert form["required"] <= fields.keys() <= form["required"] | form["optional"], f"fields of {body!r}"
    assert re.fullmatch("[1-9][0-9]*", fields["n"]), body
    if fields.get("s"):
        status = int(fields["s"])
    stages = tuple(map(int, fields["p"].split(" "))) if fields.get("p") else None
    return Mark(
        kind=kind,
        number=int(fields["n"]),
        status=status,
        stages=stages,
        commands=int(fields["c"]) if fields.get("c") else None,
        cwd=fields.get("d") or None,
        text=fields.get("t"),
        begin=begin,
        end=end,
    )


@dataclass(slots=True)
class Result:
    """What one send showed, as far as marks tell: `None` is not known."""

    code: int | None
    stages: tuple[int, ...] | None
    cwd: str | None
    output: str | None
    raw: bytes
    marks: list[Mark]
    continuation: bool = False

    @property
    def text(self) -> str:
        """All that was printed, echo and prompts included, without the marks."""
        return _MARK.sub(b"", self.raw).decode()

    @property
    def kinds(self) -> str:
        return "".join(mark.kind for mark in self.marks)


@dataclass(slots=True)
class Shell:
    """A running shell. Use as a context manager: leaving it ends the shell, also when the test fails."""

    program: str
    home: Path
    options: ShellOptions = field(default_factory=ShellOptions)
    env: Mapping[str, str] = field(default_factory=dict)
    key: str = field(default_factory=lambda: secrets.token_hex(16))
    launch: Launch = field(init=False)
    pid: int = field(init=False)
    master: int = field(init=False)
    raw: bytearray = field(init=False, default_factory=bytearray)
    marks: list[Mark] = field(init=False, default_factory=list)
    #: The marks of prompts that were drawn again: not among `marks`.
    redrawn: list[Mark] = field(init=False, default_factory=list)
    foreign: int = field(init=False, default=0)
    ended: bool = field(init=False, default=False)
    code: int | None = field(init=False, default=None)
    _scanned: int = field(init=False, default=0)
    _position: int = field(init=False, default=0)
    _seen: int = field(init=False, default=0)
    _commands: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.launch = dialect_for(self.program).launch(self.program, self.key, self.options)

    def __enter__(self) -> Self:
        pipes = {number: _filled_pipe(content) for number, content in self.launch.descriptors.items()}
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        environment |= self.env
        environment |= self.options.env
        for name, value in self.launch.env.items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            _become(self.launch, pipes, environment, self.home)
        for read_end in pipes.values():
            os.close(read_end)
        ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self.ended:
            # All of the shell's session, background jobs too. Its id is not reused before the shell has been reaped.
            for pid in _session(self.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            os.close(self.master)
            os.waitpid(self.pid, 0)

    def write(self, data: str) -> None:
        os.write(self.master, data.encode())

    def wait(self, done: Callable[[], bool], what: str) -> None:
        """Reads until `done()`; fails with the screen's bytes when the shell ended or the deadline passed."""
        assert self._read_until(done, DEADLINE), f"no {what} before the end or in time: {bytes(self.raw)!r}"

    def _read_until(self, done: Callable[[], bool], seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not done():
            remaining = deadline - time.monotonic()
            if self.ended or remaining <= 0:
                return False
            if select.select([self.master], [], [], remaining)[0]:
                self._read()
        return True

    def ready(self) -> Result:
        """Waits for the start-up prompt."""
        return self._until_prompt(1)

    def run(self, text: str, prompts: int = 1, end: str = "\r") -> Result:
        """Types `text` and Enter, and waits until `prompts` prompts have been printed."""
        self.write(text + end)
        return self._until_prompt(prompts)

    def until_exit(self, text: str) -> int:
        """Types `text`, and waits for the shell's end. The exit code, negative for a signal."""
        self.write(text + "\r")
        # The end is the process's, not the terminal's: another process may have that open for longer.
        end = os.pidfd_open(self.pid)
        try:
            assert select.select([end], [], [], DEADLINE)[0], f"the shell did not end: {bytes(self.raw)!r}"
        finally:
            os.close(end)
        while not self.ended and select.select([self.master], [], [], 0)[0]:
            self._read()
        if not self.ended:
            self._end()
        assert self.code is not None
        return self.code

    def interrupt(self) -> Result:
        """Types Ctrl-C until a prompt has been printed.

        More than once, because a fish may lose a SIGINT, without our marks too: up to half of those that come right
        after its echo. At an empty line it ignores the others.
        """
        count = len(self.marks)
        for _ in range(20):
            self.write("\x03")
            if self._read_until(lambda: any(mark.kind == "B" for mark in self.marks[count:]), DEADLINE / 20):
                break
        return self._until_prompt(1)

    def text_of(self, text: str) -> Result:
        """Types `text`, and waits for a secondary prompt."""
        self.write(text + "\r")
        self.wait(lambda: any(mark.kind == "P" for mark in self.marks[self._seen :]), "secondary prompt")
        return self._take()

    def shown(self, text: str) -> None:
        """Waits until `text` has been printed after what has been taken so far."""
        self.wait(lambda: text.encode() in self.raw[self._position :], repr(text))

    def until_reading(self) -> None:
        """Waits until the shell is blocked in the kernel, as it is when it wants input.

        A bash that gets SIGINT while it draws forgets to draw the next prompt; without our marks too, only less often.
        """
        calls = {"x86_64": {"0", "7", "23", "270", "271"}, "aarch64": {"63", "72", "73"}}[os.uname().machine]
        deadline = time.monotonic() + DEADLINE
        while Path(f"/proc/{self.pid}/syscall").read_text().split()[0] not in calls:
            assert time.monotonic() < deadline, "the shell does not come to rest"
            os.sched_yield()

    def _until_prompt(self, prompts: int) -> Result:
        def done() -> bool:
            return sum(mark.kind == "B" for mark in self.marks[self._seen :]) >= prompts

        self.wait(done, f"{prompts} prompt(s)")
        return self._take()

    def _take(self) -> Result:
        marks = self.marks[self._seen :]
        end = marks[-1].end
        raw = bytes(self.raw[self._position : end])
        outputs: list[bytes] = []
        start: int | None = None
        for mark in marks:
            if start is not None:
                outputs.append(bytes(self.raw[start : mark.begin]))
                start = None
            if mark.kind == "C":
                start = mark.end
        code, stages = None, None
        counted = [mark for mark in marks if mark.commands is not None and mark.kind != "C"]
        if counted and (counted[-1].commands or 0) > self._commands:
            # The first mark that tells of the last command: a D, else the A.
            told = [m for m in counted if m.status is not None and m.commands == counted[-1].commands]
            if told:
                code, stages = told[0].status, told[0].stages
        self._commands = max([self._commands, *(mark.commands or 0 for mark in marks)])
        if "command_start" not in self.launch.reports and marks[-1].kind != "P":
            # Nothing counts commands: the status is that of the last one, whenever it ran.
            code, stages = marks[-2].status, marks[-2].stages
        cwds = [mark.cwd for mark in marks if mark.kind == "A"]
        output = None
        if outputs:
            output = b"".join(outputs).decode().removesuffix("\x1b[?2004h").replace("\r\n", "\n")
        self._seen, self._position = len(self.marks), end
        return Result(code, stages, cwds[-1] if cwds else None, output, raw, marks, marks[-1].kind == "P")

    def _end(self) -> None:
        self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.ended = True
        os.close(self.master)

    def _read(self) -> None:
        try:
            data = os.read(self.master, 65536)
        except OSError as error:
            # Linux says EIO when nobody has the other side open any more.
            if error.errno != errno.EIO:
                raise
            data = b""
        if not data:
            self._end()
            return
        queries = self.raw[-len(_CURSOR_QUERY) + 1 :] + data
        self.raw += data
        # Some shells wait for this at every prompt. Where the cursor really is does not matter to any test.
        os.write(self.master, b"\x1b[1;1R" * queries.count(_CURSOR_QUERY))
        for match in _MARK.finditer(self.raw, self._scanned):
            mark = parse(match["body"], self.key, match.start(), match.end())
            self._scanned = match.end()
            if mark is None:
                self.foreign += 1
            elif self._is_redraw(mark):
                self.redrawn.append(mark)
            else:
                self.marks.append(mark)

    def _is_redraw(self, mark: Mark) -> bool:
        return mark.kind in "AB" and mark.number in [m.number for m in self.marks if m.kind == mark.kind][-1:]


def _session(leader: int) -> list[int]:
    """The processes whose session is `leader`'s (proc_pid_stat(5): the fourth field after the name)."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                session = (entry / "stat").read_text().rpartition(")")[2].split()[3]
                if int(session) == leader:
                    found.append(int(entry.name))
    return found


def _filled_pipe(content: bytes) -> int:
    assert len(content) < 60_000
    read_end, write_end = os.pipe()
    os.write(write_end, content)
    os.close(write_end)
    return read_end


def _become(launch: Launch, pipes: Mapping[int, int], environment: Mapping[str, str], cwd: Path) -> None:
    """In the child: the descriptors in their places, then the shell. Does not return."""
    try:
        # First all out of the way, so that no number is overwritten before it was moved.
        moved = {number: os.dup2(read_end, 200 + number) for number, read_end in pipes.items()}
        for read_end in pipes.values():
            os.close(read_end)
        for number, read_end in moved.items():
            os.dup2(read_end, number)
            os.close(read_end)
        os.chdir(cwd)
        os.execve(launch.argv[0], [launch.arg0 or launch.argv[0], *launch.argv[1:]], dict(environment))  # noqa: S606
    finally:
        os._exit(127)


#: Makes a shell: its name, then `rc`, `environment` and the fields of `ShellOptions`.
Start = Callable[..., Shell]
