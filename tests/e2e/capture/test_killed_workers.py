# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""kill -9 of tachbpf's own processes: another worker takes the place of one; without their keeper,
which has the rights to start them, nothing goes on as if nothing had happened."""
import time

import pytest

from processes import TIMEOUT, children_by_name, kill_and_wait, use_cpu
from recording import Recording, succeeded
from target import Target


def keeper_of(recording):
    return children_by_name(recording.process.pid)["tachbpf-keeper"]


@pytest.mark.parametrize("everything", (True, False), ids=("-a", "-p"))
def test_the_keeper_of_a_recording(python, scratch, out, oracle, everything):
    """It ends with an error, and with what was sampled until then."""
    with Target(python, scratch, "shares=600") as target:
        which = ["-a"] if everything else ["-p", target.pid]
        place = out / ("x" if everything else "x.tach")
        with Recording([*which, "-r", "999", "-o", place]) as recording:
            recording.wait_recording()
            target.go()
            use_cpu(target.pid, 1)
            keeper = keeper_of(recording)
            kill_and_wait(keeper)
            done = recording.wait()
    assert done.returncode == 1 and f"tachbpf-keeper ({keeper}) was killed" in done.stderr, done
    profile, = place.glob(f"{target.pid}-*.tach") if everything else [place]
    assert sum(p.replayed for p in oracle.load(profile)) > 0
    assert (place / "session.json" if everything else out / "x.tach.json").exists()


def test_the_workers_of_a_recording(python, scratch, out):
    """Each is killed once. The next one is asked what this one was: a Python that comes later is
    found, and has its names."""
    with Recording(["-a", "-m", "wall", "--native", "-r", "199", "--json",
                    "-o", out / "x"]) as recording:
        recording.wait_recording()
        keeper = keeper_of(recording)
        workers = children_by_name(keeper)
        assert {"tachbpf-reader", "tachbpf-inspect", "tachbpf-parser"} <= set(workers)
        for pid in workers.values():
            kill_and_wait(pid)
        with Target(python, scratch, "shares=600") as target:
            target.go()
            end = time.monotonic() + TIMEOUT
            while not list((out / "x").glob(f"{target.pid}-*.tach")):
                assert time.monotonic() < end, "it is not found"
                time.sleep(0.02)
            assert keeper_of(recording) == keeper
            done = succeeded(recording.stop())
    row, = [p for p in done.summary["processes"] if p["pid"] == target.pid]
    assert row["samples"] > 0
    assert done.summary["workers_lost"] > 0
    assert "is being restarted" in done.stderr
