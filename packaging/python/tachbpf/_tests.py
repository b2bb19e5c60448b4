# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A recording of a test session, cut by test, and its comparison with an earlier one.

Knows nothing of pytest but that tests have names, and that the spans of a test are regions of the
recording with the attribute `pytest`.
"""
from __future__ import annotations

import json
import math
import os
import sysconfig
from bisect import bisect_right
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple, Optional

from . import _region
from ._columns import KINDS, Columns, run
from ._program import Error

ATTRIBUTE = "pytest"        # of a region: "setup", "call" or "teardown"
ON_CPU, HAS_GIL = 2, 1      # bits of a sample's status
FALSE_ALARMS = 0.01         # chance that any of the tests falsely seems to have grown: as `tachbpf diff`
FILE_MAX = 64 << 20         # bytes of a baseline
STANDARD = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib")})
PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")

Place = tuple[str, int, str]        # file, line, function


class Measured(NamedTuple):
    """A test of a session. Times are seconds; begin and end are those of CLOCK_MONOTONIC in nanoseconds."""

    name: str
    seconds: float                  # of setup, call and teardown
    samples: int
    sampled: float                  # the time that the samples stand for
    place: Optional[Place]          # the hottest line
    place_samples: int
    begin_ns: int
    end_ns: int
    recording: str                  # its path


# ---- cutting ----


def _is_own(file: str) -> bool:
    """Returns true for code that is neither the standard library's nor made without a file."""
    return not file.startswith("<") and (not file.startswith(STANDARD) or any(p in file for p in PACKAGES))


def _places(columns: Columns) -> list[Optional[Place]]:
    """The line of each stack that is shown for it: the innermost outside the standard library, else the innermost."""
    python = KINDS.index("python")
    frames: list[Optional[Place]] = [
        (columns.strings[file], line, columns.strings[function]) if kind == python else None
        for file, line, function, kind in zip(columns["frame.file"], columns["frame.line"], columns["frame.function"],
                                              columns["frame.kind"])]
    ends, numbers = columns["stack.ends"], columns["stack.frames"]
    found: list[Optional[Place]] = []
    for begin, end in zip(ends, ends[1:]):
        stack = [place for place in (frames[f] for f in numbers[begin:end]) if place]
        found.append(next((place for place in stack if _is_own(place[0])), stack[0] if stack else None))
    return found


def _spans(regions: _region.Regions) -> list[_region.Span]:
    """The tests' spans, which do not overlap, in their order."""
    return sorted((span for span in regions if ATTRIBUTE in span.attributes), key=lambda span: span.begin_ns)


class _Cutter:
    """Adds samples up by test. In mode wall, other threads' samples count only if they ran."""

    def __init__(self, columns: Columns, spans: list[_region.Span], waits: bool) -> None:
        self.columns, self.spans, self.waits = columns, spans, waits
        self.begins = [span.begin_ns // 1000 for span in spans]
        self.places = _places(columns)
        self.samples: Counter[str] = Counter()
        self.hot: dict[str, Counter[Place]] = {}

    def _span(self, time_us: int, thread: int, status: int) -> Optional[_region.Span]:
        at = bisect_right(self.begins, time_us) - 1
        if at < 0 or time_us * 1000 >= self.spans[at].end_ns:
            return None
        span = self.spans[at]
        return None if self.waits and thread != span.thread and not status & (ON_CPU | HAS_GIL) else span

    def add(self, batch: dict[str, memoryview]) -> None:
        threads = self.columns["thread.id"]
        for time, thread, status, weight, stack in zip(
                batch["sample.time_us"], batch["sample.thread"], batch["sample.status"], batch["sample.weight"],
                batch["sample.stack"]):
            span = self._span(time, threads[thread], status)
            if span is None:
                continue
            self.samples[span.name] += weight
            place = self.places[stack]
            if place:
                self.hot.setdefault(span.name, Counter())[place] += weight


def cut(recording: Path, mode: str) -> tuple[list[Measured], int]:
    """The tests of a recording in their order, and how many spans of tests it did not keep."""
    regions = _region.read(recording)
    spans = _spans(regions)
    columns, _ = run(["--", str(recording)])
    cutter = _Cutter(columns, spans, mode == "wall")
    for batch in columns.batches:
        cutter.add(batch)
    interval_s = columns["process.interval_us"][0] / 1e6 if len(columns["process.interval_us"]) else 0.0
    of_test: dict[str, list[_region.Span]] = {}
    for span in spans:
        of_test.setdefault(span.name, []).append(span)
    tests = []
    for name, own in of_test.items():
        hot, samples = cutter.hot.get(name, Counter()).most_common(1), cutter.samples[name]
        tests.append(Measured(name, sum(s.end_ns - s.begin_ns for s in own) / 1e9, samples, samples * interval_s,
                              hot[0][0] if hot else None, hot[0][1] if hot else 0,
                              own[0].begin_ns, own[-1].end_ns, str(recording)))
    return tests, regions.lost


# ---- comparing ----


class Growth(NamedTuple):
    """A test that needs more time than allowed, and by how much: shares of the baseline's time in percent."""

    name: str
    before: float           # seconds
    after: float
    percent: float          # by how much it has grown
    error: float            # how much of that chance alone may be


class Comparison(NamedTuple):
    """What came of comparing tests with a baseline."""

    grown: list[Growth]
    compared: int           # tests in both
    new: int                # tests without a baseline
    unsure: int             # compared, with a sampling error beyond the limit: a growth may be missed


def baseline(tests: list[Measured], mode: str) -> str:
    """The text of a baseline file."""
    known = {test.name: [test.samples, round(test.sampled, 6)] for test in sorted(tests)}
    return json.dumps({"version": 1, "mode": mode, "tests": known}, indent=0) + "\n"


def _entry(value: object) -> bool:
    return (isinstance(value, list) and len(value) == 2 and isinstance(value[0], int) and isinstance(value[1], (int, float))
            and 0 <= value[0] < 1 << 53 and 0 <= value[1] < 1e12)


def read_baseline(path: Path, mode: str) -> dict[str, tuple[int, float]]:
    """Samples and seconds of each test. Raises Error if there is no such file, or it is of another mode."""
    try:
        with open(path, "rb") as file:
            data = file.read(FILE_MAX + 1)
        content: Any = json.loads(data) if len(data) <= FILE_MAX else None
    except OSError as error:
        raise Error(f"cannot read the baseline {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise Error(f"the baseline {path} is damaged: {error}") from error
    tests = content.get("tests") if isinstance(content, dict) and content.get("version") == 1 else None
    if not isinstance(tests, dict) or not all(map(_entry, tests.values())):
        raise Error(f"{path} is no baseline of this version: write it with --tachbpf-write-baseline")
    if content.get("mode") != mode:
        raise Error(f"the baseline {path} is of mode {content.get('mode')}, this session of mode {mode}")
    return {name: (samples, seconds) for name, (samples, seconds) in tests.items()}


def _growth(name: str, before: tuple[int, float], after: tuple[int, float], allowed: float, errors: float) -> tuple[Growth, bool]:
    """Compares two counts of samples, which chance spreads as Poisson's distribution does, or less.

    errors: standard errors that count as chance. Returns the growth, and whether it is more than
    allowed (0.1: 10 %) and more than chance.
    """
    (a, a_s), (b, b_s) = before, after
    per_a, per_b = a_s / a if a else 0.0, b_s / b if b else 0.0
    per_a, per_b = per_a or per_b, per_b or per_a
    limit_s = a_s * (1 + allowed)
    # One more of each: the spread of a count of 0 is not 0.
    error_s = errors * math.hypot(per_b * math.sqrt(b + 1), (1 + allowed) * per_a * math.sqrt(a + 1))
    base = a_s or per_a or 1.0
    return Growth(name, a_s, b_s, 100 * (b_s - a_s) / base, 100 * error_s / base), b_s > limit_s + error_s


def _sum(times: list[tuple[int, float]]) -> tuple[int, float]:
    return sum(samples for samples, _ in times), sum(seconds for _, seconds in times)


def compare(tests: list[Measured], known: dict[str, tuple[int, float]], allowed: float) -> Comparison:
    """Tests that have grown by more than `allowed` and their sampling error; also all of them together."""
    both = [(test.name, known[test.name], (test.samples, test.sampled)) for test in tests if test.name in known]
    if len(both) > 1:
        both.append(("all of these tests", _sum([before for _, before, _ in both]), _sum([after for _, _, after in both])))
    errors = math.sqrt(2 * math.log((len(both) or 1) / (2 * FALSE_ALARMS)))
    judged = [_growth(*row, allowed, errors) for row in both]
    grown = sorted((growth for growth, over in judged if over), key=lambda g: g.before - g.after)
    compared = sum(test.name in known for test in tests)
    return Comparison(grown, compared, len(tests) - compared,
                      sum(growth.error > 100 * allowed for growth, _ in judged[:compared]))
