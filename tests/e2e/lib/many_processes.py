# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Files of many processes with one sample each, and the commands that read them: test_linear.py counts
what these do, bench_processes.py times it."""
import make_tach

FORMATS = ("collapsed", "speedscope", "gecko", "pprof", "gperftools", "gperftools-perl", "pstats",
           "jsonl", "csv", "flamegraph", "heatmap")
# {}: the file. Of collapsed stacks, where each process is a profile.
OF_PROFILES = [
    "info {}", "info --json {}", "info --verify {}", "diff {} {}", "diff {} {} --format flamegraph -o out",
    "split --by process {} -o dir", "split --by thread {} -o dir",
    *(f"report --by {by} {{}}" for by in ("function", "line", "process", "thread", "container")),
    *(f"report {condition} {{}}" for condition in ("--focus main", "--ignore 7", "--process app*")),
    *(f"replay --format {name} {{}} -o out" for name in FORMATS),
    *(f"replay --format {name} --by {by} {{}} -o out" for name in ("collapsed", "speedscope", "csv")
      for by in ("process", "container")),
]
# Of TACH, where processes share a profile and have a root frame each.
OF_SHARED = [
    "info {}", "info --json {}", "diff {} {}", "gil {}", "gil --json {}", "convert {} -o out",
    "merge {} {} -o out", "split --by process {} -o dir", "split --by thread {} -o dir",
    *(f"report --by {by} {{}}" for by in ("function", "line", "process", "thread", "container", "gil")),
    "report --process 7 {}",
    *(f"replay --format {name} {{}} -o out" for name in FORMATS),
]


def collapsed(path, count):
    with open(path, "w") as f:
        for i in range(count):
            f.write(f"process:{i + 1} app{i % 7};tid:{i + 1};app.py:main:{i + 1};job{i}.py:run:1 1\n")


def shared(path, count):
    writer = make_tach.Writer()
    for i in range(count):
        root = ("~", f"<process {i + 1} app{i % 7}>", -1)
        writer.add(writer.stack([(f"job{i}.py", "run", 1), ("app.py", "main", i + 1), root]),
                   tid=i + 1, time_us=1000 * (i + 1))
    writer.write(path)
