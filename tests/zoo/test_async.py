# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--async of servers on asyncio with 100 clients: a stack of a handler's own function has the handler, and not the loop.

What each handler does, and which functions are its own: programs/handlers.py.
"""
import collections
import contextlib
import json
import os
import subprocess
import sys

import pytest

from command import good
from processes import kill
from programs import Program
from recording import Recording
from zoo import HERE, fetch_when_up, free_port, prepare

UVICORN = ("python -m uvicorn --loop {loop} --port {{port}} --log-level error "
           "async_fastapi:application")
FASTAPI = "uvicorn==0.38.0 uvloop==0.22.1 fastapi==0.121.2"
SERVERS = [Program(f"async {name} {minor}", minor, packages, command)
           for minor in ("3.11", "3.12")
           for name, packages, command in (
               ("uvicorn, uvloop", FASTAPI, UVICORN.format(loop="uvloop")),
               ("uvicorn", FASTAPI, UVICORN.format(loop="asyncio")),
               ("aiohttp", "aiohttp==3.13.2", "python async_aiohttp.py {port}"))]
SECONDS = 5
WALL_SECONDS = 10       # the lists of tasks are walked for some seconds before the first samples
POOL = "<waiting for Semaphore pool>"
OWN = {"count_users": "users", "count_orders": "orders"}
# The outermost function of a request's task; in aiohttp, of its connection's.
ROOTS = {"RequestResponseCycle.run_asgi", "RequestHandler.start"}
# A stack keeps the loop for these causes: a task ended, or an awaiting one was woken, before the chain was read. There
# is no callback that is not known. Or its task was not found, because asyncio's dict of running tasks was changing.
BY_TIME = {"async_gone", "async_late", "async_torn", "async_unfound"}
# Stacks in tasks that must have their chain: a handler's own function is the last that its task does, so on a busy
# machine many of these tasks are gone before they are read.
LEAST = 0.3
# Share of the waiting time that must be below a handler. All six had 100 %.
LEAST_WAITING = 0.98


@contextlib.contextmanager
def served(program, place, out):
    """The pid of the server, while 100 clients ask it."""
    port = free_port()
    env = dict(os.environ, **prepare(program, place, out, port))
    with contextlib.ExitStack() as stack:
        with open(out / "printed", "wb") as printed:
            server = subprocess.Popen(place.command(program.command, port=port, out=out), cwd=out,
                                      env=env, stdin=subprocess.DEVNULL, stdout=printed,
                                      stderr=printed, start_new_session=True)
        stack.callback(kill, server)
        fetch_when_up(lambda: server.poll() is None, f"http://127.0.0.1:{port}/users")
        clients = subprocess.Popen([sys.executable, HERE / "programs" / "async_clients.py", str(port),
                                    "/users", "/orders"], stdout=subprocess.PIPE, text=True,
                                   start_new_session=True)
        stack.callback(kill, clients)
        assert clients.stdout.readline() == "ready\n"
        yield server.pid
        assert clients.poll() is None and server.poll() is None, (out / "printed").read_text()


def recorded(pid, out, oracle, seconds, *options):
    """(the stacks from the outside inwards, what session.json says of tasks)."""
    with Recording(["-p", pid, "-d", seconds, "--async", "--json", "-o", out / "rec",
                    *options]) as recording:
        recording.wait()
    profile, = oracle.load(out / "rec")
    session = json.loads((out / "rec.json").read_text())
    return [[f.func for f in reversed(s.frames)] for s in profile.samples], session["async"]


def is_right(stack):
    """True: the chain of a handler's own function is there; False: the loop is. A wrong one fails."""
    own, = (OWN[name] for name in stack if name in OWN)
    handlers = [name for name in stack if name in OWN.values()]
    assert set(handlers) <= {own}, stack
    if not handlers:
        assert not ROOTS & set(stack), stack        # a part of a chain is none
        return False
    assert stack[0] in ROOTS, stack
    return True


@pytest.mark.parametrize("program", SERVERS, ids=lambda program: program.name)
def test_handlers_have_their_time(program, place, out, oracle, capsys):
    with served(program, place(program), out) as pid:
        stacks, told = recorded(pid, out, oracle, SECONDS, "-r", 199)
    inside = collections.Counter(is_right(s) for s in stacks if OWN.keys() & set(s))
    with capsys.disabled():
        print(f"\n{program.name}: {len(stacks)} samples, {told['stacks']} with awaiting tasks; a handler's own function: "
              f"{inside[True]} below the handler, {inside[False]} below the loop; {causes(told)}")
    assert inside[True] >= LEAST * inside.total() and inside.total() > 50
    assert set(causes(told)) <= BY_TIME, told


def causes(told):
    return {name: n for name, n in told.items()
            if name.startswith("async_") and n and not name.endswith(("_names", "_rest"))}


@pytest.mark.parametrize("program", SERVERS, ids=lambda program: program.name)
def test_requests_say_what_they_wait_for(program, place, out, oracle, capsys):
    with served(program, place(program), out) as pid:
        stacks, told = recorded(pid, out, oracle, WALL_SECONDS, "-m", "wall", "-r", 19)
        dump = good("dump", pid)
    waiting = [s for s in stacks if "query" in s and s[-1] == POOL]
    whole = [s for s in waiting if s[0] in ROOTS and len({*OWN.values()} & set(s)) == 1]
    with capsys.disabled():
        print(f"\n{program.name}: {len(waiting)} samples of waiting queries, {len(whole)} below one handler; "
              f"{causes(told)}")
    assert not [s for s in stacks if {*OWN.values()} <= set(s)], "a stack of two handlers"
    assert len(waiting) > 100
    assert len(whole) >= LEAST_WAITING * len(waiting)
    assert set(causes(told)) <= BY_TIME, told
    assert any(root in dump for root in ROOTS) and "query" in dump
