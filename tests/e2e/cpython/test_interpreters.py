# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Each interpreter of the matrix is what its name says, and none that was promised is missing."""
import os
import subprocess

import pytest

import interpreters
from present import absent
from processes import TIMEOUT

ALL = {i.name: i for i in interpreters.discover(supported_only=False)}
EVERY = sorted({*ALL, *interpreters.promised()})
# Nothing but the interpreter itself is asked: no name of a file, no sysconfig.
FACTS = """
import json, os, sys
gil = getattr(sys, "_is_gil_enabled", lambda: True)()
with open("/proc/self/maps") as maps:
    mapped = sorted({line.split(None, 5)[5].strip() for line in maps if "/" in line})
print(json.dumps({"version": sys.version_info[:3], "gil": gil, "mapped": mapped,
                  "refcounts": hasattr(sys, "gettotalrefcount"),
                  "objects": hasattr(sys, "getobjects")}))
"""


@pytest.fixture(params=EVERY)
def any_interpreter(request, root):
    if request.param not in ALL:
        absent(f"{request.param} is not installed: run make interpreters")
    return ALL[request.param]


def test_none_that_was_promised_is_missing(root):
    gone = interpreters.missing(ALL.values())
    if gone:
        absent("not installed: " + ", ".join(gone))


def test_the_matrix_has_every_kind(root):
    if interpreters.missing(ALL.values()):
        absent("incomplete: run make interpreters")
    kinds = list(ALL.values())
    assert len(kinds) >= 18
    assert {(3, 9), (3, 11), (3, 13), (3, 14), (3, 15)} <= {i.minor for i in kinds}
    assert (3, 13) in {i.minor for i in kinds if i.free_threaded}
    assert {i.minor for i in kinds if i.debug} >= {(3, 9), (3, 11), (3, 13), (3, 14), (3, 15)}
    assert any(i.trace_refs for i in kinds) and any(i.libc == "musl" for i in kinds)


def test_it_is_what_its_name_says(any_interpreter):
    i = any_interpreter
    facts = i.ask(FACTS)
    assert tuple(facts["version"]) == i.version
    words = i.name.split("-")
    version = next(w for w in words if w[0].isdigit()).rstrip("t")
    assert ".".join(map(str, i.version)).startswith(version)
    assert i.version[:version.count(".") + 1] == tuple(map(int, version.split(".")))
    assert facts["gil"] != i.free_threaded == (words[0] == "ft" or i.name.endswith("t"))
    assert facts["refcounts"] == i.debug == (words[-1] == "dbg")
    # before 3.8 a debug build had it, too
    assert facts["objects"] == i.trace_refs == (words[0] == "trace")
    has_musl = any("/ld-musl-" in path or "-musl/libc.so" in path for path in facts["mapped"])
    assert has_musl == (i.libc == "musl") == (words[0] == "musl")
    assert any("/libpython3." in path for path in facts["mapped"]) == (i.kind == "shared")


def test_its_program_is_dynamically_linked_to_its_libc(any_interpreter):
    program = any_interpreter.images[0]
    said = subprocess.run(["readelf", "-ldW", program], capture_output=True, text=True,
                          check=True).stdout
    loader = "/ld-musl-" if any_interpreter.libc == "musl" else "/ld-linux-"
    assert loader in said


def test_its_headers_are_of_its_version(any_interpreter):
    header = os.path.join(any_interpreter.includes[0], "patchlevel.h")
    if not os.path.exists(header):
        # the suites' and the builds' own are promised
        if any_interpreter.name.split("-")[0] not in ("system", "pyenv"):
            pytest.fail(f"no {header}", pytrace=False)
        pytest.skip(f"{any_interpreter} has no headers")
    with open(header) as f:
        text = f.read()
    for name, number in zip(("MAJOR", "MINOR", "MICRO"), any_interpreter.version):
        assert f"#define PY_{name}_VERSION" in text
        line = next(li for li in text.splitlines() if f"PY_{name}_VERSION" in li)
        assert int(line.split()[-1]) == number


def test_greenlet_is_there(root):
    for suite in interpreters.ROOTS:
        if not os.path.isdir(suite.path()):
            absent(f"{suite.path()} is not there: run make interpreters")
        # the suite's default Python: the one that its greenlet was made for
        subprocess.run(interpreters.in_root(suite.path(), "python3", "-c", "import greenlet"),
                       check=True, timeout=TIMEOUT)
