# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""BPF programs and maps in the kernel, as bpftool shows them."""
import contextlib
import ctypes
import json
import os
import re
import subprocess
from pathlib import Path
from processes import TIMEOUT

SYS_BPF = {"x86_64": 321, "aarch64": 280}    # include/uapi/asm/unistd*.h
BPF_ENABLE_STATS = 32                       # enum bpf_cmd of include/uapi/linux/bpf.h


def fields(info):
    """What a file of /proc/PID/fdinfo says: name -> word. Empty: it is gone."""
    with contextlib.suppress(OSError):
        return dict(re.findall(r"^(\w+):\s*(\S+)$", Path(info).read_text(), re.M))
    return {}


def held(pid, what):
    """Descriptor -> fields, of those that a process holds and that have that field: "prog_id",
    "map_id"."""
    found = {}
    with contextlib.suppress(OSError):
        for info in Path(f"/proc/{pid}/fdinfo").iterdir():
            said = fields(info)
            if what in said:
                found[int(info.name)] = said
    return found


def program_name(prog_id):
    """Of a program in the kernel; empty if it is gone."""
    done = subprocess.run(["bpftool", "-j", "prog", "show", "id", str(prog_id)], check=False,
                          capture_output=True, text=True, timeout=TIMEOUT)
    return "" if done.returncode else json.loads(done.stdout).get("name", "")


def map_entries(pid, name):
    """The keys in a process' BPF map of that name, each a 32-bit number."""
    for said in held(pid, "map_id").values():
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
    """The kernel counts what BPF programs take, as long as anybody holds such a descriptor: whoever
    else switches it off beside us does not matter."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(SYS_BPF[os.uname().machine], BPF_ENABLE_STATS, bytes(4), 4)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "the kernel does not count what BPF programs take")
    try:
        yield
    finally:
        os.close(fd)


def bpf_programs(*named):
    """(name, id) -> (runs, ns) of these programs, whoever loaded them."""
    out = subprocess.run(["bpftool", "prog", "show", "-j"], capture_output=True, text=True,
                         timeout=TIMEOUT, check=True).stdout
    return {(p["name"], p["id"]): (p.get("run_cnt", 0), p.get("run_time_ns", 0))
            for p in json.loads(out) if p.get("name") in named}
