# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""CPU time outside Python: of threads that run no Python code, and of Python's between two frames."""
import base64
import gzip
import json
import re
import subprocess
import zlib

import pytest

import noise
from profiles import (NATIVE_THREAD, NO_PYTHON, ON_CPU, SYNTHETIC, inside_python,
                      outside_python)
from recording import Recording, succeeded, tachbpf
from summary import files, lost_once_known
from target import Target

pytestmark = pytest.mark.interpreters("two")      # the others in check-all

RATE = 1999
SECONDS = 3             # of CPU time
TRUTH_SECONDS = 12      # so that chance is well below what is claimed
WITHIN = 0.02           # of the process' CPU time
# as targets/outside.py names them, and as outputs show them
NAMES = ("<native thread blas>", "<native thread a\\x1b[1;\\xff>>")
FORMATS = ("collapsed", "speedscope", "gecko", "pprof", "gperftools", "jsonl", "csv", "flamegraph")
OUTSIDE = "of the CPU time(?: was|:) outside Python"


class Run:
    def __init__(self, truth, done, profile, stolen):
        self.truth, self.done, self.profile = truth, done, profile
        self.summary = done.summary
        self.missed = noise.missed(self.summary, stolen)
        self.samples = profile.phase(truth, "outside")


@pytest.fixture(scope="session")
def record(scratch, oracle):
    so = scratch / "targets" / "liboutside.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-pthread", "-o", so, so.with_suffix(".c")],
                   check=True)

    def run(interpreter, out, *options, seconds=SECONDS):
        if interpreter.libc != "glibc":
            pytest.skip("liboutside.so is made for glibc")
        stolen = noise.stolen_s()
        with Target(interpreter, scratch, f"outside={seconds}") as target, \
                Recording(["-p", target.pid, "-r", RATE, "-o", out / "x.tach", "--json",
                           *options]) as recording:
            recording.wait_recording()
            target.go()
            truth = target.wait_done()
            target.leave()
            done = succeeded(recording.wait())
        return Run(truth, done, oracle.load(out / "x.tach")[0], noise.stolen_s() - stolen)

    return run


@pytest.fixture(scope="session")
def recorded(record, scratch, tmp_path_factory):
    """Interpreter name -> a recording of all its CPU time, made when it is first asked for."""
    runs = {}

    def get(interpreter):
        if interpreter.name not in runs:
            runs[interpreter.name] = record(interpreter, tmp_path_factory.mktemp("outside"))
        return runs[interpreter.name]

    return get


def cpu_s(run):
    return run.truth.cpu_between(*run.truth.window_us("outside"))


def of(samples, name):
    return [s for s in samples if s.frames[0].func == name]


def test_samples_are_the_whole_cpu_time(recorded, interpreter):
    run = recorded(interpreter)
    bound = noise.count_bound(cpu_s(run), RATE, run.missed)
    assert len(run.samples) in bound, (len(run.samples), str(bound))
    assert not lost_once_known(run.summary), run.summary["lost"]


@pytest.mark.truth
def test_samples_are_the_cpu_time_within_two_percent(record, interpreter, out):
    run = record(interpreter, out, seconds=TRUTH_SECONDS)
    counted, used = len(run.samples) / RATE, cpu_s(run)
    print(f"{interpreter.name}: {counted:.3f} s of {used:.3f} s, {run.missed:.0f} ticks missed")
    assert abs(counted - used) <= WITHIN * used + run.missed / RATE
    process, = files(run.summary)
    inside = (process["samples"] - process["native_thread"] - process["no_frames"]) / RATE
    assert inside < 0.8 * used, "so much that the claim would hold without the native threads"


def test_each_native_thread_has_its_own_time(recorded, interpreter):
    run = recorded(interpreter)
    for thread, name in zip(run.truth["phases"]["outside"]["native"], NAMES):
        mine = [s for s in run.samples if s.tid == thread["tid"]]
        bound = noise.count_bound(thread["cpu_s"], RATE, run.missed)
        assert len(of(mine, name)) in bound, (len(mine), str(bound))
        # before it has named itself it has its process' name
        assert len(mine) - len(of(mine, name)) <= 2, mine
        for s in mine:
            assert s.status == ON_CPU and len(s.frames) == 1
            assert s.frames[0].file == SYNTHETIC and s.frames[0].line == -1


def test_python_keeps_its_stacks(recorded, interpreter):
    run = recorded(interpreter)
    inside = inside_python(run.samples)
    assert inside and all(s.frames[-1].func == "<module>" or s.tid != run.truth["tid"]
                          for s in inside if s.frames[-1].file != SYNTHETIC)
    for s in run.samples:
        if outside_python(s):
            assert len(s.frames) == 1 and s.status & ON_CPU
            assert s.frames[0].func == NO_PYTHON or s.status == ON_CPU


def test_the_session_counts_them(recorded, interpreter):
    run = recorded(interpreter)
    process, = files(run.summary)
    found = {name: sum(s.frames[0].func.startswith(name) for s in run.profile.samples)
             for name in (NATIVE_THREAD, NO_PYTHON)}
    assert process["native_thread"] == found[NATIVE_THREAD]
    assert process["no_frames"] == found[NO_PYTHON]
    assert run.summary["ticks"]["without_stack"] == sum(found.values())


@pytest.mark.parametrize("fmt", FORMATS)
def test_every_format_names_them(recorded, python, out, fmt):
    run = recorded(python)
    path = out / "exported"
    succeeded(tachbpf("replay", run.profile.path, "--format", fmt, "-o", path))
    data = path.read_bytes()
    if fmt == "flamegraph":
        packed, = re.findall(rb'id="data">\s*([A-Za-z0-9+/]+=*)', data)
        data = zlib.decompress(base64.b64decode(packed))
    elif fmt == "pprof":
        data = gzip.decompress(data)
    # JSON may write < and > otherwise
    assert b"native thread blas" in data, data[:2000]
    assert b"a\x1b[" not in data        # two bytes alone may be numbers in pprof


def test_reports_name_them(recorded, python):
    run = recorded(python)
    path = run.profile.path
    report = succeeded(tachbpf("report", path, "--limit", "0")).stdout
    assert all(name in report for name in NAMES)
    tid = run.truth["phases"]["outside"]["native"][0]["tid"]
    assert f"blas (tid {tid})" in succeeded(tachbpf("report", path, "--by", "thread")).stdout
    only = succeeded(tachbpf("replay", path, "--thread", tid, "--format", "collapsed")).stdout
    assert "<native thread blas>" in only and "burn" not in only
    assert "<native thread" not in succeeded(
        tachbpf("replay", path, "--status", "gil", "--format", "collapsed")).stdout
    compared = succeeded(tachbpf("diff", path, path, "--limit", "0")).stdout
    assert "<native thread blas>" in compared


def share_said(stderr):
    found = re.search(rf"(\d+\.\d+) % {OUTSIDE}(.*)", stderr)
    return found and (float(found[1]), found[2])


@pytest.mark.parametrize("options, kept", [((), True), (("--no-native-threads",), False)])
def test_the_summary_says_how_much(recorded, python, scratch, out, options, kept):
    recorded(python)        # has compiled the target's library
    argv = python.command(scratch / "targets" / "run.py", out / "truth", "outside=1.5")
    # the target shakes hands through pipes
    shell = ["sh", "-c", 'echo go | "$0" "$@"', *argv]
    done = succeeded(tachbpf("-v", "-r", RATE, "-o", out / "p.tach", *options, "--", *shell))
    share, rest = share_said(done.stderr)
    assert 20 < share < 90, done.stderr
    assert ("not in the files" in rest) is not kept, done.stderr


def test_a_program_of_python_alone_has_no_such_line(python, out):
    code = "import time\nend = time.process_time() + 1.5\nwhile time.process_time() < end: pass"
    done = succeeded(tachbpf("-v", "-o", out / "p.tach", "--", *python.command("-c", code)))
    share = share_said(done.stderr)
    assert share is None or share[0] < 5, done.stderr    # its start and its end


def test_left_out_on_request(record, python, out):
    run = record(python, out, "--no-native-threads")
    assert not any(map(outside_python, run.profile.samples))
    process, = files(run.summary)
    assert process["native_thread"] == process["no_frames"] == 0
    # the ticks are counted as before
    ticks = run.summary["ticks"]
    native = sum(t["cpu_s"] for t in run.truth["phases"]["outside"]["native"])
    assert ticks["without_stack"] == 0
    assert ticks["native_thread"] >= noise.least(native, RATE, run.missed)


def test_wall_mode_has_their_time_on_cpus(record, python, out):
    run = record(python, out, "-m", "wall")
    for thread, name in zip(run.truth["phases"]["outside"]["native"], NAMES):
        mine = of([s for s in run.samples if s.tid == thread["tid"]], name)
        assert len(mine) in noise.count_bound(thread["cpu_s"], RATE, run.missed), len(mine)
    # GIL analysis: they neither hold it nor wait for it
    text = succeeded(tachbpf("gil", run.profile.path)).stdout
    assert "native thread" not in text and "blas" not in text, text


def test_gil_mode_has_none(record, python, out):
    run = record(python, out, "-m", "gil")
    assert not any(map(outside_python, run.profile.samples))
    assert run.summary["ticks"]["without_stack"] == 0


def test_a_blas(python, out):
    """numpy's, with two threads, where it is installed."""
    if subprocess.run([*python.command("-c", "import numpy")], capture_output=True).returncode:
        pytest.skip(f"{python.name} has no numpy")
    code = ("import numpy, time\na = numpy.ones((1200, 1200))\n"
            "end = time.process_time() + 4\nwhile time.process_time() < end: a @ a\n"
            "print(time.process_time())")
    stolen = noise.stolen_s()
    done = succeeded(tachbpf("-r", RATE, "-o", out / "p.tach", "--json", "--", "env",
                             "OPENBLAS_NUM_THREADS=2", *python.command("-c", code)))
    said, _, text = done.stdout.partition("\n")
    assert text
    summary = json.loads(text)
    process, = [p for p in files(summary) if p["samples"] > 100]
    used = float(said)
    missed = noise.missed(summary, noise.stolen_s() - stolen) + summary["lost_total"]
    assert process["samples"] in noise.count_bound(used, RATE, missed), (process, used)
    assert process["native_thread"] > 0.2 * process["samples"]
