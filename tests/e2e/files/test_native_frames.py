# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Frames of machine code and of the kernel in all that reads and writes profiles."""
import collections
import csv
import json
import re

import pytest

import make_tach
from command import good, refused, run
from go_pprof import go_pprof
from pprof_decode import Pprof

BUILD_ID = "c0ffee00112233445566778899aabbccddeeff00"
KERNEL = ("~", "<kernel read>", -1)
READ = ("[libc.so.6]", "read", -1)
SCAN = ("[_json.so]", "scanstring_unicode", -1)
INFLATE = ("[libz.so.1] contrib/inflate.c", "inflate", 77)
LOADS, MAIN = ("/usr/lib/python3.13/json/decoder.py", "decode", 20), ("/srv/app.py", "main", 3)
ODD = ("[x]", "compiled", 5)        # compile(source, "[x]", "exec")
STACKS = ((5, (SCAN, LOADS, MAIN)), (3, (KERNEL, READ, INFLATE, MAIN)), (2, (LOADS, MAIN)),
          (1, (MAIN, SCAN, ODD, MAIN)))


@pytest.fixture
def profile(tmp_path):
    w = make_tach.Writer()
    w.string(f"tachbpf: library: [_json.so] {BUILD_ID} /usr/lib/python3.13/lib-dynload/_json.so")
    for count, stack in STACKS:
        for _ in range(count):
            w.add(w.stack(stack))
    w.write(tmp_path / "7-app.tach")
    return tmp_path / "7-app.tach"


def export(profile, fmt, *options):
    out = profile.with_suffix(f".{fmt}")
    good("replay", profile, "--format", fmt, *options, "-o", out)
    return out


def rows(command, *paths, options=()):
    return json.loads(good(command, *paths, "--json", "--limit", 0, *options))["rows"]


def selves(command, profile, *options):
    return {(r["file"], r["function"]): (r["self"], r["total"], r["kind"])
            for r in rows(command, profile, options=options)}


# ---- CPython 3.15 ----

def test_cpythons_replay_shows_function_and_library(profile, out, oracle):
    """Converted by us, so it is our writer's file: frames as they are in ours, the library as file."""
    ours = out / "ours.tach"
    good("convert", profile, "--format", "tach", "-o", ours)
    records = [json.loads(line) for line in oracle.replay("jsonl", ours).read_text().splitlines()]
    strings = {s["str_id"]: s["value"] for r in records if r["type"] == "string_table"
               for s in r["strings"]}
    frames = {(strings[f["path_str_id"]], strings[f["func_str_id"]], f.get("line", 0))
              for r in records if r["type"] == "frame_table" for f in r["frames"]}
    assert frames == {(file, func, max(line, 0)) for _, stack in STACKS for file, func, line in stack}
    collapsed = oracle.replay("collapsed", ours).read_text()
    assert "[_json.so]:scanstring_unicode:" in collapsed
    assert "tachbpf" not in collapsed
    for fmt in ("gecko", "flamegraph", "pstats"):
        assert oracle.replay(fmt, ours).stat().st_size


# ---- report, diff, info ----

def test_report_has_python_functions(profile):
    got = selves("report", profile)
    assert got == {(LOADS[0], "decode"): (7, 7, "python"), (MAIN[0], "main"): (4, 11, "python"),
                   ("[x]", "compiled"): (0, 1, "python")}
    text = good("report", profile)
    assert "--native lists it" in text
    assert "--native" not in good("report", profile, "--native")


def test_report_native_has_all_functions(profile):
    assert selves("report", profile, "--native") == {
        ("[_json.so]", "scanstring_unicode"): (5, 6, "native"),
        ("[libc.so.6]", "read"): (3, 3, "native"),
        ("[libz.so.1] contrib/inflate.c", "inflate"): (0, 3, "native"),
        (LOADS[0], "decode"): (2, 7, "python"), (MAIN[0], "main"): (1, 11, "python"),
        ("[x]", "compiled"): (0, 1, "python")}
    text = good("report", profile, "--native")
    assert re.search(r"scanstring_unicode +\[_json\.so\]$", text, re.M)
    assert re.search(r"inflate +\[libz\.so\.1\] contrib/inflate\.c:77$", text, re.M)


def test_report_detail_has_the_kernel_too(profile):
    got = selves("report", profile, "--detail")
    assert got[None, "<kernel read>"] == (3, 3, "kernel")
    assert got["[libc.so.6]", "read"] == (0, 3, "native")


def test_diff_native(profile):
    got = {(r["file"], r["function"]): (r["kind"], r["a"]["self"])
           for r in rows("diff", profile, profile, options=["--native"])}
    assert got["[_json.so]", "scanstring_unicode"] == ("native", 5)
    assert ("[_json.so]", "scanstring_unicode") not in {
        (r["file"], r["function"]) for r in rows("diff", profile, profile)}


@pytest.mark.parametrize("argv", [("report", "--native", "--by", "thread"),
                                  ("diff", "--native", "--format", "flamegraph", "-o", "x")])
def test_native_is_for_functions(profile, argv):
    command, *options = argv
    refused(run(command, profile, *[profile] * (command == "diff"), *options), "--native", status=2)


LIBRARIES = [{"name": "_json.so", "path": "/usr/lib/python3.13/lib-dynload/_json.so",
              "build_id": BUILD_ID},
             {"name": "libc.so.6", "path": None, "build_id": None},
             {"name": "libz.so.1", "path": None, "build_id": None}]


def libraries(path):
    """What info says, in an order of its own."""
    file, = json.loads(good("info", path, "--json"))["files"]
    return sorted(file["libraries"], key=lambda l: l["name"]), file["frame_kinds"]


def test_info_has_kinds_and_libraries(profile):
    assert libraries(profile) == (LIBRARIES,
                                  {"python": 3, "native": 3, "kernel": 1, "synthetic": 0})
    text = good("info", profile)
    assert "3 python, 3 native, 1 kernel" in text
    assert f"_json.so, build id {BUILD_ID}" in text


# ---- what is known of libraries goes along ----

def test_libraries_survive(profile, tmp_path):
    converted, merged, split = tmp_path / "c.tach", tmp_path / "m.tach", tmp_path / "split"
    good("convert", profile, "--format", "tach", "-o", converted)
    good("merge", profile, converted, "-o", merged)
    good("split", "--by", "thread", merged, "-o", split)
    piece, = split.glob("*.tach")
    for path in (converted, merged, piece):
        assert libraries(path)[0] == LIBRARIES, path
        assert {k: v[2] for k, v in selves("report", path, "--native").items()} == \
            {k: v[2] for k, v in selves("report", profile, "--native").items()}


# ---- exports ----

def test_collapsed_and_csv_have_the_library(profile):
    text = export(profile, "collapsed").read_text()
    assert "decoder.py:decode:20;scanstring_unicode ([_json.so]) 5\n" in text
    assert "inflate ([libz.so.1] inflate.c:77);read ([libc.so.6]);<kernel read> 3\n" in text
    with open(export(profile, "csv")) as f:
        assert any("scanstring_unicode ([_json.so])" in row["stack"] for row in csv.DictReader(f))
    kinds = {k[1]: v for k, v in
             selves("report", profile.with_suffix(".collapsed"), "--native").items()}
    assert kinds["scanstring_unicode"] == (5, 6, "native")


def test_pprof_has_mappings(profile):
    path = export(profile, "pprof")
    p = Pprof(path)
    assert {(f, p.build_ids[i]) for i, f in p.mappings.items() if i > 1} == {
        ("/usr/lib/python3.13/lib-dynload/_json.so", BUILD_ID), ("libc.so.6", ""),
        ("libz.so.1", "")}
    assert ("scanstring_unicode", "", "[_json.so]") in p.functions.values()
    assert ("inflate", "", "contrib/inflate.c") in p.functions.values()


def test_go_tool_pprof_shows_them(profile):
    path = export(profile, "pprof")
    top = {line.split()[-1]: int(line.split()[0]) for line in go_pprof("-top", "-sample_index=samples", path).splitlines()
           if re.match(r" +\d", line)}
    assert top["scanstring_unicode"] == 5 and top["inflate"] == 0
    files = go_pprof("-top", "-files", "-sample_index=samples", path)
    assert re.search(r"^ +5 .*\[_json\.so\]$", files, re.M)


def test_speedscope_has_the_library(profile):
    frames = json.loads(export(profile, "speedscope").read_text())["shared"]["frames"]
    assert {"name": "scanstring_unicode", "file": "[_json.so]"} in frames
    assert {"name": "<kernel read>"} in frames


def test_gecko_has_libs_and_categories(profile):
    gecko = json.loads(export(profile, "gecko").read_text())
    names = [c["name"] for c in gecko["meta"]["categories"]]
    strings, (thread,) = gecko["shared"]["stringArray"], gecko["threads"]
    table, funcs, resources = thread["frameTable"], thread["funcTable"], thread["resourceTable"]
    got = {strings[funcs["name"][func]]: (names[table["category"][i]],
                                          resources["lib"][funcs["resource"][func]])
           for i, func in enumerate(table["func"])}
    libs = [lib["name"] for lib in gecko["libs"]]
    assert got == {"scanstring_unicode": ("Native", libs.index("_json.so")),
                   "read": ("Native", libs.index("libc.so.6")),
                   "inflate": ("Native", libs.index("libz.so.1")),
                   "<kernel read>": ("Kernel", None), "decode": ("Python", None),
                   "main": ("Python", None), "compiled": ("Python", None)}
    lib = gecko["libs"][libs.index("_json.so")]
    assert lib["codeId"] == BUILD_ID
    assert lib["breakpadId"] == "00EEFFC022114433" + "5566778899AABBCC" + "0"
    assert len(lib["breakpadId"]) == 33


# ---- the pages ----

def flame_rows(page):
    return {(r[0], r[1]): r[2] for r in page.run("""report.graph.tableRows().map(r => {
        const g = report.graph, t = g.tree, l = r.label;
        return [g.fileName(l), g.model.str(t.labelFunc[l]), r.selfA]; })""")}


def test_flame_graph_hides_machine_code(show, profile):
    page = show(profile)
    assert flame_rows(page)["[_json.so]", "scanstring_unicode"] == 5
    assert flame_rows(page)["[libc.so.6]", "read"] == 3
    assert page.run("document.getElementById('legend').textContent") == "Pythonmachine codekernel"
    kinds = page.run("""Object.fromEntries(report.graph.tree.labelKind.map((kind, l) =>
        [report.graph.model.str(report.graph.tree.labelFunc[l]), kind]))""")
    assert kinds == {"scanstring_unicode": "native", "read": "native", "inflate": "native",
                     "<kernel read>": "kernel", "decode": "python", "main": "python",
                     "compiled": "python"}
    page.run("document.getElementById('python-button').click()")
    assert {k: v for k, v in flame_rows(page).items() if v} == {
        (LOADS[0], "decode"): 7, (MAIN[0], "main"): 4}
    assert page.run("report.graph.view.a[0]") == 11
    page.run("document.getElementById('lines').click()")
    assert not any(file.startswith("[") and file != "[x]" for file, _ in flame_rows(page))
    page.run("document.getElementById('python-button').click()")
    assert flame_rows(page)["[_json.so]", "scanstring_unicode"] == 5


def test_flame_graph_of_python_alone_has_no_switch(show, tmp_path):
    w = make_tach.Writer()
    w.add(w.stack([LOADS, MAIN]))
    w.write(tmp_path / "8-app.tach")
    page = show(tmp_path / "8-app.tach")
    assert page.run("document.getElementById('python-button').hidden")
    assert page.run("report.graph.colourBy") == "file"


def test_heatmap_has_python_lines_only(show, profile):
    """What they called is their self."""
    page = show(profile, report="heatmap")
    assert page.run("""report.map.profile.files.map(f =>
        [f.name, f.sampled.map(l => [l.at, l.total, l.self])])""") == [
            [MAIN[0], [[3, 11, 4]]], [LOADS[0], [[20, 7, 7]]]]


def test_every_format_takes_them(profile):
    listed = good("replay", "--help")
    formats = [f for f in ("pstats", "jsonl", "gperftools", "flamegraph", "heatmap") if f in listed]
    counts = collections.Counter(export(profile, f).stat().st_size > 0 for f in formats)
    assert counts == {True: 5}
