# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Memory that is a trap, or cannot be looked at: recordings end, are valid, bounded, and say what they do not know.

Each program is targets/memory/traps.py. A figure that depends on how busy the machine is, is marked truth.
"""
import contextlib
import os
import select
import subprocess
import time
from pathlib import Path

import pytest

import cgroups
from grouping import same_worker
from memory_runs import DEFAULT_EVERY, MIB, PAGE, Rows
from present import absent
from processes import TIMEOUT, kill
from recording import Recording, succeeded, tachbpf
from summary import files

KSM = Path("/sys/kernel/mm/ksm/run")
# Of all the recorder's processes together, beside what it maps for its ring buffer.
MOST_MEMORY = 512 * MIB
BUDGET = 1 / 8          # of a CPU: what walking stacks may take of a target


class Trap:
    """traps.py NAME, waiting for its word; use as a context manager."""

    def __init__(self, python, scratch, name, prefix=()):
        argv = [*prefix, *python.command(scratch / "targets" / "memory" / "traps.py", name)]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        start_new_session=True)

    def __enter__(self):
        assert self.line() == "ready"
        return self

    def __exit__(self, *_):
        kill(self.process)

    @property
    def pid(self):
        return self.process.pid

    def line(self):
        ready, _, _ = select.select([self.process.stdout], [], [], TIMEOUT)
        assert ready, "nothing in time"
        return self.process.stdout.readline().strip()

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def done(self):
        """The words after "done"."""
        word, *words = self.line().split()
        assert word == "done"
        return words


def memory_of(pid):
    """Bytes that a process and all below it have to themselves."""
    total = 0
    for one in [pid, *below(pid)]:
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{one}/smaps_rollup").read_text()
            total += sum(1024 * int(line.split()[1]) for line in text.splitlines()
                         if line.startswith("Private_Dirty"))
    return total


def below(pid):
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *below(int(child))]
    return found


def record_trap(python, scratch, out, name, *options, every=PAGE):
    """(words of the program, rows, the recording's summary, most memory that the recorder had)"""
    with Trap(python, scratch, name) as trap, \
            Recording(["-m", "mem", "-p", trap.pid, "--every", every, "-o", out / "m", "--children",
                       "--json", *options]) as recording:
        recording.wait_recording()
        trap.go()
        words = trap.done()
        most = memory_of(recording.process.pid)
        finished = succeeded(recording.stop())
    assert most < MOST_MEMORY
    assert not list((out / "m").glob("*.tach"))
    return words, Rows(out / "m"), finished.summary, finished


def test_a_storm_of_faults(python, scratch, out):
    """As fast as the kernel gives pages: all bytes count, and nothing of it is held but the last MiB."""
    words, rows, summary, finished = record_trap(python, scratch, out, "storm", every=DEFAULT_EVERY)
    rounds = int(words[0])
    touched, lost = rows.total("touched"), sum(summary["lost"].values())
    assert touched > 0.5 * rounds * MIB or lost, (rounds, touched, repr(finished))
    assert rows.total("held") <= 4 * MIB + 0.02 * touched
    assert succeeded(tachbpf("mem", "--validate", out / "m"))


@pytest.mark.truth
def test_a_storm_is_slowed_no_more_than_the_budget(python, scratch, out):
    """A round of its work, in CPU time, with the recorder against without; the budget is of a CPU."""
    def rounds(recorded):
        with Trap(python, scratch, "storm") as trap:
            with contextlib.ExitStack() as stack:
                if recorded:
                    r = stack.enter_context(Recording(["-m", "mem", "-p", trap.pid, "-o", out / "s", "--json",
                                                       "--force"]))
                    r.wait_recording()
                trap.go()
                words = trap.done()
                if recorded:
                    succeeded(r.stop())
        return float(words[0]) / float(words[1])
    plain = max(rounds(False) for _ in range(3))
    slowed = max(rounds(True) for _ in range(3))
    assert slowed > plain * (1 - BUDGET - 0.05), (plain, slowed)


def test_pages_that_never_come(python, scratch, out):
    """A thread waits for userfaultfd for good: the recording ends, and has what the others did."""
    words, rows, _, _ = record_trap(python, scratch, out, "silent")
    if words == ["denied"]:
        absent("userfaultfd is denied here")
    assert rows.of("grows_beside", "held") >= 15 * MIB


def test_terabytes_with_a_page_here_and_there(python, scratch, out):
    words, rows, _, _ = record_trap(python, scratch, out, "sparse")
    pages = int(words[0])
    held = rows.of("touches_sparse", "held") + rows.of("<not walked>", "held")
    assert held >= 0.95 * pages * PAGE
    assert rows.of("touches_sparse", "held") <= 1.05 * pages * PAGE + MIB


def test_ten_thousand_mappings(python, scratch, out):
    words, rows, _, _ = record_trap(python, scratch, out, "mappings")
    pages = int(words[0])
    held = rows.of("touches_mapping", "held") + rows.of("<not walked>", "held")
    assert 0.95 * pages * PAGE <= held
    assert rows.of("touches_mapping", "held") <= 1.05 * pages * PAGE + MIB


def wait_asked(recording):
    """Until the worker has asked the kernel about all pages once more."""
    worker = next(pid for pid in below(recording.process.pid)
                  if Path(f"/proc/{pid}/comm").read_text().strip() == "tachbpf-pages")

    def read_bytes():
        return int(Path(f"/proc/{worker}/io").read_text().split()[1])
    before, end = read_bytes(), time.monotonic() + TIMEOUT
    while read_bytes() < before + 10000 * 8:    # an entry of a page is 8 bytes
        assert time.monotonic() < end, "nothing is asked"
        time.sleep(0.01)


def test_pages_that_the_kernel_moves(python, scratch, out):
    """Compaction gives part of the memory other frames: nothing of it is given back."""
    compact = Path("/proc/sys/vm/compact_memory")
    if not compact.exists():
        pytest.skip("this kernel has no compaction")
    with Trap(python, scratch, "mappings") as trap, \
            Recording(["-m", "mem", "-p", trap.pid, "--every", PAGE, "-o", out / "m", "--json"]) as recording:
        recording.wait_recording()
        trap.go()
        pages = int(trap.done()[0])
        wait_asked(recording)
        compact.write_text("1")
        wait_asked(recording)
        succeeded(recording.stop())
    assert Rows(out / "m").total("held") >= 0.99 * pages * PAGE


def test_equal_pages_that_become_one(python, scratch, out):
    """KSM: the page is another's, or still there; never more than was touched."""
    if not KSM.exists():
        pytest.skip("this kernel has no KSM")
    before = KSM.read_text()
    KSM.write_text("1\n")
    try:
        _, rows, _, _ = record_trap(python, scratch, out, "merged")
    finally:
        KSM.write_text(before)
    assert rows.of("touches_equal", "held") <= 33 * MIB
    assert rows.of("touches_equal", "touched") >= 0.9 * 32 * MIB - rows.of("<not walked>", "touched")


@pytest.fixture
def swap(out):
    """A swap file of our own, unless the host has swap."""
    if len(Path("/proc/swaps").read_text().splitlines()) > 1:
        yield
        return
    path = out / "swap"
    with path.open("wb") as f:
        os.posix_fallocate(f.fileno(), 0, 96 * MIB)
    path.chmod(0o600)
    made = [subprocess.run(argv, capture_output=True, text=True)
            for argv in (["mkswap", path], ["swapon", path])]
    if any(m.returncode for m in made):
        pytest.skip(f"no swap can be had here: {made[-1].stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["swapoff", path], check=True)


@same_worker("swap")
def test_what_is_swapped_out_is_still_held(python, scratch, out, swap):
    words, rows, _, _ = record_trap(python, scratch, out, "paged_out")
    if int(words[0]) < 16 * 1024:
        pytest.skip(f"only {words[0]} kB went to the swap device")
    assert rows.of("touches_equal", "held") >= 0.9 * 32 * MIB - rows.of("<not walked>", "held")


def test_without_the_right_to_see_page_frames(python, scratch, out):
    """Without CAP_SYS_ADMIN, pagemap says whether a page is there, not which: what is gone is gone."""
    prefix = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]
    with Trap(python, scratch, "silent") as trap, \
            Recording(["-m", "mem", "-p", trap.pid, "--every", PAGE, "-o", out / "m", "--json"],
                      prefix=prefix) as recording:
        try:
            recording.wait_recording()
        except AssertionError as error:
            assert "error" in str(error), error
            absent("recording without CAP_SYS_ADMIN is refused by this kernel: " + str(error)[:200])
        trap.go()
        if trap.done() == ["denied"]:
            absent("userfaultfd is denied here")
        succeeded(recording.stop())
    assert Rows(out / "m").of("grows_beside", "held") >= 15 * MIB


def test_a_control_group_at_its_limit(python, scratch, out):
    """The kernel kills the program for its memory: the file says what it had."""
    mount = cgroups.memory()
    if not mount:
        pytest.skip("no cgroup hierarchy with the memory controller can be written to")
    with cgroups.Tree(mount) as tree:
        directory = tree.make("limited")
        cgroups.limit_memory(directory, 64 * MIB)
        with Trap(python, scratch, "without_end", cgroups.enter(directory, [])) as trap, \
                Recording(["-m", "mem", "-p", trap.pid, "--every", PAGE, "-o", out / "m", "--json"]) as r:
            r.wait_recording()
            trap.go()
            assert trap.process.wait(TIMEOUT) == -9
            succeeded(r.wait())
    rows = Rows(out / "m")
    assert 0.5 * 64 * MIB < rows.total("touched") < 1.2 * 64 * MIB
    assert rows.top("touched") == "without_end"


def test_processes_that_end_at_once(python, scratch, out):
    """Five hundred: each is a file or a loss, and a look at one that is gone finds nobody else's pages."""
    _, rows, summary, finished = record_trap(python, scratch, out, "crowd")
    assert rows.of("crowd", "held") <= rows.of("crowd", "touched")
    assert len(summary["processes"]) + sum(summary["lost"].values()) >= 100, repr(finished)


def last_pid(number):
    Path("/proc/sys/kernel/ns_last_pid").write_text(str(number))


def wait_known(directory, pid, function, before):
    """Until the recording of a process that goes on has a function's name, in a file that was not there before."""
    end = time.monotonic() + TIMEOUT
    while True:
        for names in set(directory.glob(f"{pid}-*.names")) - before:
            with contextlib.suppress(FileNotFoundError):
                if function.encode() in names.read_bytes():
                    return
        assert time.monotonic() < end, f"{function} of {pid} is not seen"
        time.sleep(0.01)


def test_a_pid_that_is_used_again(python, scratch, out):
    """The second process of a number is not asked for the first one's pages."""
    with Recording(["-a", "-m", "mem", "--every", PAGE, "-o", out / "m", "--json"]) as recording:
        recording.wait_recording()
        started = []
        while len(started) < 20 and len(started) == len(set(started)):
            if started:
                last_pid(started[0] - 1)
            before = set((out / "m").glob("*.names"))
            with Trap(python, scratch, "waits_to_be_known") as trap:
                started.append(trap.pid)
                trap.go()
                wait_known(out / "m", trap.pid, "touches_a_page", before)
                trap.go()
                trap.done()
        summary = succeeded(recording.stop()).summary
    if len(started) == len(set(started)):
        pytest.skip("no PID came a second time")
    # Before its exec, each was a child of ours, of the same number, and may have written to our pages.
    # Other tests' processes may have come in between, with the same number.
    processes = [p for p in files(summary) if p["pid"] == started[-1] and "waits_to_be_known" in p["command"]]
    assert len(processes) == 2
    for process in processes:
        rows = Rows(process["path"])
        assert process["touched_bytes"] < 40 * MIB
        assert rows.of("touches_once", "touched") <= 1.05 * 8 * MIB
        assert rows.of("touches_once", "held") + rows.of("<not walked>", "held") >= 0.95 * 8 * MIB
