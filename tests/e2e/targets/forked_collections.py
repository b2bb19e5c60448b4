# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""forked_collections.py TRUTH: collects, forks, and collects in the child, which computes meanwhile."""
import gc
import json
import os
import select
import sys
import time

PARENT_RUNS, CHILD_RUNS = 30, 7


def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(200))


def child(done):
    """The child's counters begin with its parent's: a tick must see them first."""
    compute(0.2)
    for _ in range(CHILD_RUNS):
        gc.collect()
    os.write(done, b"d")
    while os.getppid() == parent:
        compute(0.01)
    os._exit(0)


gc.disable()
gc.collect()
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    sum(range(200))
sys.stdin.readline()
for _ in range(PARENT_RUNS):
    gc.collect()
compute(0.2)
parent = os.getpid()
inp, out = os.pipe()
pid = os.fork()
if not pid:
    child(out)
os.read(inp, 1)
with open(sys.argv[1], "w") as truth:
    json.dump({"child": pid, "parent_runs": PARENT_RUNS, "child_runs": CHILD_RUNS}, truth)
print("done", flush=True)
sys.stdin.read()
