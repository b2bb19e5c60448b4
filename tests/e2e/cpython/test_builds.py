# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""However a CPython was built and wherever it is: it is found, and its stacks are right."""
import glob
import json
import math
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import zipapp
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import embedders
import noise
from bpf_objects import map_entries
from command import on_terminal
from embedders import Embedder, Ran, burn_in, link_shared
from grouping import each_worker
from present import BY_NAME, need
from processes import TIMEOUT, kill
from profiles import names
from recording import Recording, succeeded, tachbpf
from summary import files

pytestmark = pytest.mark.interpreters("two")      # the others in check-all

RATE = 999
SLEEPS, SLEPT_S = 30, 0.3    # targets/embed/by_hand.py
STACK = [("<string>", "embedded_leaf"), ("<string>", "embedded_caller"), ("<string>", "<module>")]


@each_worker
def kits():
    """Name -> Kit, asked once."""
    return {}


def kit_of(kits, interpreter):
    if interpreter.name not in kits:
        kits[interpreter.name] = embedders.kit(interpreter)
    return kits[interpreter.name]


@pytest.fixture
def kit(kits, interpreter):
    return kit_of(kits, interpreter)


def build(how, kit, out, *flags):
    """A program, or SKIP with what the compiler said."""
    error = how(kit, out, *flags)
    if error:
        pytest.skip(f"cannot be linked here: {error.strip().splitlines()[-1][:200]}")
    return out


# Whether it is found so soon is check-truth's: what is judged here is its stack.
WITHIN_S = pytest.mark.parametrize("within_s", [None, pytest.param(0.1, marks=pytest.mark.truth)])


def stacks_are_right(samples, least=0.98):
    """Of samples of burn.py: some are of what is around it."""
    assert samples, "not one sample"
    wrong = [names(s) for s in samples if names(s) != STACK and names(s)[:2] != STACK[1:]]
    assert len(wrong) <= noise.few_bound(len(samples), 1 - least), wrong[:5]


def all_there(samples, run, finished):
    """As many samples as the run had CPU time but for ticks that the machine left out."""
    away = noise.missed(finished.summary) + finished.summary["lost_total"]
    assert len(samples) >= noise.least(run.cpu_s, RATE, away), (len(samples), run.cpu_s, away)


def found_soon(profile, run, within_s):
    assert within_s is None or found_after_s(profile, run) <= within_s


def found_after_s(profile, run):
    """CPU seconds that a run had before its first sample; what it had of the wall clock is
    taken to be even, as the machine may be busy."""
    first = during(profile, run)[0].time_us * 1000
    return (first - run.wall_start) / (run.wall_end - run.wall_start) * run.cpu_s


def during(profile, run):
    return [s for s in profile.between(run.wall_start // 1000, run.wall_end // 1000) if s.frames]


def profiles_of(finished, oracle):
    """pid -> Profile of a recording."""
    found = files(finished.summary)
    return dict(zip([f["pid"] for f in found], oracle.load(*[f["path"] for f in found])))


def record_runs(program, select, out, rate=RATE):
    """Profile an embedder from "ready" to "done". (finished, its runs)"""
    with Recording([*select, "-r", rate, "-o", out, "--json"]) as recording:
        recording.wait_recording()
        program.go()
        runs = program.wait_done()
        return succeeded(recording.stop()), runs


# ---- programs that are linked to libpython ----

def test_a_program_linked_to_libpython(kit, scratch, out, oracle):
    """Python in its main thread and in one that it made itself; -p before it begins."""
    exe = build(link_shared, kit, out / "linked")
    burn = burn_in(scratch)
    with Embedder(kit, exe, "wait", "init=0", f"run=0:{burn}", f"thread=0:{burn}",
                  "pause") as program:
        finished, runs = record_runs(program, ["-p", program.pid], out / "p.tach")
    profile = oracle.load(out / "p.tach")[0]
    assert list(profile.info["python_version"]) == list(kit.interpreter.version)
    for run in runs:
        stacks_are_right(during(profile, run))
        all_there(during(profile, run), run, finished)
        # (the imports before it handle some)
        assert not [s for s in during(profile, run)[5:] if s.status & 16], "no exception was there"
    tids = {s.tid for s in during(profile, runs[1])}
    assert len(tids) == 1 and program.pid not in tids


# ---- thread states made by hand ----

RAN_BY_HAND = ("clock", "holds_the_gil", "is_without_the_gil", "sleeps", "starved_ns")
NO_STACK = ("native_thread", "no_frames", "thread_state_unreadable", "thread_state_uncertain")


def record_by_hand(kit, scratch, out, oracle, *steps, mode="cpu"):
    """(finished, how -> Swapped, tid -> samples of by_hand.py) of an embedder's step "swap"."""
    exe = build(link_shared, kit, out / "by-hand")
    script = burn_in(scratch, embedders.BY_HAND)
    with Embedder(kit, exe, "init=0", *steps, f"swap=0:{script}", "pause") as program:
        finished, _ = record_runs(program, ["-p", program.pid, "--mode", mode], out / "p.tach")
        threads, starved = program.swapped(), program.starved()
    for thread in threads.values():
        thread.starved_s = starved.get(thread.tid, 0)
    samples = {thread.tid: [] for thread in threads.values()}
    for sample in oracle.load(out / "p.tach")[0].samples:
        if sample.tid in samples and any(frame.func == "made_by_hand" for frame in sample.frames):
            samples[sample.tid].append(sample)
    return finished, threads, samples


def has_all(samples, thread, finished):
    """As many as its CPU time tells, and each is the stack of this thread."""
    all_there(samples, thread, finished)
    for sample in samples:
        stack = [name for _, name in names(sample)][-3:]
        assert stack[-2:] == ["made_by_hand", "<module>"] and \
            (len(stack) == 2 or stack[0] in RAN_BY_HAND), names(sample)


@pytest.mark.interpreters("few")
def test_thread_states_that_are_made_by_hand(kit, scratch, out, oracle):
    """As mod_wsgi makes them: the thread's first state is deleted, another is swapped in, of the
    main interpreter or of a new one."""
    finished, threads, samples = record_by_hand(kit, scratch, out, oracle)
    assert len(threads) == 3
    for thread in threads.values():
        has_all(samples[thread.tid], thread, finished)
        seen = {names(s)[0][1] for s in samples[thread.tid]}
        assert {"holds_the_gil", "is_without_the_gil"} <= seen, seen
    ticks = finished.summary["ticks"]
    without = sum(ticks[cause] for cause in NO_STACK)
    assert without <= noise.few_bound(ticks["samples"] + without, 0.01), ticks


@pytest.mark.interpreters("few")
@pytest.mark.parametrize("mode", ["wall", "offcpu"])
def test_waits_with_a_state_made_by_hand(kit, mode, scratch, out, oracle):
    """by_hand.py sleeps for 0.3 s, less what it waited for a CPU meanwhile."""
    _, threads, samples = record_by_hand(kit, scratch, out, oracle, mode=mode)
    for thread in threads.values():
        asleep = [s for s in samples[thread.tid] if any(f.func == "sleeps" for f in s.frames)]
        bound = noise.wait_bound(SLEPT_S - thread.starved_s, math.inf, RATE, SLEEPS, kinds=2)
        assert len(asleep) >= bound.low * RATE, (thread.how, len(asleep), thread.starved_s)


@pytest.mark.interpreters("few")
def test_a_state_that_another_thread_has_made(kit, scratch, out, oracle):
    """It has that thread's id. From 3.10 on its _PyCFrame says whose it is. A thread beside it
    that has no Python gets no stack."""
    finished, threads, samples = record_by_hand(kit, scratch, out, oracle, "lend=500")
    lent, native = threads[embedders.Swapped.LENT], threads[embedders.Swapped.NATIVE]
    assert not samples[native.tid], names(samples[native.tid][0])
    if kit.interpreter.minor <= (3, 9):
        assert not samples[lent.tid], "nothing tells that it is this thread's"
        return
    has_all(samples[lent.tid], lent, finished)


# ---- programs that load it late ----

def late_embedder(kit, scratch):
    exe = scratch / f"late-embedder-{os.path.basename(kit.interpreter.root)}"
    return exe if exe.exists() else build(
        lambda _, path: embedders.cc(path, libc=kit.libc), kit, exe)


def late_steps(kit, scratch, how="local"):
    """Not Python for 1.5 s of CPU, then it is."""
    if not kit.shared:
        pytest.skip(embedders.NO_LIBRARY)
    return ["spin=1500", f"{how}={kit.shared}", "init=0", f"run=0:{burn_in(scratch)}"]


@WITHIN_S
def test_a_program_that_loads_libpython_late(kit, within_s, scratch, out, oracle):
    """-a finds it at its default rate within 100 ms of CPU."""
    with Embedder(kit, late_embedder(kit, scratch), "wait", *late_steps(kit, scratch),
                  "pause") as program:
        finished, (run,) = record_runs(program, ["-a"], out / "a", rate=99)
    profile = profiles_of(finished, oracle)[program.pid]
    stacks_are_right(during(profile, run))
    found_soon(profile, run, within_s)


@WITHIN_S
@pytest.mark.parametrize("how", ["local", "global"])
def test_a_started_program_that_loads_libpython_late(kits, how, within_s, python, scratch, out, oracle):
    kit = kit_of(kits, python)
    argv = kit.command(late_embedder(kit, scratch), *late_steps(kit, scratch, how))
    finished = succeeded(tachbpf("-r", 99, "-o", out / "dir", "--", *argv, env=kit.env))
    run = Ran(next(line.split()[1:] for line in finished.stdout.splitlines()
                   if line.startswith("ran ")))
    (path,) = (out / "dir").glob("*.tach")
    profile = oracle.load(path)[0]
    stacks_are_right(during(profile, run))
    found_soon(profile, run, within_s)


def other_files(recording):
    """Inodes of the executables that the recording knows to be no Python."""
    return {key & (1 << 64) - 1 for key in map_entries(recording.process.pid, "other_exes")}


def wait_for_file(recording, exe, known):
    inode, end = exe.stat().st_ino, time.monotonic() + TIMEOUT
    while (inode in other_files(recording)) != known:
        assert time.monotonic() < end, f"{exe} is {'not ' if known else ''}known to be no Python"
        time.sleep(0.01)


@WITHIN_S
def test_what_is_known_to_be_no_python_loads_libpython(kits, within_s, python, scratch, out, oracle):
    """Its execs are no news, but its ticks are. From the first process on that became Python they are."""
    kit, found = kit_of(kits, python), []
    exe = late_embedder(kit, scratch)
    with Recording(["-a", "-r", 99, "-o", out / "a", "--json"]) as recording:
        recording.wait_recording()
        subprocess.run(kit.command(exe, "spin=1"), env=kit.env, check=True, timeout=TIMEOUT)
        with Embedder(kit, exe, "wait", "spin=1"):
            wait_for_file(recording, exe, True)
        for _ in range(2):
            with Embedder(kit, exe, "wait", *late_steps(kit, scratch), "pause") as program:
                program.go()
                found += [(program.pid, program.wait_done()[0])]
            wait_for_file(recording, exe, False)
        profiles = profiles_of(succeeded(recording.stop()), oracle)
    for pid, run in found:
        stacks_are_right(during(profiles[pid], run))
        found_soon(profiles[pid], run, within_s)


def test_a_process_that_is_not_python_yet_is_no_target(kits, python, scratch, out):
    """-p says so at once, and how to find one that is."""
    kit = kit_of(kits, python)
    with Embedder(kit, late_embedder(kit, scratch), "wait", "spin=9999") as program:
        done = tachbpf("-p", program.pid, "-d", "1", "-o", out / "x.tach")
    assert done.returncode == 1
    assert "is not Python" in done.stderr and "tachbpf ps" in done.stderr, repr(done)


# ---- programs that libpython.a is linked into ----

# What is done to them -> flags of the linker, what is run on the file, and the last minor
# version that cannot be recognised without what is then gone.
STATIC = {
    "symbols": ((), None, None),
    "pie": (("-pie",), None, None),
    "exported": (("-rdynamic",), None, None),
    "exported, stripped": (("-rdynamic",), embedders.strip, None),
    "exported, no sections": (("-rdynamic",), embedders.strip_sections, None),
    "stripped": ((), embedders.strip, 9),
    "no sections": ((), embedders.strip_sections, 12),
}


@pytest.mark.parametrize("how", STATIC)
def test_a_program_with_libpython_in_it(kit, how, scratch, out, oracle):
    flags, then, hidden = STATIC[how]
    if kit.in_root:
        pytest.skip("its libpython.a needs a newer libc than the linker has here")
    exe = build(embedders.link_static, kit, out / "static", *flags)
    if then:
        then(exe)
    with Embedder(kit, exe, "wait", "init=0", f"run=0:{burn_in(scratch)}", "pause") as program:
        if hidden and kit.interpreter.minor[1] <= hidden:
            return not_recognised(program, kit, out)
        finished, (run,) = record_runs(program, ["-p", program.pid], out / "p.tach")
    samples = during(oracle.load(out / "p.tach")[0], run)
    stacks_are_right(samples)
    all_there(samples, run, finished)
    assert not [s for s in samples[5:] if s.status & 16], "no exception was there"


def not_recognised(program, kit, out):
    """Said exactly: by -p as an error, by -a as a warning and in session.json; by ps within 80 columns."""
    why = "in a program stripped of its symbols is not supported"
    done = tachbpf("-p", program.pid, "-d", "1", "-o", out / "x.tach")
    assert done.returncode == 1 and why in done.stderr, repr(done)
    done = succeeded(tachbpf("-a", "-d", "1", "-o", out / "a", "--json"))
    row, = [r for r in done.summary["refused"] if r["pid"] == program.pid]
    assert why in row["reason"] and why in done.stderr
    assert row in json.loads((out / "a" / "session.json").read_text())["refused"]
    lines = on_terminal(80, "ps")
    first = next(i for i, line in enumerate(lines)
                 if line.startswith(f"{program.pid} cannot be profiled: "))
    assert why in " ".join(lines[first:first + 3]) and max(map(len, lines[first:first + 3])) <= 80


# ---- copy relocations ----

@pytest.mark.parametrize("pie", ["-no-pie -fno-pie", "-pie -fPIE"])
def test_a_program_that_holds_copies_of_libpythons_variables(kit, pie, scratch, out, oracle):
    """It refers to _PyRuntime and to None: its own are the ones in use."""
    exe = build(link_shared, kit, out / "copies", "-DREFER", *pie.split())
    relocations = subprocess.run(["readelf", "-rW", exe], capture_output=True, text=True).stdout
    for name in ("_PyRuntime", "_Py_NoneStruct"):
        assert [x for x in relocations.splitlines() if "R_X86_64_COPY" in x and name in x]
    with Embedder(kit, exe, "wait", "init=0", f"run=0:{burn_in(scratch)}", "pause") as program:
        finished, (run,) = record_runs(program, ["-p", program.pid], out / "p.tach")
    samples = during(oracle.load(out / "p.tach")[0], run)
    stacks_are_right(samples)
    all_there(samples, run, finished)
    assert not [s for s in samples[5:] if s.status & 16], "no exception was there"


# ---- several in one process ----

@each_worker
def two_kits(kits):
    names = [n for n in ("pyenv-3.11.7", "pyenv-3.12.1", "pyenv-3.13.0") if n in BY_NAME]
    if len(names) < 2:
        pytest.skip("needs two of pyenv's interpreters")
    return [kit_of(kits, need(n)) for n in names[:2]]


@pytest.mark.parametrize("used", [0, 1])
@pytest.mark.parametrize("late", [False, True])
@WITHIN_S
def test_of_two_libpythons_the_one_that_is_initialised(two_kits, used, late, within_s, scratch,
                                                       out, oracle):
    """late: they are mapped while it is being profiled, and initialised a second later."""
    exe = build(lambda _, path: embedders.cc(path), two_kits[used], out / "two")
    load = [f"local={k.shared}" for k in two_kits]
    run = ["spin=500", f"init={used}", f"run={used}:{burn_in(scratch)}", "pause"]
    steps = ["wait", *load, *run] if late else [*load, "wait", *run]
    with Embedder(two_kits[used], exe, *steps, env={"BURN_S": "1"}) as program:
        finished, (ran,) = record_runs(program, ["-a"], out / "a", rate=99)
    profile = profiles_of(finished, oracle)[program.pid]
    assert list(profile.info["python_version"]) == list(two_kits[used].interpreter.version)
    stacks_are_right(during(profile, ran))
    found_soon(profile, ran, within_s and 2 * within_s)
    assert not [r for r in finished.summary["refused"] if r["pid"] == program.pid]


def test_of_two_that_are_initialised_one_is_named(two_kits, scratch, out, oracle):
    exe = build(lambda _, path: embedders.cc(path), two_kits[0], out / "two")
    burn = burn_in(scratch)
    first, second = (k.shared for k in two_kits)
    with Embedder(two_kits[0], exe, f"local={first}", f"local={second}", "init=0", "wait",
                  f"run=0:{burn}", "pause") as program:
        finished, _ = record_runs(program, ["-p", program.pid], out / "one.tach")
        assert "second CPython" not in finished.stderr
    homes = [f"home={k.home}" for k in two_kits]
    with Embedder(two_kits[0], exe, f"local={first}", f"local={second}", homes[0], "init=0",
                  homes[1], "init=1", "wait", f"run=0:{burn}", f"run=1:{burn}",
                  "pause") as program:
        finished, runs = record_runs(program, ["-a"], out / "a")
    row, = [r for r in finished.summary["refused"] if r["pid"] == program.pid]
    assert "a second CPython" in row["reason"] and row["reason"] in finished.stderr
    profile = profiles_of(finished, oracle)[program.pid]
    versions = [".".join(map(str, k.interpreter.version)) for k in two_kits]
    taken = versions.index(".".join(map(str, profile.info["python_version"])))
    assert versions[1 - taken] in row["reason"]
    stacks_are_right(during(profile, runs[taken]))


# ---- what cannot be profiled, and why ----

def test_a_32_bit_python_is_refused_with_a_reason(out):
    """Called so: nobody looks into a 32-bit program. Any other name is no Python."""
    (out / "spin.c").write_text("void _start(void) { for (;;) ; }")
    program = out / "python3.11"
    done = subprocess.run(["gcc", "-m32", "-nostdlib", "-static", "-o", program, out / "spin.c"],
                          capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no 32-bit program can be made here: {done.stderr[-200:]}")
    process = subprocess.Popen([program], start_new_session=True)
    try:
        done = tachbpf("-p", process.pid, "-d", "1", "-o", out / "x.tach")
        assert done.returncode == 1 and "32-bit" in done.stderr, repr(done)
        done = succeeded(tachbpf("-a", "-d", "1", "-o", out / "a", "--json"))
    finally:
        kill(process)
    row, = [r for r in done.summary["refused"] if r["pid"] == process.pid]
    assert "32-bit" in row["reason"]


# ---- how Python code can be started ----

APP = """
import time, sys
clock = getattr(time, "thread_time", time.process_time)
def app_leaf(end):
    while clock() < end:
        sum(range(100))
def main():
    print("ready", flush=True); sys.stdin.readline()
    from importlib._bootstrap import _call_with_frames_removed as frozen
    frozen(app_leaf, clock() + 0.5)
    print("done", flush=True); sys.stdin.readline()
"""


@pytest.mark.parametrize("how", ["-c", "zipapp"])
def test_command_lines_zipapps_and_frozen_modules(interpreter, how, scratch, out, oracle):
    """A frozen function calls one that came from no file, or from inside an archive."""
    if how == "-c":
        argv, file = ["-c", APP + "main()"], "<string>"
    else:
        (out / "app").mkdir()
        (out / "app" / "app.py").write_text(APP)
        (out / "app" / "__main__.py").write_text("import app; app.main()")
        zipapp.create_archive(out / "app", out / "app.pyz")
        argv, file = [out / "app.pyz"], str(out / "app.pyz" / "app.py")
    process = subprocess.Popen(interpreter.command(*argv), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout.readline() == "ready\n"
        with Recording(["-p", process.pid, "-r", RATE, "-o", out / "p.tach", "--json"]) as recording:
            recording.wait_recording()
            process.stdin.write("go\n")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n"
            succeeded(recording.stop())
    finally:
        kill(process)
    samples = [s for s in oracle.load(out / "p.tach")[0].samples if s.frames]
    stack = [(file, "app_leaf"), ("<frozen importlib._bootstrap>", "_call_with_frames_removed"),
             (file, "main")]
    assert len(samples) >= noise.least(0.5, RATE)
    assert sum(names(s)[:3] == stack for s in samples) >= noise.most_bound(len(samples), 0.95)


# ---- programs of the real world ----

GDB = """
import time
def gdb_leaf(end):
    while time.thread_time() < end:
        sum(range(100))
print("ready", flush=True)
import sys
sys.stdin.readline()
gdb_leaf(time.thread_time() + 1.0)
"""


def test_gdb(out, oracle):
    """Linked to libpython; runs scripts of ours in its main thread."""
    if not shutil.which("gdb"):
        pytest.skip("gdb is not installed")
    (out / "script.py").write_text(GDB)
    with subprocess.Popen(["gdb", "-nx", "-q", "-batch", "-x", out / "script.py"], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            if process.stdout.readline() != "ready\n":
                pytest.skip("this gdb has no Python in it")
            with Recording(["-p", process.pid, "-r", RATE, "-o", out / "p.tach",
                            "--json"]) as recording:
                recording.wait_recording()
                process.stdin.write("go\n")
                process.stdin.flush()
                succeeded(recording.wait())
        finally:
            kill(process)
    samples = [s for s in oracle.load(out / "p.tach")[0].samples if s.frames]
    assert len(samples) >= noise.least(1.0, RATE)
    want = [(str(out / "script.py"), "gdb_leaf"), (str(out / "script.py"), "<module>")]
    assert sum(names(s)[:2] == want for s in samples) >= noise.most_bound(len(samples), 0.97)


WSGI = """
import os, threading, time
def wsgi_leaf(end):
    while time.thread_time() < end:
        sum(range(100))
def application(environ, start_response):
    start = time.thread_time()
    wsgi_leaf(start + 0.2)
    used = time.thread_time() - start
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"%d %d %f" % (os.getpid(), threading.get_native_id(), used)]
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def record_server(command, requests, out, oracle):
    """Profile a WSGI server that says in each answer who has used how much CPU time for it.
    (finished, all its samples of wsgi_leaf, (pid, tid) -> seconds)"""
    port, used = free_port(), Counter()
    with Recording(["-r", RATE, "-o", out / "dir", "--json", "--", *command(port)]) as recording:
        recording.wait_recording()
        with ThreadPoolExecutor(8) as pool:
            for answer in pool.map(fetch, [port] * requests):
                pid, tid, seconds = answer.split()
                used[int(pid), int(tid)] += float(seconds)
        for child in subprocess.run(["pgrep", "-P", str(recording.process.pid)], text=True,
                                    capture_output=True).stdout.split():
            os.kill(int(child), signal.SIGTERM)
        finished = recording.wait()
    samples = [((pid, s.tid), s) for pid, p in profiles_of(finished, oracle).items()
               for s in p.samples if s.frames and s.frames[0].func == "wsgi_leaf"]
    return finished, samples, used


def each_thread_has_its_own(finished, samples, used, script):
    """As many samples as it has used CPU time, and its stack."""
    away = noise.missed(finished.summary) + finished.summary["lost_total"]
    count = Counter(who for who, _ in samples)
    assert set(count) <= set(used), (count, used)
    for who, seconds in used.items():
        assert count[who] in noise.count_bound(seconds, RATE, away), (who, count, used)
    wrong = [s for _, s in samples if names(s) != [(str(script), "wsgi_leaf"),
                                                   (str(script), "application")]]
    assert len(wrong) <= 0.01 * len(samples), names(wrong[0])


def test_uwsgi(scratch, out, oracle):
    """A plug-in that is linked to libpython, two processes that fork from the master, threads
    that C made."""
    if not shutil.which("uwsgi") or not glob.glob("/usr/lib/uwsgi/plugins/python3*_plugin.so"):
        pytest.skip("uwsgi-core and uwsgi-plugin-python3 are not installed")
    script = out / "wsgi.py"
    script.write_text(WSGI)

    def command(port):
        return ["uwsgi", "--plugin", "python3", "--http-socket", f"127.0.0.1:{port}", "--master",
                "--processes", "2", "--threads", "2", "--wsgi-file", script, "--die-on-term"]
    finished, samples, used = record_server(command, 16, out, oracle)
    each_thread_has_its_own(finished, samples, used, script)


HTTPD = """
ServerRoot {home}
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {home}/pid
ErrorLog {home}/error.log
User nobody
Group nogroup
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule wsgi_module {modules}/mod_wsgi.so
WSGISocketPrefix {home}/wsgi
WSGIDaemonProcess app processes=2 threads=4
WSGIProcessGroup app
WSGIScriptAlias / {home}/wsgi.py
<Directory {home}>
Require all granted
</Directory>
"""


@pytest.fixture
def apache_home():
    """A directory that any user sees, as a server's processes give up their rights."""
    with tempfile.TemporaryDirectory(prefix="tachbpf-apache-") as home:
        os.chmod(home, 0o755)
        yield Path(home)


def test_apache(apache_home, out, oracle):
    """mod_wsgi makes an interpreter and thread states by hand. One thread in each of its processes
    then has no state by its key, up to 3.11."""
    modules = Path("/usr/lib/apache2/modules")
    apache = shutil.which("apache2", path="/usr/sbin:/usr/bin")
    if not apache or not (modules / "mod_wsgi.so").exists():
        pytest.skip("apache2-bin and libapache2-mod-wsgi-py3 are not installed")
    (apache_home / "wsgi.py").write_text(WSGI)

    def command(port):
        (apache_home / "httpd.conf").write_text(
            HTTPD.format(home=apache_home, modules=modules, port=port))
        return [apache, "-f", apache_home / "httpd.conf", "-DFOREGROUND"]
    finished, samples, used = record_server(command, 48, out, oracle)
    assert len({pid for pid, _ in used}) == 2 and len(used) >= 4, used
    each_thread_has_its_own(finished, samples, used, apache_home / "wsgi.py")
    ticks = finished.summary["ticks"]
    unsure = ticks["thread_state_uncertain"] + ticks["thread_state_unreadable"]
    assert unsure <= noise.few_bound(ticks["samples"] + unsure, 0.01), ticks


def fetch(port):
    """One request, once the server is up."""
    end = time.monotonic() + TIMEOUT
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=TIMEOUT) as answer:
                return answer.read()
        except urllib.error.URLError:
            assert time.monotonic() < end, "the server does not come up"
            select.select([], [], [], 0.05)
