# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Names of threads that only Python knows, up to 3.13: shown wherever threads are."""
import json
import re

import pytest

from command import good
from present import need
from recording import Recording, succeeded
from target import Target

RATE = 499
SECONDS = 1.4                   # of CPU time
# A layout each; the others differ in their version's last number.
INTERPRETERS = ("pyenv-3.6.15", "pyenv-3.7.16", "pyenv-3.8.18", "pyenv-3.9.18", "pyenv-3.10.13",
                "system-3.11", "trace-refs-3.11.2", "musl-3.11.2", "pyenv-3.12.1",
                "pyenv-3.13.0", "sid-3.13", "trixie-3.13-dbg", "ft-3.13")
NAMES = {"given": "given-\u00e9\x1b[31m<b>", "both": "a name of more than 15 bytes",
         "comm": "kernel's", "renamed": "renamed, in a class", "late": "late"}


class Named:
    def __init__(self, interpreter, scratch, mode):
        self.path = scratch / f"python-names-{mode}-{interpreter.name}.tach"
        with Target(interpreter, scratch, f"python_names={SECONDS}") as target, \
                Recording(["-p", target.pid, "-m", mode, "-r", RATE,
                           "-o", self.path]) as recording:
            recording.wait_recording()
            target.go()
            self.tids = target.wait_done()["phases"]["python_names"]["tids"]
            target.leave()
            succeeded(recording.wait())
        session = json.loads((scratch / (self.path.name + ".json")).read_text())
        self.process, = session["processes"]

    def of(self, names):
        """Role -> name, of a thread id -> name."""
        return {role: names.get(tid) for role, tid in self.tids.items()}


@pytest.mark.parametrize("name", INTERPRETERS)
def test_names(name, scratch):
    named = Named(need(name), scratch, "cpu")
    names = named.of({int(tid): n for tid, n in named.process["thread_names"].items()})
    numbered = names.pop("numbered")
    assert names == NAMES
    assert re.fullmatch(r"Thread-\d+( \(work\))?", numbered), numbered

    info = json.loads(good("info", "--json", named.path))["files"]
    shown = named.of({t["thread"]: t["name"] for f in info for t in f["threads"]})
    assert shown == dict(NAMES, numbered=numbered)
    text = good("info", named.path)
    assert "  given-\u00e9\\x1b[31m<b>\n" in text and "\x1b" not in text
    rows = json.loads(good("report", "--by", "thread", "--json", "--limit", 0,
                           named.path))["rows"]
    assert named.of({r["thread"]: r["thread_name"] for r in rows}) == shown
    speedscope = json.loads(good("convert", named.path, "--format", "speedscope", "-o", "-"))
    assert any("late (tid %d)" % named.tids["late"] in p["name"] for p in speedscope["profiles"])
    gecko = json.loads(good("convert", named.path, "--format", "gecko", "-o", "-"))["threads"]
    label = "renamed, in a class (tid %d)" % named.tids["renamed"]
    assert label in [t["name"] for t in gecko]


def test_names_in_gil(scratch):
    named = Named(need("system-3.11"), scratch, "gil")
    process, = json.loads(good("gil", "--json", named.path))["processes"]
    shown = named.of({t["thread"]: t["name"] for t in process["threads"]})
    shown.pop("numbered")
    assert shown == NAMES
