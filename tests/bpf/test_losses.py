# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whose losses are: by process and thread, in session.json, in the summary, in info and report."""
import collections
import json
import re
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from processes import TIMEOUT, kill
from recording import Recording, succeeded, tachbpf

# Four threads, each of them on and off its CPU all the time, with deep stacks.
SWITCHER = """
import sys, threading, time
def down(n):
    if n:
        return down(n - 1)
    while not done.is_set():
        time.sleep(0.00005)
done = threading.Event()
threads = [threading.Thread(target=down, args=(80,)) for _ in range(3)]
for t in threads:
    t.start()
print("ready", flush=True)
sys.stdin.readline()
done.set()
for t in threads:
    t.join()
"""
THREADS = 4
# The ring buffer has 4 MiB, and a switch-out of 80 frames more than 1 KiB.
SWITCHES = 4000
# bpf/abi.h, LOSS_KEPT_NS: if user space reads nothing for so long, a loss may be nobody's.
KEPT_S = 5
STACK_CAUSES = ("ring_full", "waits_ring_full")


class Switcher:
    def __init__(self, python):
        self.process = subprocess.Popen(python.command("-c", SWITCHER), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.pid = self.process.pid
        assert self.process.stdout.readline() == "ready\n"
        self.tids = {int(t.name) for t in Path(f"/proc/{self.pid}/task").iterdir()}

    def switches(self):
        texts = [(t / "status").read_text() for t in Path(f"/proc/{self.pid}/task").iterdir()]
        return sum(int(n) for text in texts
                   for n in re.findall(r"^voluntary_ctxt_switches:\s+(\d+)$", text, re.M))

    def wait_switches(self, cnt):
        goal, end = self.switches() + cnt, time.monotonic() + TIMEOUT
        while self.switches() < goal:
            assert time.monotonic() < end, "the target does not run"
            select.select([], [], [], 0.01)

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(TIMEOUT) == 0


@pytest.fixture(scope="module")
def lossy(scratch, python):
    """While the profiler is stopped the ring buffer is full; one of the processes ends then."""
    out = scratch / "losses"
    switchers = []
    try:
        for _ in range(3):
            switchers.append(Switcher(python))
        pids = ",".join(str(s.pid) for s in switchers)
        with Recording(["-p", pids, "-m", "wall", "-r", "99", "-o", out]) as recording:
            recording.wait_recording()
            recording.process.send_signal(signal.SIGSTOP)
            begin = time.monotonic()
            for one in switchers:
                one.wait_switches(SWITCHES)
            switchers[2].end()
            recording.process.send_signal(signal.SIGCONT)
            for one in switchers[:2]:
                one.wait_switches(SWITCHES // 10)
            finished = succeeded(recording.stop())
            unread_s = time.monotonic() - begin
    finally:
        for one in switchers:
            kill(one.process)
    session = json.loads((out / "session.json").read_text())
    named = collections.Counter(session["lost_unnamed"])
    for row in session["processes"]:
        named.update(row["lost"])
    assert +named == +collections.Counter(session["lost"])
    if unread_s > KEPT_S and session["lost_unnamed"]:
        pytest.skip(f"the machine was so slow that nobody read for up to {unread_s:.1f} s: "
                    f"{session['lost_unnamed']} of {session['lost']} are nobody's")
    yield out, session, {s.pid: s for s in switchers}, finished


def test_each_process_has_its_own_and_the_sum_is_right(lossy):
    _, session, switchers, _ = lossy
    rows = session["processes"]
    assert {row["pid"] for row in rows} == set(switchers)
    assert session["lost"]["waits_ring_full"] > 0
    for cause, count in session["lost"].items():
        assert sum(row["lost"].get(cause, 0) for row in rows) == count, (cause, session["lost"])
    assert session["lost_unnamed"] == {}
    assert all(row["lost"]["waits_ring_full"] > SWITCHES / 2 for row in rows), rows


def test_each_thread_has_its_own(lossy):
    _, session, switchers, _ = lossy
    for row in session["processes"]:
        threads = {int(tid): lost for tid, lost in row["lost_threads"].items()}
        assert set(threads) <= switchers[row["pid"]].tids
        for cause in STACK_CAUSES:
            assert sum(lost.get(cause, 0) for lost in threads.values()) == \
                row["lost"].get(cause, 0), (cause, row)
        assert sum("waits_ring_full" in lost for lost in threads.values()) >= THREADS - 1


def test_the_summary_names_them(lossy):
    _, session, switchers, finished = lossy
    for row in session["processes"]:
        line, = [said for said in finished.stderr.splitlines() if f"process {row['pid']} " in said]
        assert int(line.split()[0]) == sum(row["lost"].values())
        assert f"{row['lost']['waits_ring_full']} waits_ring_full" in line
        worst = re.search(r"most in thread (\d+): (\d+)$", line)
        assert int(worst[1]) in switchers[row["pid"]].tids
        assert int(worst[2]) == sum(row["lost_threads"][worst[1]].values())


def test_info_and_report_show_them(lossy):
    out, session, _, _ = lossy
    info = json.loads(succeeded(tachbpf("info", "--json", out)).stdout)
    report = json.loads(succeeded(tachbpf("report", "--json", out)).stdout)
    text = succeeded(tachbpf("info", "--limit", "0", out)).stdout
    foot = succeeded(tachbpf("report", "--by", "thread", "--limit", "0", out)).stdout
    foot = foot.split("\nLost:\n")[1]
    for row in session["processes"]:
        of_file, = [f for f in info["files"] if f["pid"] == row["pid"]]
        of_report, = [f for f in report["lost"] if f["pid"] == row["pid"]]
        for shown in (of_file, of_report):
            assert shown["lost"] == row["lost"] and shown["lost_threads"] == row["lost_threads"]
        for tid, lost in row["lost_threads"].items():
            said = rf"(thread|tid) {tid}\)?: .*\b{lost['waits_ring_full']} waits_ring_full"
            assert re.search(said, text) and re.search(said, foot), (said, foot)
        assert re.search(rf"^  {row['pid']} .*{row['lost']['waits_ring_full']} waits_ring_full",
                         foot, re.M), foot
