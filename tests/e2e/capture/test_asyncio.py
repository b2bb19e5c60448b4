# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--async: who awaits a task, in place of the event loop: one flame for 1,000 tasks."""
import re
import shutil
import subprocess
from dataclasses import dataclass

import pytest

import noise
from interp.cache import Failed
from present import covered, need
from pypi import PyPI, path_of
from recording import tachbpf
from task_stacks import LOOP, Run, functions

NAMES = ("sid-3.14", "sid-3.15")


def record(name, out, how, *options, **more):
    return Run(need(name), out, how, "--async", *options, **more)


def expect_whole(run):
    """No chain was torn, and no stack of a task has the loop, unless the kernel was busy for too long."""
    told = dict(run.session["async"])
    assert told.pop("stacks") > 0, told
    told.pop("several_awaiters")
    told.pop("async_late")      # the machine was busy: Run.chains() looks at these
    told.pop("async_unfound")   # and at these
    told.pop("async_other_names")
    assert not any(told.values()), told


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how, main", (
    ("gather", ("main",)), ("group", ("grouped", "TaskGroup.__aexit__", "TaskGroup._aexit"))))
def test_one_flame(name, how, main, out):
    run = record(name, out, how)
    expect_whole(run)
    assert run.chains("burn") == {
        (*main, "handle", "fetch", "burn"), (*main, "handle", "fetch", "digest", "burn"),
        (*main, "reply", "burn")}, run.stacks.most_common(8)


@pytest.mark.parametrize("name", NAMES)
def test_an_event_in_a_task(name, out):
    """-e: each time.sleep() of a task is below those who await it."""
    run = record(name, out, "block", "-e", "syscalls:sys_enter_clock_nanosleep", rate=None)
    expect_whole(run)
    assert run.chains("blocked") == {("block", "blocked")}, run.stacks


@pytest.mark.truth
@pytest.mark.parametrize("name", NAMES)
def test_the_shares_are_the_programs_own(name, out):
    run = record(name, out, "gather", seconds=5)
    chains = {"fetch": ("main", "handle", "fetch", "burn"),
              "digest": ("main", "handle", "fetch", "digest", "burn"), "reply": ("main", "reply", "burn")}
    counts = {what: run.stacks[chain] for what, chain in chains.items()}
    total, all_of_it = sum(counts.values()), sum(run.book.values())
    for what, count in counts.items():
        bound = noise.share_bound(total, run.book[what] / all_of_it, design=noise.LOCKSTEP)
        assert count in bound, (what, counts, run.book, str(bound))


@pytest.mark.parametrize("name", NAMES)
def test_without_the_option_the_loop_is_there(name, out):
    run = Run(need(name), out, "gather")
    assert "async" not in run.session
    for stack in run.having("digest"):
        assert "Handle._run" in stack and "main" not in stack, stack


@pytest.mark.parametrize("name", NAMES)
def test_asyncio_that_is_imported_later_is_found(name, out):
    run = record(name, out, "late", whole=True)
    assert run.stacks["main", "handle", "fetch", "digest", "burn"] > run.count("digest") * 0.8, \
        run.stacks.most_common(8)


@pytest.mark.parametrize("name", NAMES)
def test_a_forked_child(name, out):
    run = record(name, out, "fork", whole=True)
    expect_whole(run)
    assert {s for s in run.chains("burn") if "digest" in s} == {
        ("main", "handle", "fetch", "digest", "burn")}


@pytest.mark.parametrize("name", NAMES)
def test_an_eager_task_stays_in_its_creator(name, out):
    run = record(name, out, "eager")
    assert run.session["async"]["eager"] > 0, run.session["async"]
    inside = [s for s in run.having("reply") if "create_eager_task_factory.<locals>.factory" in s]
    assert inside
    for stack in inside:       # its creator, and what runs that
        assert stack.index("eager") < stack.index("main") < stack.index("reply"), stack
    # After its first wait it is a task like others.
    assert run.stacks["eager", "main", "handle", "fetch", "digest", "burn"], run.stacks.most_common(8)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_tasks(name, out):
    run = record(name, out, "named", "--task-names")
    expect_whole(run)
    assert run.chains("burn") == {
        ("named", "<task handler>", "handle", "fetch", "burn"),
        ("named", "<task handler>", "handle", "fetch", "digest", "burn")}
    assert not any(frame.startswith("<task Task-") for stack in run.stacks for frame in stack)


def test_a_task_that_blocks_its_thread(out):
    """But for a wait that had begun before the recording, which another reader has walked."""
    run = record("sid-3.14", out, "block", "-m", "wall")
    chains = sum(n for s, n in run.stacks.items() if s[:2] == ("block", "blocked"))
    assert chains > run.count("blocked") / 2, run.stacks.most_common(8)


def test_with_machine_code(out):
    run = record("sid-3.15", out, "gather", "--native")
    for stack in run.chains("digest"):
        python = tuple(f for f in stack if f in ("main", "handle", "fetch", "digest", "burn"))
        assert stack[0] == "main" and python[:4] == ("main", "handle", "fetch", "digest"), stack
        assert not set(stack) & set(LOOP), stack


@dataclass(frozen=True)
class ForSid(PyPI):
    """PyPI's wheels for a Debian Python, which has no pip: another one's pip fetches them."""

    def make(self, workshop):
        pip = next((i for i in covered("all") if i.name.startswith("pyenv-3.12")), None)
        if not pip:
            raise Failed("no pyenv 3.12, whose pip would fetch it")
        done = workshop.path("done")
        workshop.run(*pip.command("-m", "pip", "install", "--quiet", "--only-binary=:all:",
                                  "--python-version", "%d.%d" % self.interpreter.minor,
                                  "--target", done, *self.packages), cwd="/")
        return done


def test_uvloop(out):
    """Its loop is machine code; it wraps what it runs in a coroutine of its own."""
    python = need("sid-3.14")
    try:
        uvloop = path_of(ForSid("uvloop", python, ("uvloop==0.22.1",)))
    except Failed as why:
        pytest.skip(f"no uvloop for {python.name}: {why}")
    shutil.copytree(uvloop, out / "packages")       # where its root has it, too
    run = record(python.name, out, "uvloop", path=out / "packages")
    expect_whole(run)
    assert run.chains("burn") == {
        ("run.<locals>.wrapper", "main", "handle", "fetch", "burn"),
        ("run.<locals>.wrapper", "main", "handle", "fetch", "digest", "burn"),
        ("run.<locals>.wrapper", "main", "reply", "burn")}


def test_equal_to_cpythons_own_profiler(out):
    """Which chains there are, without the frames that name each task."""
    python = need("sid-3.15")
    run = record("sid-3.15", out, "gather")
    subprocess.run(python.command("-m", "profiling.sampling", "run", "--async-aware", "--blocking",
                                  "--collapsed", "-o", out / "theirs", out / "tasks.py", "gather", 2),
                   check=True, capture_output=True)
    theirs = {functions(line.rsplit(" ", 1)[0])
              for line in (out / "theirs").read_text().splitlines() if "<task>" in line}
    theirs = {tuple(f for f in s if not re.fullmatch(r"Task-\d+", f)) for s in theirs
              if "burn" in s and "<module>" not in s}     # it shows the running one's whole stack, too
    assert run.chains("burn") == theirs


def test_names_are_of_tasks():
    done = tachbpf("record", "--task-names", "-a")
    assert done.returncode and "--async" in done.stderr, repr(done)
