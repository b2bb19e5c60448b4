# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Some of a profile's samples, as a profile of their own: tables have only what these samples refer to."""
from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import Iterable, Sequence

from ._columns import SAMPLES, TABLES, Columns
from ._region import Span

Spans = dict[int, tuple[list[int], list[int]]]      # by thread: begins and ends in ns, ordered, disjoint


def by_thread(spans: Iterable[Span]) -> Spans:
    """The times that are in any of these spans. Spans of a thread may be nested or overlap."""
    found: Spans = {}
    for span in sorted(spans, key=lambda span: span.begin_ns):
        begins, ends = found.setdefault(span.thread, ([], []))
        if ends and span.begin_ns <= ends[-1]:
            ends[-1] = max(ends[-1], span.end_ns)
        else:
            begins.append(span.begin_ns)
            ends.append(span.end_ns)
    return found


def _inside(spans: Spans, thread: int, time_us: int) -> bool:
    if thread not in spans:
        return False
    begins, ends = spans[thread]
    at = bisect_right(begins, time_us * 1000 + 999)     # times of samples are cut to microseconds
    return at > 0 and time_us * 1000 < ends[at - 1]


def _numbers(kind: str, values: Iterable[float]) -> memoryview:
    return memoryview(array(kind, values))


class _Selected(Columns):
    """Columns without the samples that are left out."""

    def __init__(self, of: Columns, batches: list[dict[str, memoryview]]) -> None:  # pylint: disable=super-init-not-called
        """batches: samples of `of`. Tables of frames and stacks are made anew; the others stay."""
        self._parts, self.strings = dict(of._parts), of.strings
        used = sorted({stack for batch in batches for stack in batch["sample.stack"]})
        number = {stack: i for i, stack in enumerate(used)}
        self.batches = [{**batch, "sample.stack": _numbers("i", (number[s] for s in batch["sample.stack"]))}
                        for batch in batches]
        for name in SAMPLES:
            self._parts[name] = [batch[name] for batch in self.batches]
        self._take_stacks(of, used)
        self._add_weights(len(used))

    def _take_stacks(self, of: Columns, used: Sequence[int]) -> None:
        ends, frames = of["stack.ends"], of["stack.frames"]
        stacks = [frames[ends[stack]:ends[stack + 1]] for stack in used]
        number: dict[int, int] = {}
        taken = [number.setdefault(frame, len(number)) for stack in stacks for frame in stack]
        new_ends = [0]
        for stack in stacks:
            new_ends.append(new_ends[-1] + len(stack))
        self._parts["stack.ends"], self._parts["stack.frames"] = [_numbers("i", new_ends)], [_numbers("i", taken)]
        for name in TABLES["frame"]:
            column = of[name]
            self._parts[name] = [_numbers(column.format, (column[frame] for frame in number))]

    def _add_weights(self, stacks: int) -> None:
        weights, squares = [0] * stacks, [0.0] * stacks
        for batch in self.batches:
            for stack, weight in zip(batch["sample.stack"], batch["sample.weight"]):
                weights[stack] += weight
                squares[stack] += weight * weight
        self._parts["stack.weight"], self._parts["stack.squares"] = [_numbers("q", weights)], [_numbers("d", squares)]


def select(columns: Columns, spans: Spans) -> Columns:
    """The samples whose thread and time are in these spans."""
    threads, batches = columns["thread.id"], []
    for batch in columns.batches:
        kept = [i for i, (time, thread) in enumerate(zip(batch["sample.time_us"], batch["sample.thread"]))
                if _inside(spans, threads[thread], time)]
        if kept:
            batches.append({name: _numbers(column.format, (column[i] for i in kept)) for name, column in batch.items()})
    return _Selected(columns, batches)
