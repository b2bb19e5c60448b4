# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The rows of user/cpython/layout.c and layouts.inc against the headers of the interpreters found.

One without headers is skipped with a reason.
"""
import pathlib
import subprocess
import sys

import pytest

from paths import REPO
from pythons import cc, cc_with_cpython, found

NO_OFF, NO_OFF32 = 0xffff, 0xffffffff


def numbers(argv):
    run = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, universal_newlines=True)
    return run.returncode, {k: int(v) for k, v in (line.split() for line in
                                                   run.stdout.splitlines())}


@pytest.fixture(scope="session")
def print_layout(tmp_path_factory):
    out = tmp_path_factory.mktemp("layouts") / "print_layout"
    return cc_with_cpython(out, "print_layout.c")


def header_flags(python):
    include = pathlib.Path(python.includes[0])
    needed = "internal/pycore_runtime.h" if python.minor >= (3, 11) else "frameobject.h"
    if not (include / needed).exists():
        pytest.skip("%s has no headers in %s" % (python, include))
    flags = ["-I%s" % include, "-I%s/internal" % include]
    flags += ["-I%s" % i for i in python.includes[1:]]
    # In a foreign root pyconfig.h is found through <arch/python3.x/pyconfig.h>.
    return flags + ["-idirafter", include.parent]


def expected(python, tmp_path, *defines):
    flags = header_flags(python)
    source = "header_layout.c" if python.minor >= (3, 11) else "header_layout_objects.c"
    return numbers([cc(tmp_path / "headers", source, *defines, *flags)])[1]


def compare(want, got):
    wrong = []
    if want.pop("gil_int", None):
        want["ts_gil_mask"] = 0xffffffff
    # A str that is not compact has its data pointer where compact data begins.
    assert want.pop("str_data_pointer") == want["str_compact_data"]
    for name, value in want.items():
        if name == "interp_epoch" and got[name] == NO_OFF32:
            continue  # a build we do not know it of
        if got[name] != value:
            wrong.append("%s: headers %d, layout.c %d" % (name, value, got[name]))
    # Up to 3.12 it is in a dict (test_where_variables_are), from 3.14 on in asyncio's own section (test_asyncio_layouts).
    assert "ts_running_loop" in want or not got["ts_running_loop"]
    # What the headers of this version do not have must be marked so.
    for name in ("cframe_frame", "co_version", "rt_gil", "rt_tss_key", "ts_gil",
                 "fr_tlbc_index", "co_tlbc", "rt_collecting", "rt_gc_stats", "rt_main_thread", "fr_is_entry",
                 "ts_cframe", "ts_status", "ts_exc_info", "fr_object", "fo_data"):
        if name not in want and got[name] != NO_OFF:
            wrong.append("%s: not in the headers, layout.c %d" % (name, got[name]))
    for name in ("interp_epoch", "interp_gc_frame", "interp_gc_collecting", "interp_gc_stats",
                 "interp_threads_main", "interp_id"):
        if name not in want and got[name] != NO_OFF32:
            wrong.append("%s: not in the headers, layout.c %d" % (name, got[name]))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("python", found() or [None], ids=str)
def test_row(python, print_layout, tmp_path):
    if not python:
        pytest.skip("no supported CPython here: run make interpreters")
    want = expected(python, tmp_path)
    seen = 0
    for image in python.images:
        status, got = numbers([print_layout, image])
        assert status in (0, 1), image
        if status == 0:
            seen += 1
            compare(dict(want), got)
            if want["minor"] >= 13:
                assert got["interp_epoch"] != NO_OFF32, "known releases have an epoch"
    assert seen, "no CPython in %s" % python.images


@pytest.mark.parametrize("python", found() or [None], ids=str)
def test_debug_build_has_the_same_row(python, print_layout, tmp_path):
    """Py_DEBUG may add fields; layout.c says it does not matter."""
    if not python:
        pytest.skip("no supported CPython here: run make interpreters")
    want = expected(python, tmp_path)
    debug = expected(python, tmp_path, "-DPy_DEBUG")
    want.pop("interp_epoch", None)
    debug.pop("interp_epoch", None)
    if python.minor < (3, 8):       # there it has Py_TRACE_REFS, too
        for name in debug:
            if name.startswith(("co_", "bytes_", "str_", "layout_")) or name == "fr_base":
                debug[name] -= 0 if name in NOT_OFFSETS else 16
    assert debug == want


@pytest.fixture(scope="session")
def print_variables(tmp_path_factory):
    return cc_with_cpython(tmp_path_factory.mktemp("variables") / "print_variables", "print_variables.c")


@pytest.mark.parametrize("defines", ((), ("-DPy_DEBUG",), ("-DPy_GIL_DISABLED=1",)), ids=("release", "debug", "ft"))
@pytest.mark.parametrize("python", found() or [None], ids=str)
def test_where_variables_are(python, print_variables, tmp_path, defines):
    """Frames' variables, and what objects have behind their head."""
    if not python:
        pytest.skip("no supported CPython here: run make interpreters")
    if "-DPy_GIL_DISABLED=1" in defines and python.minor < (3, 13):
        pytest.skip("there are no free-threaded builds of it")
    want = numbers([cc(tmp_path / "headers", "header_variables.c", *defines, *header_flags(python))])[1]
    got = numbers([print_variables, python.minor[1], want["head"]])[1]
    assert got == want


NOT_OFFSETS = ("str_kind_mask", "str_kind_shift", "str_compact_bit", "str_ascii_bit")


@pytest.mark.parametrize("python", [p for p in found() if p.minor >= (3, 13)] or [None], ids=str)
def test_free_threaded_build_of_the_same_headers(python, print_layout, tmp_path):
    """Nobody ships 3.14t or 3.15t; the headers say what they would be."""
    if not python:
        pytest.skip("no CPython 3.13+ here: run make interpreters")
    define = "-DPy_GIL_DISABLED=1"
    want = expected(python, tmp_path, define)
    image = cc(tmp_path / "image.so", "header_image.c", define, "-shared", "-fPIC",
               "-Wl,--unresolved-symbols=ignore-all", *header_flags(python))
    status, got = numbers([print_layout, image])
    assert status == 0
    compare(want, got)
    tlbc = want["minor"] >= 14
    assert (got["co_tlbc"] != NO_OFF) == (got["fr_tlbc_index"] != NO_OFF) == tlbc
    assert got["code_tag_mask"] == (3 if tlbc else 0)


@pytest.fixture
def gen_layouts(monkeypatch):
    monkeypatch.syspath_prepend(str(REPO / "tools"))
    import gen_layouts as tool
    return tool


@pytest.mark.parametrize("python", [p for p in found() if p.minor <= (3, 12)] or [None], ids=str)
def test_rows_are_made_by_the_tool(python, gen_layouts):
    """layouts.inc has what tools/gen_layouts.py makes of these headers, and is its own writing."""
    if not python:
        pytest.skip("no CPython up to 3.12 here: run make interpreters")
    text = (REPO / "user" / "cpython" / "layouts.inc").read_text()
    rows = gen_layouts.rows_in(text)
    assert sorted(rows) == sorted(gen_layouts.ROWS) and gen_layouts.whole(rows) == text
    if python.trace_refs:
        pytest.skip("its objects begin later, which layout.c sees to: test_row")
    row = gen_layouts.row_of(python.version)
    numbers = gen_layouts.read_headers(row[0], header_flags(python))
    assert gen_layouts.text_of(row, numbers) == rows[row]


def test_the_tool_keeps_rows_and_tells_contradictions(gen_layouts, monkeypatch, tmp_path):
    text = (REPO / "user" / "cpython" / "layouts.inc").read_text()
    (tmp_path / "rows.inc").write_text(text)
    gen_layouts.main(str(tmp_path / "rows.inc"), [])
    assert (tmp_path / "rows.inc").read_text() == text
    made = iter([((9, 0), "\t{\t/* 3.9.0 */\n\t},"), ((9, 0), "another")])
    monkeypatch.setattr(gen_layouts, "make", lambda place: next(made))
    with pytest.raises(SystemExit, match="is not as other"):
        gen_layouts.main(str(tmp_path / "rows.inc"), ["one", "two"])
    assert (tmp_path / "rows.inc").read_text() == text
    with pytest.raises(SystemExit, match="no headers of 3.6.0"):
        gen_layouts.main(str(tmp_path / "fresh.inc"), [])


@pytest.mark.parametrize("minor", (11, 12, 13, 14, 15))
def test_opcode_tables(minor):
    """user/cpython/opcodes.inc is what tools/gen_opcodes.py makes."""
    sys.path.insert(0, str(REPO / "tools"))
    import gen_opcodes
    pythons = [p for p in found() if p.minor == (3, minor)
               and gen_opcodes.headers(p.includes[0])]
    if not pythons:
        pytest.skip("no headers of CPython 3.%d" % minor)
    text = (REPO / "user" / "cpython" / "opcodes.inc").read_text()
    body = text.split("cache_units_3%d[256] = {" % minor)[1].split("}")[0]
    committed = [int(v) for v in body.replace(",", " ").split()]
    for p in pythons:
        assert gen_opcodes.caches(p.includes[0]) == committed, p
