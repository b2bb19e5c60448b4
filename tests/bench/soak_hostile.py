#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make soak-hostile: everything at once that an unprivileged user can do to a recording.

Two recordings (plain -a; -a -m wall) run while an ordinary user's processes come and go: FUSE servers
that stop to answer, exec storms, thread storms, user and pid namespaces, interpreters that nobody has
seen before, hostile names, processes that stand still (SIGSTOP, freezer). Each ten seconds the profilers'
descriptors, processes, threads and memory are looked at. After the first minute, none of them may
grow beyond what is derived here.
"""
import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

import fuse  # noqa: E402
from paths import TARGETS  # noqa: E402
from processes import family, kill, online_cpus  # noqa: E402
from recording import Recording  # noqa: E402

PYTHON = "/usr/bin/python3"
NOBODY = fuse.NOBODY
FUSE_SERVERS = 4
LOOK_S, WARM_S = 10, 60
PAUSE_S = 0.05                          # the pace of the attacks, which leaves the machine something
# worker.h: WORKER_STUCK_OF_USER of each kind may be blocked by one user. The attacks are of one user,
# and there are two kinds that files block: the inspector, and its parser.
BLOCKED = 2 * 2
# Processes of a recording: itself, keeper, reader, inspector, parser, walker; and those that are blocked.
PROCESSES = 6 + BLOCKED
THREADS = PROCESSES + 2                 # none has more than one; zstd and libbpf may have a helper
# Descriptors for a file that is open: profiles of processes that live, images (1,024 at most, of which the
# attacks' interpreters take what they can), two for each worker. What lives at one time is bounded by
# the pace; so the bound is what the second minute shows, and half as much again.
SLACK = 1.5
# A row of each process that has ended, with its names, for the summary: bytes.
ROW = 2048
SLOPE_KIB_S = 64                        # beside those rows, over the time after the first minute

THREADS_CODE = """
import threading
def f(i):
    threading.current_thread().name = "t" * (i % 40) + "\\n\\x1b[31m"
    sum(range(2000))
for i in range(300):
    t = threading.Thread(target=f, args=(i,)); t.start(); t.join()
"""
NAMES_CODE = """
import ctypes, sys
libc = ctypes.CDLL(None)
for i in range(20000):
    if i % 100 == 0:
        libc.prctl(15, bytes([27, 91, 51, 49, 109, 10, 34, 92, 1 + i % 255]))
    sum(range(50))
"""
BUSY_CODE = "while True: sum(range(1000))"
SHORT_CODE = "sum(range(100000))"


def as_nobody(argv, cwd=None):
    return subprocess.Popen([*map(str, argv)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, user=NOBODY, group=NOBODY, extra_groups=[],
                            start_new_session=True, cwd=cwd)


class Attacks:
    """Each method is one attack's step; all are called in turn until close()."""

    def __init__(self, scratch):
        self.scratch, self.count, self.brief = scratch, {}, []
        self.hostile = scratch / "a\nb\x1b[2J \"'\\"
        self.hostile.mkdir()
        # no Python, and a file that no other process has: its mapped files are looked at
        self.burner = scratch / "map_and_burn"
        subprocess.run(["gcc", "-O", "-o", self.burner, TARGETS / "map_and_burn.c"], check=True)
        self.fuse, self.turn, self.copies = [], 0, 0
        # fuse.device() makes a node for everybody, as /dev/fuse is
        self.device = fuse.device(scratch) if os.path.exists("/dev/fuse") else None
        self.still = as_nobody([PYTHON, "-c", BUSY_CODE])
        self.frozen = self.freezer()
        self.lasting = [self.still, *([self.frozen] if self.frozen else [])]

    def freezer(self):
        """A busy process in a cgroup of its own; None: cgroup v2 is not here."""
        self.cgroup = Path("/sys/fs/cgroup/tachbpf-soak")
        process = as_nobody([PYTHON, "-c", BUSY_CODE])
        with contextlib.suppress(OSError):
            self.cgroup.mkdir(exist_ok=True)
            if (self.cgroup / "cgroup.freeze").exists():
                (self.cgroup / "cgroup.procs").write_text(str(process.pid))
                return process
        kill(process)
        return None

    def counted(self, name, by=1):
        self.count[name] = self.count.get(name, 0) + by

    def start(self, name, argv, cwd=None):
        self.brief.append(as_nobody(argv, cwd))
        self.counted(name)

    def fuse_servers(self):
        """One comes, the oldest goes."""
        if not self.device or self.turn % 20:
            return
        place = "overlay" if self.turn % 40 else "plain"
        with contextlib.suppress(AssertionError):
            self.fuse.append(fuse.Unanswering(self.device, self.scratch / f"fuse{self.turn}", place,
                                              user=NOBODY, program=self.burner).__enter__())
            self.counted(f"FUSE servers ({place})")
        while len(self.fuse) > FUSE_SERVERS:
            self.fuse.pop(0).stop()

    def execs(self):
        self.start("exec storms of 20", ["sh", "-c", f"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; "
                                         f"do {PYTHON} -S -E -c '{SHORT_CODE}'; done"])

    def threads(self):
        self.start("thread storms of 300", [PYTHON, "-c", THREADS_CODE])

    def namespaces(self):
        self.start("user and pid namespaces", ["unshare", "--user", "--map-root-user", "--pid", "--fork",
                                               PYTHON, "-c", SHORT_CODE])

    def copy(self):
        """A Python with one more byte: another file, with another identity. The eighth before goes."""
        path = self.hostile / f"python{self.copies}"
        with contextlib.suppress(OSError):
            (self.hostile / f"python{self.copies - 8}").unlink()
        shutil.copy(os.path.realpath(PYTHON), path)
        with open(path, "ab") as f:
            f.write(os.urandom(1 + self.copies % 7))
        self.copies += 1
        return path

    def interpreters(self):
        self.start("interpreters never seen before", [self.copy(), "-c", SHORT_CODE])

    def names(self):
        self.start("hostile names", [PYTHON, "-c", NAMES_CODE, "\n\x1b]0;x\x07", "\\\"" * 500],
                   cwd=self.hostile)

    def standing(self):
        self.still.send_signal(signal.SIGCONT if self.turn % 2 else signal.SIGSTOP)
        if self.frozen:
            (self.cgroup / "cgroup.freeze").write_text(str(self.turn % 2))
        self.counted("stops and freezes")

    def step(self):
        attacks = [self.execs, self.threads, self.namespaces, self.interpreters, self.names]
        attacks[self.turn % len(attacks)]()
        self.standing()
        self.fuse_servers()
        self.turn += 1
        alive = [p for p in self.brief if p.poll() is None]
        while len(alive) > 2 * online_cpus():
            kill(alive.pop(0))
        self.brief = alive

    def close(self):
        for server in self.fuse:
            server.stop()
        if self.frozen:
            (self.cgroup / "cgroup.freeze").write_text("0")
        for process in [*self.lasting, *self.brief]:
            kill(process)
        with contextlib.suppress(OSError):
            self.cgroup.rmdir()


def fields(pid, name, *keys):
    with contextlib.suppress(OSError):
        lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/{name}").read_text().splitlines()
                     if ":" in line)
        return [int(lines.get(key, "0").split()[0]) for key in keys]
    return [0] * len(keys)


def look(recording):
    """Descriptors, processes, threads, RSS and PSS (KiB) of all processes of a recording."""
    row = {"fds": 0, "processes": 0, "threads": 0, "rss": 0, "pss": 0}
    for pid in family(recording.process.pid):
        threads, rss = fields(pid, "status", "Threads", "VmRSS")
        pss, = fields(pid, "smaps_rollup", "Pss")
        if not threads:
            continue
        row["processes"] += 1
        row["threads"] += threads
        row["rss"] += rss
        row["pss"] += pss
        with contextlib.suppress(OSError):
            row["fds"] += len(os.listdir(f"/proc/{pid}/fd"))
    return row


def slope(points):
    """KiB per second by least squares."""
    n = len(points)
    mean_x, mean_y = (sum(p[i] for p in points) / n for i in (0, 1))
    below = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / below if below else 0


def problems(name, rows, ended):
    """rows: (seconds, look()); ended: processes that the recording has a row of."""
    warm = [(t, r) for t, r in rows if t >= WARM_S]
    if len(warm) < 4:
        yield f"{name}: too short to judge: {WARM_S + 4 * LOOK_S} s at least"
        return
    first = warm[:max(2, len(warm) // 4)]
    for key, bound in (("processes", PROCESSES), ("threads", THREADS),
                       ("fds", SLACK * max(r["fds"] for _, r in first) + 2 * BLOCKED)):
        worst = max(r[key] for _, r in warm)
        if worst > bound:
            yield f"{name}: {worst} {key}, more than {bound:.0f}"
    rows_kib_s = ended * ROW / 1024 / rows[-1][0]
    grows = slope([(t, r["pss"]) for t, r in warm])
    if grows > SLOPE_KIB_S + rows_kib_s:
        yield (f"{name}: memory grows by {grows:.0f} KiB/s, of which {rows_kib_s:.0f} are rows of "
               "processes that have ended")


def print_table(looks):
    print(f"{'s':>6} {'recording':10} {'fds':>6} {'processes':>10} {'threads':>8} {'RSS KiB':>9} {'PSS KiB':>9}")
    for name, rows in looks.items():
        for t, r in rows:
            print(f"{t:6.0f} {name:10} {r['fds']:6} {r['processes']:10} {r['threads']:8} {r['rss']:9} "
                  f"{r['pss']:9}")


def soak(scratch, seconds):
    """({name: rows}, {name: summary}, counts of attacks)."""
    ways = {"plain": [], "wall": ["-m", "wall"]}
    with contextlib.ExitStack() as stack:
        recordings = {name: stack.enter_context(Recording(
            ["-a", *way, "-o", scratch / name, "--json", "-q"])) for name, way in ways.items()}
        for recording in recordings.values():
            recording.wait_recording()
        attacks = Attacks(scratch)
        stack.callback(attacks.close)
        looks = {name: [] for name in recordings}
        begin = time.monotonic()
        due = LOOK_S
        while time.monotonic() < begin + seconds:
            attacks.step()
            time.sleep(PAUSE_S)         # the pace of the attacks
            now = time.monotonic() - begin
            if now >= due:
                due += LOOK_S
                for name, recording in recordings.items():
                    if recording.process.poll() is not None:
                        raise SystemExit(f"soak-hostile: {name} ended: {recording.wait()!r}")
                    looks[name].append((now, look(recording)))
        # They end on time, with the attackers still there.
        summaries = {name: recording.stop() for name, recording in recordings.items()}
    return looks, summaries, attacks.count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=1800)
    args = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("soak-hostile: needs root")
    bad = []
    with tempfile.TemporaryDirectory(prefix="tachbpf-soak-", dir="/tmp") as directory:
        scratch = Path(directory)
        scratch.chmod(0o755)
        looks, done, counts = soak(scratch, args.seconds)
    print_table(looks)
    for name, count in sorted(counts.items()):
        print(f"{count:8} {name}")
    for name, finished in done.items():
        if finished.returncode:
            bad.append(f"{name}: exit status {finished.returncode}: {finished.stderr[-1000:]}")
            continue
        s = finished.summary
        print(f"{name}: {s['duration_s']:.0f} s, {s['samples']} samples, lost "
              f"{({k: v for k, v in s['lost'].items() if v}) or 'none'}, {len(s['processes'])} processes, "
              f"files_stuck {s['files_stuck']}, {s['cpu_percent']:.1f} % of a CPU")
        bad += problems(name, looks[name], len(s["processes"]))
    for problem in bad:
        print("PROBLEM:", problem)
    print("soak-hostile: " + ("failed" if bad else "passed"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
