# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The machine's own counters, that tell a busy or starved machine from a wrong program."""
import os
import time
from pathlib import Path

# What of each file says something about load; None: all of it.
FILES = {
    "/proc/loadavg": None,
    "/proc/stat": ("cpu", "ctxt", "procs_running", "procs_blocked"),
    "/proc/schedstat": ("cpu",),
    "/proc/vmstat": ("pgmajfault", "pswpin", "pswpout", "allocstall", "oom_kill"),
    "/proc/pressure/cpu": None,
    "/proc/pressure/io": None,
    "/proc/pressure/memory": None,
}


def description():
    """CPUs and kernel, in a line for those who read a figure."""
    models = [line.partition(":")[2].strip() for line in lines_of("/proc/cpuinfo", ("model name",))]
    model = models[0] if models else os.uname().machine
    return f"{model}, {os.cpu_count()} CPUs, Linux {os.uname().release}"


def lines_of(path, wanted):
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return []           # this kernel has none
    return [line for line in lines if wanted is None or line.startswith(wanted)]


def counters():
    """File -> its lines, and when."""
    return {"at": time.monotonic(), **{path: lines_of(path, w) for path, w in FILES.items()}}


def cpu_use(before, after):
    """Of all CPUs together, in words: what /proc/stat's first line counted in between."""
    kinds = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    first, last = (c["/proc/stat"][0].split()[1:9] for c in (before, after))
    ticks = {k: int(b) - int(a) for k, a, b in zip(kinds, first, last)}
    total = max(1, sum(ticks.values()))
    return ", ".join(f"{k} {100 * n / total:.1f} %" for k, n in ticks.items())


def difference(before, after):
    """Both readings as text, and what a reader wants to know first."""
    lines = [f"{after['at'] - before['at']:.2f} s on {os.cpu_count()} CPUs: "
             f"{cpu_use(before, after)}", ""]
    for path in FILES:
        lines.append(path)
        lines += [f"  before {line}" for line in before[path]]
        lines += [f"  after  {line}" for line in after[path]]
    return "\n".join(lines) + "\n"
