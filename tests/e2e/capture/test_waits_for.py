# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""-m wall --async, dump: what a waiting task waits for at the end, with the name that its program has for it."""
import json
import os
import re

import pytest

from command import good
from recording import succeeded, tachbpf
from target import Target

RATE, SECONDS = 99, 1
# Older kernels do not say which socket a descriptor is.
PEERS = [int(n) for n in re.findall(r"\d+", os.uname().release)[:2]] >= [5, 14]


@pytest.fixture
def asyncs(interpreter):
    if interpreter.minor < (3, 8):
        pytest.skip(f"{interpreter} has tasks that are not listed")
    return interpreter


def target_of(interpreter, scratch, *plan):
    return Target(interpreter, scratch, *plan, name="awaited", program="awaited_things.py")


def leaves(path):
    """{the program's function: what its task waits for} of a recording; "" if it has no such frame."""
    found = {}
    for line in good("replay", "--format", "collapsed", "-o", "-", path).splitlines():
        stack = line.rsplit(" ", 1)[0].split(";")
        if int(re.search(r"tid:(\d+)", line)[1]) < 1 << 30:
            continue
        own = [frame.split(":")[-2].rpartition(".")[2] for frame in stack if frame.startswith("awaited_things.py:")]
        leaf = re.match(r"<waiting for (.*)>$", stack[-1].rsplit(":", 1)[0] if stack[-1].startswith("~") else stack[-1])
        found.setdefault(own[-1], set()).add(leaf[1] if leaf else "")
    return found


def compare(interpreter, scratch, out, *plan):
    with target_of(interpreter, scratch, *plan) as target:
        succeeded(tachbpf("-m", "wall", "--async", "-r", RATE, "-d", SECONDS, "-p", target.pid, "-o", out / "rec"))
        truth = json.loads(target.truth_path.read_text(encoding="utf-8"))["waits"]
    if not PEERS:
        truth = {name: re.sub("^a socket .*", "a socket", what) for name, what in truth.items()}
    found = leaves(out / "rec")
    assert {name: {what} for name, what in truth.items()} == {name: found.get(name) for name in truth}


def test_dump_says_which_socket(asyncs, scratch):
    """The peers of connections, by the ends that the program itself has: its own client is the server's peer."""
    if not PEERS:
        pytest.skip("Linux says from 5.14 on which socket a descriptor is")
    with target_of(asyncs, scratch) as target:
        truth = json.loads(target.truth_path.read_text(encoding="utf-8"))
        text, process = good("dump", target.pid), json.loads(good("dump", target.pid, "--json"))["processes"][0]
    waits = [task["waits_for"] for task in process["tasks"] if task["waits_for"] and task["waits_for"]["kind"] == "socket"]
    peers = {wait["fd"]: wait["peer"] for wait in waits}
    server = f"127.0.0.1:{truth['port']}"
    assert {peers.pop(truth["sockets"][name]) for name in ("read", "receive")} == {server}
    assert sorted(peers.values()) == sorted(truth["clients"])
    for fd, peer in list(peers.items()) + [(truth["sockets"]["read"], server)]:
        assert f"waits for a socket (descriptor {fd}, {peer})" in text


def test_dump_says_which_futures(asyncs, scratch):
    """Those that stand for one of concurrent.futures: of a pool, of a coroutine in another loop, of nobody."""
    with target_of(asyncs, scratch) as target:
        truth = json.loads(target.truth_path.read_text(encoding="utf-8"))["waits"]
        text, process = good("dump", target.pid), json.loads(good("dump", target.pid, "--json"))["processes"][0]
    kinds = [task["waits_for"]["kind"] for task in process["tasks"] if task["waits_for"]]
    futures = list(truth.values()).count("a concurrent.futures.Future")
    assert kinds.count("concurrent_future") == text.count(", waits for a concurrent.futures.Future\n") == futures > 0


def test_a_recording_says_what_for(asyncs, scratch, out):
    compare(asyncs, scratch, out)


def test_without_the_c_module(asyncs, scratch, out):
    if asyncs.minor > (3, 13):
        pytest.skip(f"{asyncs} lists only tasks that C has made")
    compare(asyncs, scratch, out, "pure")
