#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes user/cpython/layouts.inc, the rows of CPython 3.6 to 3.12, from their headers.

    tools/gen_layouts.py user/cpython/layouts.inc python3.6 ... python3.12 DIRECTORY...

The headers of each interpreter, or in each directory (a release's Include, with the pyconfig.h
of a build), are compiled into tests/e2e/cpython/header_layout*.c, which says where things are. A row
whose headers are not at hand stays as it is; two that contradict each other are an error.
From 3.13 on CPython itself says where things are. Python 3.6+, a C compiler, nothing else.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = os.path.join(ROOT, "tests", "e2e", "cpython")
ASK = "import sysconfig as s; print(s.get_path('include')); print(s.get_path('platinclude'))"

# First micro version of each row. 3.7.4 put 88 bytes into _PyRuntimeState.
ROWS = ((6, 0), (7, 0), (7, 4), (8, 0), (9, 0), (10, 0), (11, 0), (12, 0))

# Members of struct py_layout as they are written, a line each; "?": NO_OFF where a version's
# headers do not have it, else 0, which is not written.
LAYOUT = (
    "ts_next ts_interp ts_frame cframe_frame? ts_thread_id",
    "ts_status? ts_cframe? ts_gil? ts_gil_mask ts_datastack?",
    "ts_exc_current ts_exc_info? ts_exc_state exc_value exc_previous",
    "fr_base fr_code fr_previous fr_ip fr_owner? fr_is_entry? fr_tlbc_index?",
    "fr_bytes lasti_unit fr_object? fo_data?",
    "co_firstlineno co_version? co_filename co_name co_qualname co_linetable",
    "co_code co_tlbc?",
    "interp_id? interp_next interp_threads_head interp_threads_main? interp_gc_collecting?",
    "interp_gc_frame? interp_epoch?",
    "gil_how skip_owner? end_shim tss_flag foreign_ids",
    "interp_gil gil_cond ts_gil_requested",
    "interp_gc_stats? gc_stats_how gc_young_items gc_old_items",
)
OBJECTS = (
    "bytes_size bytes_data str_length str_state str_ascii_data str_compact_data",
    "str_kind_mask str_kind_shift str_compact_bit str_ascii_bit",
    "interp_modules type_cached_keys",
)
RUNTIME = ("interp_head? tss_key? gil? collecting? main_thread? ceval_gil? gc_stats?",)
# In the headers, but not in a row: said twice, or a matter of free-threaded builds.
NOT_IN_A_ROW = {"minor", "layout_bytes_size", "layout_bytes_data", "str_data_pointer",
                "gc_by_frame", "fo_frame", "fo_lineno"}
WORDS = {"gil_how": {1: "PY_GIL_RT_CURRENT", 2: "PY_GIL_TS_MASK"},
         "gc_stats_how": {1: "PY_GC_STATS_ARRAY"}}


def row_of(version):
    """Which of ROWS a (3, minor, micro) belongs to."""
    return max(r for r in ROWS if r[0] == version[1] and r[1] <= version[2])


def read_headers(minor, flags, *defines):
    """name -> number of everything that header_layout*.c finds in the headers."""
    source = "header_layout.c" if minor >= 11 else "header_layout_objects.c"
    with tempfile.TemporaryDirectory() as scratch:
        program = os.path.join(scratch, "headers")
        subprocess.run(["cc", "-O1", "-w", "-std=gnu11", "-D_GNU_SOURCE", "-o", program,
                        os.path.join(SOURCES, source), *map(str, flags), *defines], check=True)
        out = subprocess.run([program], stdout=subprocess.PIPE, check=True,
                             universal_newlines=True).stdout
    return {name: int(value) for name, value in (line.split() for line in out.splitlines())}


def no_offset(name):
    if name == "skip_owner":
        return "0xff"
    wide = name.startswith("interp_") and name != "interp_head"     # abi_u32 in the layout
    return "ABI_NO_OFF32" if wide else "ABI_NO_OFF"


def members(lines, numbers, prefix=""):
    """The lines of an initializer; what is written is taken out of numbers."""
    for line in lines:
        cells = []
        for name in line.split():
            optional, name = name.endswith("?"), name.rstrip("?")
            value = numbers.pop(prefix + name, None)
            if value is None and optional:
                cells.append(".%s = %s" % (name, no_offset(name)))
            elif name in WORDS:
                cells.append(".%s = %s" % (name, WORDS[name][value]))
            elif value:
                cells.append(".%s = %d" % (name, value))
        yield from wrapped(cells)


def wrapped(cells, width=72):
    line = ""
    for cell in cells:
        if line and len(line) + len(cell) + 2 > width:
            yield line.rstrip()
            line = ""
        line += cell + ", "
    if line:
        yield line.rstrip()


def text_of(row, numbers):
    """A row as layouts.inc has it."""
    numbers = {n: v for n, v in numbers.items() if n not in NOT_IN_A_ROW}
    lines = ["\t{\t/* 3.%d.%d */" % row, "\t\t.minor = %d, .micro_from = %d," % row]
    for member, cells in (("layout", members(LAYOUT, numbers)),
                          ("objects", members(OBJECTS, numbers)),
                          ("rt", members(RUNTIME, numbers, "rt_"))):
        lines += ["\t\t.%s = {" % member, *("\t\t\t" + cell for cell in cells), "\t\t},"]
    if numbers:
        raise SystemExit("gen_layouts: nobody writes " + ", ".join(sorted(numbers)))
    return "\n".join(lines + ["\t},"])


def rows_in(text):
    """(minor, micro_from) -> its text, of a layouts.inc."""
    found = re.findall(r"^\t\{\t/\* 3\.(\d+)\.(\d+) \*/\n.*?^\t\},$", text, re.M | re.S)
    bodies = re.findall(r"^(\t\{\t/\* 3\.\d+\.\d+ \*/\n.*?^\t\},)$", text, re.M | re.S)
    return {tuple(map(int, numbers)): body for numbers, body in zip(found, bodies)}


def whole(rows):
    return ("/* Made by tools/gen_layouts.py from the headers of CPython; do not edit. */\n"
            "static const struct row rows[] = {\n"
            + "\n".join(rows[row] for row in ROWS) + "\n};\n")


def includes_of(place):
    if os.path.isdir(place):
        return [place]
    return subprocess.check_output([place, "-c", ASK], universal_newlines=True).splitlines()


def version_of(include):
    with open(os.path.join(include, "patchlevel.h")) as f:
        text = f.read()
    return tuple(int(re.search(r"#define PY_%s_VERSION\s+(\d+)" % part, text).group(1))
                 for part in ("MAJOR", "MINOR", "MICRO"))


def make(place):
    """A row and its text, from an interpreter or a directory of headers."""
    includes = includes_of(place)
    row = row_of(version_of(includes[0]))
    flags = ["-I" + i for i in (includes[0], includes[0] + "/internal", *includes[1:])]
    return row, text_of(row, read_headers(row[0], flags))


def main(path, places):
    rows, made = {}, {}
    if os.path.exists(path):
        with open(path) as old:
            rows = rows_in(old.read())
    for place in places:
        row, text = make(place)
        if made.setdefault(row, text) != text:
            raise SystemExit("gen_layouts: %s is not as other 3.%d are" % (place, row[0]))
    rows.update(made)
    missing = [row for row in ROWS if row not in rows]
    if missing:
        raise SystemExit("gen_layouts: no headers of " + ", ".join("3.%d.%d" % r for r in missing))
    with open(path + ".new", "w") as out:
        out.write(whole(rows))
    os.rename(path + ".new", path)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2:])
