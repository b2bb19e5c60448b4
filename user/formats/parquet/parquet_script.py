# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Makes Parquet of the rows on standard input (parquet_rows.h): one file on standard output, or one
# for each day and service in the working directory. Its status is an errno, or one of these.
import errno
import sys

MISSING, DAMAGED = 200, 201
try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
except ImportError:
    sys.exit(MISSING)

import datetime
import hashlib
import os
import re
import struct

TEXT, COUNT = pa.string(), pa.int64()
TIME = pa.timestamp("us", tz="UTC")
SERIES = ("service", "service_namespace", "service_version", "environment", "host", "team", "type", "unit")
SCHEMA = pa.schema(
    [("time", TIME), ("duration_ns", COUNT), ("day", pa.date32()), *((name, TEXT) for name in SERIES),
     ("value", COUNT), ("samples", COUNT), ("function", TEXT), ("file", TEXT), ("line", pa.int32()),
     ("functions", pa.list_(TEXT)), ("files", pa.list_(TEXT)), ("lines", pa.list_(pa.int32()))])


class Rows:
    """The stream, as arrays over its bytes."""

    def __init__(self, stream):
        self.stream, self.hash = stream, hashlib.blake2b(digest_size=12)
        if self.bytes(8) != b"tachrow1":
            raise ValueError("not rows")

    def bytes(self, size):
        data = self.stream.read(size)
        if len(data) != size:
            raise EOFError(f"{len(data)} of {size} bytes")
        self.hash.update(data)
        return data

    def number(self):
        return struct.unpack("=q", self.bytes(8))[0]

    def array(self, kind, count):
        data = self.bytes(count * kind.bit_width // 8)
        return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(data)])

    def known(self, kind, count):
        """Negative numbers are unknown: null."""
        found = self.array(kind, count)
        return pc.if_else(pc.greater_equal(found, 0), found, pa.scalar(None, kind))

    def strings(self):
        count = self.number()
        offsets = self.bytes(4 * (count + 1))
        size = struct.unpack_from("=i", offsets, 4 * count)[0]
        return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(self.bytes(size)))


class Tables:
    """What rows refer to by number."""

    def __init__(self, rows):
        self.names = rows.strings()
        count = rows.number()
        self.functions, self.files = rows.array(pa.int32(), count), rows.array(pa.int32(), count)
        self.lines = rows.known(pa.int32(), count)
        count = rows.number()
        times = rows.known(COUNT, count)
        self.series = {"time": times.cast(TIME), "duration_ns": rows.known(COUNT, count),
                       "day": times.cast(pa.timestamp("us")).cast(pa.date32())}
        for name in SERIES:
            self.series[name] = self.names.take(rows.known(pa.int32(), count))

    def text(self, names, frames):
        """The text of each frame, with a dictionary of those that occur."""
        used = names.take(frames).dictionary_encode()
        return pa.DictionaryArray.from_arrays(used.indices, self.names.take(used.dictionary))


def batches(rows, tables):
    """(number of the first row's series, a table) of each batch."""
    while count := rows.number():
        depth = rows.number()
        series = rows.array(pa.int32(), count)
        value, samples = rows.array(COUNT, count), rows.known(COUNT, count)
        leaf = rows.known(pa.int32(), count)
        offsets, frames = rows.array(pa.int32(), count + 1), rows.array(pa.int32(), depth)
        lists = [pa.ListArray.from_arrays(offsets, each) for each in (
            tables.text(tables.functions, frames), tables.text(tables.files, frames),
            tables.lines.take(frames))]
        columns = [tables.series[name].take(series) for name in ("time", "duration_ns", "day", *SERIES)]
        columns += [value, samples, tables.text(tables.functions, leaf), tables.text(tables.files, leaf),
                    tables.lines.take(leaf), *lists]
        yield series[0].as_py(), pa.table(columns, names=SCHEMA.names)


def writer(sink, table):
    return pq.ParquetWriter(sink, table.schema, compression="zstd", compression_level=3,
                            store_schema=False)


def write_file(rows, tables, sink):
    out = None
    for _, table in batches(rows, tables):
        out = out or writer(sink, table)
        out.write_table(table)
    (out or writer(sink, SCHEMA.empty_table())).close()


class Parts:
    """The files of a directory: they appear when all are complete."""

    def __init__(self):
        self.place = self.file = self.out = None
        self.made = []

    def open(self, place, table):
        os.makedirs(place, mode=0o700, exist_ok=True)
        self.place = place
        path = os.path.join(place, f".tachbpf-{os.getpid()}.tmp")
        self.file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb")
        self.made.append(path)
        self.out = writer(self.file, table)

    def add(self, place, table):
        if place != self.place:
            self.close()
            self.open(place, table)
        self.out.write_table(table)

    def close(self):
        if self.out:
            self.out.close()
            self.file.close()
        self.out = None

    def commit(self, name):
        self.close()
        while self.made:
            os.rename(self.made[-1], os.path.join(os.path.dirname(self.made[-1]), name))
            self.made.pop()

    def abort(self):
        for path in self.made:
            os.unlink(path)


def file_name(text):
    """Percent-encoded as Hive does: Spark decodes only ASCII. Cut to what a file system takes."""
    quoted = re.sub(r"[^\w.@+~ -]", lambda m: f"%{ord(m[0]):02X}" if m[0] < "\x80" else m[0], text)
    return re.sub("%.?$", "", quoted.encode()[:200].decode(errors="ignore"))


def place_of(tables, series):
    day, service = (tables.series[name][series].as_py() for name in ("day", "service"))
    return f"day={day}/service={file_name(service)}"


def write_parts(rows, tables):
    parts = Parts()
    try:
        for series, table in batches(rows, tables):
            parts.add(place_of(tables, series), table)
        # The same rows again replace the file.
        parts.commit(f"part-{rows.hash.hexdigest()}.parquet")
    finally:
        parts.abort()


def main(target):
    rows = Rows(sys.stdin.buffer)
    tables = Tables(rows)
    if target == "directory":
        write_parts(rows, tables)
    else:
        with os.fdopen(1, "wb") as sink:
            write_file(rows, tables, sink)


try:
    os.umask(0o077)
    main(sys.argv[1])
except BrokenPipeError:
    sys.exit(errno.EPIPE)
except OSError as error:
    sys.exit(error.errno if 0 < (error.errno or 0) < MISSING else errno.EIO)
except EOFError:  # they were given up, and who did so has said why
    sys.exit(DAMAGED)
except (ValueError, pa.ArrowException) as error:
    print(f"tachbpf: {type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(DAMAGED)
