# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Samples as tables of Arrow, pandas and Polars: columns are used as they are, names are dictionaries.

Nothing here loops over samples. What samples refer to (threads, stacks) is made once, and taken by number.
"""
from __future__ import annotations

import array
import importlib
import itertools
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence

from ._columns import Columns
from ._model import STATUS, Thread
from ._program import Error
from ._rows import DETAIL_OF_PYTHON, HAS_FILE

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

# The columns that every kind of table has, in this order; `stack` is last.
NAMES = ("pid", "comm", "container", "thread", "thread_name", "time", "status", "weight", "function", "file", "line",
         "stack")


def need(module: str, extra: str) -> Any:
    """An optional module. Raises Error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Error(f"this needs {module}: pip install 'tachbpf[{extra}]' ({error})") from error


def status_words(status: int) -> str:
    """The names of status bits as in CSV: "gil+on-cpu"; "none" without any."""
    return "+".join(name for bit, name in STATUS if status & bit) or "none"


class Names:
    """What a thread or a stack is called in tables: one value for each, in plain lists."""

    def __init__(self, columns: Columns, threads: list[Thread], label: Callable[[int], str]) -> None:
        """label: of a frame."""
        self.pid = [t.process.pid for t in threads]
        self.comm = [t.process.comm for t in threads]
        self.container = [t.process.container for t in threads]
        self.thread = [t.id for t in threads]
        self.thread_name = [t.name for t in threads]
        self.labels = [label(f) for f in range(columns.count("frame.kind"))]
        self.own = self._own(columns)
        names, files, lines, flags = (columns[f"frame.{n}"] for n in ("function", "file", "line", "flags"))
        self.function = [columns.strings[names[f]] if f is not None else None for f in self.own]
        self.file = [columns.strings[files[f]] if f is not None and flags[f] & HAS_FILE else None for f in self.own]
        self.line = [lines[f] if f is not None and lines[f] > 0 else None for f in self.own]

    @staticmethod
    def _own(columns: Columns) -> list[Optional[int]]:
        """The frame of each stack that has its own weight: the innermost that is no detail, else the root."""
        ends, frames, flags = columns["stack.ends"], columns["stack.frames"], columns["frame.flags"]
        own: list[Optional[int]] = []
        for begin, end in zip(ends, ends[1:]):
            stack = frames[begin:end]
            own.append(next((f for f in stack if not flags[f] & DETAIL_OF_PYTHON), stack[-1] if end > begin else None))
        return own


# ---- Arrow ----

def _validity(values: Sequence[Any]) -> Optional[bytes]:
    """Arrow's bitmap of those that are not None; None: all of them."""
    if None not in values:
        return None
    bits = bytearray((len(values) + 7) // 8)
    for i, value in enumerate(values):
        bits[i // 8] |= (value is not None) << i % 8
    return bytes(bits)


class _Arrow:
    """Makes record batches; each distinct name is in a dictionary once.

    Arrays are made of buffers: what pyarrow makes of Python's lists and numbers has it import pandas, which takes
    longer than all the rest.
    """

    def __init__(self, columns: Columns, names: Names, base_us: Optional[int]) -> None:
        self.pa, self.pc = need("pyarrow", "arrow"), need("pyarrow.compute", "arrow")
        text, self.base = self.text, None if base_us is None else self.numbers([base_us], "q")[0]
        self.by_thread = {"pid": self.numbers(names.pid, "q"), "comm": text(names.comm), "container": text(names.container),
                          "thread": self.numbers(names.thread, "q"), "thread_name": text(names.thread_name)}
        self.by_stack = {"function": text(names.function), "file": text(names.file),
                         "line": self.numbers(names.line, "i"), "stack": self.stacks(columns, names)}
        self.status = text([status_words(bits) for bits in range(256)])

    def numbers(self, values: Sequence[Optional[int]], code: str) -> Any:
        """Numbers of 4 bytes (i) or 8 (q), which may be unknown."""
        pa, validity = self.pa, _validity(values)
        data = array.array(code, [value or 0 for value in values])
        return pa.Array.from_buffers(pa.int32() if code == "i" else pa.int64(), len(values),
                                     [validity and pa.py_buffer(validity), pa.py_buffer(data)])

    def text(self, values: Sequence[Optional[str]]) -> Any:
        """Strings, which may be unknown."""
        pa = self.pa
        known = dict.fromkeys(value for value in values if value is not None)
        codes = {value: code for code, value in enumerate(known)}
        data = [value.encode() for value in known]
        ends = array.array("i", [0, *itertools.accumulate(map(len, data))])
        strings = pa.StringArray.from_buffers(len(data), pa.py_buffer(ends), pa.py_buffer(b"".join(data)))
        return pa.DictionaryArray.from_arrays(self.numbers([None if v is None else codes[v] for v in values], "i"), strings)

    def array(self, values: memoryview, kind: Any) -> Any:
        """The values as they are, without a copy."""
        return self.pa.Array.from_buffers(kind, len(values), [None, self.pa.py_buffer(values)])

    def stacks(self, columns: Columns, names: Names) -> Any:
        """The distinct stacks as lists of labels."""
        pa = self.pa
        frames = self.text(names.labels).take(self.array(columns["stack.frames"], pa.int32()))
        return pa.ListArray.from_arrays(self.array(columns["stack.ends"], pa.int32()), frames)

    def time(self, batch: dict[str, memoryview]) -> Any:
        times, kind = self.array(batch["sample.time_us"], self.pa.int64()), self.pa.duration("us")
        if self.base is None:
            return self.pa.nulls(len(times), kind)
        return self.pc.subtract(times, self.base).cast(kind)

    def batch(self, batch: dict[str, memoryview]) -> Any:
        pa = self.pa
        thread, stack = (self.array(batch[f"sample.{name}"], pa.int32()) for name in ("thread", "stack"))
        made = {name: values.take(thread) for name, values in self.by_thread.items()}
        made.update((name, values.take(stack)) for name, values in self.by_stack.items())
        made.update(time=self.time(batch), weight=self.array(batch["sample.weight"], pa.int64()),
                    status=self.status.take(self.array(batch["sample.status"], pa.uint8())))
        return pa.RecordBatch.from_arrays([made[name] for name in NAMES], names=list(NAMES))


EMPTY = {"sample.time_us": memoryview(b"").cast("q"), "sample.weight": memoryview(b"").cast("q"),
         "sample.thread": memoryview(b"").cast("i"), "sample.stack": memoryview(b"").cast("i"),
         "sample.status": memoryview(b"")}


def arrow(columns: Columns, names: Names, base_us: Optional[int]) -> pyarrow.Table:
    maker = _Arrow(columns, names, base_us)
    table: pyarrow.Table = maker.pa.Table.from_batches([maker.batch(batch) for batch in columns.batches or [EMPTY]])
    return table


def parquet(table: pyarrow.Table, path: str) -> None:
    need("pyarrow.parquet", "arrow").write_table(table, path, compression="zstd")


def polars_frame(table: pyarrow.Table) -> polars.DataFrame:
    frame: polars.DataFrame = need("polars", "polars").from_arrow(table)
    return frame


# ---- pandas ----

class _Pandas:
    """Makes the columns of a data frame by numpy."""

    def __init__(self, columns: Columns, names: Names, base_us: Optional[int]) -> None:
        self.pd, self.np = need("pandas", "pandas"), need("numpy", "pandas")
        self.columns, self.names, self.base = columns, names, base_us
        self.thread, self.stack = self.all("thread", "int32"), self.all("stack", "int32")

    def all(self, name: str, kind: str) -> Any:
        """A column of all samples."""
        parts = [self.np.frombuffer(batch[f"sample.{name}"], kind) for batch in self.columns.batches]
        return self.np.concatenate(parts) if parts else self.np.empty(0, kind)

    def category(self, values: list[Any], index: Any) -> Any:
        """The value of each index, as a category."""
        codes, categories = self.pd.factorize(self.np.array(values, object))
        return self.pd.Categorical.from_codes(codes.astype("int32")[index], categories=categories)

    def integers(self, values: list[Optional[int]], index: Any) -> Any:
        """The same for numbers, which may be unknown."""
        return self.pd.array(values, dtype="Int64").take(index)

    def folded(self) -> list[str]:
        """Distinct stacks as in collapsed files, root first."""
        ends, frames, labels = self.columns["stack.ends"], self.columns["stack.frames"], self.names.labels
        return [";".join(labels[f] for f in reversed(frames[begin:end])) for begin, end in zip(ends, ends[1:])]

    def time(self) -> Any:
        times = self.all("time_us", "int64")
        if self.base is None:
            return self.np.full(len(times), "NaT", "timedelta64[us]")
        return (times - self.base).astype("timedelta64[us]")

    def frame(self) -> Any:
        n = self.names
        by_thread = {name: self.category(getattr(n, name), self.thread) for name in ("comm", "container", "thread_name")}
        by_stack = {name: self.category(getattr(n, name), self.stack) for name in ("function", "file")}
        made = {"pid": self.integers(n.pid, self.thread), **by_thread, **by_stack,
                "thread": self.np.array(n.thread, "int64")[self.thread], "time": self.time(),
                "status": self.category([status_words(bits) for bits in range(256)], self.all("status", "uint8")),
                "weight": self.all("weight", "int64"), "line": self.integers(n.line, self.stack),
                "stack": self.category(self.folded(), self.stack)}
        return self.pd.DataFrame({name: made[name] for name in NAMES})


def pandas_frame(columns: Columns, names: Names, base_us: Optional[int]) -> pandas.DataFrame:
    frame: pandas.DataFrame = _Pandas(columns, names, base_us).frame()
    return frame
