# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A collection of garbage is in the stack of what it calls, between that and what collected."""
import json

import pytest

from recording import Recording, succeeded, tachbpf
from target import Target

pytestmark = pytest.mark.interpreters("two")      # the others in check-all

# Innermost first: what the collector calls in targets/finalizers.py, and what has collected.
CALLS = (["busy", "__del__"], ["busy", "__del__", "wrapper"], ["busy", "gone"],
         ["busy", "__call__"], ["busy", "closing"])
BEHIND = ["<GC>", "collect", "main"]


class Finalizers(Target):
    def __init__(self, interpreter, scratch, mode):
        super().__init__(interpreter, scratch, mode, name="finalizers", program="finalizers.py")


def is_known(interpreter):
    """Before 3.15 a free-threaded build does not say who collects."""
    return not interpreter.free_threaded or interpreter.minor >= (3, 15)


def last_parts(functions):
    return [f if f.startswith("<") else f.rpartition(".")[2] for f in functions]


def test_dump(interpreter, scratch):
    if not is_known(interpreter):
        pytest.skip("it is not known who collects")
    seen = []
    with Finalizers(interpreter, scratch, "wait") as target:
        for call in CALLS:
            process, = json.loads(succeeded(tachbpf("dump", "--json", target.pid)).stdout)["processes"]
            thread, = process["threads"]
            stack = last_parts(f["function"] for f in thread["frames"])
            seen.append(stack[stack.index("busy"):-1])
            target.go()
            target.expect("done" if call is CALLS[-1] else "ready")
    assert seen == [call + BEHIND for call in CALLS]


@pytest.mark.parametrize("mode", ("cpu", "wall"))
def test_recording(interpreter, scratch, out, oracle, mode):
    if not is_known(interpreter):
        pytest.skip("it is not known who collects")
    with Finalizers(interpreter, scratch, "work") as target, \
            Recording(["-p", target.pid, "-m", mode, "-r", 999, "-o", out / "x.tach", "--json"]) as recording:
        recording.wait_recording()
        target.go()
        target.expect("done")
        succeeded(recording.stop())
    profile, = oracle.load(out / "x.tach")
    stacks = [last_parts(f.func for f in s.frames) for s in profile.samples]
    stacks = {tuple(s) for s in stacks if "busy" in s and "<truncated>" not in s}
    inside = {s[s.index("busy"):-1] for s in stacks}    # but for <module>
    assert inside == {tuple(call + BEHIND) for call in CALLS}
