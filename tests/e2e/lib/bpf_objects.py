# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""BPF programs and maps in the kernel, as bpftool shows them."""
import contextlib
import json
import re
import subprocess
from pathlib import Path
from processes import TIMEOUT


def map_entries(pid, name):
    """The keys in a process' BPF map of that name, each a 32-bit number."""
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        said = dict(re.findall(r"^(\w+):\s*(\S+)$", info.read_text(), re.M))
        if "map_id" not in said:
            continue
        shown = subprocess.run(["bpftool", "-j", "map", "show", "id", said["map_id"]],
                               capture_output=True, text=True, timeout=TIMEOUT, check=True).stdout
        if json.loads(shown)["name"] != name:
            continue
        dump = subprocess.run(["bpftool", "-j", "map", "dump", "id", said["map_id"]],
                              capture_output=True, text=True, timeout=TIMEOUT, check=True).stdout
        return {int.from_bytes(bytes(int(b, 16) for b in e["key"]), "little")
                for e in json.loads(dump)}
    raise AssertionError(f"process {pid} has no map {name}")


@contextlib.contextmanager
def bpf_stats():
    """The kernel counts what BPF programs take."""
    stats = Path("/proc/sys/kernel/bpf_stats_enabled")
    before = stats.read_text()
    stats.write_text("1")
    try:
        yield
    finally:
        stats.write_text(before)


def bpf_programs(*named):
    """(name, id) -> (runs, ns) of these programs, whoever loaded them."""
    out = subprocess.run(["bpftool", "prog", "show", "-j"], capture_output=True, text=True,
                         timeout=TIMEOUT, check=True).stdout
    return {(p["name"], p["id"]): (p.get("run_cnt", 0), p.get("run_time_ns", 0))
            for p in json.loads(out) if p.get("name") in named}
