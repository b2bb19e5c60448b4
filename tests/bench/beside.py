# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two builds in one run of a benchmark: which they are, who is first, what each takes, and the ratio of that.

Builds that record at once, the same processes, are compared best: whatever else the machine does meets them alike.
"""
import contextlib
import json
import re
import statistics
import subprocess
from pathlib import Path

from paths import binary
from recording import Recording
from sample_cost import another


def add_option(parser):
    parser.add_argument("--beside", type=Path, metavar="OTHER-TACHBPF", help="another build, measured in the same run")


def programs(args):
    """This build, and the other one if there is one."""
    return [p.resolve() for p in (binary(), args.beside) if p]


def names(args):
    """name -> program, for benchmarks that print a line for each."""
    return dict(zip(("now", "beside"), programs(args)))


def order(tools, turn):
    """The keys of tools for a round: each is the first in every second one."""
    return sorted(tools, key=list(tools).index, reverse=turn % 2)


@contextlib.contextmanager
def recorded(tools, turn, argv, scratch):
    """name -> Recording of each tool, all at once, when all of them record."""
    recordings = {}
    with contextlib.ExitStack() as stack:
        for name in order(tools, turn):
            with another(tools[name]):
                recordings[name] = stack.enter_context(Recording(
                    [*argv, "-o", scratch / name, "--force", "--json"], prefix=["nice", "-n", "-15"]))
            recordings[name].wait_recording()
        yield recordings


def programs_of(pid):
    """id -> (name, runs, ns) of the programs that this process has loaded."""
    ids = set()
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            ids |= {int(i) for i in re.findall(r"^prog_id:\s*(\d+)$", info.read_text(), re.M)}
    shown = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, text=True, timeout=60,
                           check=True).stdout
    return {p["id"]: (p.get("name"), p.get("run_cnt", 0), p.get("run_time_ns", 0))
            for p in json.loads(shown) if p["id"] in ids}


def ratio(ours, its):
    """The median of the rounds' ratios, and their range."""
    rounds = [a / b for a, b in zip(ours, its) if b]
    if not rounds:
        return "-"
    return f"{statistics.median(rounds):.2f} ({min(rounds):.2f}-{max(rounds):.2f})"
