# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The columns that `tachbpf convert --format columns` writes: memory that is used as it is.

Knows what the stream looks like, checks that all of it is there and that every number that refers to a table is
within that table, and knows nothing of what profiles mean. The format: docs/format-columns.md.
"""
from __future__ import annotations

import mmap
import os
import subprocess
import sys
import tempfile
from typing import IO, Any, Callable, Sequence, Union

from ._program import Error, complaint, find

MAGIC = b"tachcol1"
ALIGN = 64
NAME_BYTES = 48
WIDTHS = (1, 4, 8)
FLOATS = ("process.duration_s", "process.sample_rate", "process.error_pct", "process.missed_pct", "stack.squares")
SAMPLES = ("sample.time_us", "sample.weight", "sample.thread", "sample.stack", "sample.status")
SERVICE = ("service.name", "service.namespace", "service.version", "deployment.environment.name", "host.name", "team")
TEXTS = ("comm", "program", "container", "image", "platform", "mode", "unit", "event", "type", "type_unit", *SERVICE)
NUMBERS = ("pid", "start_us", "start_utc_ns", "interval_us", "lost", "duration_s", "sample_rate", "error_pct",
           "missed_pct", "python", "features", "profile", "timed", "of_container")
# Columns of one table, which have the same number of values, and what each refers to: "" no table; a table whose
# name ends in "?" may be referred to by -1, which stands for unknown.
TABLES = {
    "frame": {"frame.function": "string", "frame.file": "string", "frame.line": "", "frame.end_line": "",
              "frame.column": "", "frame.end_column": "", "frame.first_line": "", "frame.kind": "kind",
              "frame.flags": ""},
    "process": {**{f"process.{name}": "string?" for name in TEXTS}, **{f"process.{name}": "" for name in NUMBERS},
                "process.profile": "process"},
    "thread": {"thread.id": "", "thread.process": "process", "thread.name": "string?", "thread.main": ""},
    "loss": {"loss.count": "", "loss.process": "process", "loss.cause": "string"},
}
KINDS = ("python", "native", "kernel", "synthetic")


def _damaged(what: str) -> Error:
    return Error(f"damaged columns, or those of another version of tachbpf ({find()}): {what}")


def _file() -> IO[bytes]:
    """A file without a name, in memory where the system has that."""
    try:
        return os.fdopen(os.memfd_create("tachbpf"), "r+b", buffering=0)
    except OSError:
        return tempfile.TemporaryFile(buffering=0)


def run(arguments: Sequence[str]) -> tuple[Columns, str]:
    """Runs `tachbpf convert ARGUMENTS --format columns`. Returns its columns, and what it complained of.

    Raises Error with the complaint if there are no columns.
    """
    command = [find(), "convert", "--format", "columns", "--force", "-o", "-", *arguments]
    with _file() as out:
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, check=False)
        except OSError as error:
            raise Error(f"cannot run {command[0]}: {error.strerror}") from error
        said = complaint(done.stderr)
        if not os.fstat(out.fileno()).st_size:
            raise Error(said or f"tachbpf convert ended with status {done.returncode}")
        # The mapping keeps the file's memory.
        return Columns(memoryview(mmap.mmap(out.fileno(), 0, access=mmap.ACCESS_READ))), said


def _head(data: memoryview, at: int) -> tuple[str, int, int]:
    """(name, width, count) of the column at this byte."""
    if at + ALIGN > len(data):
        raise _damaged("they end before their end")
    name = bytes(data[at:at + NAME_BYTES]).split(b"\0")[0].decode("ascii", "replace")
    width = int.from_bytes(data[at + NAME_BYTES:at + NAME_BYTES + 4], "little")
    count = int.from_bytes(data[at + ALIGN - 8:at + ALIGN], "little")
    if width not in WIDTHS or count > (len(data) - at - ALIGN) // width:
        raise _damaged(f"{count} values of {width} bytes in {name!r}")
    return name, width, count


def _values(data: memoryview, name: str, width: int) -> memoryview:
    """The bytes of a column as its values."""
    if width == 8 and name in FLOATS:
        reals: Any = data.cast("d")
        return reals    # type: ignore[no-any-return]  # a memoryview of float
    if width == 8:
        return data.cast("q")
    return data.cast("i") if width == 4 else data.cast("B")


def _parse(data: memoryview) -> dict[str, list[memoryview]]:
    """The columns by name, in each the parts in their order."""
    if sys.byteorder != "little":
        raise Error("profiles can be read on little-endian machines only")
    if bytes(data[:len(MAGIC)]) != MAGIC:
        raise _damaged(f"they begin with {bytes(data[:8])!r}")
    found: dict[str, list[memoryview]] = {}
    at, name = ALIGN, ""
    while name != "end":
        name, width, count = _head(data, at)
        at += ALIGN
        found.setdefault(name, []).append(_values(data[at:at + width * count], name, width))
        at += -(-width * count // ALIGN) * ALIGN
    return found


def _largest(values: memoryview) -> int:
    """The largest value; negative ones are larger than all others."""
    return max(values if values.format == "B" else values.cast("B").cast("I"), default=-1)


def _check_index(name: str, values: memoryview, count: int) -> None:
    """Each value is an index of a table of so many entries."""
    if values.format not in ("B", "i") or _largest(values) >= count:
        raise _damaged(f"{name} refers beyond {count} entries")


def _check_known(name: str, values: memoryview, count: int) -> None:
    """The same for a column of a few values, which may be -1."""
    if values.format != "i" or any(v < -1 or v >= count for v in values):
        raise _damaged(f"{name} refers beyond {count} entries")


def _check_ends(name: str, ends: memoryview, values: int) -> None:
    """They begin with 0, never decrease, and end with the number of values."""
    before = 0
    if ends.format != "i" or not len(ends) or ends[0] or ends[-1] != values:
        raise _damaged(f"{name} does not end at {values}")
    for end in ends:
        if end < before:
            raise _damaged(f"{name} decreases")
        before = end


class Columns:
    """The checked columns of a profile. Values are memoryviews of format B, i (int32), q (int64) or d."""

    def __init__(self, data: memoryview) -> None:
        """Raises Error if data are not columns, or not all of them."""
        self._parts = _parse(data)
        self.batches = self._batches()
        self.strings = self._strings()
        self._check_stacks()
        self._check_tables()
        for batch in self.batches:
            _check_index("sample.thread", batch["sample.thread"], self.count("thread.id"))
            _check_index("sample.stack", batch["sample.stack"], self.stack_count)

    def __getitem__(self, name: str) -> memoryview:
        """A column that is in one part."""
        parts = self._parts.get(name, ())
        if len(parts) != 1:
            raise _damaged(f"{name} is there {len(parts)} times")
        return parts[0]

    def count(self, name: str) -> int:
        return len(self[name])

    @property
    def stack_count(self) -> int:
        return len(self["stack.ends"]) - 1

    def text(self, index: int) -> Union[str, None]:
        """A string by its number; None for -1."""
        return None if index < 0 else self.strings[index]

    def _batches(self) -> list[dict[str, memoryview]]:
        columns = [self._parts.get(name, []) for name in SAMPLES]
        formats = ["q", "q", "i", "i", "B"]
        if len({len(parts) for parts in columns}) != 1:
            raise _damaged("batches of samples differ in their columns")
        batches = [dict(zip(SAMPLES, parts)) for parts in zip(*columns)]
        for batch in batches:
            if len({len(v) for v in batch.values()}) != 1 or [v.format for v in batch.values()] != formats:
                raise _damaged("columns of samples differ in length or width")
        return [batch for batch in batches if len(batch["sample.stack"])]

    def _strings(self) -> list[str]:
        ends, data = self["string.ends"], self["string.bytes"]
        if data.format != "B":
            raise _damaged("string.bytes are no bytes")
        _check_ends("string.ends", ends, len(data))
        try:
            return [str(data[begin:end], "utf-8") for begin, end in zip(ends, ends[1:])]
        except UnicodeDecodeError as error:
            raise _damaged(f"a string is not UTF-8: {error}") from None

    def _check_stacks(self) -> None:
        _check_ends("stack.ends", self["stack.ends"], self.count("stack.frames"))
        _check_index("stack.frames", self["stack.frames"], self.count("frame.kind"))
        for name, kind in (("stack.weight", "q"), ("stack.squares", "d")):
            if self.count(name) != self.stack_count or self[name].format != kind:
                raise _damaged(f"{name} has not one value for each stack")

    def _check_tables(self) -> None:
        counts = {"string": len(self.strings), "kind": len(KINDS), "process": self.count("process.pid")}
        for table in TABLES.values():
            if len({self.count(name) for name in table}) != 1:
                raise _damaged(f"the columns of {next(iter(table))} and others differ in length")
            for name, refers in table.items():
                check: Callable[[str, memoryview, int], None] = _check_known if refers.endswith("?") else _check_index
                if refers:
                    check(name, self[name], counts[refers.rstrip("?")])
