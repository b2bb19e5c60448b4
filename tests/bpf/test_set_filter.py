# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A capture whose conditions change while it runs: at any time exactly those are sampled that meet
them, and who meets them before and after loses no tick."""
import contextlib
import time

import pytest

import cgroups
import noise
from capture_program import Capture, burn, cpu_s, grown, of
from grouping import same_worker
from processes import TIMEOUT
from selecting import Burner

SAME_USERS = same_worker("users")
RATE = 999
CPU_S = 0.2             # CPU time of each phase, of the slowest burner
NAMED = """
import sys
open('/proc/self/comm', 'w').write('{}')
print('ready', flush=True)
sys.stdin.readline()
while True: pass
"""


@contextlib.contextmanager
def by_user(python):
    """Three burners, each with the words of a condition that it alone meets."""
    uids = 1, 2, 65534
    with contextlib.ExitStack() as stack:
        yield [(stack.enter_context(Burner(python, [
            "setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"])).pid,
            ("uid", uid)) for uid in uids]


@contextlib.contextmanager
def by_name(python):
    with contextlib.ExitStack() as stack:
        yield [(stack.enter_context(Burner(python, code=NAMED.format(name))).pid, ("comm", name))
               for name in ("set-filter-a", "set-filter-b", "set-filter-c")]


@contextlib.contextmanager
def by_cgroup(python):
    mount = cgroups.v2() or cgroups.v1()
    if not mount:
        pytest.skip("no hierarchy of cgroups can be written to")
    with cgroups.Tree(mount) as tree, contextlib.ExitStack() as stack:
        found = []
        for name in "abc":
            directory = tree.make(name)
            burner = stack.enter_context(Burner(python, cgroups.enter(directory, [])))
            found.append((burner.pid, ("cgroup", tree.path(directory))))
        yield found


def follow(capture, pids, ticks):
    """Wait until each of these has more ticks than in the answer."""
    end = time.monotonic() + TIMEOUT
    now = ticks
    while not all(grown(ticks, now, pid, "ticks") for pid in pids):
        assert time.monotonic() < end, (pids, now)
        time.sleep(0.02)
        now = capture.say("sums")
    return now


class Phase:
    """The ticks of all while these conditions were in force."""

    def __init__(self, capture, burners, words, selected):
        self.before = capture.say("filter", *words)
        assert "error" not in self.before, self.before
        pids = [pid for pid, _ in burners]
        follow(capture, selected, self.before)
        burn(pids, CPU_S)
        self.after = capture.say("sums")
        ticks = {pid: grown(self.before, self.after, pid, "ticks") for pid in pids}
        assert {pid for pid in pids if ticks[pid]} == set(selected), (words, ticks)
        live = {pid for pid in pids
                if of(self.after, pid, "begun") > of(self.after, pid, "ended")}
        assert live == set(selected), (words, self.after)


def words(*burners):
    return [word for _, condition in burners for word in condition]


@SAME_USERS
@pytest.mark.parametrize("three", [by_user, by_name, by_cgroup])
def test_exactly_those_that_meet_the_conditions(python, three):
    with three(python) as burners, Capture(RATE, "cpu") as capture:
        a, b, _ = burners
        pids = [pid for pid, _ in burners]
        first = Phase(capture, burners, words(a), [a[0]])
        stolen, begun = noise.stolen_s(), cpu_s(a[0])
        before = capture.say("sums")
        counted = cpu_s(a[0])
        Phase(capture, burners, words(a, b), [a[0], b[0]])
        least = cpu_s(a[0]) - counted
        after = capture.say("sums")
        most, stolen = cpu_s(a[0]) - begun, noise.stolen_s() - stolen

        # A has all of its ticks, those of the change included, and is the process that it was
        missed = after["missed"] - before["missed"] + RATE * stolen
        count = grown(before, after, a[0], "ticks")
        assert count >= noise.count_bound(least, RATE, missed).low
        assert count <= noise.count_bound(most, RATE, missed).high
        assert of(after, a[0], "begun") == of(first.before, a[0], "begun")

        only = Phase(capture, burners, words(b), [b[0]])
        # The counters are the host's: without conditions, other tests' processes count, too. A
        # capture begins without any, and a hostile target of another test can fill its ring then.
        assert only.after["lost"] == before["lost"]
        Phase(capture, burners, ["exclude-comm", "*"], [])
        Phase(capture, burners, [], pids)


@SAME_USERS
def test_a_hundred_changes_lose_no_tick(python):
    """Every other one excludes B; A meets all."""
    with by_user(python) as burners, Capture(RATE, "cpu") as capture:
        a, b, _ = burners
        before = follow(capture, [a[0]], capture.say("filter", *words(a, b)))
        begun, stolen = cpu_s(a[0]), noise.stolen_s()
        before = capture.say("sums")
        counted = cpu_s(a[0])
        took = []
        for i in range(100):
            answer = capture.say("filter", *(words(a) if i % 2 else words(a, b)))
            took.append(answer["filter_ms"])
        burn([a[0]], 0.1)
        least = cpu_s(a[0]) - counted
        after = capture.say("sums")
        most, stolen = cpu_s(a[0]) - begun, noise.stolen_s() - stolen
        missed = after["missed"] - before["missed"] + RATE * stolen
        count = grown(before, after, a[0], "ticks")
        print(f"{sorted(took)[50]:.1f} ms a change; {count} ticks in {most:.2f} s of CPU")
        assert noise.count_bound(least, RATE, missed).low <= count
        assert count <= noise.count_bound(most, RATE, missed).high
        assert of(after, a[0], "begun") == of(before, a[0], "begun")
        assert not of(after, a[0], "ended") and after["lost"] == before["lost"]


def test_an_age_that_changes(python):
    with Burner(python) as young, Capture(RATE, "cpu") as capture:
        follow(capture, [young.pid], capture.begin)
        before = capture.say("filter", "min-age", 3600)
        burn([young.pid], CPU_S)
        after = capture.say("sums")
        assert not grown(before, after, young.pid, "ticks")
        follow(capture, [young.pid], capture.say("filter", "min-age", 0.1))


def test_a_process_that_sleeps_is_found(python):
    """It has no tick that could ask."""
    code = "import sys, time\nprint('ready', flush=True)\nsys.stdin.readline()\ntime.sleep(600)\n"
    with Burner(python, code=code) as asleep, Capture(RATE, "wall") as capture:
        excluded = capture.say("filter", "exclude-pid", asleep.pid)
        assert of(excluded, asleep.pid, "ended") == of(excluded, asleep.pid, "begun") == 1
        capture.say("filter")
        end = time.monotonic() + TIMEOUT
        while of(capture.say("sums"), asleep.pid, "begun") < 2:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert of(capture.say("sums"), asleep.pid, "ended") == 1


def test_conditions_of_a_recording_do_not_change(python):
    with Burner(python) as burner, Capture(RATE, "cpu", burner.pid) as capture:
        assert "error" in capture.say("filter", "uid", 1)
        follow(capture, [burner.pid], capture.begin)
