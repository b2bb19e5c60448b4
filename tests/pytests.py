#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs a directory of pytest tests: pytests.py TIER DIRECTORY [pytest's options].

Twice: tests that can run side by side, with pytest-xdist; then those that are marked `alone`, one
after the other. In the environment: SELECT (which tests: gate, those of `make check`; truth, those
that measure; all others), JOBS (workers), PHASE (only `beside` or `alone`, when tests/check.py runs
other tiers at the same time).
"""
import os
import subprocess
import sys

NO_TESTS = 5            # pytest's exit status when nothing was selected
PYTEST = ["/usr/bin/python3", "-m", "pytest", "-p", "no:cacheprovider", "--durations=20",
          "--durations-min=2"]


def workers():
    """Tests wait as long as they compute; more of them at a time make a machine that is busier than any they are for."""
    return os.environ.get("JOBS") or str(len(os.sched_getaffinity(0)) + 1)


def phases():
    """(-m expression, options) of each call of pytest."""
    if os.environ.get("SELECT") == "truth":         # measures: never side by side
        return {"alone": ("truth", [])}
    beside = [] if workers() == "0" else ["-n", workers(), "--dist", "loadgroup"]
    which = "gate and not truth" if os.environ.get("SELECT") == "gate" else "not truth"
    both = {"beside": (which + " and not alone", beside), "alone": (which + " and alone", [])}
    phase = os.environ.get("PHASE")
    return {phase: both[phase]} if phase else both


def main():
    tier, directory, *options = sys.argv[1:]
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    env.setdefault("TACHBPF_TIER", tier)
    ended = [subprocess.run([*PYTEST, directory, "-m", expression, *more, *options],
                            env=env).returncode
             for expression, more in phases().values()]
    if set(ended) == {NO_TESTS} and not os.environ.get("PHASE"):
        print(f"{tier}: no test was selected", file=sys.stderr)
        return NO_TESTS
    return max([status for status in ended if status != NO_TESTS], default=0)


if __name__ == "__main__":
    sys.exit(main())
