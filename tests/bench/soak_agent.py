#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make soak-agent: a day of the agent's windows in half an hour, with servers that come and go.

A reload every 0.15 s cuts the window: 100 times as many windows as by default. Processes with new names
come and go; the server takes, refuses, wants smaller requests, holds requests up, or is not there. At the
end, what the server took must be what the agent says that it has sampled, and memory must not have grown
after the first third. A reload ends transfers that have begun, so profiles may come twice: they have the
same id, and are counted once.
"""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "lib"))

import cgroups  # noqa: E402
from agent import Agent  # noqa: E402
from http_sink import Answer, Sink  # noqa: E402
from otlp_decode import COUNT, Request  # noqa: E402
from processes import family, kill  # noqa: E402

RELOAD_S = 0.15
PHASE_S, LOOK_S = 7, 10
BATCH_S = 2             # samples wait in the ring buffer for less
STABLE, BRIEF = 8, 4
RATE = 99
# After the first third, all processes' memory may grow by this: tables of names that are full only later.
GROWTH_MIB = 6
# What the server does, in turn: the last ones are not ready, no right, and 2^63 - 1 profiles that it rejects.
MODES = ("take", "take", "busy", "broken", "large", "slow", "unready", "denied", "lying")
LIE = b"\x0a\x0a\x08" + b"\xff" * 8 + b"\x7f"
BURN = "import time\nwhile True:\n e = time.process_time() + 0.01\n while time.process_time() < e: pass\n time.sleep(0.05)\n"


class Books:
    """What the server has taken, by profile id; bodies are not kept."""

    def __init__(self):
        self.ids, self.ns, self.twice, self.answers = set(), 0, 0, {}
        self.mode, self.lock = "take", threading.Lock()

    def answer(self, posted):
        mode, data = self.mode, posted.body
        posted.raw = b""
        status = {"busy": 429, "broken": 503, "unready": 500, "denied": 401,
                  "large": 413 if len(data) > 6000 else 200}.get(mode, 200)
        with self.lock:
            self.answers[status] = self.answers.get(status, 0) + 1
            if status == 200:
                self.take(Request(data))
        if mode == "slow":
            time.sleep(0.5)
        body = LIE if mode == "lying" and status == 200 else b""
        return Answer(status, body, **({"Retry_After": "1"} if status == 429 else {}))

    def take(self, request):
        for _, profiles in request.resources:
            for p in profiles:
                if p["id"] in self.ids:         # as a server that knows ids would
                    self.twice += 1
                    continue
                self.ids.add(p["id"])
                if p["type"] == COUNT:
                    self.ns += p["period"] * sum(value for _, value, _ in p["samples"])


class Pythons:
    """Some that stay, and some that are replaced by others with new names."""

    def __init__(self, cgroup, scratch):
        self.cgroup, self.scratch, self.number = cgroup, scratch, 0
        self.stable = [self.start() for _ in range(STABLE)]
        self.brief = []

    def start(self):
        self.number += 1
        path = self.scratch / f"program{self.number}.py"
        path.write_text(BURN)
        return subprocess.Popen(cgroups.enter(self.cgroup, ["/usr/bin/python3", path]),
                                stdin=subprocess.DEVNULL, start_new_session=True), path

    def turn(self):
        self.brief.append(self.start())
        while len(self.brief) > BRIEF:
            self.end(self.brief.pop(0))

    def end(self, one):
        kill(one[0])
        one[1].unlink()

    def close(self):
        for one in self.stable + self.brief:
            self.end(one)


def memory_mib(pid):
    total = 0
    for one in family(pid):
        try:
            text = Path(f"/proc/{one}/status").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("RssAnon"))
    return total / 1024


def metric_sum(metrics, name):
    return sum(v for k, v in metrics.items() if k.partition("{")[0] == name)


class Soak:
    def __init__(self, scratch, tree, books, sink, seconds):
        self.books, self.sink, self.seconds = books, sink, seconds
        self.config, self.reloads = scratch / "agent.yaml", 0
        targets = tree.make("targets")
        self.write()
        self.pythons = Pythons(targets, scratch)
        self.agent = Agent(scratch, "--config", self.config, "--cgroup", tree.path(targets))
        self.seen = []

    def write(self):
        """Another label each time, so that something changes."""
        new = self.config.with_suffix(".new")
        new.write_text(f"rate: {RATE}\nlabels: {{turn: '{self.reloads % 7}'}}\nbudget: {{cpu: 0}}\n"
                       f"log_level: error\nexporters: {{otlp: {{endpoint: '{self.sink.url}'}}}}\n"
                       "retry: {initial: 100ms, max: 1s}\n")
        new.rename(self.config)

    def run(self):
        turns = random.Random(11)
        start = phase = look = time.monotonic()
        while (now := time.monotonic()) - start < self.seconds:
            assert self.agent.process.poll() is None, self.agent.said()
            if now >= phase:
                phase = now + PHASE_S
                self.books.mode = turns.choice(MODES)
                self.pythons.turn()
            if now >= look:
                look = now + LOOK_S
                self.look(now - start)
            self.reloads += 1
            self.write()
            self.agent.process.send_signal(signal.SIGHUP)
            time.sleep(RELOAD_S)
        self.books.mode = "take"

    def look(self, at):
        metrics = self.agent.metrics()
        self.seen.append((at, memory_mib(self.agent.process.pid)))
        print(f"{at:6.0f} s {self.seen[-1][1]:6.1f} MiB  windows "
              f"{metric_sum(metrics, 'tachbpf_agent_windows_total'):.0f}  services "
              f"{metric_sum(metrics, 'tachbpf_agent_services'):.0f}  queue "
              f"{metric_sum(metrics, 'tachbpf_agent_exporter_queue_requests'):.0f}  "
              f"{self.books.mode}", flush=True)

    def finish(self):
        """The queue empties; then the agent ends. Its last metrics."""
        end = time.monotonic() + 120
        self.pythons.close()
        time.sleep(BATCH_S)
        while time.monotonic() < end:
            metrics = self.agent.metrics()
            if not metric_sum(metrics, "tachbpf_agent_exporter_queue_requests"):
                break
            time.sleep(1)
        metrics = self.agent.metrics()
        self.agent.end()
        return metrics


def judge(soak, books, metrics):
    sampled = metrics['tachbpf_agent_samples_total{type="cpu"}'] / RATE
    dropped = metric_sum(metrics, "tachbpf_agent_exporter_dropped_samples_total")
    windows = metric_sum(metrics, "tachbpf_agent_windows_total")
    # Each sample is of one period, so nothing is rounded; half of one for the digits of a double.
    took, slack = books.ns / 1e9, 0.5 / RATE
    late = [m for at, m in soak.seen if at > soak.seconds / 3]
    growth = late[-1] - late[0]
    print(f"windows: {windows:.0f} ({windows / soak.seconds * 15:.0f} times as many as by default); "
          f"profiles: {len(books.ids)}, twice: {books.twice}; answers: {books.answers}")
    print(f"CPU time: sampled {sampled:.2f} s, taken by the server {took:.2f} s, samples dropped "
          f"{dropped:.0f}")
    print(f"memory: {late[0]:.1f} MiB after a third, {late[-1]:.1f} MiB at the end, at most "
          f"{max(late):.1f} MiB")
    wrong = []
    if abs(sampled - took) > slack + dropped / RATE:
        wrong.append("the sums differ")
    rejected = metric_sum(metrics, "tachbpf_agent_exporter_rejected_profiles_total")
    if rejected > metrics['tachbpf_agent_samples_total{type="cpu"}']:
        wrong.append(f"a server's lie is believed: {rejected:.0f} profiles rejected")
    if growth > GROWTH_MIB:
        wrong.append("memory grows")
    if wrong:
        raise SystemExit("soak-agent: " + ", ".join(wrong))
    print("soak-agent: nothing lost, memory flat")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=1800)
    args = parser.parse_args()
    if os.geteuid() != 0 or not cgroups.v2():
        raise SystemExit("soak-agent: needs root and cgroup v2")
    scratch = Path(tempfile.mkdtemp(prefix="tachbpf-soak-", dir="/tmp"))
    books = Books()
    try:
        with cgroups.Tree(cgroups.v2()) as tree, Sink(books.answer) as sink:
            soak = Soak(scratch, tree, books, sink, args.seconds)
            with soak.agent:
                soak.agent.wait_recording()
                soak.run()
                metrics = soak.finish()
            judge(soak, books, metrics)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
