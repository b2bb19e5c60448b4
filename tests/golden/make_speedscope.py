# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""speedscope/*.json and what is in them."""
import json
from pathlib import Path

from expect import NOMINAL_US, place, write

HERE = Path(__file__).parent / "speedscope"
SCHEMA = "https://www.speedscope.app/file-format-schema.json"
FRAMES = [{"name": "main", "file": "app.py", "line": 10, "col": 5}, {"name": "f", "file": "é.py", "line": 3},
          {"name": "native"}, {"name": "q\"\\\n\u0000\U0001f600", "file": None, "line": None},
          {"name": "", "file": "", "line": 0, "col": 0}]
PLACES = [place("main", "app.py", 10, 4), place("f", "é.py", 3), place("native"),
          place("q\"\\\n\u0000\U0001f600"), place("", "")]
SCALES = {"none": 1, "bytes": 1, "nanoseconds": 1, "microseconds": 10**3, "milliseconds": 10**6,
          "seconds": 10**9}


def document(profiles, frames=FRAMES, **more):
    return {"$schema": SCHEMA, "version": "1.0.0", "shared": {"frames": frames},
            "profiles": profiles, "name": "ours", "exporter": "make_speedscope.py", **more}


def sampled(name, unit, samples, weights, start=0):
    return {"type": "sampled", "name": name, "unit": unit, "startValue": start,
            "endValue": start + sum(weights), "samples": samples, "weights": weights}


def events(thread, unit, samples, weights, late_us=0, places=PLACES):
    """The weights must be whole in our unit."""
    found, passed = [], 0
    for stack, weight in zip(samples, weights):
        ours = round(weight * SCALES[unit])
        kind = "time" if unit.endswith("seconds") else unit
        now = {"time": passed // 1000 + late_us, "none": passed * NOMINAL_US, "bytes": 0}[kind]
        passed += ours
        if stack and ours:
            found.append((thread, now, ours, [places[i] for i in stack[::-1]]))
    return found


def evented(name, unit, changes, start=0):
    """changes: (how many frames are open from now on, when); each frame is one deeper."""
    found, deep = [], 0
    for now, at in changes:
        found += [{"type": "C", "at": at, "frame": i} for i in range(deep - 1, now - 1, -1)]
        found += [{"at": at, "frame": i, "type": "O", "x": [1]} for i in range(deep, now)]
        deep = now
    return {"type": "evented", "name": name, "unit": unit, "startValue": start,
            "endValue": changes[-1][1], "events": found}


def put(name, doc, profiles, text=None):
    (HERE / f"{name}.json").write_text(text or json.dumps(doc), encoding="utf-8")
    write(HERE / f"{name}.txt", profiles)


def main():
    samples = [[0, 1], [], [0, 1, 2], [0], [0, 3, 4]]
    for unit in SCALES:
        weights = [3, 5, 0, 2, 4] if unit in ("none", "bytes", "nanoseconds") else [3, 5.5, 0, 2.25, 4e-1]
        kind = {"none": "samples", "bytes": "bytes"}.get(unit, "nanoseconds")
        put(unit, document([sampled("Thread-1", unit, samples, weights)]),
            [(kind, 0, None, events(2**32, unit, samples, weights))])
    # Two processes, two threads of one, one that starts late, another unit, the same thread twice.
    parts = [("Process 12 Thread 7 \"MainThread\"", "microseconds", samples, [1000] * 5, 50),
             ("Process 12 Thread 0x8 \"wörk\"", "microseconds", [[1]], [250], 1050),
             ("Process 13 Thread 7", "microseconds", [[2], [2]], [1, 1], 50),
             ("heap", "bytes", [[0], [0, 1]], [9007199254740993, 1], 0),
             ("process: 12 thread (7)", "microseconds", [[4]], [1], 50)]
    groups = [("nanoseconds", 12, None,
               events(7, *parts[0][1:4]) + events(8, *parts[1][1:4], late_us=1000) +
               events(2**32 + 4, *parts[4][1:4])),
              ("nanoseconds", 13, None, events(7, *parts[2][1:4])),
              ("bytes", 0, None, events(2**32 + 3, *parts[3][1:4]))]
    put("processes", document([sampled(*p) for p in parts]), groups)
    # Keys in the least convenient order, things nobody knows, white space everywhere.
    one = sampled("tid 5", "none", samples, [1] * 5)
    doc = {"profiles": [{"weights": one["weights"], "samples": one["samples"], "x": [{"y": [None, True, -1.5e3]}],
                         **{k: one[k] for k in ("endValue", "unit", "type", "name")}}],
           "unknown": {"frames": []}, "shared": {"other": "\ud83d\ude00", "frames": FRAMES}}
    put("order", None, [("samples", 0, None, events(5, "none", samples, [1] * 5))],
        "\ufeff \n" + json.dumps(doc, indent=3) + "\r\n\t ")
    deep = [{"name": f"f{i}"} for i in range(300)]
    stacks = [list(range(n)) for n in (256, 257, 300)]
    put("deep", document([sampled("t", "none", stacks, [1] * 3)], deep),
        [("samples", 0, None, events(2**32, "none", stacks, [1] * 3,
                                     places=[place(f["name"]) for f in deep]))])
    # Before the first function opens, and while none is open, time passes.
    changes = [(2, 1000.25), (2, 1000.5), (3, 1001), (1, 1002), (0, 1002.5), (2, 1004), (5, 1004), (0, 1004.125)]
    steps = [([0, 1], .75), ([0, 1, 2], 1), ([0], .5), ([], 1.5), ([0, 1, 2, 3, 4], .125)]
    put("evented", document([evented("tid 5", "seconds", changes, 1000), evented("heap", "bytes", [(1, 3), (0, 7)])]),
        [("nanoseconds", 0, None, events(5, "seconds", [[]] + [stack for stack, _ in steps],
                                         [.25] + [weight for _, weight in steps])),
         ("bytes", 0, None, events(2**32 + 1, "bytes", [[0]], [4]))])
    put("empty", document([sampled("nothing", "seconds", [], [])]), [("nanoseconds", 0, None, [])])


if __name__ == "__main__":
    main()
