# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Each interpreter of the matrix is what its name says, and none that was promised is missing.

Also that preparing leaves a thing completely or not at all, shown with small things of its own.
"""
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import interpreters
from interp import cache
from present import absent

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
                       check=True, timeout=60)


class Thing:
    """What prepare() makes here: a directory with one file, by way of a command."""
    what = "for a test"

    def __init__(self, text, command="echo %s > made/text", name="thing"):
        self.text, self.command, self.name, self.count = text, command, name, 0

    def recipe(self):
        return self.text

    def make(self, workshop):
        self.count += 1
        os.mkdir(workshop.path("made"))
        workshop.run("sh", "-c", self.command.replace("%s", self.text))
        return workshop.path("made")


@pytest.fixture
def own_cache(root, tmp_path, monkeypatch):
    monkeypatch.setenv("TACHBPF_CACHE", str(tmp_path))
    return tmp_path


def left(directory):
    return sorted(p.name for p in directory.iterdir() if p.is_dir())


def test_a_thing_is_made_once_and_again_when_its_recipe_changes(own_cache):
    jobs = cache.Jobs(1)
    first, other = Thing("first"), Thing("other")
    for thing, text in ((first, "first"), (first, "first"), (other, "other")):
        cache.prepare(thing, jobs)
        assert (own_cache / "thing" / "text").read_text() == text + "\n"
    assert (first.count, other.count) == (1, 1)
    assert left(own_cache) == ["thing"]


def test_what_fails_leaves_nothing_and_takes_nothing_away(own_cache):
    jobs = cache.Jobs(1)
    with pytest.raises(cache.Failed, match="ended with 3, see .*thing.log"):
        cache.prepare(Thing("bad", "exit 3"), jobs)
    assert left(own_cache) == []
    cache.prepare(Thing("good"), jobs)
    with pytest.raises(cache.Failed):
        cache.prepare(Thing("bad", "exit 3"), jobs)
    assert (own_cache / "thing" / "text").read_text() == "good\n"


def test_two_at_the_same_time_make_it_once(own_cache):
    jobs, thing = cache.Jobs(4), Thing("once", "echo %s > made/text; sleep 0.3")
    threads = [threading.Thread(target=cache.prepare, args=(thing, jobs)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert thing.count == 1 and left(own_cache) == ["thing"]


KILLED = """
import sys
sys.path[:0] = sys.argv[1:3]
from interp import cache
from test_interpreters import Thing
cache.prepare(Thing("half", "touch made/half; echo $$ > made/pid; sleep 600"), cache.Jobs(1))
"""


def test_one_that_is_killed_leaves_nothing_that_looks_complete(own_cache):
    here = os.path.dirname(os.path.abspath(__file__))
    running = subprocess.Popen([sys.executable, "-B", "-c", KILLED, os.path.join(here, "..", "lib"), here],
                               start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 30
        while not list(own_cache.glob("thing.new.*/made/pid")):
            assert running.poll() is None and time.monotonic() < end
            time.sleep(0.01)
    finally:
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
    assert not (own_cache / "thing").exists()
    assert cache.prepare(Thing("whole"), cache.Jobs(1)) is not None
    assert left(own_cache) == ["thing"]
    assert sorted(os.listdir(own_cache / "thing")) == [cache.STAMP, "text"]


def test_what_is_in_use_is_replaced_but_kept_until_it_is_free(own_cache):
    jobs = cache.Jobs(1)
    cache.prepare(Thing("old", "cp /bin/sleep made/sleep"), jobs)
    user = subprocess.Popen([str(own_cache / "thing" / "sleep"), "600"])
    try:
        cache.prepare(Thing("new"), jobs)
        assert len(left(own_cache)) == 2
        assert os.path.exists(f"/proc/{user.pid}/exe")
    finally:
        user.kill()
        user.wait()
    cache.prepare(Thing("new"), jobs)
    assert left(own_cache) == ["thing"]


def test_jobs_are_never_more_than_were_granted(own_cache):
    jobs, running, most = cache.Jobs(2), [], []

    def work():
        with jobs.one():
            running.append(1)
            most.append(len(running))
            time.sleep(0.02)
            running.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 8 and max(most) <= 2
