# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the queries must find, in plain Python: no SQL, no engine. Rows are dictionaries."""
import collections
import datetime

WEEK = datetime.timedelta(7)
NO_FRAME = "<no Python frame>"


def seconds(row):
    return row["value"] / 1e9


def function_of(row):
    return (row["function"] or NO_FRAME, row["file"] or "")


def cpu_rows(rows, first, last):
    return [r for r in rows if r["type"] == "cpu" and first <= r["day"] <= last]


def self_and_total(rows):
    """{function: [seconds of its own, seconds with what it called]}"""
    sums = collections.defaultdict(lambda: [0.0, 0.0])
    for row in rows:
        leaf = function_of(row)
        sums[leaf][0] += seconds(row)
        if leaf[1] in ("", "~"):
            sums[leaf][1] += seconds(row)
        for frame in {f for f in zip(row["functions"], row["files"]) if f[1] != "~"}:
            sums[frame][1] += seconds(row)
    return sums


def add_up(rows, key):
    sums = collections.defaultdict(float)
    for row in rows:
        sums[key(row)] += seconds(row)
    return sums


def percents(sums, whole_of):
    """Each sum in percent of all those with the same whole."""
    wholes = collections.defaultdict(float)
    for key, value in sums.items():
        wholes[whole_of(key)] += value
    return {key: 100 * value / wholes[whole_of(key)] for key, value in sums.items()}


def top_functions(rows, service, first_day, last_day):
    mine = [r for r in cpu_rows(rows, first_day, last_day) if r["service"] == service]
    whole = sum(map(seconds, mine))
    found = [(*name, own, total, 100 * own / whole, 100 * total / whole)
             for name, (own, total) in self_and_total(mine).items()]
    return sorted(found, key=lambda r: (-round(r[2], 3), -round(r[3], 3), r[0], r[1]))[:20]


def weeks(rows, monday):
    now = add_up(cpu_rows(rows, monday, monday + WEEK - datetime.timedelta(1)),
                 lambda r: (r["service"], r["service_version"] or "", *function_of(r)))
    before = add_up(cpu_rows(rows, monday - WEEK, monday - datetime.timedelta(1)),
                    lambda r: (r["service"], *function_of(r)))
    parts, parts_before = percents(now, lambda k: k[:2]), percents(before, lambda k: k[0])
    groups = collections.defaultdict(list)
    for key, value in now.items():
        old = (key[0], *key[2:])
        share = parts_before.get(old, 0)
        groups[key[:2]].append((*key, value, parts[key], before.get(old, 0), share, parts[key] - share))
    return [row for _, group in sorted(groups.items())
            for row in sorted(group, key=lambda r: (-round(r[4], 3), r[2], r[3]))[:10]]


def versions(rows, service, version_a, version_b, first_day, last_day):
    sides = []
    for version in (version_a, version_b):
        mine = [r for r in cpu_rows(rows, first_day, last_day)
                if r["service"] == service and r["service_version"] == version]
        whole = sum(map(seconds, mine))
        sides.append({name: [100 * v / whole for v in both] for name, both in self_and_total(mine).items()})
    found = []
    for name in sides[0].keys() | sides[1].keys():
        (own_a, total_a), (own_b, total_b) = (side.get(name, (0, 0)) for side in sides)
        found.append((*name, own_a, own_b, own_b - own_a, total_a, total_b, total_b - total_a))
    return sorted(found, key=lambda r: (-round(abs(r[4]), 6), r[0], r[1]))[:20]


def cost(rows, first_day, last_day):
    mine = cpu_rows(rows, first_day, last_day)
    sums = add_up(mine, lambda r: (r["team"] or "", r["service"]))
    hosts = collections.defaultdict(set)
    for row in mine:
        hosts[row["team"] or "", row["service"]].add(row["host"])
    period, whole = 86400 * ((last_day - first_day).days + 1), sum(sums.values())
    found = [(*key, value, value / period, 100 * value / whole, len(hosts[key])) for key, value in sums.items()]
    return sorted(found, key=lambda r: (-round(r[2], 3), r[0], r[1]))


def regressions(rows, monday, points, seconds):  # pylint: disable=redefined-outer-name
    def key(row):
        return (row["service"], *function_of(row))
    now = add_up(cpu_rows(rows, monday, monday + WEEK - datetime.timedelta(1)), key)
    before = add_up(cpu_rows(rows, monday - WEEK, monday - datetime.timedelta(1)), key)
    parts, parts_before = percents(now, lambda k: k[0]), percents(before, lambda k: k[0])
    found = [(*k, before.get(k, 0), v, parts_before.get(k, 0), parts[k], parts[k] - parts_before.get(k, 0))
             for k, v in now.items()]
    return sorted((r for r in found if r[7] > points and r[4] - r[3] > seconds),
                  key=lambda r: (-round(r[4] - r[3], 3), *r[:3]))
