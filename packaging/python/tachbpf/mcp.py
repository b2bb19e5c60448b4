# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`python -m tachbpf.mcp [DIRECTORY...]`: tachbpf for assistants, by the Model Context Protocol on standard input and output.

The tools read and write files only below the directories (default: the current one). Every answer has at most
LIMIT bytes, and says what was cut. Recording and reading the memory of processes needs root or a sudo that asks for
no password; without either, the answer is the command for a person to run.
"""
from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ._program import Error, complaint, find

if TYPE_CHECKING:
    from mcp.server import MCPServer

LIMIT = 20_000          # bytes of an answer
SECONDS_MAX = 60.0      # of a recording
ROWS_MAX = 200
TIMEOUT = 60.0          # seconds, in addition to a recording's own
NEEDS = "pip install 'tachbpf[mcp]'"
INSTRUCTIONS = """tachbpf profiles Python processes on Linux without changing them. To find out why something is slow: `processes` finds
its pid, `record` records it (mode cpu for CPU time, wall to include waiting), `report` lists the functions with the most time and `annotate` the
lines, `diff` compares two recordings. `dump` shows what each thread does now. `memory` lists what a recording of mode mem found."""

Mode = Literal["cpu", "wall", "offcpu", "gil", "exception", "mem"]


def cut(text: str, limit: int = LIMIT) -> str:
    """At most so many bytes of text (UTF-8), as whole lines and with a last line that says what is missing."""
    data = text.encode()
    if len(data) <= limit:
        return text
    lines = text.splitlines(keepends=True)
    note = "[cut: {} of {} lines are shown, because an answer has at most {} bytes; ask for fewer rows]\n"
    room = limit - len(note.format(len(lines), len(lines), limit).encode())
    shown: list[str] = []
    for line in lines:
        room -= len(line.encode())
        if room < 0:
            break
        shown.append(line)
    return "".join(shown) + note.format(len(shown), len(lines), limit)


class Tools:
    """What an assistant may ask for. Each method is a tool; its docstring is what the assistant reads."""

    def __init__(self, roots: list[Path]) -> None:
        self.roots = roots

    # ---- what is allowed ----

    def _inside(self, path: Path, name: str) -> str:
        if not any(path == root or root in path.parents for root in self.roots):
            raise Error(f"{name} is not below {' or '.join(map(str, self.roots))}: name a file there, or start the server with its directory")
        return str(path)

    def _existing(self, name: str) -> str:
        """The absolute path of a profile that may be read; links are followed before it is judged."""
        try:
            path = (self.roots[0] / name).resolve(strict=True)
        except OSError as error:
            raise Error(f"{name}: {error.strerror}") from error
        return self._inside(path, name)

    def _new(self, name: str) -> str:
        """The absolute path of a file that may be written, which must not exist."""
        path = self.roots[0] / name
        try:
            path = path.parent.resolve(strict=True) / path.name
        except OSError as error:
            raise Error(f"{name}: {error.strerror}") from error
        if path.is_symlink() or path.exists():
            raise Error(f"{name} exists already: choose another name")
        if path.suffix not in (".tach", ".mlyze"):
            raise Error(f"{name}: a profile's name ends in .tach, in mode mem in .mlyze")
        return self._inside(path, name)

    # ---- tachbpf ----

    @staticmethod
    def _run(arguments: list[str], rights: bool = False, seconds: float = 0) -> str:
        """What tachbpf prints. rights: it needs root's."""
        command = [find(), *arguments]
        by_hand = shlex.join(["sudo", *command])
        if rights and os.geteuid():
            command = ["sudo", "-n", *command]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                  timeout=TIMEOUT + seconds)
        except subprocess.TimeoutExpired as error:
            raise Error(f"tachbpf {arguments[0]} did not end within {TIMEOUT + seconds:g} s") from error
        except OSError as error:
            raise Error(f"{command[0]}: {error.strerror}; a person can run: {by_hand}") from error
        if done.returncode:
            said = complaint(done.stderr) or f"tachbpf {arguments[0]} ended with status {done.returncode}"
            raise Error(cut(f"{said}\nA person can run: {by_hand}" if rights else said))
        return done.stdout.decode(errors="replace")

    @staticmethod
    def _rows(limit: int) -> list[str]:
        if not 1 <= limit <= ROWS_MAX:
            raise Error(f"limit {limit}: expected 1 to {ROWS_MAX} rows")
        return ["--limit", str(limit)]

    @staticmethod
    def _pid(pid: int) -> str:
        if not 1 <= pid < 1 << 22:
            raise Error(f"pid {pid}: expected 1 to {(1 << 22) - 1}")
        return str(pid)

    # ---- tools ----

    def processes(self) -> str:
        """Lists the running Python processes: pid, version, threads, CPU share, command, and whether each can be profiled."""
        return cut(self._run(["ps"]))

    def record(self, pid: int, output: str, seconds: float = 10.0, mode: Mode = "cpu", native: bool = False, dry_run: bool = False) -> str:
        """Records a Python process for some seconds (at most 60) into a new profile, output, whose name ends in .tach (in mode mem .mlyze).

        The process is not changed or stopped. mode: cpu (time on CPUs), wall (also waiting), offcpu (only waiting), gil,
        exception, or mem (memory). native: include functions in C. dry_run: only say what would run.
        """
        if not 0.1 <= seconds <= SECONDS_MAX:
            raise Error(f"{seconds:g} seconds: expected 0.1 to {SECONDS_MAX:g}")
        arguments = ["record", "-p", self._pid(pid), "-d", f"{seconds:g}", "-m", mode, *(["--native"] if native else []),
                     "-o", self._new(output)]
        line = f"$ {shlex.join((['sudo', '-n'] if os.geteuid() else []) + ['tachbpf', *arguments])}\n"
        return line if dry_run else cut(line + self._run(arguments, rights=True, seconds=seconds))

    def report(self, profile: str, by: Literal["function", "line", "process", "thread"] = "function", limit: int = 20, focus: str = "") -> str:
        """Lists what took the most time in a profile: self (in the function itself) and total (with what it called), in percent.

        focus: only samples with a function whose name matches this regular expression.
        """
        return cut(self._run(["report", "--by", by, *self._rows(limit), *([f"--focus={focus}"] if focus else []), self._existing(profile)]))

    def annotate(self, profile: str, function: str = "", limit: int = 20) -> str:
        """Shows the source of the hottest lines of a profile, with each line's share of the samples. function: a function or file in full."""
        return cut(self._run(["report", f"--annotate={function}" if function else "--annotate", *self._rows(limit), self._existing(profile)]))

    def dump(self, pid: int) -> str:
        """Shows what each thread of a running Python process does now, with lines of source and locks. It is not stopped."""
        return cut(self._run(["dump", self._pid(pid)], rights=True))

    def diff(self, before: str, after: str, limit: int = 20) -> str:
        """Compares two profiles: which functions take a larger or smaller share, and whether that is more than chance. Markdown."""
        return cut(self._run(["diff", "--format", "markdown", *self._rows(limit), self._existing(before), self._existing(after)]))

    def memory(self, profile: str, by: Literal["function", "line", "stack"] = "function", limit: int = 20) -> str:
        """Lists which code holds memory in a profile of mode mem (.mlyze): held at the end, touched in all, growth."""
        return cut(self._run(["mem", "--by", by, *self._rows(limit), self._existing(profile)]))


def server(roots: list[Path]) -> MCPServer:
    """An MCP server whose tools are restricted to these directories."""
    import functools
    from typing import Any, Callable

    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    def told(tool: Callable[..., str]) -> Callable[..., str]:
        """A tool whose errors are answers for the assistant."""
        @functools.wraps(tool)
        def run(*arguments: Any, **named: Any) -> str:
            try:
                return tool(*arguments, **named)
            except Error as error:
                raise ToolError(str(error)) from error
        return run

    made = MCPServer("tachbpf", instructions=INSTRUCTIONS, log_level="WARNING")
    tools = Tools(roots)
    for tool in (tools.processes, tools.record, tools.report, tools.annotate, tools.dump, tools.diff, tools.memory):
        made.add_tool(told(tool), structured_output=False)      # a second copy of the text would double the answer
    return made


def main(arguments: list[str]) -> int:
    """Serves until standard input ends. Returns an exit status."""
    if arguments and arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    if sys.version_info < (3, 10):
        print(f"tachbpf.mcp: the library mcp requires Python 3.10 or later; this is {sys.version.split()[0]}", file=sys.stderr)
        return 1
    roots = [Path(name) for name in arguments or ["."]]
    missing = [str(root) for root in roots if not root.is_dir()]
    if missing:
        print(f"tachbpf.mcp: {missing[0]} is not a directory", file=sys.stderr)
        return 2
    try:
        find()
        made = server([root.resolve() for root in roots])
    except ImportError as error:
        print(f"tachbpf.mcp: {error}: {NEEDS}", file=sys.stderr)
        return 1
    except Error as error:
        print(f"tachbpf.mcp: {error}", file=sys.stderr)
        return 1
    made.run("stdio")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
