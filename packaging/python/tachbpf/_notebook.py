# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""%tachbpf and %%tachbpf: the profile of an expression or a cell, below the cell.

What is shown are two forms of one answer: HTML with the flame graph (the page of `tachbpf convert -o
x.html`, in a sandboxed frame without an address of its own) and a table of the hottest lines, and the
same table as text for front ends without HTML.
"""
from __future__ import annotations

import html
import importlib
import json
import linecache
import re
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple, Optional

from . import _program
from ._program import Error
from ._record import Option, Recording

USAGE = "%tachbpf [--native] [--wall] [--mode MODE] [--rate N] EXPRESSION, or the same without EXPRESSION as %%tachbpf"
PAGE_MAX = 8 << 20      # bytes of a page that become part of a notebook
FRAME_PX = 600
LINES = 10              # of the table
SOURCES_MAX = 4 << 20   # bytes of cells' text
KERNEL_PACKAGES = ("ipykernel", "IPython", "zmq", "tornado", "jupyter_client")
_OPTION = re.compile(r"\s*--(?P<name>[a-z]+)(?:=(?P<value>\S+))?(?=\s|$)")
_WORD = re.compile(r"\s*(\S+)")
_STYLE = ("<style>.tachbpf td,.tachbpf th{text-align:left!important;white-space:pre;padding:1px 8px!important}"
          ".tachbpf td:first-child{text-align:right!important}</style>")


class Line(NamedTuple):
    """A hot line: its share of all samples in percent, where it is, and its text ("" if that is not known)."""

    percent: float
    place: str
    function: str
    text: str


# ---- the words after the magic ----


def parse(line: str, usage_error: type[Exception]) -> tuple[dict[str, Option], str]:
    """Options for record(), and the rest of the line, untouched. Raises usage_error."""
    options: dict[str, Option] = {}
    while True:
        found = _OPTION.match(line)
        if not found:
            return options, line.strip()
        name, value, line = found["name"], found["value"], line[found.end():]
        if name in ("mode", "rate") and value is None:
            word = _WORD.match(line)
            if not word:
                raise usage_error(f"--{name} needs a value: {USAGE}")
            value, line = word[1], line[word.end():]
        if name == "wall" and value is None:
            options["mode"] = "wall"
        elif name in ("mode", "rate", "native"):
            options[name] = value or True
        else:
            raise usage_error(f"unknown option {found[0].strip()}: {USAGE}")


# ---- what is shown ----


def _text_of(file: str, number: int) -> str:
    """A line of a cell, or of a file."""
    return linecache.getline(file, number).strip()


def _place(file: str, number: int) -> str:
    """A line's place as a reader of the notebook knows it."""
    if "ipykernel_" in file or file.startswith("<ipython-input"):
        return f"this notebook, line {number}"
    return f"{Path(file).name}:{number}"


def _rows(recording: Path, selection: list[str], limit: int) -> list[dict[str, Any]]:
    """Rows of lines, the hottest first; 0: all."""
    said = json.loads(_program.output(["report", "--by=line", f"--limit={limit}", "--json", *selection, "--", str(recording)]))
    rows: list[dict[str, Any]] = said["rows"]
    return [row for row in rows if row["file"]]


def hot_lines(rows: list[dict[str, Any]]) -> list[Line]:
    """The lines with most samples of their own; a line with several functions is one."""
    found: dict[tuple[str, int], Line] = {}
    for row in rows:
        file, number = row["file"], max(row["line"] or 0, 0)
        if row["self"]:
            before = found.get((file, number))
            found[file, number] = Line((before.percent if before else 0) + row["self_pct"], _place(file, number),
                                       before.function if before else row["function"], _text_of(file, number))
    return sorted(found.values(), key=lambda line: -line.percent)[:LINES]


def keep_cells(recording: Path, files: set[str]) -> None:
    """Adds the text of cells that were sampled to the recording's sources: they are in no file."""
    path = recording.with_name(recording.name + ".sources.json")
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"version": 1, "sources": []}
    left = SOURCES_MAX
    for file in sorted(files):
        if not file.startswith("/") or file not in linecache.cache or Path(file).exists():
            continue
        text = "".join(linecache.getlines(file))
        left -= len(text)
        if left < 0:
            break
        kept["sources"].append({"path": file, "changed": False, "text": text})
    if kept["sources"]:
        path.write_text(json.dumps(kept))


def as_text(lines: list[Line]) -> str:
    """The table for front ends without HTML."""
    if not lines:
        return "tachbpf: no samples of Python code; --wall also samples waiting"
    width = min(max(len(line.place) for line in lines), 40)
    return "\n".join(["self %  " + "line".ljust(width) + "  source"]
                     + [f"{line.percent:6.1f}  {line.place:{width}}  {line.text or line.function}" for line in lines])


def as_html(lines: list[Line], page: str) -> str:
    """Frame and table. page: the flame graph's HTML, or "" if there is none."""
    parts = []
    if len(page) > PAGE_MAX:
        parts.append(f"<p>The flame graph is not shown: it would add {len(page) / 2**20:.1f} MiB to the notebook, and the "
                     f"limit is {PAGE_MAX >> 20} MiB. A lower <code>--rate</code> makes it smaller.</p>")
    elif page:
        # An opaque origin: the page can neither read the notebook nor speak for it.
        parts.append(f'<iframe class="tachbpf" sandbox="allow-scripts" style="width:100%;height:{FRAME_PX}px;border:0" '
                     f'srcdoc="{html.escape(page)}"></iframe>')
    if not lines:
        return "".join(parts) + f"<p>{html.escape(as_text(lines))}</p>"
    rows = "".join(f"<tr><td>{line.percent:.1f}</td><td>{html.escape(line.place)}</td>"
                   f"<td><code>{html.escape(line.text or line.function)}</code></td></tr>" for line in lines)
    parts.append(f'{_STYLE}<table class="tachbpf"><tr><th>self %</th><th>line</th><th>source</th></tr>{rows}</table>')
    return "".join(parts)


def answer(recording: Path, selection: list[str]) -> dict[str, str]:
    """What the front end shows, by type, of the samples that the CLI's filters select."""
    rows = _rows(recording, selection, 0) if recording.exists() else []
    lines, page = hot_lines(rows), ""
    if lines:
        keep_cells(recording, {row["file"] for row in rows})
        written = recording.with_suffix(".html")
        _program.output(["convert", "-o", str(written), *selection, "--", str(recording)])
        page = written.read_text()
    return {"text/plain": as_text(lines), "text/html": as_html(lines, page)}


# ---- the magic ----


def _kernel_threads() -> set[int]:
    """Threads that packages of the kernel have started themselves, some of them late."""
    return {thread.native_id or 0 for thread in threading.enumerate()
            if type(thread).__module__.partition(".")[0] in KERNEL_PACKAGES}


class Cell:
    """One run of code in a shell, and which samples are its own."""

    def __init__(self, shell: Any, others: frozenset[int]) -> None:
        self._shell, self._others = shell, others
        self._thread = threading.get_native_id()

    def run(self, code: str) -> Optional[BaseException]:
        """Runs it as a cell is run: shows its result or its traceback. Returns the exception."""
        self._begin_ns = time.monotonic_ns()
        done = self._shell.run_cell(code, store_history=False)
        self._end_ns = time.monotonic_ns()
        error: Optional[BaseException] = done.error_before_exec or done.error_in_exec
        return error

    def selection(self, recording: Path) -> list[str]:
        """Filters of the CLI: its time, and not the kernel's own threads, which wait."""
        times = [f"--from=@{self._begin_ns / 1e9:.6f}", f"--to=@{self._end_ns / 1e9:.6f}"]
        if not recording.exists():
            return times
        said = json.loads(_program.output(["info", "--json", "--", str(recording)]))
        threads = {thread["thread"] for file in said["files"] for thread in file["threads"]}
        threads -= (self._others | _kernel_threads()) - {self._thread}
        return times + [f"--thread={thread}" for thread in sorted(threads)]


def profile(shell: Any, others: frozenset[int], line: str, code: Optional[str]) -> None:
    """The magic itself. others: threads of the kernel's own."""
    UsageError = importlib.import_module("IPython.core.error").UsageError
    options, expression = parse(line, UsageError)
    if (code is None) != bool(expression):
        raise UsageError(USAGE)
    with tempfile.TemporaryDirectory(prefix="tachbpf-") as directory:
        path, cell = Path(directory, "cell.tach"), Cell(shell, others)
        try:
            with Recording(path, options):
                error = cell.run(expression if code is None else code)
            shell.display_pub.publish(answer(path, cell.selection(path)))
        except Error as failure:
            raise UsageError(f"tachbpf: {failure}") from None
    if error:
        # It was shown already; later cells must not run.
        setattr(error, "_render_traceback_", lambda: [f"{type(error).__name__}: {error}"])
        raise error


def load(shell: Any) -> None:
    """Adds the magic to a shell of IPython's: %load_ext tachbpf."""
    others = frozenset(thread.native_id for thread in threading.enumerate() if thread.native_id)

    def tachbpf(line: str, cell: Optional[str] = None) -> None:
        profile(shell, others, line, cell)

    tachbpf.__doc__ = f"Profiles an expression or a cell, and shows its flame graph.\n\n{USAGE}"
    shell.register_magic_function(tachbpf, magic_kind="line_cell", magic_name="tachbpf")
