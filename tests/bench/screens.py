#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""screens.py DIRECTORY: README's pictures, by the commands that it names: flamegraph.png, the page of
a recording of tools/demo.py in Chromium, and top.svg, the screen of `tachbpf top` in tmux."""
import collections
import contextlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))
sys.dont_write_bytecode = True

from browser import Browser  # noqa: E402
from paths import REPO, binary  # noqa: E402
from processes import kill  # noqa: E402
from tmux import Terminal  # noqa: E402

PAGE = (1000, 600)          # pixels
PALETTE = 160               # colours of its picture
SCREEN = (132, 10)          # columns, rows
MOST = 60 * 1024            # bytes of a picture
SGR = re.compile(r"\x1b\[([\d;]*)m")
# The eight colours of a terminal on a dark page, and their bright ones.
COLOURS = ("#6e7681", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#e6edf3")
TEXT, PAPER = "#e6edf3", "#0d1117"
CHAR, LINE, EDGE = 8, 18, 14        # pixels: a column, a row, the margin


class Pen:
    """How text looks: what the escape sequences so far have chosen."""

    def __init__(self):
        self.bold = self.dim = self.reverse = False
        self.colour = None

    def choose(self, codes):
        numbers = [int(n or 0) for n in codes.split(";")]
        for n in numbers:
            if n == 0:
                self.__init__()
            elif n in (1, 2, 7):
                setattr(self, {1: "bold", 2: "dim", 7: "reverse"}[n], True)
            elif n in (22, 27):
                self.bold, self.dim, self.reverse = (self.bold, self.dim, False) if n == 27 else (False, False, self.reverse)
            elif n == 39:
                self.colour = None
            elif 30 <= n <= 37 or 90 <= n <= 97:
                self.colour = COLOURS[n % 10]

    def style(self):
        colour = PAPER if self.reverse else self.colour or TEXT
        return (f'fill="{colour}"' + ' font-weight="bold"' * self.bold + ' opacity="0.7"' * self.dim)


def drawn_line(line, row):
    """The SVG of one line of a screen."""
    pen, at, boxes, spans = Pen(), 0, [], []
    y = EDGE + LINE * row
    for i, part in enumerate(SGR.split(line)):
        if i % 2:
            pen.choose(part)
            continue
        x = EDGE + CHAR * at
        if part and pen.reverse:
            boxes.append(f'<rect x="{x}" y="{y}" width="{CHAR * len(part)}" height="{LINE}" '
                         f'fill="{pen.colour or TEXT}"/>')
        if part.strip():
            spans.append(f'<tspan x="{x}" {pen.style()} textLength="{CHAR * len(part)}">{escape(part)}</tspan>')
        at += len(part)
    text = f'<text y="{y + 13}" xml:space="preserve">{"".join(spans)}</text>' if spans else ""
    return "".join(boxes) + text


def draw(screen, columns):
    """A terminal's screen with its escape sequences as SVG."""
    lines = screen.rstrip("\n").split("\n")
    width, height = 2 * EDGE + CHAR * columns, 2 * EDGE + LINE * len(lines)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        "<title>tachbpf top</title>",
        "<style>text { font: 13px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace }</style>",
        f'<rect width="{width}" height="{height}" rx="6" fill="{PAPER}"/>',
        *filter(None, (drawn_line(line, row) for row, line in enumerate(lines))), "</svg>"]) + "\n"


@contextlib.contextmanager
def running(*argv, **how):
    process = subprocess.Popen(argv, start_new_session=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, **how)
    try:
        yield str(process.pid)
    finally:
        kill(process)


def unfiltered(rows, stride, depth):
    """The bytes of a PNG's rows, each of which begins with the number of its filter."""
    before = bytes(stride)
    for start in range(0, len(rows), stride + 1):
        kind, row = rows[start], bytearray(rows[start + 1:start + 1 + stride])
        for i in range(stride if kind else 0):
            left, up = row[i - depth] if i >= depth else 0, before[i]
            corner = before[i - depth] if i >= depth else 0
            if kind == 4:
                near = min((abs(up - corner), 0, left), (abs(left - corner), 1, up),
                           (abs(left + up - 2 * corner), 2, corner))[2]
            else:
                near = (left, up, (left + up) // 2)[kind - 1]
            row[i] = (row[i] + near) & 255
        yield bytes(row)
        before = row


def chunks(png):
    at = 8
    while at < len(png):
        size, kind = struct.unpack_from(">I4s", png, at)
        yield kind, png[at + 8:at + 8 + size]
        at += size + 12


def reduced(png):
    """A picture of Chromium's with a palette: text and plain areas need few colours."""
    parts = collections.defaultdict(bytes)
    for kind, data in chunks(png):
        parts[kind] += data
    width, height, _, kind = struct.unpack_from(">IIBB", parts[b"IHDR"])
    depth = {2: 3, 6: 4}[kind]
    rows = [[row[i:i + 3] for i in range(0, len(row), depth)]
            for row in unfiltered(zlib.decompress(parts[b"IDAT"]), width * depth, depth)]
    seen = collections.Counter(pixel for row in rows for pixel in row)
    palette = [colour for colour, _ in seen.most_common(PALETTE)]
    index = {c: min(range(len(palette)), key=lambda i: sum((a - b) ** 2 for a, b in zip(c, palette[i])))
             for c in seen}
    data = zlib.compress(b"".join(b"\0" + bytes(index[p] for p in row) for row in rows), 9)
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    return png[:8] + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in ((b"IHDR", head), (b"PLTE", b"".join(palette)), (b"IDAT", data), (b"IEND", b"")))


def flame_graph(python, program, out):
    """Records the program for 5 s, and takes a picture of its page."""
    with tempfile.TemporaryDirectory() as scratch:
        profile, page = Path(scratch) / "demo.tach", Path(scratch) / "demo.html"
        subprocess.run([binary(), "-q", "-o", profile, "--", python, program, "5"], check=True, cwd=program.parent)
        subprocess.run([binary(), "convert", profile, "-o", page], check=True)
        with Browser() as browser:
            browser.open(page, *PAGE).screenshot(out)
    out.write_bytes(reduced(out.read_bytes()))


def live_view(python, program, out):
    """The screen of `tachbpf top` while three programs run: the demo's, and two of CPython's own."""
    library = subprocess.check_output([python, "-c", "import os; print(os.path.dirname(os.__file__))"], text=True).strip()
    scratch = program.parent
    (scratch / "lib").symlink_to(library)   # no path of this machine is in the picture
    with running(python, program, "60") as one, \
            running(python, "-m", "compileall", "-qf", "lib/", cwd=scratch,
                    env={**os.environ, "PYTHONPYCACHEPREFIX": str(scratch)}) as two, \
            running(python, "-m", "zipfile", "-c", "library.zip", "lib/", cwd=scratch) as three, \
            Terminal(*SCREEN) as terminal:
        terminal.run(binary(), "top", "-i", "1", one, two, three)
        terminal.until(lambda s: all(re.search(rf"(?m)^ *{pid} ", s) for pid in (one, two, three)) and
                       any(int(n) > 4 for n in re.findall(r"last (\d+) s", s)), 40)
        out.write_text(draw(terminal.tmux("capture-pane", "-ep"), SCREEN[0]), encoding="utf-8")
        terminal.keys("q")
        terminal.until(lambda s: "status=" in s)


def main():
    out = Path(sys.argv[1])
    python = next(p for n in range(15, 5, -1) if (p := shutil.which(f"python3.{n}")) and
                  subprocess.run([p, "-c", ""], stderr=subprocess.DEVNULL).returncode == 0)
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(shutil.copy(REPO / "tools/demo.py", scratch))
        flame_graph(python, program, out / "flamegraph.png")
        live_view(python, program, out / "top.svg")
    for name in ("flamegraph.png", "top.svg"):
        size = (out / name).stat().st_size
        print(f"{out / name}: {size:,} bytes")
        if size > MOST:
            raise SystemExit(f"more than {MOST:,}")


if __name__ == "__main__":
    main()
