# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sums that must hold to the last tick, on any machine: nothing is gone that is not counted.

They are exact because a recording reads its counters after the clocks have stopped: the
kernel disables each event on its own CPU, and a tick counts itself and how it ended in one
interrupt.
"""
import collections
import contextlib
import ctypes
import json
import os
import platform
import re

from summary import files

# Of the summary's ticks: all others are ways a tick can end.
NO_ENDS = ("delivered", "expected", "missed", "no_event", "source", "without_stack", "received",
           "cpus")
# Ends of ticks of no process, of processes that are not recorded, and that are not Python.
NOT_OURS = ("idle", "kernel_thread", "unselected", "other", "unknown")
# Ends of ticks that are losses by the same name.
BOTH = ("ring_full", "busy", "thread_state_unreadable", "thread_state_uncertain")


def ends(ticks):
    return {name: n for name, n in ticks.items() if name not in NO_ENDS}


def check_ticks(ticks):
    """Each tick ends in exactly one way; the CPUs' rows add up."""
    assert sum(ends(ticks).values()) == ticks["delivered"], ticks
    assert ticks["expected"] == ticks["delivered"] + ticks["missed"]
    for sum_of in ("delivered", "missed", "expected"):
        assert sum(cpu[sum_of] for cpu in ticks["cpus"]) == ticks[sum_of], (sum_of, ticks)


def check_cpu_time(summary):
    """Each tick of a process that was recorded, and each that did not come, is in one member."""
    ticks, cpu_time = summary["ticks"], dict(summary["cpu_time"])
    assert cpu_time.pop("ticks") == sum(cpu_time.values())
    ours = sum(n for name, n in ends(ticks).items() if name not in NOT_OURS)
    late = summary["lost"]["late_discovery"]
    assert sum(cpu_time.values()) == ours + late + ticks["missed"] - ticks["no_event"]
    assert (cpu_time["samples"], cpu_time["end"]) == (summary["samples"], ticks["ended"])
    # what was found late, or never, was asked about before
    assert other_programs(summary) >= 0, ticks


def other_programs(summary):
    """Ticks of processes that are not Python."""
    ticks = summary["ticks"]
    return ticks["other"] + ticks["unknown"] - summary["lost"]["late_discovery"] - \
        summary["unidentified"]


# Lines of the summary -> members of cpu_time.
LINES = {"CPU time": "ticks", "samples": "samples", "lost": "lost", "start of Python": "start",
         "end of Python": "end", "missed ticks": "missed"}


def check_printed(said, summary):
    """What the summary prints is all of the CPU time, and each share is a share of that."""
    rows = re.findall(r"^  (\S+(?: \S+)*) +(\d+)  +(.*)$", said, re.M)
    counts = {name: int(n) for name, n, _ in rows}
    cpu_time = summary["cpu_time"]
    for line, member in LINES.items():
        assert counts.get(line, 0) == cpu_time[member], (line, said)
    assert cpu_time["ticks"] == sum(counts.get(line, 0) for line in LINES) - counts["CPU time"]
    assert counts.get("other programs", 0) == other_programs(summary), said
    for name, n, rest in rows:
        share = re.match(r"([\d.]+) % of the CPU time", rest)
        base = cpu_time["ticks"] + (int(n) if name == "unidentified ticks" else 0)
        assert not share or share[1] == f"{100 * int(n) / base:.3f}", (name, said)


def check(summary):
    """Of a recording of the clock (mode cpu): every sample that was sent is in a file or counted
    as lost, and each loss is in the sum."""
    ticks, lost = summary["ticks"], summary["lost"]
    check_ticks(ticks)
    assert ticks["samples"] + ticks["without_stack"] == ticks["received"], ticks
    # the rest of not_ready is of processes whose libpython was not found yet
    assert 0 <= ticks["native_thread"] + ticks["no_frames"] + ticks["not_ready"] - \
        ticks["without_stack"] <= ticks["not_ready"], ticks
    assert ticks["received"] == summary["samples"] + lost["orphans"] + lost["write"] + \
        lost["no_file"] + lost["memory"], (ticks, lost)
    assert summary["lost_total"] == sum(lost.values())
    for name in BOTH:
        assert lost[name] == ticks[name], name
    check_cpu_time(summary)
    # a process that was given up has its row: what it had is in the sum
    assert summary["samples"] == sum(p["samples"] for p in summary["processes"])


def check_files(summary, oracle):
    """As many samples in each file, as CPython's reader counts them, as session.json says."""
    with_files = files(summary)
    profiles = oracle.load(*(p["path"] for p in with_files))
    for process, profile in zip(with_files, profiles):
        said = {process["samples"], profile.info["sample_count"], profile.replayed,
                len(profile.samples)}
        assert len(said) == 1, (process["file"], said)
        if process.get("members"):
            assert sum(m["samples"] for m in process["members"]) == process["samples"]
    assert sum(len(p.samples) for p in profiles) == summary["samples"]
    session = with_files[0]["path"].parent / "session.json"
    if session.exists():
        told = json.loads(session.read_text())
        by_file = collections.Counter({p["file"]: p["samples"] for p in files(told)})
        assert by_file == collections.Counter({p["file"]: p["samples"] for p in with_files})
        assert told["lost"] == summary["lost"] and told["ticks"] == summary["ticks"]


# ---- what the kernel itself counts: bpf(2) ----

NUMBER = {"x86_64": 321, "aarch64": 280}
PROG_GET_FD_BY_ID, ENABLE_STATS = 13, 32


def bpf(command, *words):
    attr = (ctypes.c_uint32 * 16)(*words)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(NUMBER[platform.machine()], command, attr, ctypes.sizeof(attr))
    if fd < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return fd


@contextlib.contextmanager
def counted_by_the_kernel():
    """Yields runs(recording): afterwards {program's name: how often it ran}, for programs of a
    recording, which may have ended. No one else's switch of the statistics matters."""
    held = {}
    stats = bpf(ENABLE_STATS, 0)

    def hold(pid):
        """The programs live on as long as we hold them."""
        for info in os.listdir(f"/proc/{pid}/fdinfo"):
            with contextlib.suppress(FileNotFoundError):
                with open(f"/proc/{pid}/fdinfo/{info}") as f:
                    found = re.search(r"^prog_id:\s+(\d+)$", f.read(), re.M)
                if found and int(found[1]) not in held:
                    held[int(found[1])] = bpf(PROG_GET_FD_BY_ID, int(found[1]))

    def runs(prog_id):
        with open(f"/proc/self/fdinfo/{held[prog_id]}") as f:
            said = dict(re.findall(r"^(\w+):\s*(\S+)$", f.read(), re.M))
        return int(said["run_cnt"])

    hold.runs = runs
    hold.held = held
    try:
        yield hold
    finally:
        for fd in (*held.values(), stats):
            os.close(fd)
