# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""generate.py DIRECTORY ROWS: two weeks of a fleet's Parquet, as `tachbpf convert` writes it.

20 services on 50 hosts, each in two versions: the second one begins in the second week. Stacks are
walks from a root through functions that call each other, so they share their callers as real ones
do. The last service's stacks get slower in one function, which a query must find. Reproducible.
"""
import datetime
import os
import random
import sys

import pyarrow as pa
import pyarrow.parquet as pq

MONDAY = datetime.date(2026, 11, 23)
FIRST, LAST = MONDAY - datetime.timedelta(7), MONDAY + datetime.timedelta(6)
# Names that a path, SQL or JSON could take for something else; the last one gets slower.
SERVICES = [f"service-{i}" for i in range(16)] + ["shop/api v2", "2026", "O'Hara & søn", "checkout"]
VERSIONS = ("1.9.0", "1.10.0")
HOSTS = [f"web-{i}" for i in range(50)]
TEAMS = ("shop", "data", None)
SLOWER = ("price", "/srv/checkout/price.py")
STACKS = 1500           # of a service
TICK_NS = 52_631_579    # 19 Hz
PYTHON = "/usr/lib/python3.12"


class Service:
    """A service's stacks, as arrays of frames (numbers), leaf first."""

    def __init__(self, name, number, dice):
        self.name, self.team = name, TEAMS[number % len(TEAMS)]
        own = [(f"{name}_{i}" if i % 7 else "<lambda>", f"/srv/{name}/part_{i % 30}.py") for i in range(250)]
        shared = [(f"library_{i}", f"{PYTHON}/module_{i % 60}.py") for i in range(400)]
        self.frames = [("<module>", f"/srv/{name}/main.py"), ("<GC>", "~"), SLOWER, *own, *shared]
        self.lines = [None if file == "~" else 1 + i % 900 for i, (_, file) in enumerate(self.frames)]
        self.stacks = [self.walk(dice) for _ in range(STACKS - 1)] + [[]]

    def walk(self, dice):
        depth, at, walk = dice.randint(6, 40), 0, [0]
        while len(walk) < depth:
            at = (at * 31 + dice.choice((1, 1, 2, 3, 7))) % (len(self.frames) - 3) + 3
            walk.append(at)
        if dice.random() < 0.04:
            walk.append(1)          # <GC> on top
        elif dice.random() < 0.02:
            walk.append(2)
        return walk[::-1]

    def leaf(self, stack):
        """The number of the function that has the self; None: none."""
        return next((f for f in stack if self.frames[f][1] != "~"), None)


def file_name(service):
    return "".join(f"%{ord(c):02X}" if c in "/'&" else c for c in service)


def column(values, kind=None):
    array = pa.array(values, kind or pa.string())
    return array if kind else array.dictionary_encode()


def weight(service, stack, week, dice):
    ticks = dice.randint(1, 9)
    return ticks * (6 if week and service.name == "checkout" and 2 in stack[:1] else 1)


def table_of(service, day, count, dice):
    """Rows of a day, with everything that a sink writes."""
    week = day >= MONDAY
    picks = [min(int(dice.paretovariate(0.6)) - 1, STACKS - 1) if dice.random() < 0.7 else
             dice.randrange(STACKS) for _ in range(count)]
    stacks = [service.stacks[i] for i in picks]
    ticks = [weight(service, stack, week, dice) for stack in stacks]
    leaves = [service.leaf(stack) for stack in stacks]
    begin = int(datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.timezone.utc).timestamp())
    ends = [0]
    for stack in stacks:
        ends.append(ends[-1] + len(stack))
    frames = pa.array([f for stack in stacks for f in stack], pa.int32())
    functions, files = (column(part) for part in zip(*service.frames))
    lines = pa.array(service.lines, pa.int32())
    lists = [pa.ListArray.from_arrays(pa.array(ends, pa.int32()), part.take(frames)) for part in (functions, files, lines)]
    same = {"duration_ns": (3_600_000_000_000, pa.int64()), "day": (day, pa.date32()), "service": (service.name, None),
            "service_namespace": (None, None)}
    after = {"environment": ("production", None)}
    many = {"time": column([(begin + 3600 * (i * 24 // count)) * 1_000_000 for i in range(count)], pa.timestamp("us", tz="UTC")),
            **{name: column([value] * count, kind) for name, (value, kind) in same.items()},
            "service_version": column([VERSIONS[bool(week and i % 5)] for i in range(count)]),
            **{name: column([value] * count, kind) for name, (value, kind) in after.items()},
            "host": column([HOSTS[(i * 7) % len(HOSTS)] for i in range(count)]),
            "team": column([service.team] * count),
            "type": column(["off_cpu" if i % 11 == 0 else "cpu" for i in range(count)]),
            "unit": column(["nanoseconds"] * count),
            "value": column([t * TICK_NS for t in ticks], pa.int64()), "samples": column(ticks, pa.int64()),
            "function": functions.take(pa.array(leaves, pa.int32())), "file": files.take(pa.array(leaves, pa.int32())),
            "line": lines.take(pa.array(leaves, pa.int32())),
            **dict(zip(("functions", "files", "lines"), lists))}
    return pa.table(many)


def generate(directory, rows):
    dice = random.Random(20261130)
    days = [FIRST + datetime.timedelta(i) for i in range(14)]
    count = rows // (len(days) * len(SERVICES))
    for number, name in enumerate(SERVICES):
        service = Service(name, number, dice)
        for day in days:
            place = os.path.join(directory, f"day={day}", "service=" + file_name(name))
            os.makedirs(place)
            pq.write_table(table_of(service, day, count, dice), os.path.join(place, "part-0.parquet"),
                           compression="zstd", compression_level=3, store_schema=False)
    return count * len(days) * len(SERVICES)


if __name__ == "__main__":
    print(generate(sys.argv[1], int(sys.argv[2])), "rows")
