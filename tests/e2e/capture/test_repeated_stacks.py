# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A thread that leaves its CPU with the stack that it had when it last left: its stack is not sent again.

Each sample of a wait is judged by when it was: the program says when it waited where.
"""
import bisect
import json

import pytest

from direct_reads import can_read_directly
from present import need
from profiles import without_gc
from recording import Recording, succeeded
from summary import tach_files

RATE = 4999
EDGE_US = 2             # times are rounded

# A thread waits in one function that has three callers: one has it at two lines, one in a generator. Each says when
# it was in it. Others keep it company: what one thread does must not become another's.
WAITS = """
import json, sys, threading, time
def now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)
def wait():
    time.sleep(0.002)
def here():
    begin = now()
    wait()
    said.append(("here", 9, begin, now()))
def there():
    begin = now()
    wait()
    middle = now()
    wait()
    said.append(("there", 13, begin, middle))
    said.append(("there", 15, middle, now()))
def items():
    while True:
        wait()
        yield
def in_turn(each=items()):
    begin = now()
    next(each)
    said.append(("in_turn", 24, begin, now()))
def company():
    while True:
        wait()
def work(rounds):
    for each in rounds:
        each()
said = []
for _ in range(3):
    thread = threading.Thread(target=company)
    thread.daemon = True
    thread.start()
work([here] * 200 + [there] * 100 + [in_turn] * 200)
work([here, there, in_turn] * 50 + [here, here, there] * 50)
json.dump(said, open(sys.argv[1], "w"))
"""


@pytest.fixture(params=["pyenv-3.8.18", "system-3.11", "pyenv-3.12.1", "pyenv-3.13.0", "sid-3.15", "ft-3.13"])
def python(request):
    return need(request.param)


def record(python, out, *options):
    """(its process, what the program said, its profile's file, switches of the summary)"""
    said, to = out / "said.json", out / "rec"
    with Recording(["-m", "wall", "-r", RATE, "-o", to, "--json", *options, "--",
                    *python.command("-c", WAITS, said)]) as recording:
        summary = succeeded(recording.wait()).summary
    pid = max(json.loads((to / "session.json").read_text())["processes"], key=lambda row: row["samples"])["pid"]
    file, = (f for f in tach_files(to) if f.name.startswith(f"{pid}-"))
    return pid, json.loads(said.read_text()), file, summary["switches"]


def check_waits(profile, pid, said):
    """Each sample in a wait names who waited. Returns how many were in wait()."""
    begins = [begin * 1e6 for _, _, begin, _ in said]
    seen = 0
    for sample in profile.samples:
        at = bisect.bisect(begins, sample.time_us) - 1
        if sample.tid != pid or at < 0:
            continue
        name, line, begin, end = said[at]
        if not begin * 1e6 + EDGE_US <= sample.time_us <= end * 1e6 - EDGE_US:
            continue
        frames = without_gc(sample)
        mine = [f for f in frames if f.func in ("here", "there", "in_turn")]
        assert [f.func for f in mine] == [name], (sample.time_us, said[at], frames)
        if any(f.func == "wait" for f in frames):
            assert mine[0].line == line, (sample.time_us, said[at], frames)
            seen += 1
    return seen


@pytest.mark.parametrize("how", ["direct", "helper"])
def test_each_wait_has_its_own_callers(python, out, oracle, how):
    pid, said, file, switches = record(python, out, *(["--no-direct-reads"] if how == "helper" else []))
    profile, = oracle.load(file)
    seconds = sum(end - begin for _, _, begin, end in said)
    assert check_waits(profile, pid, said) >= RATE * seconds / 2
    may = how == "direct" and can_read_directly() and python.version >= (3, 12)
    assert switches["repeated"] > len(said) / 4 if may else not switches["repeated"], switches
    assert switches["repeated"] <= switches["stacks"]
    # user space had each stack that was repeated
    assert switches["waits_guessed"] <= switches["over_budget"] + switches["unreadable"], switches
