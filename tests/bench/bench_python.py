#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make bench-python: what it takes to read a profile of 1,000,000 samples, 20 frames deep, in Python.

The wheel is installed as tests/python/run.py does it. Each line has the minimum of ROUNDS processes: seconds of the
clock and of the CPU without imports, and peak memory, of Python and of the program that it starts. Aim for Arrow:
1 s, 300 MiB.
Beside them pandas reads the speedscope file of the same profile by json.load(). It has an entry for each sample, as
py-spy writes them.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import run  # noqa: E402

VERSION = (3, 12)
ROUNDS = 5
# What a process runs: IMPORTS are not measured, then `table` is made of the file in sys.argv[1].
TACHBPF = "import tachbpf"
ARROW = "import tachbpf, pyarrow, pyarrow.compute"
PANDAS = "import tachbpf, pandas, numpy"
SPEEDSCOPE = """
import json, pandas
def frame(path):
    with open(path) as f:
        data = json.load(f)
    names = [f["name"] for f in data["shared"]["frames"]]
    parts = [pandas.DataFrame({"thread": p["name"], "stack": p["samples"], "weight": p["weights"]})
             for p in data["profiles"]]
    table = pandas.concat(parts, ignore_index=True)
    table["function"] = [names[stack[-1]] if stack else None for stack in table["stack"]]
    return table
"""
# py-spy's file of the profile: a profile for each thread, with the frames of each sample, root first.
LIKE_PY_SPY = """
import json, sys, tachbpf
frames, profiles, stacks = {}, {}, {}
profile = tachbpf.read(sys.argv[1])
for sample in profile.samples:
    if id(sample.stack) not in stacks:         # the profile keeps each distinct one
        stacks[id(sample.stack)] = [frames.setdefault(frame, len(frames)) for frame in reversed(sample.stack)]
    p = profiles.setdefault(sample.thread.id, {
        "type": "sampled", "name": f"Thread {sample.thread.id}", "unit": "seconds", "startValue": 0.0, "endValue": 0.0,
        "samples": [], "weights": []})
    p["samples"].append(stacks[id(sample.stack)])
    p["weights"].append(0.001)
shared = {"frames": [{"name": f.function, "file": f.file, "line": f.line, "col": None} for f in frames]}
with open(sys.argv[2], "w") as out:
    json.dump({"$schema": "https://www.speedscope.app/file-format-schema.json", "profiles": list(profiles.values()),
               "shared": shared}, out)
"""
CASES = (
    ("Arrow", ARROW, "tachbpf.read(path).to_arrow()", ".tach"),
    ("pandas", PANDAS, "tachbpf.read(path).to_pandas()", ".tach"),
    ("functions()", TACHBPF, "tachbpf.read(path).functions()", ".tach"),
    ("every sample, in a loop", TACHBPF, "[s.weight for s in tachbpf.read(path).samples]", ".tach"),
    ("pandas, of speedscope", SPEEDSCOPE, "frame(path)", ".json"),
)
MEASURE = """
import json, resource, sys, time
path = sys.argv[1]
{imports}
wall, cpu = time.perf_counter(), time.process_time()
table = {expression}
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
own, child = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps(dict(rows=len(table), wall=wall, cpu=cpu + child.ru_utime + child.ru_stime, own=own.ru_maxrss / 1024,
                      child=child.ru_maxrss / 1024)))
"""


def files(python, scratch, samples, depth):
    """The profile, and its speedscope file, by their endings."""
    tach, speedscope = scratch / "x.tach", scratch / "x.json"
    subprocess.run([os.environ["BENCH_FILES"], "write", tach, str(samples), str(depth), "zstd"], check=True)
    subprocess.run([python, "-c", LIKE_PY_SPY, tach, speedscope], check=True)
    return {path.suffix: path for path in (tach, speedscope)}


def measure(python, case, paths):
    """Runs a case once: its figures."""
    _, imports, expression, suffix = case
    code = MEASURE.format(imports=imports, expression=expression)
    return json.loads(subprocess.run([python, "-c", code, str(paths[suffix])], stdout=subprocess.PIPE, check=True).stdout)


def show(what, rounds):
    least = {name: min(figures[name] for figures in rounds) for name in rounds[0]}
    print(f"  {what:26} {least['wall']:6.2f} s {least['cpu']:6.2f} s CPU {least['own']:6.0f} MiB + {least['child']:3.0f} MiB   "
          f"{least['rows']:,} rows", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("wheels", type=Path)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--depth", type=int, default=20)
    options = parser.parse_args()
    wheel, = options.wheels.glob("tachbpf-*.whl")
    os.environ.pop("TACHBPF", None)     # the wheel's is measured
    environment, _ = run.environment_of(VERSION, wheel, options.wheels.resolve())
    with tempfile.TemporaryDirectory(prefix="tachbpf-python-") as scratch:
        paths = files(environment.python, Path(scratch), options.samples, options.depth)
        sizes = ", ".join(f"{path.suffix} {path.stat().st_size / (1 << 20):.0f} MiB" for path in paths.values())
        print(f"{options.samples:,} samples, {options.depth} frames deep, Python {run.name_of(VERSION)}: {sizes}", flush=True)
        for case in CASES:
            show(case[0], [measure(environment.python, case, paths) for _ in range(ROUNDS)])


if __name__ == "__main__":
    main()
