# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--async on CPython 3.8 to 3.13, where who awaits a task is read while the task lives; and where nothing is found."""
import subprocess

import pytest

from interp.cache import Failed
from present import need
from processes import use_cpu
from pypi import PyPI, path_of
from recording import Recording, succeeded, tachbpf
from task_stacks import LOOP, Run

RATE = 299      # chains have a share of a CPU


@pytest.fixture
def old(interpreter):
    """An interpreter of these versions."""
    if not (3, 8) <= interpreter.minor <= (3, 13):
        pytest.skip("3.8 to 3.13")
    return interpreter


def record(interpreter, out, how, *options, rate=RATE, seconds=0.7, **more):
    return Run(interpreter, out, how, "--async", *options, rate=rate, seconds=seconds, **more)


def expect_no_other_loss(run):
    """Late, or gone before their chain was read: the machine was busy, or the task was short."""
    told = {k: v for k, v in run.session["async"].items()
            if k not in ("stacks", "async_late", "async_gone", "async_unfound")}     # chains() looks at the last
    assert not any(told.values()), run.session["async"]
    assert run.session["async"]["stacks"] > 0


def expect_chains(run, main=("main",)):
    """What a fetch() or reply() does when it is sampled, it does not end with; a digest() may be gone."""
    chains = run.chains("fetch") | run.chains("reply")
    chains = {s for s in chains if s[-1] == "burn"}
    fetch, reply = (*main, "handle", "fetch", "burn"), (*main, "reply", "burn")
    assert {fetch, reply} <= chains <= {fetch, reply, (*main, "handle", "fetch", "digest", "burn")}, \
        run.stacks.most_common(8)


@pytest.mark.interpreters("few")
def test_one_flame(old, out):
    run = record(old, out, "gather")
    expect_no_other_loss(run)
    expect_chains(run)


@pytest.mark.interpreters("few")
def test_a_group(old, out):
    if old.minor < (3, 11):
        pytest.skip("no TaskGroup before 3.11")
    run = record(old, out, "group")
    expect_no_other_loss(run)
    expect_chains(run, ("grouped", "TaskGroup.__aexit__", *(["TaskGroup._aexit"] * (old.minor >= (3, 13)))))


@pytest.mark.interpreters("few")
def test_asyncio_that_is_imported_later_is_found(old, out):
    run = record(old, out, "late", whole=True)
    assert run.session["async"]["stacks"] > 0
    expect_chains(run)


@pytest.mark.interpreters("few")
def test_a_forked_child(old, out):
    run = record(old, out, "fork", whole=True)
    expect_chains(run)


@pytest.mark.interpreters("few")
def test_names_of_tasks(old, out):
    run = record(old, out, "named", "--task-names")
    assert run.chains("burn") >= {("named", "<task handler>", "handle", "fetch", "burn")}, run.stacks.most_common(8)
    assert not any(frame.startswith("<task Task-") for stack in run.stacks for frame in stack)


@pytest.mark.interpreters("few")
def test_a_task_that_blocks_its_thread(old, out):
    run = record(old, out, "block", "-m", "wall")
    chains = sum(n for s, n in run.stacks.items() if s[:2] == ("block", "blocked"))
    assert chains > run.count("blocked") / 2, run.stacks.most_common(8)


@pytest.mark.interpreters("few")
def test_an_event_in_a_task(old, out):
    run = record(old, out, "block", "-e", "syscalls:sys_enter_clock_nanosleep", rate=None)
    assert run.chains("blocked") == {("block", "blocked")}, run.stacks


@pytest.mark.interpreters("few")
def test_with_machine_code(old, out):
    run = record(old, out, "gather", "--native")
    for stack in run.chains("fetch"):
        python = tuple(f for f in stack if f in ("main", "handle", "fetch", "digest", "burn"))
        assert python[:3] == ("main", "handle", "fetch"), stack
        assert not set(stack) & set(LOOP), stack


@pytest.mark.interpreters("few")
def test_python_classes(old, out):
    """asyncio without _asyncio: its tasks are Python objects."""
    (out / "_asyncio.py").write_text("raise ImportError\n")
    run = record(old, out, "gather", path=out)
    expect_no_other_loss(run)
    # a generator, in Python
    expect_chains(run, ("main", "Future.__await__" if old.minor >= (3, 11) else "__await__"))


@pytest.mark.interpreters("few")
def test_loops_in_four_threads(old, out):
    run = record(old, out, "threads", seconds=1.5, whole=True)
    expect_chains(run)
    told = run.session["async"]
    assert told["stacks"] + told["async_gone"] + told["async_late"] > 0.8 * run.count("burn"), told


@pytest.mark.parametrize("how", ("uvloop", "uvloop_own"))
def test_uvloop(how, out):
    """Its loop is machine code, and so is what runs the main task."""
    python = need("pyenv-3.12.1")
    try:
        uvloop = path_of(PyPI("uvloop", python, ("uvloop==0.22.1",)))
    except Failed as why:
        pytest.skip(f"no uvloop for {python.name}: {why}")
    run = record(python, out, how, path=uvloop)
    expect_no_other_loss(run)
    expect_chains(run, ("run.<locals>.wrapper", "main") if how == "uvloop" else ("main",))


@pytest.mark.interpreters("few")
def test_an_eager_task_stays_in_its_creator(old, out):
    if old.minor < (3, 12):
        pytest.skip("no eager tasks before 3.12")
    run = record(old, out, "eager")
    assert run.session["async"]["eager"] > 0, run.session["async"]
    for stack in (s for s in run.having("reply") if "create_eager_task_factory.<locals>.factory" in s):
        assert stack.index("eager") < stack.index("main") < stack.index("reply"), stack


@pytest.mark.interpreters("two")
def test_where_there_is_no_asyncio_that_is_said(interpreter, out):
    with subprocess.Popen(interpreter.command("-c", "while True: pass")) as target:
        try:
            with Recording(["-p", target.pid, "--async", "-o", out / "rec"]) as recording:
                recording.wait_recording()
                use_cpu(target.pid, 0.3)
                done = succeeded(recording.stop())
        finally:
            target.kill()
    said = [line for line in done.stderr.splitlines() if "--async" in line]
    assert len(said) == 1, done.stderr
    version = "3.%d" % interpreter.minor[1]
    if interpreter.minor < (3, 8):
        assert "needs Python 3.8" in said[0] and version in said[0], said
    else:
        assert "no process has loaded asyncio" in said[0] and version in said[0], said
