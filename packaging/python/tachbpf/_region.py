# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Regions: named spans of a thread, and the file that has those of a recording.

A region is noted by this process itself, by CLOCK_MONOTONIC, which is the clock of samples too. While
nothing is recorded it is only in a table of those that are open now. When a recording of `record()`
ends, what was open during it is written beside it, to PATH.regions.json.
"""
from __future__ import annotations

import functools
import inspect
import json
import math
import os
import threading
from contextlib import suppress
from pathlib import Path
from time import monotonic_ns
from types import TracebackType
from typing import Any, Callable, NamedTuple, Optional, TypeVar, Union

from ._program import Error

_Function = TypeVar("_Function", bound=Callable[..., Any])
Value = Union[str, int, float, bool, None]

SUFFIX = ".regions.json"
KEPT_MAX = 100_000          # regions of a recording; further ones are counted
FILE_MAX = 64 << 20         # bytes of a file
HEAD_BYTES = 1024           # of these, for what is not a region
NAME_MAX = 1024             # characters of a name
VALUE_MAX = 256             # characters of an attribute's name or value
ATTRIBUTES_MAX = 16


class _Thread(threading.local):
    """The kernel's number of this thread, asked for once."""

    def __init__(self) -> None:
        self.tid = threading.get_native_id()


_thread = _Thread()
_open: dict[region, None] = {}
_keepers: tuple[Kept, ...] = ()


def _after_fork() -> None:
    """A child has its own thread ids, and its parent's recordings are not its own."""
    global _thread, _keepers
    _thread, _keepers = _Thread(), ()
    _open.clear()


os.register_at_fork(after_in_child=_after_fork)


class region:
    """Marks a span of this thread, as a context manager or a decorator.

        with tachbpf.region("parse", file=name):
            ...

    In a recording of this process by `tachbpf.record()` the samples of all spans with this name are
    `tachbpf.read(path).in_region("parse")`. Without a recording it costs less than a microsecond.
    An object may be entered again after it was left, not while it is open.
    """

    __slots__ = ("name", "attributes", "begin_ns", "tid")

    def __init__(self, name: str, **attributes: Value) -> None:
        self.name = name
        self.attributes = attributes

    def __enter__(self) -> region:
        self.tid = _thread.tid
        self.begin_ns = monotonic_ns()
        _open[self] = None
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        _open.pop(self, None)
        for keeper in _keepers:
            keeper.add(self, monotonic_ns())

    def __call__(self, function: _Function) -> _Function:
        """As a decorator: each call is a span. Of a coroutine function: from its start to its end."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("region() cannot decorate a generator function: use `with tachbpf.region()` in it")
        name, attributes = self.name, self.attributes

        @functools.wraps(function)
        def marked(*args: Any, **named: Any) -> Any:
            with region(name, **attributes):
                return function(*args, **named)

        @functools.wraps(function)
        async def awaited(*args: Any, **named: Any) -> Any:
            with region(name, **attributes):
                return await function(*args, **named)

        return awaited if inspect.iscoroutinefunction(function) else marked  # type: ignore[return-value]


class Span(NamedTuple):
    """A span of a thread in a recording. Times are nanoseconds of CLOCK_MONOTONIC."""

    name: str
    thread: int             # the kernel's thread id, as samples have it
    begin_ns: int
    end_ns: int
    attributes: dict[str, Value]


class Regions(list[Span]):
    """The spans of a recording, in the order in which they ended.

    lost: how many are missing. begin_ns: when the recording began, CLOCK_MONOTONIC.
    """

    lost: int = 0
    begin_ns: int = 0


# ---- writing ----


def _text(value: object, limit: int) -> str:
    try:
        text = str(value)
    except Exception:                   # the program's own __str__, or too many digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else text[:limit - 1] + "…"


def _is_simple(value: object) -> bool:
    """Whether JSON and the readers of timelines have it: no NaN, and numbers of 64 bits."""
    return (value is None or (isinstance(value, int) and abs(value) < 1 << 63)
            or (isinstance(value, float) and math.isfinite(value)))


def _attributes(attributes: dict[str, Value]) -> dict[str, Value]:
    """Attributes as they are written: at most 16, of JSON's simple types or as text."""
    return {_text(name, VALUE_MAX): value if _is_simple(value) else _text(value, VALUE_MAX)
            for name, value in list(attributes.items())[:ATTRIBUTES_MAX]}


def _write(path: Path, owner: Path, text: str) -> None:
    """Creates or replaces a private file, which belongs to whom owner belongs."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "w", encoding="utf-8") as file:
            if os.geteuid() == 0:
                of = os.stat(owner)
                os.fchown(fd, of.st_uid, of.st_gid)
            file.write(text)
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise


class Kept:
    """The regions of one recording, until it ends."""

    def __init__(self) -> None:
        self._lock = threading.RLock()      # a signal handler may have a region, too
        self._spans: list[Span] = []
        self._lost = 0
        self._begin_ns = monotonic_ns()

    def add(self, one: region, end_ns: int) -> None:
        with self._lock:
            if len(self._spans) >= KEPT_MAX:
                self._lost += 1
                return
            self._spans.append(Span(one.name, one.tid, max(one.begin_ns, self._begin_ns), end_ns, one.attributes))

    def end(self, recording: Path, end_ns: int) -> None:
        """Takes the regions that are still open, and writes all to the file beside the recording."""
        global _keepers
        _keepers = tuple(keeper for keeper in _keepers if keeper is not self)
        for one in list(_open):
            self.add(one, end_ns)
        path = beside(recording)
        with suppress(FileNotFoundError):   # of an earlier recording of that name
            path.unlink()
        if self._spans and recording.exists():
            try:
                _write(path, recording, self._json(end_ns))
            except OSError as error:
                raise Error(f"cannot write {path}: {error.strerror}") from error

    def _rows(self, end_ns: int) -> list[str]:
        """The regions as JSON, as many as a file may have; the others are lost."""
        rows, room = [], FILE_MAX - HEAD_BYTES
        for s in self._spans:
            if s.begin_ns > end_ns:
                continue
            row = json.dumps([_text(s.name, NAME_MAX), s.thread, s.begin_ns, min(s.end_ns, end_ns),
                              _attributes(s.attributes)])
            room -= len(row) + len(", ")
            if room < 0:
                self._lost += 1
            else:
                rows.append(row)
        return rows

    def _json(self, end_ns: int) -> str:
        rows = self._rows(end_ns)
        head = json.dumps({"version": 1, "pid": os.getpid(), "begin_ns": self._begin_ns, "end_ns": end_ns,
                           "lost": self._lost})
        return f'{head[:-1]}, "regions": [{", ".join(rows)}]}}'


def keep() -> Kept:
    """Keeps regions from now on, for a recording that has begun."""
    global _keepers
    kept = Kept()
    _keepers = (*_keepers, kept)
    return kept


# ---- reading ----


def beside(recording: Path) -> Path:
    """The file that has a recording's regions."""
    return recording.with_name(recording.name + SUFFIX)


def _is_span(row: object) -> bool:
    return (isinstance(row, list) and len(row) == 5 and isinstance(row[0], str) and isinstance(row[4], dict)
            and all(isinstance(number, int) and 0 <= number < 1 << 63 for number in row[1:4]))


def read(recording: Path) -> Regions:
    """The regions beside a recording; none if there is no such file. Raises Error if it is damaged."""
    path, found = beside(recording), Regions()
    try:
        with open(path, "rb") as file:
            data = file.read(FILE_MAX + 1)
    except FileNotFoundError:
        return found
    except OSError as error:
        raise Error(f"cannot read {path}: {error.strerror}") from error
    if len(data) > FILE_MAX:
        raise Error(f"{path} is larger than {FILE_MAX >> 20} MiB: no recording has that many regions")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Error(f"{path} is damaged: {error}") from error
    if not isinstance(content, dict) or content.get("version") != 1:
        raise Error(f"{path} was not written by this version of tachbpf")
    rows, lost, begin_ns = content.get("regions"), content.get("lost"), content.get("begin_ns")
    if not (isinstance(rows, list) and isinstance(lost, int) and isinstance(begin_ns, int) and all(map(_is_span, rows))):
        raise Error(f"{path} is damaged: it does not have the form of regions")
    found.extend(sorted((Span(*row) for row in rows), key=lambda span: span.end_ns))
    found.lost, found.begin_ns = lost, begin_ns
    return found
