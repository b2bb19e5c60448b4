# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A capture whose rate changes while it runs: each sample says what time it stands for, so the sum is the
CPU time that the processes used, and the number of samples follows the rate."""
import time

import pytest

import noise
from capture_program import Capture, burn, cpu_s, grown, of
from target import Target
RATES = (19, 999, 99, 999, 19)
CPU_S = 1.5             # CPU time of each phase, of the slower target


@pytest.fixture
def two(scratch, python):
    """Two Pythons that compute."""
    with Target(python, scratch, "shares=600") as a, Target(python, scratch, "shares=600") as b:
        a.go()
        b.go()
        yield a.pid, b.pid


def check_phase(before, after, pid, used, rate, stolen):
    """A process' samples of the time in which it used so many CPU seconds (least, most)."""
    missed = after["missed"] - before["missed"] + rate * stolen
    count = grown(before, after, pid, "ticks")
    low = noise.count_bound(used[0], rate, missed).low
    high = noise.count_bound(used[1], rate, missed).high
    # what a clock owes of a slow rate is paid with ticks of a fast one
    owed = rate / min(RATES) * 2 if rate > min(RATES) else 0
    assert low - owed <= count <= high + owed, (rate, count, low, high)
    assert grown(before, after, pid, "tick_ns") == count * (10**9 // rate), (rate, count)
    return count / rate


def test_sums_are_cpu_time_whatever_the_rate_is(two):
    with Capture(RATES[0], "cpu", *two) as capture:
        begin, phases = capture.begin, []
        stolen = noise.stolen_s()
        for rate in RATES:
            outer = {pid: cpu_s(pid) for pid in two}
            before = capture.say("rate", rate)
            inner = {pid: cpu_s(pid) for pid in two}
            assert before["rate"] == rate
            burn(two, CPU_S)
            most = {pid: cpu_s(pid) for pid in two}
            after = capture.say("sums")
            phases.append((rate, before, after, {
                pid: (most[pid] - inner[pid], cpu_s(pid) - outer[pid]) for pid in two}))
        stolen = noise.stolen_s() - stolen
        assert after["lost"] == begin["lost"] == 0
        for rate, before, after, used in phases:
            for pid in two:
                check_phase(before, after, pid, used[pid], rate, stolen)
        # few ticks may be missed; more would show that the change of a period is taken for a gap
        assert after["missed"] <= max(3, 0.02 * after["delivered"]) + max(RATES) * stolen, after


def test_a_pause_has_no_samples_and_no_missed_ticks(two):
    with Capture(99, "cpu", *two) as capture:
        burn(two, 0.5)
        capture.say("pause")
        before = capture.say("sums")
        burn(two, 0.5)
        # a change in a pause takes effect at its end
        after = capture.say("rate", 999)
        assert after["delivered"] == before["delivered"]
        assert [of(after, pid, "ticks") for pid in two] == [of(before, pid, "ticks") for pid in two]
        begun = {pid: cpu_s(pid) for pid in two}
        stolen = noise.stolen_s()
        resumed = capture.say("resume")
        burn(two, CPU_S)
        used = {pid: cpu_s(pid) - begun[pid] for pid in two}
        end = capture.say("sums")
        stolen = noise.stolen_s() - stolen
        assert end["missed"] - before["missed"] <= 3 + 0.02 * end["delivered"] + 999 * stolen
        for pid in two:
            count = grown(after, end, pid, "ticks")
            assert count in noise.count_bound(used[pid], 999, 999 * (stolen + 0.06)), resumed
            assert grown(after, end, pid, "tick_ns") == count * (10**9 // 999)


def test_a_rate_that_is_none_is_refused(two):
    with Capture(99, "cpu", *two) as capture:
        assert "error" in capture.say("rate", 0)
        assert "error" in capture.say("rate", 50001)
        assert capture.say("rate", 50000)["rate"] == 50000
        assert capture.say("rate", 1)["rate"] == 1


def wait_for_samples(capture, pids):
    """A process is chosen by its start time, which the capture has from its first sample. A process that has
    none is thinned with the others until the housekeeping of the next second."""
    deadline = time.monotonic() + 20
    while not all(of(capture.say("sums"), pid, "ticks") for pid in pids):
        assert time.monotonic() < deadline
        burn(pids, 0.05)


def test_a_burst_walks_others_as_rarely_as_before(two):
    burst, other = two
    with Capture(99, "cpu", *two) as capture:
        assert "error" in capture.say("thin", 256)
        wait_for_samples(capture, two)
        capture.say("thin", 10)
        begun = {pid: cpu_s(pid) for pid in two}
        before = capture.say("rate", 990)
        stolen = noise.stolen_s()
        burn(two, 3)
        used = {pid: cpu_s(pid) - begun[pid] for pid in two}
        after = capture.say("sums")
        stolen = noise.stolen_s() - stolen
        missed = after["missed"] - before["missed"] + 990 * (stolen + 0.06)
        count = grown(before, after, burst, "ticks")
        assert count in noise.count_bound(used[burst], 990, missed)
        assert grown(before, after, burst, "tick_ns") == count * (10**9 // 990)
        count = grown(before, after, other, "ticks")
        # each tick is walked with a probability of a tenth, besides what the clock does
        ticks = noise.count_bound(used[other], 990, missed)
        assert ticks.low * noise.proportion_bound(ticks.low, 0.1).low <= count
        assert count <= ticks.high * noise.proportion_bound(ticks.high, 0.1).high
        assert grown(before, after, other, "tick_ns") == count * (10 * 10**9 // 990)
        # ticks that are not walked are no missed ones
        assert after["missed"] - before["missed"] <= 3 + 0.02 * after["delivered"] + 990 * stolen
        before = capture.say("thin", 0)
        begun = cpu_s(other)
        burn(two, 1)
        used, after = cpu_s(other) - begun, capture.say("sums")
        assert grown(before, after, other, "ticks") in noise.count_bound(used, 990, 60)
