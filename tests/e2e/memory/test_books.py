# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The books are true: what programs say that they hold is what the kernel counts, nobody recording."""
import pytest

from memory_runs import MIB, NEAR, environment
from target import Target

PARTS = ("growth=16", "cache", "system_calls=4", "threads=2", "maps=4", "reuse=2", "leak", "shared_maps=4",
         "forks=4")
# What the interpreter itself gets for each part, of which nobody keeps books.
OTHER = MIB // 2


@pytest.mark.interpreters("two")
@pytest.mark.parametrize("part", PARTS)
def test_what_functions_hold_is_what_the_process_grew_by(interpreter, scratch, part):
    with Target(interpreter, scratch, part, program="memory/run.py", env=environment(interpreter)) as target:
        target.go()
        truth = target.wait_done()
        target.leave()
    before, after = truth["anonymous"]
    held = sum(f["held"] for f in truth["functions"].values())
    assert abs(after - before - held) <= NEAR * held + OTHER, truth
