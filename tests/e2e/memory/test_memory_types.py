# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a recording of memory says first of a leak of small objects: the class that stays, not the code that
touched the memory first. Its figures against the program's own count."""
import json
import re
import time

from mlyze_decode import Trace
from processes import TIMEOUT
from recording import Recording, succeeded, tachbpf
from target import Target

FIRST, LAST = 50, 400
DATA = 20000        # of each session's bytearray
OWN = "__main__.Session"


class Leak:
    """A recording of sessions.py, ended while it still has all of its sessions."""

    def __init__(self, interpreter, scratch, out):
        self.path = out / "x.mlyze"
        with Target(interpreter, scratch, str(FIRST), str(LAST), program="memory/sessions.py",
                    name="sessions") as target, \
                Recording(["-m", "mem", "-p", target.pid, "-o", self.path]) as recording:
            recording.wait_recording()
            target.go()
            target.expect("half")
            self.wait_for_census(recording)
            target.go()
            assert target.wait_done() == {"sessions": LAST}
            self.said = succeeded(recording.stop()).stderr

    def wait_for_census(self, recording):
        """Until the first one is in the file. There is none if it finds no heap: then only TIMEOUT ends this."""
        names = self.path.with_name(self.path.name + ".names")
        end = time.monotonic() + TIMEOUT
        while not (names.exists() and b"tachbpf census" in names.read_bytes()):
            assert recording.process.poll() is None, f"the profiler ended early: {recording.wait()!r}"
            assert time.monotonic() < end, "no census has found objects: does `tachbpf heap` read this interpreter?"
            time.sleep(0.01)

    def mem(self, *argv):
        return succeeded(tachbpf("mem", *argv, self.path)).stdout

    def types(self):
        found = json.loads(self.mem("--json"))["files"][0]["types"]
        assert found["to"] > found["from"] and not found["limited"]
        return {t["type"]: t for t in found["growth"]}


def check_text(leak):
    said, shown = leak.said.splitlines(), leak.mem().splitlines()
    first = said.index(next(line for line in said if line.startswith("Memory: "))) + 1
    words = rf"{re.escape(OWN)} grew by (\d+) objects \(.*\) in [\d.]+ s, and with it bytearray by [\d.]+ MiB"
    # The summary's line is wrapped.
    for line, head in (" ".join(said[first:first + 2]).strip(), "Objects: "), (shown[1], "  types      "):
        match = re.fullmatch(re.escape(head) + words, line)
        assert match, line
        assert LAST - FIRST <= int(match[1]) <= LAST, line
    assert "Memory grew while these functions ran" in "\n".join(said)
    assert "tachbpf heap" in leak.said and "--since 30s" in leak.said


def check_figures(leak):
    types = leak.types()
    own, data = types[OWN], types["bytearray"]
    assert own["grew"] and data["grew"]
    assert abs(own["objects_at_end"] - LAST) <= own["objects_error"]
    assert LAST - FIRST <= own["objects"] + own["objects_error"] and own["objects"] <= LAST + own["objects_error"]
    assert abs(data["objects"] - own["objects"]) <= own["objects_error"] + data["objects_error"] + FIRST
    assert data["bytes_at_end"] + data["bytes_error"] >= LAST * DATA
    assert data["bytes_at_end"] - data["bytes_error"] <= LAST * DATA * 1.03 + 100000
    assert types["str"]["objects"] + types["str"]["objects_error"] >= (LAST - FIRST) * 40


def check_file(leak):
    """The marks of each census, read as the format's text says."""
    trace = Trace(leak.path)
    censuses = trace.marks("census")
    assert len(censuses) >= 2
    assert sum(int(c["types"]) for c in censuses) == len(trace.marks("type"))
    assert int(censuses[0]["types"]) <= 257 and all(int(c["types"]) <= 41 for c in censuses[1:])
    assert "valid" in leak.mem("--validate")


def test_the_class_that_leaks_is_named_first(python, scratch, out):
    leak = Leak(python, scratch, out)
    check_text(leak)
    check_figures(leak)
    check_file(leak)


def test_on_each_interpreter(interpreter, scratch, out):
    leak = Leak(interpreter, scratch, out)
    check_text(leak)
    check_figures(leak)
