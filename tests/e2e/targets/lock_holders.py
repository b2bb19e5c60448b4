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
import sys
import threading
import time
import types

LINES = open(__file__).readlines()
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


# ---- held


def plainly(lock):
    with lock:  # plainly
        stay()


def in_try(lock):
    with lock:  # in_try
        try:
            stay()
        finally:
            pass


def in_except(lock):
    with lock:  # in_except
        try:
            raise ValueError
        except ValueError:
            stay()


def in_finally(lock):
    with lock:  # in_finally
        try:
            pass
        finally:
            stay()


def in_finally_of_an_exception(lock):
    with lock:  # in_finally_of_an_exception
        try:
            try:
                raise ValueError
            finally:
                stay()
        except ValueError:
            pass


def in_loops(lock):
    for _ in range(2):
        with lock:  # in_loops
            for _ in (1, 2):
                while True:
                    stay()


def around_another(lock):
    with lock:  # around_another
        with threading.Lock() as own:
            assert own
            stay()


def within_another(lock):
    with threading.Lock():
        with lock:  # within_another
            stay()


def second_of_two(lock):
    with open(os.devnull), lock:  # second_of_two
        stay()


def from_an_outer_function(lock):
    with lock:  # from_an_outer_function
        (lambda: [stay() for _ in range(1)])()


def in_a_generator(lock):
    def generate():
        with lock:  # in_a_generator
            yield stay()
    next(generate())


def in_a_cell(lock):
    with lock:  # in_a_cell
        (lambda: lock and stay())()


def by_a_condition(lock):
    with threading.Condition(lock):  # by_a_condition
        stay()


def in_long_code(lock):
    namespace = {"stay": stay}
    lines = ["x = %d" % i for i in range(400)]
    exec("def long_code(lock):\n with lock:\n  stay()\n  " + "\n  ".join(lines), namespace)
    namespace["long_code"](lock)


HELD = (plainly, in_try, in_except, in_finally, in_finally_of_an_exception, in_loops, around_another, within_another,
        second_of_two, from_an_outer_function, in_a_generator, in_a_cell, by_a_condition, in_long_code)


def held_in(function):
    if function is in_long_code:
        return "long_code", 2
    name = "generate" if function is in_a_generator else function.__name__
    return name, 1 + [line.rstrip().endswith(": # " + function.__name__) or
                      line.rstrip().endswith(":  # " + function.__name__) for line in LINES].index(True)


# ---- free


def after_it(lock):
    with lock:
        pass
    take(lock)
    stay()


def after_an_exception(lock):
    try:
        with lock:
            raise ValueError
    except ValueError:
        take(lock)
        stay()


def after_two(lock):
    with lock:
        with threading.Lock():
            pass
    take(lock)
    for _ in range(1):
        stay()


def after_a_condition(lock):
    with threading.Condition(lock):
        pass
    take(lock)
    stay()


def in_an_argument(lock):
    """What only looks like a `with` is on the stack."""
    take(lock)
    print(lock.__exit__, lock, lock.__enter__, stay())


def while_another_has_it(lock):
    """A Condition gives its lock up."""
    condition = threading.Condition(lock)
    with condition:
        say_begun()
        condition.wait()


FREE = (after_it, after_an_exception, after_two, after_a_condition, in_an_argument, while_another_has_it)


# ---- others


def released_by_hand(lock):
    with lock:
        lock.release()
        stay()


def acquired_by_hand(holder):
    holder.lock.acquire()
    stay()
    holder.lock.release()


def imports(name):
    __import__(name)  # imports


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


def held():
    for function in HELD:
        lock = threading.Lock()
        holder, (name, line) = start(function, lock), held_in(function)
        yield {"what": function.__name__, "waiter": wait_for(lock), "type": "Lock", "address": hex(id(lock)),
               "holder": holder, "certain": True, "function": name, "line": line}


def free():
    for function in FREE:
        lock = threading.Lock()
        start(function, lock)
        if function is while_another_has_it:
            take(lock)
        yield {"what": function.__name__, "waiter": wait_for(lock), "type": "Lock", "address": hex(id(lock)),
               "holder": None, "certain": False, "function": None, "line": None}


def of_processes(lock):
    with lock:
        stay()


def row(what, waiter, kind, address, holder, **more):
    return dict({"what": what, "waiter": waiter, "type": kind, "address": address and hex(id(address)),
                 "holder": holder, "certain": bool(holder), "function": None, "line": None}, **more)


def shared():
    try:
        lock, other = (multiprocessing.get_context("fork").Lock() for _ in range(2))
    except OSError:     # there is no /dev/shm
        return
    holder = start(of_processes, lock)
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
