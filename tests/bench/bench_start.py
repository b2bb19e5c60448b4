#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-start: how long it takes from the command to the first tick, and where that time goes.

Beside another tachbpf (--beside) in the same rounds, and beside py-spy record. Phases are of one start under
strace, which makes it some ms longer.
"""
import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))
sys.path.insert(0, str(HERE))

from bench import pyspy  # noqa: E402
from processes import kill  # noqa: E402
from starting import recording  # noqa: E402

TACHBPF = os.environ["TACHBPF"]
BUSY = "while True: pass"
AIM = "aim: 0.15 s"
TRACED = "execve,bpf,openat,faccessat2,perf_event_open,timerfd_settime"


def modes(pid):
    return {"-p PID": ["-p", pid], "-a": ["-a"], "-a -m wall": ["-a", "-m", "wall"]}


def time_starts(binaries, pid, rounds, scratch):
    """(mode, name) -> [(seconds, CPU seconds)]; in turn, so that what else runs here disturbs all alike."""
    found = {}
    for _ in range(rounds):
        for mode, argv in modes(pid).items():
            for name, binary in binaries.items():
                with recording(binary, argv, scratch) as (_, took, cpu):
                    found.setdefault((mode, name), []).append((took, cpu))
    return found


def spy_start(spy, pid):
    """Seconds until py-spy says that it samples; None: it does not."""
    begin = time.monotonic()
    with subprocess.Popen([spy, "record", "-r", "99", "-d", "1", "-f", "raw", "-o", "/dev/null", "-p", str(pid)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True) as peer:
        for line in peer.stdout:
            if "Sampling process" in line:
                took = time.monotonic() - begin
                kill(peer)
                return took
    return None


def events(log):
    """(seconds since the exec, seconds that it took, pid, call) of each traced system call that has ended."""
    begin, begun = None, {}             # begun: pid -> a call that others' calls interrupt in the log
    for line in log.read_text(errors="replace").splitlines():
        m = re.match(r"(\d+)\s+([\d.]+) (.*?)(?: <([\d.]+)>)?$", line)
        if not m:
            continue
        begin = begin or float(m[2])
        at, pid, call = float(m[2]) - begin, int(m[1]), m[3]
        if call.endswith("<unfinished ...>"):
            begun[pid] = at, call
            continue
        if call.startswith("<... ") and pid in begun:
            at, call = begun.pop(pid)
        yield at, float(m[4] or 0), pid, call


def phases(binary, argv, scratch):
    """[(name, milliseconds)] of one start."""
    log = scratch / "trace"
    subprocess.run(["strace", "--seccomp-bpf", "-f", "-ttt", "-T", "-e", f"trace={TRACED}", "-o", log, binary,
                    *map(str, argv), "-d", "0.05", "-o", tempfile.mkdtemp(dir=scratch) + "/recording"], capture_output=True)
    out, last, main, programs = [], 0.0, None, []

    def until(name, now):
        nonlocal last
        out.append((name, 1e3 * (now - last)))
        last = now

    for at, took, pid, call in events(log):
        main = main or pid
        program = re.search(r'prog_name="(on_\w+)"', call)
        if pid != main:
            continue
        if "sys/kernel/btf/vmlinux" in call and call.startswith("openat") and not out:
            until("process and workers", at)
        elif "BPF_BTF_LOAD" in call and len(out) == 1:
            until("the kernel's types are read", at)
        elif "BPF_PROG_LOAD" in call and program:
            if len(out) == 2:
                until("maps; the programs are fitted to the kernel", at)
            programs.append((program[1], 1e3 * took))
            last = at + took
        elif "BPF_PERF_EVENT" in call and "target_fd=-1" in call and len(out) == 3:
            out.append(("programs", sum(ms for _, ms in programs)))
            until("attached, processes inspected", at)
        elif call.startswith("timerfd_settime") and len(out) == 5:
            until("perf events", at)
    return out, programs


def say_phases(name, binary, pid, scratch):
    for mode, argv in modes(pid).items():
        found, programs = phases(binary, argv, scratch)
        print(f"\n{name}, {mode}: ms by phase, of one start under strace")
        for phase, ms in found:
            print(f"  {phase:46}{ms:8.1f}")
            if phase == "programs":
                for program, its in programs:
                    print(f"    {program:44}{its:8.1f}")


def text_of(file):
    """Its text; "" if the descriptor was closed meanwhile."""
    try:
        return file.read_text()
    except FileNotFoundError:
        return ""


def say_verified(name, binary, pid, scratch):
    """What the kernel says of the programs that a recording holds (Linux 5.16 and later)."""
    for mode, argv in modes(pid).items():
        with recording(binary, argv, scratch) as (process, _, _):
            texts = [text_of(f) for f in Path(f"/proc/{process.pid}/fdinfo").iterdir()]
            said = [dict(re.findall(r"^(\w+):\s*(\S+)$", text, re.M)) for text in texts]
            shown = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, text=True, check=True).stdout
        names = {p["id"]: p.get("name", "") for p in json.loads(shown)}
        cnt = {names[int(s["prog_id"])]: int(s["verified_insns"]) for s in said if "verified_insns" in s}
        print(f"{name}, {mode}: instructions that the verifier looked at: {sum(cnt.values()):,}: "
              + ", ".join(f"{program} {n:,}" for program, n in sorted(cnt.items())))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beside", help="another tachbpf, to be compared with")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))       # what was started ends, too
    binaries = {"before": args.beside, "now": TACHBPF} if args.beside else {"now": TACHBPF}
    # Nice: it must not take a CPU from what is measured, however urgent that is made.
    target = subprocess.Popen(["chrt", "-o", "0", "nice", "-n", "39", sys.executable, "-S", "-c", BUSY],
                              start_new_session=True)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            scratch = Path(scratch)
            print(f"from the command to the first tick, seconds, median (and least) of {args.rounds}; CPU seconds "
                  f"of all processes of tachbpf by then, median ({AIM})")
            found = time_starts(binaries, target.pid, args.rounds, scratch)
            for (mode, name), values in found.items():
                took, cpu = ([v[i] for v in values] for i in (0, 1))
                print(f"  {mode:14}{name:10}{statistics.median(took):8.3f} ({min(took):.3f})"
                      f"{statistics.median(cpu):10.3f}", flush=True)
            spy = pyspy(scratch)
            peer = [spy_start(spy, target.pid) for _ in range(args.rounds)] if spy else [None]
            print("  py-spy record: " + (f"{statistics.median(peer):.3f} ({min(peer):.3f})" if all(peer) else
                                         "missing (pip could not install it), or it did not run"))
            for name, binary in binaries.items():
                say_verified(name, binary, target.pid, scratch)
                if shutil.which("strace"):
                    say_phases(name, binary, target.pid, scratch)
            if not shutil.which("strace"):
                print("phases: strace is not installed")
    finally:
        kill(target)


main()
