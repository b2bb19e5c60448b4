# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Opcodes on the HTML pages: which instructions had the samples of a line and of a function."""
import collections

import pytest

import make_tach
from browser import picture
from captures import GOLDEN

FILE, OTHER = "/srv/app.py", "/srv/lib.py"
NAMES = """report.graph.tableRows().map(r => [report.graph.name(r.label),
    [...(report.graph.tree.labelOpcodes.get(r.label) ?? [])]])"""
LINES = """report.map.profile.files.flatMap(f => f.sampled.map(l => [f.name, l.at, [...(l.opcodes ?? [])]]))"""


def names_of(version):
    """{opcode: name} as the version's own header says, of two instructions that every program has."""
    return {(3, 6, 1): {106: "LOAD_ATTR", 131: "CALL_FUNCTION"},
            (3, 12, 1): {106: "LOAD_ATTR", 171: "CALL"}}[version]


@pytest.mark.parametrize("version", [(3, 6, 1), (3, 12, 1)])
def test_samples_by_instruction(show, tmp_path, version):
    """Self only; that of a detail is its Python frame's; columns of a line are one."""
    (attr, attr_name), (call, call_name) = names_of(version).items()
    w, line, function = make_tach.Writer(), collections.defaultdict(collections.Counter), \
        collections.defaultdict(collections.Counter)
    caller = (FILE, "main", 3, 3, 0, 9, call)
    for cnt, frames, name in ((5, [(FILE, "f", 10, 10, 4, 9, attr), caller], attr_name),
                              (2, [(FILE, "f", 10, 10, 6, 8, attr), caller], attr_name),
                              (3, [("~", "<GC>", -1), (FILE, "f", 10, 10, 4, 9, call), caller], call_name),
                              (4, [(FILE, "f", 11, 11, 4, 9, call), caller], call_name),
                              (1, [caller], call_name), (6, [(OTHER, "g", 7), caller], None),
                              (2, [(OTHER, "g", 8, 8, 0, 1, 190), caller], "opcode 190")):
        stack = w.stack(frames)
        own = frames[1] if frames[0][0] == "~" else frames[0]
        for _ in range(cnt):
            w.add(stack)
        if name:
            line[own[0], own[2]][name] += cnt
            function[own[1]][name] += cnt
    w.write(tmp_path / "5-app.tach", version=version)
    page = show(tmp_path / "5-app.tach", report="heatmap")
    assert {(f, at): dict(o) for f, at, o in page.run(LINES) if o} == line
    page.run("(report.map.open(report.map.profile.files.find(f => f.name.endsWith('app.py')), 10), 0)")
    assert f"{attr_name} 70.0%, {call_name} 30.0%" in page.run("document.getElementById('status').value")
    page = show(tmp_path / "5-app.tach")
    assert {n: dict(o) for n, o in page.run(NAMES) if o} == function
    page.run("(report.graph.hover = report.graph.boxOf(report.graph.view.kids(report.graph.view.kids(0)[0])[0]),"
             " report.graph.showTip(200, 300))")
    assert f"at {attr_name} 50.0%, {call_name} 50.0%" in page.text("#tip")
    picture(page, "opcodes")


def test_a_recording_with_opcodes(show):
    """CPython 3.15's own capture: each line's opcodes are its self, and have names."""
    page = show(GOLDEN / "native_opcodes.bin", report="heatmap")
    rows = page.run("""report.map.profile.files.flatMap(f => f.sampled.filter(l => l.self).map(l =>
        [l.self, [...(l.opcodes ?? [])]]))""")
    known = [(own, sum(n for _, n in opcodes)) for own, opcodes in rows if opcodes]
    assert known and all(own == total for own, total in known)
    names = {name for _, opcodes in rows for name, _ in opcodes}
    assert any(n.startswith("CALL") for n in names) and not any(n.startswith("opcode") for n in names)


def test_without_opcodes_nothing_is_said(show):
    page = show(GOLDEN / "cpu_raw.bin")
    assert page.run("report.graph.model.opcodes") is None and not any(o for _, o in page.run(NAMES))
    page = show(GOLDEN / "cpu_raw.bin", report="heatmap")
    assert not any(o for *_, o in page.run(LINES))
