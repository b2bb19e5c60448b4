# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The HTML reports: how tests make them, and the numbers that they must show."""
import base64
import collections
import json
import re
import zlib

import make_tach
from captures import samples_of
from command import good

# How the names of details begin, as in user/model/stack_frame.c.
DETAIL = re.compile(
    "<(GC>|native>|blocked in |exception |kernel |waiting for |unwound no further)")
CAPTURES = ("cpu_raw", "wall_zstd", "native_opcodes", "deep400")


def replay(out, *paths, report="flamegraph", more=()):
    good("replay", *paths, "--format", report, "-o", out, *more)
    return out


def change_metadata(path, change):
    """change(metadata) of a report that is written: what our writer would not give us."""
    head, start, rest = path.read_text().partition('id="data">\n')
    text, end, tail = rest.partition("\n</script>")
    data = zlib.decompress(base64.b64decode(text))
    size = shift = at = 0
    while True:
        size |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            break
    meta = json.loads(data[at:at + size])
    change(meta)
    changed = json.dumps(meta).encode()
    data = make_tach.varint(len(changed)) + changed + data[at + size:]
    path.write_text(head + start + base64.b64encode(zlib.compress(data)).decode() + end + tail)


def samples(name):
    """(thread, status, stack root first as (file, function, line)) of every sample."""
    for tid, _, status, frames in samples_of(f"{name}.lines.txt"):
        yield tid, status, tuple(reversed(frames))


def is_detail(frame):
    """Does it say what the Python function below it does: <GC>, not <truncated>?"""
    return frame[0] == "~" and bool(DETAIL.match(frame[1]))


def self_of(stack):
    """Whose self a sample with this stack, root first, is."""
    return next((f for f in reversed(stack) if not is_detail(f)), stack[0])


def counted(stacks, by_line=False):
    """self and total of each function (or line) in the stacks."""
    self_count, total = collections.Counter(), collections.Counter()
    for stack in stacks:
        keys = [s if by_line else s[:2] for s in stack]
        self_count[self_of(keys)] += 1
        total.update(set(keys))
    return self_count, total


# ---- the page of a flame graph ----

TABLE = """report.graph.tableRows().map(r => { const g = report.graph, t = g.tree, l = r.label;
    return [g.fileName(l), g.model.str(t.labelFunc[l]), t.labelLine[l], r.selfA, r.a]; })"""


def table(page, by_line=False):
    rows = page.run(TABLE)
    keys = [tuple(r[:3]) if by_line else tuple(r[:2]) for r in rows]
    assert len(set(keys)) == len(keys)
    return ({k: r[3] for k, r in zip(keys, rows) if r[3]}, {k: r[4] for k, r in zip(keys, rows)})


def total(page):
    return page.run("report.graph.view.a[0]")


def boxes(page):
    """(name, x, y, width) of every frame in the picture."""
    return page.run("""report.graph.rows.flatMap((row, y) => row.filter(b => b.node >= 0).map(b =>
        [report.graph.name(report.graph.view.label[b.node]), b.x, y, b.w]))""")


def where(page, name):
    _, x, y, w = next(b for b in boxes(page) if b[0] == name)
    left, top = page.run("(r => [r.x, r.y])(document.getElementById('canvas').getBoundingClientRect())")
    return left + x + min(w / 2, 40), top + y * 20 + 10


def crumbs(page):
    return page.run("[...document.querySelectorAll('#crumbs button')].map(b => b.textContent)")


def stacks_drawn(page):
    return dict(page.run("""(() => { const g = report.graph, v = g.view, out = [];
        (function walk(n, path) {
            if (n) path = [...path, g.name(v.label[n])];
            if (v.selfA[n]) out.push([path.join(';'), v.selfA[n]]);
            for (const k of v.kids(n)) walk(k, path);
        })(0, []); return out; })()"""))
