# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs a program of the zoo under tachbpf and reads what both say. Knows no program by its name.

Truth is what the processes measured of themselves (programs/truth.py), each in its own window of
time. What tachbpf says is `tachbpf report` on that process and that window.
"""
import collections
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import noise
from command import good
from processes import TIMEOUT
from recording import Recording

HERE = Path(__file__).resolve().parent
REQUESTS, AT_ONCE = 120, 4
# What may be between truth and report.
POINTS = 3
# Becomes the command; says in a file which process that is, and keeps what it prints.
BECOME = 'echo $$ > "$0/pid" && exec "$@" > "$0/printed" 2>&1'


@dataclass
class Found:
    """Of all processes of a program together."""
    cpu_s: float            # what they had, by their own clocks
    turns: int              # how often their threads left a CPU
    rate_hz: int
    samples: int
    shares: dict            # function -> (per cent of cpu_s, per cent of samples)
    under: float            # per cent of the counted functions' samples; None: nothing is asked
    missed: int             # ticks that the machine did not deliver, as tachbpf says

    @property
    def difference(self):
        """The largest of a share, in points."""
        return max(abs(true - said) for true, said in self.shares.values())

    def complaints(self):
        """What is not true, beyond POINTS and beyond chance."""
        points = POINTS + 100 * self.missed / (self.samples + self.missed + 1)
        if self.difference > points:
            yield f"a share is off by {self.difference:.1f} points"
        if self.under is not None and self.under < 100 - points:
            yield f"only {self.under:.1f} % are under the program's function"
        bound = noise.count_bound(self.cpu_s, self.rate_hz, self.missed, self.turns)
        if self.samples not in bound:
            yield f"{self.samples} samples for {self.cpu_s:.2f} s of CPU time: {bound} are possible"


class Place:
    """Where a program runs: its interpreter or its root, and its packages."""

    def __init__(self, python, packages, versions):
        self.python, self.packages, self.versions = python, packages, versions

    def command(self, line, **names):
        words = [word.format(packages=self.packages, **names) for word in shlex.split(line)]
        return self.python(*words)


def free_port():
    """A port of 127.0.0.1 that nobody has now."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def environment(program, place, out, port):
    (out / "truth").mkdir(exist_ok=True)
    (out / "truth").chmod(0o1777)           # servers have users of their own
    return {"PYTHONPATH": os.pathsep.join(map(str, filter(None, [out, place.packages]))),
            "ZOO_TRUTH": str(out / "truth"), "ZOO_OUT": str(out), "ZOO_PORT": str(port),
            "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8", **dict(program.env)}


def prepare(program, place, out, port=0):
    """What the program needs, in out: its environment."""
    out.chmod(0o755)
    shutil.copytree(HERE / "programs", out, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("__pycache__"))
    env = environment(program, place, out, port)
    if program.before:
        made = subprocess.run(place.command(program.before), cwd=out, env=dict(os.environ, **env),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=TIMEOUT)
        assert made.returncode == 0, made
    return env


def run(program, place, out):
    port = free_port()
    env = prepare(program, place, out, port)
    argv = place.command(program.command, port=port, out=out)
    with Recording(["-o", out / "recorded", "--json", "--", "sh", "-c", BECOME, out, *argv],
                   env=env, cwd=out) as recording:
        if program.url:
            drive(recording, f"http://127.0.0.1:{port}{program.url}")
            os.kill(int((out / "pid").read_text()), signal.SIGTERM)
        finished = recording.wait()
    printed = (out / "printed").read_text(errors="replace")[-2000:]
    assert program.url or finished.returncode == 0, f"{finished!r}\n{printed}"
    return judge(program, out, finished)


def drive(recording, url):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for answer in pool.map(lambda _: fetch(recording, url), range(REQUESTS)):
            assert b"done" in answer


def fetch(recording, url):
    """One request, once the server is up."""
    return fetch_when_up(lambda: recording.process.poll() is None, url)


def fetch_when_up(lives, url):
    """The same; lives(): whether it can still come up."""
    end = time.monotonic() + TIMEOUT
    while True:
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
                return answer.read()
        except (urllib.error.URLError, ConnectionError) as error:
            assert not isinstance(error, urllib.error.HTTPError), error
            assert lives(), "the server ended"
            assert time.monotonic() < end, "the server does not come up"
            time.sleep(0.05)


def report(out, truth, *options):
    """(samples by counted function, all samples) of a process in its window."""
    said = json.loads(good("report", "--json", "--limit", 0, "--process", truth["pid"],
                           "--from", "@%.6f" % truth["from"], "--to", "@%.6f" % truth["to"],
                           *options, out / "recorded"))
    rows = collections.Counter()
    for row in said["rows"]:
        name = row["function"].rpartition(".")[2]
        if truth["files"].get(name) == row["file"]:
            rows[name] += row["total"]
    return rows, said["samples"]


def judge(program, out, finished):
    truths = [json.loads(path.read_text()) for path in (out / "truth").glob("*.json")]
    assert truths, "no process has measured itself"
    functions, said, inside = (collections.Counter() for _ in range(3))
    samples = 0
    for truth in truths:
        functions.update(truth["functions"])
        rows, count = report(out, truth)
        said.update(rows)
        samples += count
        if program.under:
            inside.update(report(out, truth, "--focus", rf"(^|\.){re.escape(program.under)}$")[0])
    cpu_s = sum(truth["cpu"] for truth in truths)
    counted = max(sum(said.values()), 1)
    return Found(
        cpu_s, sum(truth["turns"] for truth in truths), finished.summary["rate_hz"], samples,
        {name: (100 * seconds / cpu_s, 100 * said[name] / max(samples, 1))
         for name, seconds in sorted(functions.items())},
        100 * sum(inside.values()) / counted if program.under else None,
        noise.missed(finished.summary))
