# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sums over distinct stacks: by function, by line, as a call tree, and their differences.

Equal to `tachbpf report` and `tachbpf diff`: which frames count is in frame.flags, which the program sets
(user/model/stack_frame.h), and how they are added up is user/analysis/report.c's.
"""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Iterator, Optional

from ._columns import KINDS, Columns
from ._model import Change, Row, place

DETAIL_OF_PYTHON, DETAIL, HAS_FILE = 1, 2, 4
FALSE_ALARMS = 0.01     # chance that any function falsely seems to have changed: user/analysis/diff.c

Key = tuple[int, int, int, int]     # kind, file, function, line or -1


@dataclass
class Sums:
    """The sums of a row, in the profile's unit."""
    key: Key
    frame: int              # one of its frames
    own: int = 0
    total: int = 0
    squares: float = 0      # of the weights in own
    first_line: int = -1    # the lowest of those known; -1: none
    lowest_line: int = -1

    def note(self, columns: Columns, frame: int, lines: bool) -> None:
        """Notes the lines of a frame of this row."""
        self.lowest_line = _lowest(self.lowest_line, columns["frame.line"][frame])
        if not lines:
            self.first_line = _lowest(self.first_line, columns["frame.first_line"][frame])


def _lowest(before: int, line: int) -> int:
    return line if line > 0 and (before < 0 or line < before) else before


class Adder:
    """Adds stacks up by function, or by line."""

    def __init__(self, columns: Columns, lines: bool, native: bool, detail: bool) -> None:
        self.columns, self.lines = columns, lines
        self.rows: dict[Key, Sums] = {}
        flags, mask = columns["frame.flags"], DETAIL if native else DETAIL_OF_PYTHON
        self.row_of = [self.row(f) if detail or not flags[f] & mask else None for f in range(len(flags))]

    def row(self, frame: int) -> Sums:
        """The row of a frame, which is made."""
        c = self.columns
        key = (c["frame.kind"][frame], c["frame.file"][frame], c["frame.function"][frame],
               c["frame.line"][frame] if self.lines else -1)
        row = self.rows.setdefault(key, Sums(key, frame))
        row.note(c, frame, self.lines)
        return row

    def add(self, frames: memoryview, weight: int, squares: float) -> None:
        """The innermost frame that has a row has the own weight; if none has one, the root stands for the stack."""
        rows = [row for row in (self.row_of[f] for f in frames) if row is not None]
        if not rows and len(frames):
            rows = [self.row(frames[-1])]
        if rows:
            rows[0].own += weight
            rows[0].squares += squares
        for row in {id(row): row for row in rows}.values():
            row.total += weight

    def all(self) -> list[Sums]:
        ends, frames = self.columns["stack.ends"], self.columns["stack.frames"]
        weights, squares = self.columns["stack.weight"], self.columns["stack.squares"]
        for i, weight in enumerate(weights):
            self.add(frames[ends[i]:ends[i + 1]], weight, squares[i])
        return list(self.rows.values())


def percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0


def weight_of(columns: Columns) -> int:
    """The weight of all samples, those without a frame included."""
    return sum(columns["stack.weight"])


def shown_file(columns: Columns, frame: int) -> Optional[str]:
    """The file of a frame; None: its name is all there is to show."""
    return columns.strings[columns["frame.file"][frame]] if columns["frame.flags"][frame] & HAS_FILE else None


def _row(columns: Columns, sums: Sums, whole: int) -> Row:
    line = sums.first_line if sums.first_line > 0 else sums.lowest_line
    return Row(columns.strings[sums.key[2]], shown_file(columns, sums.frame), line if line > 0 else None, KINDS[sums.key[0]],
               sums.own, sums.total, percent(sums.own, whole), percent(sums.total, whole))


def _added(columns: Columns, lines: bool, native: bool, detail: bool) -> list[tuple[Row, Sums]]:
    whole = weight_of(columns)
    return [(_row(columns, sums, whole), sums) for sums in Adder(columns, lines, native, detail).all()]


def _text(text: Optional[str]) -> bytes:
    return (text or "").encode()


def rows(columns: Columns, lines: bool, native: bool, detail: bool) -> list[Row]:
    """All rows, the one with the largest own weight first."""
    return sorted((row for row, _ in _added(columns, lines, native, detail)),
                  key=lambda r: (-r.own, -r.total, _text(r.function), _text(r.file), r.line or -1))


# ---- differences ----

def _variance(whole: float, squares: float, own: float, own_squares: float) -> float:
    """The variance of a share of weighted events: share_variance() in user/analysis/diff.c."""
    one = squares / whole if whole > 0 else 1.0
    everything = whole + 2 * one
    p = (own + one) / everything
    return ((1 - 2 * p) * (own_squares + one * one) + p * p * (squares + 2 * one * one)) / (everything * everything)


class _Side:
    """One of two profiles that are compared."""

    def __init__(self, columns: Columns, native: bool, detail: bool) -> None:
        self.whole, self.squares = weight_of(columns), sum(columns["stack.squares"])
        self.rows = {(row.kind, columns.strings[sums.key[1]], row.function): (row, sums.squares)
                     for row, sums in _added(columns, False, native, detail)}

    def row(self, key: tuple[str, str, str]) -> Optional[Row]:
        return self.rows[key][0] if key in self.rows else None

    def variance(self, key: tuple[str, str, str]) -> float:
        row, squares = self.rows.get(key, (None, 0.0))
        return _variance(self.whole, self.squares, row.own if row else 0, squares)


def _change(before: _Side, after: _Side, key: tuple[str, str, str], errors: float) -> Change:
    a, b = before.row(key), after.row(key)
    some = a or b
    assert some
    lines = [row.line for row in (a, b) if row and row.line]
    noise = 100 * errors * math.sqrt(max(0.0, before.variance(key) + after.variance(key)))
    own = (b.own_pct if b else 0) - (a.own_pct if a else 0)
    total = (b.total_pct if b else 0) - (a.total_pct if a else 0)
    return Change(some.function, some.file, min(lines, default=None), some.kind, a, b, own, total, noise)


def diff(a: Columns, b: Columns, native: bool, detail: bool) -> list[Change]:
    """The functions of two profiles, the one whose own share changed most first."""
    before, after = _Side(a, native, detail), _Side(b, native, detail)
    keys = dict.fromkeys([*before.rows, *after.rows])
    errors = math.sqrt(2 * math.log((len(keys) or 1) / (2 * FALSE_ALARMS)))
    return sorted((_change(before, after, key, errors) for key in keys),
                  key=lambda c: (-abs(c.own_delta), -abs(c.total_delta), _text(c.function), _text(c.file)))


# ---- the call tree ----

@dataclass
class Node:
    """A function as called by its parent, and by the parent's callers."""
    function: str
    file: Optional[str]
    line: Optional[int]     #: with lines=True
    kind: str
    own: int = 0            #: weight of the samples that were in it
    total: int = 0          #: the same with all that it called
    children: list[Node] = field(default_factory=list)  #: the largest total first

    def __str__(self) -> str:
        where = place(self.file, self.line)
        return f"{self.function} ({where})" if where else self.function

    def __repr__(self) -> str:
        return f"<Node {self}: own {self.own}, total {self.total}, {len(self.children)} children>"

    def walk(self) -> Iterator[tuple[int, Node]]:
        """(depth, node) of this node, depth 0, and of all below it, callers before what they called."""
        todo = [(0, self)]
        while todo:
            depth, node = todo.pop()
            yield depth, node
            todo += [(depth + 1, child) for child in reversed(node.children)]


class _Grower:
    """Makes a tree of stacks."""

    def __init__(self, columns: Columns, lines: bool) -> None:
        self.columns, self.lines = columns, lines
        self.root = Node("all", None, None, "synthetic")
        self.children: dict[tuple[int, Key], Node] = {}     # by the parent's id()

    def key(self, frame: int) -> Key:
        c = self.columns
        return (c["frame.kind"][frame], c["frame.file"][frame], c["frame.function"][frame],
                c["frame.line"][frame] if self.lines else -1)

    def child(self, parent: Node, frame: int) -> Node:
        key = self.key(frame)
        node = self.children.get((id(parent), key))
        if node is None:
            kind, _, function, line = key
            node = Node(self.columns.strings[function], shown_file(self.columns, frame), line if line > 0 else None,
                        KINDS[kind])
            self.children[id(parent), key] = node
            parent.children.append(node)
        return node

    def add(self, frames: memoryview, weight: int) -> None:
        node = self.root
        node.total += weight
        for frame in reversed(frames):
            node = self.child(node, frame)
            node.total += weight
        node.own += weight


def tree(columns: Columns, lines: bool) -> Node:
    grower = _Grower(columns, lines)
    ends, frames = columns["stack.ends"], columns["stack.frames"]
    for i, weight in enumerate(columns["stack.weight"]):
        grower.add(frames[ends[i]:ends[i + 1]], weight)
    for _, node in grower.root.walk():
        node.children.sort(key=lambda child: (-child.total, _text(child.function)))
    return grower.root
