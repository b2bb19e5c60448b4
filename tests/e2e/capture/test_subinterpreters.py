# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sub-interpreters: each sample says which one it is from, and has that one's stack."""
import json

import pytest

import noise
from per_interpreter import of_all, record_target
from present import covered
from profiles import HAS_GIL, inside_python
from recording import succeeded, tachbpf
from summary import lost
from target import Target

pytestmark = pytest.mark.interpreters("two")      # the others in check-all

RATE = 999
SECONDS = 3.6


class Run:
    def __init__(self, truth, summary, profile):
        self.truth, self.summary = truth, summary
        self.samples = profile.phase(truth, "subinterpreters")
        phase = truth["phases"]["subinterpreters"]
        self.each = phase["each_s"]
        self.tids = {int(interp): tid for interp, tid in phase["tids"].items()}


def record(interpreter, scratch, oracle):
    return Run(*record_target(interpreter, scratch, oracle, RATE, "subinterpreters", SECONDS))


def has_subinterpreters(interpreter):
    return interpreter.minor >= (3, 8)


@pytest.fixture(scope="session")
def runs(scratch, oracle):
    return of_all(filter(has_subinterpreters, covered("two")), record, scratch, oracle)


@pytest.fixture
def run(interpreter, runs):
    if not has_subinterpreters(interpreter):
        pytest.skip("no module for sub-interpreters before 3.8")
    return runs[interpreter.name].result()


def burns_in(sample):
    """The id of the interpreter that a sample's functions are of; None: none tells."""
    for frame in sample.frames:
        if frame.func.startswith("burn_") and frame.func[5:].isdigit():
            return int(frame.func[5:])
    return None


def has_outer_frames(interpreter):
    """Before, nothing tells which interpreter called another."""
    return interpreter.minor >= (3, 10)


def functions(sample):
    return [f.func.rpartition(".")[2] for f in sample.frames]


def test_the_interpreter_is_the_one_that_runs(run):
    wrong = [s for s in run.samples if burns_in(s) is not None and burns_in(s) != s.interp]
    assert not wrong, wrong[:3]
    away = [s for s in run.samples if s.frames[0].func == "at_home" and s.interp != 0]
    assert not away, away[:3]


def test_an_interpreter_is_that_of_the_stack(run, interpreter):
    """While a thread starts, and makes or ends a sub-interpreter, it runs the main interpreter:
    these are all of its samples that say so. What a sub-interpreter imports first is its own."""
    workers = set(run.tids.values())
    for s in inside_python(run.samples):
        marks = [f for f in functions(s) if f.startswith("<interpreter ")]
        root = functions(s)[-1]
        if has_outer_frames(interpreter):
            assert marks == ([f"<interpreter {s.interp}>"] if s.interp else []), s
            assert s.tid not in workers or root in ("_bootstrap", "<truncated>"), s
        else:
            assert not marks and (s.tid not in workers or (root == "_bootstrap") == (s.interp == 0)), s


def test_the_thread_is_the_one_that_runs_it(run):
    assert len(run.tids) == 6
    wrong = [s for s in run.samples
             if burns_in(s) is not None and s.tid != run.tids[burns_in(s)]]
    assert not wrong, wrong[:3]
    assert all(s.tid == run.tids[0] for s in run.samples if s.frames[0].func == "at_home")


def test_the_stack_is_that_interpreters_own(run, interpreter):
    home = run.truth.stack("at_home")
    for s in run.samples:
        names = [(f.file, f.func) for f in s.frames]
        if burns_in(s) is not None:
            outer = functions(s)[2:4]
            assert functions(s)[:2] == [f"burn_{s.interp}", "<module>"], names
            assert outer == ([f"<interpreter {s.interp}>", "burn_in"] if has_outer_frames(interpreter) else []), names
        elif names[0][1] == "at_home":
            assert names == home


def test_nothing_is_missing_that_is_not_counted(run, interpreter):
    seen = {interp: sum(burns_in(s) == interp for s in run.samples)
            for interp in run.tids if interp}
    seen[0] = sum(s.frames[0].func == "at_home" for s in run.samples)
    missed = noise.missed(run.summary)
    if interpreter.minor <= (3, 9):
        # which thread runs a state is told by nothing; see docs/cpython-support.md
        uncertain = run.summary["lost"]["thread_state_uncertain"]
        assert sum(seen.values()) + uncertain >= noise.least(6 * run.each, RATE, missed)
        return
    # up to 3.11 the thread's C frames tell, in lists that may change meanwhile
    few = noise.few_bound(len(run.samples), 0.001) if interpreter.minor <= (3, 11) else 0
    causes = ("thread_state_uncertain", "thread_state_unreadable")
    assert set(lost(run.summary)) <= set(causes), run.summary["lost"]
    assert sum(run.summary["lost"][cause] for cause in causes) <= few, run.summary["lost"]
    for interp, count in seen.items():
        assert count >= noise.least(run.each, RATE, missed + few), (interp, count, seen)


def test_losses_have_their_process_and_thread(run, interpreter):
    row, = run.summary["processes"]
    assert run.summary["lost_unnamed"] == {}
    for cause, count in lost(run.summary).items():
        assert row["lost"][cause] == count, (cause, row["lost"], run.summary["lost"])
    of_threads = row.get("lost_threads", {})
    for cause in ("thread_state_uncertain", "thread_state_unreadable"):
        assert sum(of.get(cause, 0) for of in of_threads.values()) == run.summary["lost"][cause]
    if interpreter.minor <= (3, 9):     # later only by chance
        assert {int(tid) for tid in of_threads} & set(run.tids.values())


def test_each_holds_a_gil(run, interpreter):
    mine = [s for s in run.samples if burns_in(s) is not None]
    if interpreter.minor <= (3, 9) and not mine:
        pytest.skip("no sample is certain where states do not tell their thread")
    assert sum(bool(s.status & HAS_GIL) for s in mine) >= noise.most_bound(len(mine), 0.98)


@pytest.mark.parametrize("options", ((), ("--locals",)), ids=("stacks", "locals"))
def test_dump_of_one_inside_another(interpreter, scratch, options):
    if not has_outer_frames(interpreter):
        pytest.skip("nothing tells which interpreter called another before 3.10")
    if options and interpreter.minor < (3, 13):
        pytest.skip("a state has the thread's id that made it, and --locals reads the frames by it")
    with Target(interpreter, scratch, name="nested", program="nested.py") as target:
        process, = json.loads(succeeded(tachbpf("dump", "--json", *options, target.pid)).stdout)["processes"]
    main, other = process["threads"]
    assert main["main"] and main["tid"] == target.pid and not other["main"]
    stacks = [[f["function"].rpartition(".")[2] for f in t["frames"]] for t in (main, other)]
    inner = ["nested", "<module>"]
    assert stacks[0] == [*inner, "<interpreter 2>", "enter", "main", "<module>"]
    assert stacks[1][:5] == [*inner, "<interpreter 1>", "enter", "begin"] and stacks[1][-1] == "_bootstrap"
    if options:
        numbers = [f["locals"] for f in main["frames"] if f["function"] == "enter"]
        assert [v["value"] for v in numbers[0] if v["name"] == "number"] == ["1"]
