# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""No program keeps step with the clock: one whose two halves take half of a period each is
seen half of the time in either. With a fixed period one half had all samples.

The truth is what the program measured by its thread's CPU time (targets/lockstep.py).
"""
import json

import pytest

import noise
from processes import TIMEOUT
from recording import Recording, succeeded
from summary import files
from target import Target

# Rate, and the program's period in periods of the clock.
SOME = [(999, 1)]
ALL = [(rate, factor) for rate in (99, 999, 4999) for factor in (0.5, 1, 2, 3)]
# With so many samples the bound is below 20 points: far from the 50 of a clock that is kept.
SECONDS = {99: 45, 999: 6, 4999: 6}
FAR = 0.2


def cases():
    for case in ALL:
        yield pytest.param(*case, marks=[] if case in SOME else [pytest.mark.truth])


def record(python, scratch, rate, factor):
    """(samples, those in first(), share of first() in truth, summary)"""
    out = scratch / f"lockstep-{rate}-{factor}.tach"
    with Target(python, scratch, 1e9 / rate * factor, SECONDS[rate], name="lockstep",
                program="lockstep.py") as target, \
            Recording(["-p", target.pid, "-r", rate, "-o", out, "--json"]) as recording:
        recording.wait_recording()
        target.go()
        target.expect("done", timeout=TIMEOUT)
        truth = json.loads(target.truth_path.read_text())
        target.leave()
        summary = succeeded(recording.wait()).summary
    return truth, summary, files(summary)[0]["path"]


@pytest.mark.parametrize("rate, factor", cases())
def test_halves_of_a_period_are_halves(python, scratch, oracle, rate, factor):
    truth, summary, path = record(python, scratch, rate, factor)
    samples = oracle.load(path)[0].between(*truth["window_us"])
    seen = {half: sum(any(f.func == half for f in s.frames) for s in samples)
            for half in ("first", "second")}
    n, share = sum(seen.values()), truth["spent_ns"][0] / sum(truth["spent_ns"])
    bound = noise.lockstep_bound(n, share, rate, noise.missed(summary))
    assert bound.high - bound.low <= 2 * FAR * n, f"too few samples to judge by: {n}, {bound}"
    assert seen["first"] in bound, (seen, share, str(bound), summary["ticks"])
