# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One target and one recording for each interpreter, side by side."""
import concurrent.futures
from pathlib import Path

from processes import online_cpus
from recording import Recording, succeeded
from summary import files
from target import Target


def record_target(interpreter, scratch, oracle, rate, name, seconds):
    """(truth, summary, profile) of a behaviour of targets/run.py that takes so long."""
    out = Path(scratch) / f"{name}-{interpreter.name}.tach"
    with Target(interpreter, scratch, f"{name}={seconds}") as target, \
            Recording(["-p", target.pid, "-r", rate, "-o", out, "--json"]) as recording:
        recording.wait_recording()
        target.go()
        truth = target.wait_done()
        target.leave()
        summary = succeeded(recording.wait()).summary
    profile, = oracle.load(files(summary)[0]["path"])
    return truth, summary, profile


def of_all(interpreters, record, *args):
    """Name -> future of record(interpreter, *args), as many at a time as there are CPUs; all
    are done when the first test goes on."""
    with concurrent.futures.ThreadPoolExecutor(online_cpus()) as pool:
        return {i.name: pool.submit(record, i, *args) for i in interpreters}
