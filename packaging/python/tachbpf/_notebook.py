# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""%tachbpf and %%tachbpf: the profile of an expression or a cell, below the cell.

What is shown are two forms of one answer: HTML with the flame graph (the page of `tachbpf convert -o
x.html`, in a sandboxed frame without an address of its own) and a table of the hottest lines, and the
same table as text for front ends without HTML.
"""
from __future__ import annotations

import html
import json
import linecache
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple, Union

from . import _program
from ._program import Error
from ._record import Option, record

USAGE = "%tachbpf [--native] [--wall] [--mode MODE] [--rate N] EXPRESSION, or the same without EXPRESSION as %%tachbpf"
PAGE_MAX = 8 << 20      # bytes of a page that become part of a notebook
FRAME_PX = 600
LINES = 10              # of the table
SOURCES_MAX = 4 << 20   # bytes of cells' text
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


def hot_lines(recording: Path) -> list[Line]:
    """The lines with most samples of their own."""
    said = json.loads(_program.output(["report", "--by", "line", "--limit", str(LINES), "--json", "--", str(recording)]))
    lines = []
    for row in said["rows"]:
        file, number = row["file"], row["line"]
        if file and number and number > 0 and row["self"]:
            lines.append(Line(row["self_pct"], _place(file, number), row["function"], _text_of(file, number)))
    return lines


def keep_cells(recording: Path) -> None:
    """Adds the text of cells that were sampled to the recording's sources: they are in no file."""
    path = recording.with_name(recording.name + ".sources.json")
    kept = json.loads(path.read_text()) if path.exists() else {"version": 1, "sources": []}
    said = json.loads(_program.output(["report", "--by", "line", "--limit", "0", "--json", "--", str(recording)]))
    left = SOURCES_MAX
    for file in sorted({row["file"] for row in said["rows"] if row["file"]}):
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


def answer(recording: Path) -> dict[str, str]:
    """What the front end shows, by type."""
    if not recording.exists():
        return {"text/plain": as_text([]), "text/html": as_html([], "")}
    keep_cells(recording)
    lines = hot_lines(recording)
    page = recording.with_suffix(".html")
    if lines:
        _program.output(["convert", "-o", str(page), "--", str(recording)])
    return {"text/plain": as_text(lines), "text/html": as_html(lines, page.read_text() if page.exists() else "")}


# ---- the magic ----


def _run(shell: Any, code: str) -> Any:
    """Runs code as a cell is run; shows its result and a traceback. Returns the exception, or None."""
    done = shell.run_cell(code, store_history=False)
    return done.error_before_exec or done.error_in_exec


def profile(shell: Any, line: str, cell: Union[str, None] = None) -> None:
    """The magic itself."""
    from IPython.core.error import UsageError
    from IPython.display import display

    options, expression = parse(line, UsageError)
    if (cell is None) != bool(expression):
        raise UsageError(USAGE)
    with tempfile.TemporaryDirectory(prefix="tachbpf-") as directory:
        path = Path(directory, "cell.tach")
        try:
            with record(path, **options):   # type: ignore[arg-type]
                error = _run(shell, expression if cell is None else cell)
            display(answer(path), raw=True)
        except Error as failure:
            raise UsageError(f"tachbpf: {failure}") from None
    if error:
        # It was shown already; later cells must not run.
        error._render_traceback_ = lambda: [f"{type(error).__name__}: {error}"]
        raise error


def load(shell: Any) -> None:
    """Adds the magic to a shell of IPython's: %load_ext tachbpf."""
    def tachbpf(line: str, cell: Union[str, None] = None) -> None:
        profile(shell, line, cell)

    tachbpf.__doc__ = f"Profiles an expression or a cell, and shows its flame graph.\n\n{USAGE}"
    shell.register_magic_function(tachbpf, magic_kind="line_cell", magic_name="tachbpf")
