# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`tachbpf dump`: what every thread of a process that hangs is doing."""
import json
import os
import re
import signal
import subprocess

import pytest

from command import refused
from hung import Hung, by_tid, dump
from recording import succeeded, tachbpf
from processes import wait_until
from target import Target

pytestmark = pytest.mark.interpreters("two")      # the others in check-all

LOOKS = 50              # at a thread that is nearly always in zlib
STATES = {"lock": "lock", "pipe": "io", "socket": "io", "nap": "sleep", "poll": "io"}
FUNCTIONS = {"lock": "wait_lock", "pipe": "wait_pipe", "socket": "wait_socket", "nap": "wait_nap", "poll": "wait_poll",
             "compute": "compute"}


def state_of(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/stat") as f:
        return f.read().rpartition(")")[2].split()[0]


def functions(thread):
    return [f["function"].rpartition(".")[2] for f in thread["frames"]]


def test_each_thread_that_hangs(interpreter, scratch):
    with Hung(interpreter, scratch, *STATES) as hung:
        hung.asleep()
        said = dump(hung.pid)
    process, = said["processes"]
    threads = by_tid(process)
    assert said["version"] == 1 and said["failed"] == 0
    assert process["pid"] == hung.pid and not process["ended"] and not process["threads_left_out"]
    assert set(threads) == {hung.truth["main"], *hung.kinds} and not process["threads_without_stack"]
    assert threads[hung.truth["main"]]["main"] and threads[hung.truth["main"]]["fd"] == 0
    for tid, kind in hung.kinds.items():
        thread = threads[tid]
        assert thread["state"] == STATES[kind], (kind, thread)
        assert functions(thread)[0] == FUNCTIONS[kind], (kind, thread)
        assert "begin" in functions(thread) and thread["name"] == kind and not thread["moved"]
    fds = {kind: threads[tid]["fd"] for tid, kind in hung.kinds.items()}
    assert fds == {"lock": None, "nap": None, "poll": None, "pipe": hung.truth["pipe"],
                   "socket": hung.truth["socket"]}
    paths = {kind: threads[tid]["fd_path"] for tid, kind in hung.kinds.items()}
    assert paths["pipe"].startswith("pipe:[") and paths["socket"].startswith("socket:[")


def test_threads_that_run(interpreter, scratch):
    """Of threads that compute, each is on a CPU, or waits for one or for the GIL."""
    with Hung(interpreter, scratch, "compute", "compute", "lock") as hung:
        hung.asleep()
        process, = dump(hung.pid)["processes"]
    threads = by_tid(process)
    for tid, kind in hung.kinds.items():
        if kind == "compute":
            assert threads[tid]["state"] in ("running", "runnable", "gil", "lock"), threads[tid]
            assert "compute" in functions(threads[tid])
        else:
            assert threads[tid]["state"] == "lock"
    holder = process["gil_holder"]
    assert holder is None or hung.kinds[holder] == "compute"


def test_the_text(interpreter, scratch):
    with Hung(interpreter, scratch, "pipe", "nap") as hung:
        hung.asleep()
        text = succeeded(tachbpf("dump", str(hung.pid))).stdout
    tids = hung.truth["tids"]
    assert text.startswith(f"Process {hung.pid}: ") and f"\nPython {'.'.join(map(str, hung.interpreter.minor))}." in text
    assert f"\nThread {hung.truth['main']} (main): waits for I/O (read, descriptor 0: pipe:[" in text or \
        f"\nThread {hung.truth['main']} \"MainThread\" (main): waits for I/O (read, descriptor 0: pipe:[" in text
    assert f"\nThread {tids['pipe'][0]} \"pipe\": waits for I/O (read, descriptor {hung.truth['pipe']}: pipe:[" in text
    assert f"\nThread {tids['nap'][0]} \"nap\": sleeps (" in text
    assert "\n    wait_nap (" in text and "hung.py:" in text
    blocks = text.split("\n\n")
    assert len(blocks) == 4, text       # the process, and three threads, the main thread first
    assert "(main)" in blocks[1]


@pytest.mark.interpreters("one")
def test_functions_of_c(interpreter, scratch):
    """Of a thread that runs, and of one that has slept since before anybody looked."""
    if subprocess.run(interpreter.command("-c", "import zlib"), stderr=subprocess.DEVNULL).returncode:
        pytest.skip(f"{interpreter} was built without zlib")
    with Target(interpreter, scratch, name="packing", program="packing.py") as target:
        # Now and then it is between two calls of deflate(), or runs while it is looked at.
        for _ in range(LOOKS):
            process, = dump(target.pid, "--native")["processes"]
            # By what they do: a busy machine may not have had the time for names.
            packs, sleeps = (next((t for t in process["threads"] if name in functions(t)), {"frames": []})
                             for name in ("pack", "sleep"))
            frames = packs["frames"]
            machine_code = [i for i, f in enumerate(frames) if f["kind"] == "native"]
            if any("zlib" in frames[i]["file"] or "libz" in frames[i]["file"] for i in machine_code):
                assert machine_code[0] < functions(packs).index("pack")
                break
        else:
            pytest.fail(f"{LOOKS} looks, and none of them in zlib: {frames}")
    frames = sleeps["frames"]
    assert frames, process
    # CPython up to 3.10 sleeps in select().
    assert frames[0]["kind"] == "native" and re.search("nanosleep|select", frames[0]["function"]), frames
    assert frames[[f["kind"] for f in frames].index("python")]["function"] == "sleep"


@pytest.mark.interpreters("one")
def test_where_in_the_kernel(interpreter, scratch):
    with Hung(interpreter, scratch, "pipe", "nap") as hung:
        hung.asleep()
        process, = dump(hung.pid, "--kernel")["processes"]
        text = succeeded(tachbpf("dump", str(hung.pid), "--kernel")).stdout
        without, = dump(hung.pid)["processes"]
    kernel = {hung.kinds.get(t["tid"], "main"): t["kernel"] for t in process["threads"]}
    assert any("read" in function for function in kernel["pipe"]) and kernel["main"] == kernel["pipe"]
    # CPython up to 3.10 sleeps in select().
    assert any("nanosleep" in function or "select" in function for function in kernel["nap"]), kernel
    for functions_of_one in kernel.values():
        assert all(re.fullmatch(r"[\w.]+", function) for function in functions_of_one)
    assert f"\n    {kernel['pipe'][0]} (kernel)\n" in text
    assert all(t["kernel"] is None for t in without["threads"])


@pytest.mark.interpreters("one")
def test_a_thousand_threads(interpreter, scratch):
    with Hung(interpreter, scratch, "many:1000") as hung:
        hung.asleep()
        process, = dump(hung.pid)["processes"]
    threads = by_tid(process)
    assert set(threads) == {hung.truth["main"], *hung.kinds}
    for tid in hung.kinds:
        assert threads[tid]["state"] == "lock" and functions(threads[tid])[0] == "wait_lock"


@pytest.mark.interpreters("one")
def test_a_stopped_process_is_seen_and_stays_stopped(interpreter, scratch):
    with Hung(interpreter, scratch, "lock") as hung:
        hung.asleep()
        os.kill(hung.pid, signal.SIGSTOP)
        wait_until(lambda: state_of(hung.pid, hung.pid) == "T", "it is stopped")
        process, = dump(hung.pid)["processes"]
        assert state_of(hung.pid, hung.pid) == "T"
        os.kill(hung.pid, signal.SIGCONT)
    assert set(by_tid(process)) == {hung.truth["main"], *hung.kinds}


@pytest.mark.interpreters("one")
def test_all_and_conditions(interpreter, scratch):
    with Hung(interpreter, scratch, "lock") as one, Hung(interpreter, scratch, "nap") as two:
        one.asleep(), two.asleep()
        everything = {p["pid"]: p for p in dump("-a")["processes"]}
        both = [p["pid"] for p in dump(one.pid, two.pid)["processes"]]
        comm = everything[one.pid]["comm"]
        chosen = {p["pid"] for p in dump("--comm", comm)["processes"]}
        left = {p["pid"] for p in dump("--comm", comm, "--exclude-pid", two.pid)["processes"]}
    assert {one.pid, two.pid} <= set(everything) and sorted(both) == sorted([one.pid, two.pid])
    assert {one.pid, two.pid} <= chosen
    assert one.pid in left and two.pid not in left
    for hung in one, two:
        assert len(everything[hung.pid]["threads"]) == 2


def test_only_blocked_threads(interpreter, scratch):
    """A thread that computes, and one that naps again and again, are not blocked."""
    with Hung(interpreter, scratch, *STATES, "compute", "naps") as hung:
        hung.asleep()
        process, = dump(hung.pid, "--blocked", "1s")["processes"]
    blocked = by_tid(process)
    assert set(blocked) == {hung.truth["main"]} | {t for t, kind in hung.kinds.items() if kind in STATES}
    assert all(0.9 <= t["waited"] for t in blocked.values())


@pytest.mark.interpreters("one")
def test_nothing_is_blocked(interpreter, scratch):
    program = "import time\nprint('ready', flush=True)\nwhile True: time.sleep(0.02)"
    with subprocess.Popen(interpreter.command("-c", program), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            said = succeeded(tachbpf("dump", str(process.pid), "--blocked", "0.5")).stdout
        finally:
            process.kill()
    assert said == "No thread was blocked for 0.5 s, in 1 process.\n"


@pytest.mark.interpreters("one")
def test_what_cannot_be_looked_at(interpreter, scratch):
    """The other processes are shown, and the exit status says that one was not."""
    with Hung(interpreter, scratch, "lock") as hung, subprocess.Popen(["sleep", "1000"]) as other:
        try:
            done = tachbpf("dump", str(hung.pid), str(other.pid), "--json")
            refused(done, f"process {other.pid}")
            said = json.loads(done.stdout)
            assert said["failed"] == 1 and [p["pid"] for p in said["processes"]] == [hung.pid]
            refused(tachbpf("dump", str(other.pid)), f"process {other.pid}")
        finally:
            other.kill()
    refused(tachbpf("dump", str(other.pid)), f"no process {other.pid}")
    refused(tachbpf("dump", "-a", "--comm", "no such name"), "no Python process was found", status=3)


def test_wrong_command_lines():
    refused(tachbpf("dump"), "nothing selected", status=2)
    refused(tachbpf("dump", "-a", "1"), "mutually exclusive", status=2)
    refused(tachbpf("dump", "x"), "--pid 'x'", status=2)
