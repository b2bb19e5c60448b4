# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""lock_holders.py TRUTH PLAN: threads that hold a threading.Lock in each way, and one that waits for each lock.

Says "ready" when all of them have begun, and writes what each lock's waiter is to be told; leaves at the end of its
input. Plans: held, by a `with` statement, at each place in a function; free, threads that have been in the `with` of a
lock that nobody can be said to hold now; kinds, other things to wait for.
"""
import json
import multiprocessing
import os
import queue
import re
import sys
import threading
import time
import types

BEGUN = threading.Semaphore(0)


def tid():
    if hasattr(threading, "get_native_id"):     # since 3.8
        return threading.get_native_id()
    return int(os.readlink("/proc/thread-self").rpartition("/")[2])


def say_begun():
    """A function that uses the name release may have released any lock."""
    BEGUN.release()


def stay():
    say_begun()
    time.sleep(10000)


def take(lock):
    """By hand: nobody sees it in the frame that this returns to."""
    lock.acquire()


# Bodies of functions that stay inside of the `with` of a lock, and of others that only seem to.
HELD = {
    "plainly": "with lock:\n stay()",
    "in_try": "with lock:\n try:\n  stay()\n finally:\n  pass",
    "in_except": "with lock:\n try:\n  raise ValueError\n except ValueError:\n  stay()",
    "in_finally": "with lock:\n try:\n  pass\n finally:\n  stay()",
    "in_finally_of_an_exception":
        "with lock:\n try:\n  try:\n   raise ValueError\n  finally:\n   stay()\n except ValueError:\n  pass",
    "in_loops": "for _ in range(2):\n with lock:\n  for _ in (1, 2):\n   while True:\n    stay()",
    "around_another": "with lock:\n with threading.Lock() as own:\n  stay(), own",
    "within_another": "with threading.Lock():\n with lock:\n  stay()",
    "second_of_two": "with open(os.devnull), lock:\n stay()",
    "from_an_outer_function": "with lock:\n (lambda: [stay() for _ in range(1)])()",
    "in_a_generator": "def generate():\n with lock:\n  yield stay()\nnext(generate())",
    "in_a_cell": "with lock:\n (lambda: lock and stay())()",
    "by_a_condition": "with threading.Condition(lock):\n stay()",
    "in_long_code": "with lock:\n stay()\n " + "\n ".join("x = %d" % i for i in range(400)),
}
FREE = {
    "after_it": "with lock:\n pass\ntake(lock)\nstay()",
    "after_an_exception": "try:\n with lock:\n  raise ValueError\nexcept ValueError:\n take(lock)\n stay()",
    "after_two": "with lock:\n with threading.Lock():\n  pass\ntake(lock)\nfor _ in range(1):\n stay()",
    "after_a_condition": "with threading.Condition(lock):\n pass\ntake(lock)\nstay()",
    # What only looks like a `with` is on the stack.
    "in_an_argument": "take(lock)\nprint(lock.__exit__, lock, lock.__enter__, stay())",
    # A Condition gives its lock up.
    "while_another_has_it": "condition = threading.Condition(lock)\nwith condition:\n say_begun()\n condition.wait()",
}


def function(name, body):
    """The function, and the line of its `with`, if it has one."""
    lines = ["def %s(lock):" % name] + [" " + line for line in body.split("\n")]
    exec("\n".join(lines), globals())
    return globals()[name], next((1 + n for n, line in enumerate(lines) if re.search(r"with .*\block\b", line)), None)


def released_by_hand(lock):
    with lock:
        lock.release()
        stay()


def acquired_by_hand(holder):
    holder.lock.acquire()
    stay()
    holder.lock.release()


def imports(name):
    __import__(name)


def waits_for_itself(lock):
    with lock:
        say_begun()
        take(lock)


def start(function, *args):
    """Its tid, when it stays."""
    tids = []
    thread = threading.Thread(target=lambda: (tids.append(tid()), function(*args)), name=function.__name__, daemon=True)
    thread.start()
    BEGUN.acquire()
    return tids[0]


def wait_for(lock):
    """The tid of a thread that waits."""
    def wait_by_with():
        say_begun()
        with lock:
            pass
    return start(wait_by_with)


def row(what, waiter, kind, address, holder, **more):
    return dict({"what": what, "waiter": waiter, "type": kind, "address": address and hex(id(address)),
                 "holder": holder, "certain": bool(holder), "function": None, "line": None}, **more)


def held():
    for name, body in HELD.items():
        lock = threading.Lock()
        stays, line = function(name, body)
        holder = start(stays, lock)
        yield row(name, wait_for(lock), "Lock", lock, holder, line=line,
                  function="generate" if name == "in_a_generator" else name)


def free():
    for name, body in FREE.items():
        lock = threading.Lock()
        start(function(name, body)[0], lock)
        if name == "while_another_has_it":
            take(lock)
        yield row(name, wait_for(lock), "Lock", lock, None)


def shared():
    try:
        lock, other = (multiprocessing.get_context("fork").Lock() for _ in range(2))
    except OSError:     # there is no /dev/shm
        return
    holder = start(function("of_processes", HELD["plainly"])[0], lock)
    yield row("shared", wait_for(lock), "multiprocessing lock", lock._semlock, holder)
    if os.fork() == 0:
        other.acquire()
        time.sleep(10000)
    while other._semlock._get_value():
        time.sleep(0.001)
    yield row("in a child", wait_for(other), "multiprocessing lock", other._semlock, None, foreign=True)


def kinds():
    full = queue.Queue()
    yield row("queue", start(lambda: (say_begun(), full.get())), "Condition", full.not_empty, None)
    event = threading.Event()
    yield row("event", start(lambda: (say_begun(), event.wait())), "Condition", event._cond, None)
    lock = threading.Lock()
    yield row("itself", start(waits_for_itself, lock), "Lock", lock, None, itself=True)
    lock = threading.Lock()
    start(released_by_hand, lock)
    take(lock)
    yield row("released", wait_for(lock), "Lock", lock, None)
    account = types.SimpleNamespace(lock=threading.Lock())
    holder = start(acquired_by_hand, account)
    yield row("by hand", wait_for(account.lock), "Lock", account.lock, holder, certain=False)
    yield from shared()
    sys.path.insert(0, os.path.dirname(sys.argv[1]))
    name = "slow_%d" % os.getpid()
    with open(os.path.join(sys.path[0], name + ".py"), "w") as f:
        f.write("import __main__\n__main__.stay()\n")
    holder = start(imports, name)
    yield row("import", start(lambda: (say_begun(), __import__(name))), "import lock", None, holder, module=name)


def main():
    truth, plan = sys.argv[1:3]
    rows = list({"held": held, "free": free, "kinds": kinds}[plan]())
    with open(truth, "w") as f:
        json.dump(rows, f)
    print("ready", flush=True)
    os.read(0, 1)
    if plan == "kinds":
        os.killpg(0, 9)
    os._exit(0)


main()
