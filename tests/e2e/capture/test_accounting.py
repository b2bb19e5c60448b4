# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Nothing is lost that is not counted: sums that hold exactly, from the kernel's tick to CPython's reader."""
import json
import re
import subprocess

import pytest

import accounting
import noise
from present import need
from processes import TIMEOUT, use_cpu
from recording import Recording, succeeded, tachbpf
from summary import files, lost_once_known
from target import Target

RATE = 1999


@pytest.fixture(scope="module")
def everything(scratch, python):
    """-a, while a Python computes, one runs no Python code, and others come and go."""
    argv = python.command(scratch / "targets" / "brood.py", scratch / "accounted", 40, 4, 10, "both")
    with Target(python, scratch, "shares=600") as busy, Target(python, scratch, "native=600") as native:
        busy.go()
        native.go()
        with Recording(["-a", "-r", RATE, "-o", scratch / "everything-accounted",
                        "--json"]) as recording:
            recording.wait_recording()
            subprocess.run(argv, check=True, timeout=TIMEOUT)
            use_cpu(busy.pid, 0.5)
            return succeeded(recording.stop()).summary


def test_every_tick_and_every_sample_is_accounted_for(everything):
    accounting.check(everything)
    assert everything["ticks"]["native_thread"] > 0 and everything["samples"] > 0


def test_the_files_have_what_the_session_says(everything, oracle):
    accounting.check_files(everything, oracle)


@pytest.mark.parametrize("split", ["auto", "all"])
def test_of_a_command_and_its_children(python, scratch, out, oracle, split):
    argv = python.command(scratch / "targets" / "brood.py", out / "truth", 40, 4, 10, "both")
    options = [] if split == "auto" else ["--split", "all"]
    summary = succeeded(tachbpf("-r", RATE, "-o", out / "p", "--json", *options, "--", *argv)).summary
    accounting.check(summary)
    accounting.check_files(summary, oracle)


# Short Pythons, one after the other; then the CPU time of the shell and of its children.
SHORT_STARTS = """
for i in $(seq 15); do "$0" -c "import json, re, argparse"; done; times
"""
RATE_OF_STARTS = 4999


def cpu_of_times(said):
    """Seconds: times(1p) prints user and system time of the shell, and then of its children."""
    return sum(60 * int(m) + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", said))


def test_of_short_starts_nothing_due_is_unexplained(out):
    """The lines of the summary add up to the CPU time; and that is what the kernel has counted."""
    python = need("pyenv-3.12.1")       # its interpreter is in a library
    done = succeeded(tachbpf("-v", "-r", RATE_OF_STARTS, "-o", out / "p", "--", "sh", "-c", SHORT_STARTS,
                             *python.command()))
    summary = json.loads((out / "p" / "session.json").read_text())
    accounting.check(summary)
    accounting.check_printed(done.stderr, summary)
    cpu_time = summary["cpu_time"]
    assert cpu_time["start"], done.stderr
    seconds = cpu_of_times(done.stdout)
    counted = cpu_time["ticks"] + accounting.other_programs(summary) + summary["unidentified"]
    bound = noise.count_bound(seconds, RATE_OF_STARTS)
    print(f"{counted} ticks, {cpu_time}; by the kernel {seconds * RATE_OF_STARTS:.0f}")
    assert counted in noise.Bound(bound.low - cpu_time["missed"], bound.high), (seconds, summary)


def test_the_kernel_counts_as_many_ticks(python, scratch, out):
    """Runs of the program that ticks start, by the kernel's own statistics: not one more or
    less than the summary has. It runs on each CPU for each tick."""
    with Target(python, scratch, "shares=600") as target, \
            accounting.counted_by_the_kernel() as hold:
        target.go()
        with Recording(["-p", target.pid, "-r", RATE, "-o", out / "x.tach", "--json"]) as recording:
            recording.wait_recording()
            hold(recording.process.pid)
            use_cpu(target.pid, 0.5)
            summary = succeeded(recording.stop()).summary
        names = {p["id"]: p["name"] for p in json.loads(subprocess.run(
            ["bpftool", "prog", "show", "-j"], capture_output=True, text=True, timeout=TIMEOUT,
            check=True).stdout) if p["id"] in hold.held}
        ticks = [i for i, name in names.items() if name == "on_cpu_tick"]
        assert len(ticks) == 1, names
        assert hold.runs(ticks[0]) == summary["ticks"]["delivered"]
    accounting.check(summary)


def test_a_process_gets_a_sample_for_each_tick_of_its_cpu_time(python, scratch, out, oracle):
    """As many as the scheduler's count of its CPU time says: see noise.count_bound(). What is
    lost by a counted cause, or was missed, may have been its own."""
    stolen = noise.stolen_s()
    with Target(python, scratch, "shares=600") as target:
        target.go()
        use_cpu(target.pid, 0.1)
        outside = noise.account(target.pid)
        with Recording(["-p", target.pid, "-r", RATE, "-o", out / "x.tach", "--json"]) as recording:
            recording.wait_recording()
            inside = noise.account(target.pid)
            use_cpu(target.pid, 4)
            least = noise.account(target.pid) - inside
            summary = succeeded(recording.stop()).summary
            most = noise.account(target.pid) - outside
    away = noise.missed(summary, noise.stolen_s() - stolen) + summary["lost_total"]
    low = noise.count_bound(least.cpu_s, RATE, missed=away, slices=least.slices).low
    high = noise.count_bound(most.cpu_s, RATE, slices=most.slices).high
    print(f"{low:.0f} <= {summary['samples']} <= {high:.0f}: {least}, {most}")
    assert low <= summary["samples"] <= high
    assert not lost_once_known(summary)
    accounting.check_files(summary, oracle)
    assert [p["pid"] for p in files(summary)] == [target.pid]
