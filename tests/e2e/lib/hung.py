# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A program whose threads wait for what never comes (targets/hung.py), and what `tachbpf dump` says of it."""
import json

from processes import wait_until
from recording import succeeded, tachbpf
from target import Target


class Hung(Target):
    """hung.py under an interpreter."""

    def __init__(self, interpreter, scratch, *kinds):
        super().__init__(interpreter, scratch, *kinds, name="hung", program="hung.py")

    def __enter__(self):
        super().__enter__()
        self.truth = json.loads(self.truth_path.read_text())
        self.kinds = {tid: kind for kind, tids in self.truth["tids"].items() for tid in tids}
        return self

    def asleep(self):
        """Wait until each thread that will wait does, the main one for its input. One that sleeps may
        only wait for the GIL; if none has run between two looks, nobody has it."""
        waiting = [self.truth["main"]]
        waiting += [t for t, kind in self.kinds.items() if kind not in ("compute", "naps")]

        def waits():
            looks = [[sleeps(self.pid, t) for t in waiting] for _ in range(2)]
            return None not in looks[0] and looks[0] == looks[1]
        wait_until(waits, "the threads wait")


def sleeps(pid, tid):
    """How often a thread has begun to wait; None: it does not now."""
    with open(f"/proc/{pid}/task/{tid}/status") as f:
        status = dict(line.split(":", 1) for line in f)
    return int(status["voluntary_ctxt_switches"]) if status["State"].split()[0] == "S" else None


def dump(*argv):
    return json.loads(succeeded(tachbpf("dump", "--json", *argv)).stdout)


def by_tid(process):
    return {t["tid"]: t for t in process["threads"]}
