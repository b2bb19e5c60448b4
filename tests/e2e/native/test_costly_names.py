# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Libraries whose C++ names take longer to demangle than anybody waits: others' names are there, and the
work for them is limited."""
import contextlib
import os
import subprocess
import time
from pathlib import Path

import pytest

import native_frames
from paths import TARGETS
from processes import family, kill, use_cpu
from recording import Recording, succeeded
from summary import files

HOSTILE, VICTIM = 54331, 54332
CLOCK_TICK = os.sysconf("SC_CLK_TCK")


def reference(number):
    """The number-th substitution of a mangled name: S_, S0_ ..."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    if not number:
        return "S_"
    number -= 1
    return f"S{digits[number // 36] if number > 35 else ''}{digits[number % 36]}_"


# What stands for 2^60 types: printed, and searched for a parameter pack without printing anything.
LOUD = "_Z1fI1a1AIS0_S0_E" + "".join(f"S1_I{2 * reference(i)}E" for i in range(3, 61)) + "Evv"
QUIET = "_Z1gIDp1AI" + 49 * "S0_I" + "1a" + "".join(reference(i) + "E" for i in range(2, 52)) + "Evv"
HONEST = "_ZN6honest4workEl"


def library(out, name, *symbols):
    """hot() calls functions with these names."""
    source = out / f"{name}.c"
    source.write_text("".join(f"""
long work{i}(long n) __asm__("{symbol}");
__attribute__((noinline)) long work{i}(long n)
{{
    volatile long sum = {i};
    for (long j = 0; j < n; j++)
        sum += j;
    return sum;
}}
""" for i, symbol in enumerate(symbols)) + "void hot(void)\n{\n" + "".join(
        f"    work{i}(1000000);\n" for i in range(len(symbols))) + "}\n")
    path = out / f"{name}.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", path, source], check=True)
    return path


def copies(out, count):
    """Files that differ, so that each has its own names."""
    data = library(out, "costly", LOUD, QUIET).read_bytes()
    for i in range(count):
        path = out / f"costly{i}.so"
        path.write_bytes(data + b"%d" % i)
        yield path


@contextlib.contextmanager
def calling(python, user, cpu_s, *libraries):
    process = subprocess.Popen(python.command("-B", TARGETS / "calls.py", user, cpu_s, *libraries),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        kill(process)


def go(process):
    process.stdin.write("go\n")
    process.stdin.flush()


def names_cpu_s(pid):
    """CPU time of all processes that name functions, those included that were killed."""
    ticks = 0
    for one in family(pid):
        with contextlib.suppress(OSError):
            name, fields = Path(f"/proc/{one}/stat").read_text().split("(", 1)[1].rsplit(")", 1)
            ticks += sum(map(int, fields.split()[11:15])) if name == "tachbpf-names" else 0
    return ticks / CLOCK_TICK


def natives_of(oracle, summary, pid, name):
    """The names of the frames in a library of a process, and the number of its samples."""
    row, = [f for f in files(summary) if f["pid"] == pid]
    profile = oracle.load(row["path"])[0]
    return [f.func for s in profile.samples for f in s.frames
            if native_frames.kind(f) == native_frames.NATIVE and native_frames.library(f).startswith(name)]


def test_the_work_is_limited(python, out, scratch, oracle):
    """Of each file a few names are tried; the others of these files, and other files', are there."""
    count = 20
    with calling(python, HOSTILE, 1000, *copies(out, count)) as hostile, \
            calling(python, VICTIM, 1000, library(out, "honest", HONEST)) as victim, \
            Recording(["-p", f"{hostile.pid},{victim.pid}", "--native", "-r", 999, "-o", out / "rec", "--self-time",
                       "--json"]) as recording:
        recording.wait_recording()
        go(hostile)
        use_cpu(hostile.pid, 0.5)
        go(victim)
        use_cpu(victim.pid, 0.5)
        use_cpu(hostile.pid, 0.5)
        cpu_s = names_cpu_s(recording.process.pid)
        summary = succeeded(recording.stop()).summary
    native = summary["native"]
    print(native, cpu_s)
    assert native["helper_restarts"] == native["files_stuck"] == 0, native
    assert 1 <= native["names_mangled"] <= native["names"], native
    honest = natives_of(oracle, summary, victim.pid, "honest")
    assert honest and set(honest) <= {"honest::work", "hot"}, set(honest)
    costly = set(natives_of(oracle, summary, hostile.pid, "costly"))
    assert {n for n in costly if n.startswith("f<a, A<a, a>, A<A<a, a>, A<a, a> >, ") and n.endswith("...")}, costly
    assert QUIET in costly, costly
    # Each address of a quiet name costs 10 ms, at most eight of a file and eight of one request more.
    assert cpu_s < count * 16 * 0.02 + 2, cpu_s


@pytest.mark.truth
def test_names_are_there_within_two_seconds(python, out, scratch, oracle):
    """A process lives for two seconds beside 200 such libraries, and has all its names when it ends."""
    with calling(python, HOSTILE, 1000, *copies(out, 200)) as hostile, \
            Recording(["-a", "--native", "-r", 199, "-o", out / "rec", "--json"]) as recording:
        recording.wait_recording()
        go(hostile)
        use_cpu(hostile.pid, 1.0)
        with calling(python, VICTIM, 1000, library(out, "honest", HONEST)) as victim:
            go(victim)
            time.sleep(2)
        summary = succeeded(recording.stop()).summary
    honest = natives_of(oracle, summary, victim.pid, "honest")
    costly = natives_of(oracle, summary, hostile.pid, "costly")
    named = [n for n in costly if n.startswith("f<") or n == QUIET]
    print(f"{len(honest)} frames of the victim, {len(costly)} of the others, {len(named)} of these named;",
          summary["native"])
    assert summary["native"]["helper_restarts"] == 0
    assert honest and set(honest) <= {"honest::work", "hot"}, set(honest)
