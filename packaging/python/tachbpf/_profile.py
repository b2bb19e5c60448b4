# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A profile that was read: its samples, and what they add up to."""
from __future__ import annotations

import html
import math
import os
import pathlib
import warnings
from bisect import bisect_right
from collections.abc import Sequence as SequenceABC
from dataclasses import fields
from datetime import datetime, timedelta, timezone
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Optional, Sequence, Union, overload

from . import _export, _region, _rows, _select
from ._columns import KINDS, SERVICE, Columns, run
from ._model import FEATURES, STATUS, Change, Frame, Meta, Row, Sample, Selection, Stack, Thread
from ._program import Error

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Path = Union[str, "os.PathLike[str]"]
SHOWN_ROWS = 10
HEADS = (("own %", "right"), ("total %", "right"), ("function", "left"), ("place", "left"))


class ProfileWarning(UserWarning):
    """A profile was read, but not all of it: the text says what is missing, and why."""


# ---- reading ----

def _each(option: str, values: Union[None, Selection, Iterable[Selection]]) -> list[str]:
    """The option once for each value."""
    if values is None:
        return []
    several = [values] if isinstance(values, (int, str)) else values
    return [f"{option}={value}" for value in several]


def _paths(paths: Union[Path, Sequence[Path]]) -> list[str]:
    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not several:
        raise Error("no file or directory is named")
    return [os.fspath(path) for path in several]


def read(paths: Union[Path, Sequence[Path]], *, process: Union[None, Selection, Iterable[Selection]] = None,
         thread: Union[None, int, Iterable[int]] = None, service: Union[None, str, Iterable[str]] = None,
         status: Union[None, str, Iterable[str]] = None, since: Optional[float] = None, until: Optional[float] = None,
         focus: Optional[str] = None, ignore: Optional[str] = None, value: Optional[str] = None,
         format: Optional[str] = None) -> Profile:
    """Reads a profile: a file in any format that `tachbpf report` reads, a directory of a recording, or several.

    The other arguments select samples, as the options of the same names do:

    process: a pid or a name, which may contain `*` and `?`; or several, of which one must match.
    thread: a thread's ID, or several.
    service: a service's name, or several.
    status: words such as "on-cpu", "no-gil", "main"; all must match.
    since, until: seconds after the start of each process' profile (`--from`, `--to`).
    focus, ignore: a regular expression that a frame's function or file must, or must not, match.
    value: of memory profiles "live" (the default), "allocated" or "peak"; of pprof and OTLP the sample type.
    format: the files' format, instead of detecting it by content.

    Of a damaged file, what is complete is read, and a ProfileWarning says what is not. Raises Error if there is
    nothing to read, with the reason in its text.
    """
    words = status if status is None or isinstance(status, str) else ",".join(status)
    options = [*_each("--process", process), *_each("--thread", thread), *_each("--service", service),
               *_each("--status", words), *_each("--from", None if since is None else f"{since:.6f}"),
               *_each("--to", None if until is None else f"{until:.6f}"), *_each("--focus", focus),
               *_each("--ignore", ignore), *_each("--value", value), *_each("--input-format", format)]
    named = _paths(paths)
    columns, said = run([*options, "--", *named])
    if said:
        warnings.warn(said, ProfileWarning, stacklevel=2)
    return Profile(columns, named)


# ---- what it is of ----

class _Process:
    """The columns of one process."""

    def __init__(self, columns: Columns, row: int) -> None:
        self.columns, self.row = columns, row

    def number(self, name: str, unknown: int = 0) -> Optional[int]:
        value: int = self.columns[f"process.{name}"][self.row]
        return None if value == unknown else value

    def real(self, name: str) -> Optional[float]:
        value: float = self.columns[f"process.{name}"][self.row]
        return None if math.isnan(value) else value

    def text(self, name: str) -> Optional[str]:
        return self.columns.text(self.columns[f"process.{name}"][self.row])

    def meta(self, losses: dict[str, int]) -> Meta:
        python, interval, utc = self.number("python"), self.number("interval_us"), self.number("start_utc_ns")
        features = self.number("features", -1)
        return Meta(
            pid=self.number("pid"), comm=self.text("comm"), program=self.text("program"),
            container=self.text("container"), image=self.text("image"), platform=self.text("platform"), mode=self.text("mode"), unit=self.text("unit"),
            event=self.text("event"), type=self.text("type"), type_unit=self.text("type_unit"),
            python=f"{python >> 16}.{python >> 8 & 255}.{python & 255}" if python else None,
            interval=interval / 1e6 if interval else None, start=_time(utc) if utc else None,
            start_us=self.number("start_us"), duration=self.real("duration_s"), sample_rate=self.real("sample_rate"),
            error_pct=self.real("error_pct"), missed_pct=self.real("missed_pct"), lost=self.number("lost", -1), losses=losses,
            service={name: value for name in SERVICE if (value := self.text(name)) is not None},
            features=None if features is None else frozenset(name for bit, name in FEATURES if features & bit),
            timed=bool(self.number("timed")), of_container=bool(self.number("of_container")))


def _time(utc_ns: int) -> Optional[datetime]:
    try:
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=utc_ns // 1000)
    except OverflowError:
        return None


def _losses(c: Columns) -> dict[int, dict[str, int]]:
    """By process and cause, as far as there are any."""
    found: dict[int, dict[str, int]] = {}
    for process, cause, count in zip(c["loss.process"], c["loss.cause"], c["loss.count"]):
        causes = found.setdefault(process, {})
        if count:
            causes[c.strings[cause]] = causes.get(c.strings[cause], 0) + count
    return found


def _common(metas: list[Meta], name: str) -> Any:
    """The value that all have; None: they differ, or it is not known."""
    values = {repr(getattr(meta, name)): getattr(meta, name) for meta in metas}
    return next(iter(values.values())) if len(values) == 1 else None


def _together(processes: list[Meta], files: list[Meta]) -> Meta:
    """What is the same in all processes, with the first start, the longest duration and the losses of their files."""
    same = {f.name: _common(processes, f.name) for f in fields(Meta)}
    losses: dict[str, int] = {}
    for cause, count in ((cause, count) for meta in files for cause, count in meta.losses.items()):
        losses[cause] = losses.get(cause, 0) + count
    lost = [meta.lost for meta in files if meta.lost is not None]
    same.update(start=min((m.start for m in files if m.start), default=None),
                start_us=min((m.start_us for m in files if m.start_us), default=None),
                duration=max((m.duration for m in files if m.duration is not None), default=None),
                lost=sum(lost) if lost else None, losses=losses, service=same["service"] or {})
    return Meta(**same)


# ---- samples ----

class Samples(SequenceABC[Sample]):
    """The samples in their order, each made when it is asked for. Of times, those of one thread never decrease."""

    def __init__(self, profile: Profile, indices: range) -> None:
        self._profile, self._indices = profile, indices

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> Sample: ...

    @overload
    def __getitem__(self, index: slice) -> Samples: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Sample, Samples]:
        if isinstance(index, slice):
            return Samples(self._profile, self._indices[index])
        return self._profile._sample(self._indices[index])

    def __iter__(self) -> Iterator[Sample]:
        return map(self._profile._sample, self._indices)

    def __repr__(self) -> str:
        return f"<{len(self):,} samples>"


def _html_row(row: Row) -> str:
    cells = (f"{row.own_pct:.2f}", f"{row.total_pct:.2f}", html.escape(row.function), html.escape(row.place))
    return "<tr>" + "".join(f"<td style='text-align:{align}'>{cell}</td>" for cell, (_, align) in zip(cells, HEADS)) + "</tr>"


@lru_cache(maxsize=256)
def _status(bits: int) -> frozenset[str]:
    return frozenset(name for bit, name in STATUS if bits & bit)


class Profile:
    """A profile. Weights are in `unit`: samples of a clock, bytes or nanoseconds."""

    def __init__(self, columns: Columns, paths: list[str]) -> None:
        self._columns = columns
        self.paths = paths
        self._stacks: dict[int, tuple[Frame, ...]] = {}
        self._starts = self._first_samples()

    def _first_samples(self) -> list[int]:
        """The number of the first sample of each batch, and of all samples."""
        starts = [0]
        for batch in self._columns.batches:
            starts.append(starts[-1] + len(batch["sample.stack"]))
        return starts

    # ---- what it is of

    @cached_property
    def _metas(self) -> list[Meta]:
        losses = _losses(self._columns)
        return [_Process(self._columns, i).meta(losses.get(i, {})) for i in range(self._columns.count("process.pid"))]

    @cached_property
    def _files(self) -> list[Meta]:
        """What is known of each profile, whatever processes share it."""
        return [meta for i, meta in enumerate(self._metas) if self._columns["process.profile"][i] == i]

    @cached_property
    def processes(self) -> tuple[Meta, ...]:
        """The processes. Those that share a file have what is known of it, each with its own pid and name."""
        c = self._columns
        used = set(c["thread.process"])
        shared = {p for i, p in enumerate(c["process.profile"]) if p != i}
        return tuple(meta for i, meta in enumerate(self._metas) if i not in shared or i in used)

    @cached_property
    def meta(self) -> Meta:
        """What is known of the process; of several, what is the same in all of them."""
        return _together(list(self.processes), self._files)

    @property
    def unit(self) -> str:
        """What weights count: "samples", "bytes" or "nanoseconds"."""
        return self._metas[0].unit or "samples" if self._metas else "samples"

    @cached_property
    def weight(self) -> int:
        """The weight of all samples."""
        return _rows.weight_of(self._columns)

    @cached_property
    def threads(self) -> tuple[Thread, ...]:
        """The threads that have samples, in the order of their first ones."""
        c = self._columns
        return tuple(Thread(tid, c.text(name), bool(main), self._metas[process]) for tid, name, main, process in
                     zip(c["thread.id"], c["thread.name"], c["thread.main"], c["thread.process"]))

    @cached_property
    def _base_us(self) -> Optional[int]:
        """CLOCK_MONOTONIC in microseconds, from which times count; None: samples have no times."""
        if not self._metas or not all(meta.timed for meta in self._metas):
            return None
        return min(meta.start_us or 0 for meta in self._metas)

    # ---- frames, samples

    @cached_property
    def _frames(self) -> list[Frame]:
        """By number."""
        return [self._frame(f) for f in range(self._columns.count("frame.kind"))]

    def _frame(self, f: int) -> Frame:
        c = self._columns

        def known(name: str, first: int = 1) -> Optional[int]:
            value: int = c[f"frame.{name}"][f]
            return value if value >= first else None

        return Frame(c.strings[c["frame.function"][f]], _rows.shown_file(c, f), known("line"), KINDS[c["frame.kind"][f]],
                     known("end_line"), known("column", 0), known("end_column", 0), known("first_line"))

    def _stack(self, number: int) -> tuple[Frame, ...]:
        found = self._stacks.get(number)
        if found is None:
            ends, frames = self._columns["stack.ends"], self._columns["stack.frames"]
            found = tuple(self._frames[f] for f in frames[ends[number]:ends[number + 1]])
            self._stacks[number] = found
        return found

    def _sample(self, index: int) -> Sample:
        batch = bisect_right(self._starts, index) - 1
        b, i = self._columns.batches[batch], index - self._starts[batch]
        time = None if self._base_us is None else (b["sample.time_us"][i] - self._base_us) / 1e6
        return Sample(time, self.threads[b["sample.thread"][i]], _status(b["sample.status"][i]), b["sample.weight"][i],
                      self._stack(b["sample.stack"][i]))

    @property
    def samples(self) -> Samples:
        """All samples, each made when it is asked for: `p.samples[0]`, `for s in p.samples`, `len(p.samples)`."""
        return Samples(self, range(self._starts[-1]))

    # ---- sums

    def functions(self, *, native: bool = False, detail: bool = False) -> list[Row]:
        """The functions, the one with the largest own weight first, as `tachbpf report` lists them.

        native: functions in machine code have rows; otherwise what they take is own weight of the Python function
        that called them. detail: so have pseudo-frames such as `<GC>`.
        """
        return _rows.rows(self._columns, False, native, detail)

    def lines(self, *, native: bool = False, detail: bool = False) -> list[Row]:
        """The lines of functions, as `tachbpf report --by line` lists them. Arguments as of functions()."""
        return _rows.rows(self._columns, True, native, detail)

    def stacks(self) -> list[Stack]:
        """The distinct stacks, the one with the largest weight first."""
        weights = self._columns["stack.weight"]
        order = sorted(range(len(weights)), key=lambda i: -weights[i])
        return [Stack(self._stack(i), weights[i]) for i in order]

    def tree(self, *, lines: bool = False) -> _rows.Node:
        """The call tree; its root "all" stands for no function. lines: each line of a function is a node."""
        return _rows.tree(self._columns, lines)

    def diff(self, after: Profile, *, native: bool = False, detail: bool = False) -> list[Change]:
        """Compares this profile with a later one by function, as `tachbpf diff` does: the largest change first.

        Shares are of all samples of each side, so the two may differ in length. Raises Error if they count
        different things.
        """
        if self.unit != after.unit:
            raise Error(f"one profile counts {self.unit}, the other {after.unit}: they cannot be compared")
        return _rows.diff(self._columns, after._columns, native, detail)

    # ---- regions

    @cached_property
    def regions(self) -> _region.Regions:
        """The spans of `tachbpf.region()`, if `tachbpf.record()` made this recording. Raises Error if they are damaged."""
        found = _region.Regions()
        for path in self.paths:
            spans = _region.read(pathlib.Path(path))
            if spans.begin_ns < (self._base_us or 0) * 1000:
                continue        # of an earlier recording of that name, which another program has replaced
            found += spans
            found.lost += spans.lost
        return found

    def in_region(self, name: str) -> Profile:
        """The samples of threads while they were in a region of this name. Raises Error if there is none."""
        spans = [span for span in self.regions if span.name == name]
        if not spans:
            known = ", ".join(sorted({span.name for span in self.regions})[:SHOWN_ROWS])
            raise Error(f"there is no region {name!r}" + (f"; there are {known}" if known else " or any other"))
        return Profile(_select.select(self._columns, _select.by_thread(spans)), self.paths)

    # ---- tables

    @cached_property
    def _names(self) -> _export.Names:
        return _export.Names(self._columns, list(self.threads), lambda f: str(self._frames[f]))

    def to_arrow(self) -> pyarrow.Table:
        """A row for each sample; docs/python.md lists the columns. Needs tachbpf[arrow]."""
        return _export.arrow(self._columns, self._names, self._base_us)

    def to_pandas(self) -> pandas.DataFrame:
        """The same, with names as categories and `stack` as in collapsed files. Needs tachbpf[pandas]."""
        return _export.pandas_frame(self._columns, self._names, self._base_us)

    def to_polars(self) -> polars.DataFrame:
        """The same as to_arrow(). Needs tachbpf[polars]."""
        return _export.polars_frame(self.to_arrow())

    def to_parquet(self, path: Path) -> None:
        """Writes to_arrow() to a Parquet file. Needs tachbpf[arrow]."""
        _export.parquet(self.to_arrow(), os.fspath(path))

    # ---- for people

    def _title(self) -> str:
        parts = [", ".join(self.paths) if len(self.paths) < 4 else f"{len(self.paths)} files",
                 f"{self.weight:,} {self.unit}"]
        if len(self.processes) > 1:
            parts.append(f"{len(self.processes)} processes")
        if self.meta.duration is not None:
            parts.append(f"{self.meta.duration:.2f} s")
        if self.meta.mode not in (None, "unknown"):
            parts.append(f"{self.meta.mode} mode")
        return parts[0] + ": " + ", ".join(parts[1:])

    def __repr__(self) -> str:
        rows = self.functions()
        shown = [f"{row.own_pct:6.2f} {row.total_pct:6.2f}  {row.function}  {row.place}".rstrip()
                 for row in rows[:SHOWN_ROWS]]
        more = [f"... and {len(rows) - SHOWN_ROWS} more functions"] if len(rows) > SHOWN_ROWS else []
        return "\n".join([self._title(), "", " own %  total  function", *shown, *more])

    def _repr_html_(self) -> str:
        """The hottest functions, for notebooks."""
        rows = self.functions()
        heads = "".join(f"<th style='text-align:{align}'>{head}</th>" for head, align in HEADS)
        more = f"<p>... and {len(rows) - SHOWN_ROWS} more functions</p>" if len(rows) > SHOWN_ROWS else ""
        return (f"<p>{html.escape(self._title())}</p><table><thead><tr>{heads}</tr></thead>"
                f"<tbody>{''.join(map(_html_row, rows[:SHOWN_ROWS]))}</tbody></table>{more}")

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))
