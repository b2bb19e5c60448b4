# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The key debuginfod: names from servers come in later windows, and nothing waits for a server."""
import signal
import threading
import time

import pytest

from agent import profiles
from command import good
from debug_servers import debuginfod, make, need_client, nobody, silent
from http_sink import Answer, Sink
from processes import wait_until

RATE = 499
SECOND = 10**9
END_S = 5
NAMES = {"hot", "hidden_work"}
# As targets/spend.py, in a function of a library.
SCRIPT = """
import ctypes, sys, time
hot = ctypes.CDLL(%r).hot
print("ready", flush=True)
for line in iter(sys.stdin.readline, ""):
    end = time.process_time() + float(line)
    while time.process_time() < end:
        hot()
    print(line.strip(), 0, flush=True)
"""


@pytest.fixture(autouse=True)
def client():
    need_client()


@pytest.fixture
def library(out):
    return make(out)


def begin(rig, sink, library, url, *options, **more):
    """The agent, while a process is busy in the library."""
    (rig.out / "spend.py").write_text(SCRIPT % str(library))
    started = rig.start("--rate", RATE, "--native", "on", "--debuginfod", url, "--otlp-endpoint", sink.url,
                        *options, **more)
    rig.target().begin(1000)
    return started


def names(sink, library):
    """Of each window, in order: the names of the library's functions."""
    windows = {}
    for _, profile in profiles(sink, "spend.py"):
        windows.setdefault(profile["time"], set()).update(
            name for stack, _, _ in profile["samples"] for name, *_ in stack
            if name in NAMES or name.startswith(library.name))
    return [windows[time] for time in sorted(windows)]


def status(agent):
    return good("agent", "ctl", "status", "--socket", agent.socket)


def test_names_come_in_a_later_window(rig, sink, library):
    """Until then functions have the names that they have without a server. The agent has no more rights than its unit."""
    path, debug_file, build_id = library
    may_answer = threading.Event()
    with Sink(lambda asked: Answer(body=debug_file.read_bytes(), hold=may_answer) if build_id in asked.path
              else Answer(404)) as server:
        started = begin(rig, sink, path, server.url, prefix=("setpriv", "--bounding-set", "-chown"))
        assert server.url in started.said() and "build IDs" in started.said()
        server.wait(lambda s: any(build_id in asked.path for asked in s.seen))
        before = len(names(sink, path))
        sink.wait(lambda s: len(names(s, path)) > before and names(s, path)[-1] == {"hot"})
        assert all("hidden_work" not in window for window in names(sink, path))
        assert " 0 awaited" not in status(started)
        may_answer.set()
        sink.wait(lambda s: names(s, path)[-1] == NAMES)
        wait_until(lambda: " 0 awaited" in status(started), "no file is awaited")
        started.end()


def test_a_server_of_elfutils(rig, sink, library):
    path, _, build_id = library
    with debuginfod(path.parent / "served", build_id) as url:
        started = begin(rig, sink, path, url)
        sink.wait(lambda s: NAMES in names(s, path))
        started.end()


@pytest.mark.parametrize("server", [silent, nobody])
def test_nothing_waits_for_a_server(rig, sink, library, server):
    """Windows end when they should, with the names that there are; nor do a reload and a stop wait."""
    path = library[0]
    with server() as url:
        started = begin(rig, sink, path, url)
        wait_until(lambda: " 0 requested" not in status(started), "the server is asked")
        before = len(names(sink, path))
        started.process.send_signal(signal.SIGHUP)
        started.wait_said("configuration reloaded")
        sink.wait(lambda s: len(names(s, path)) >= before + 3 and names(s, path)[-1] == {"hot"})
        ends = [p["time"] + p["duration"] for _, p in profiles(sink, "spend.py")]
        # all but the one that the reload cut
        assert sum(end % SECOND != 0 for end in ends) <= 1, ends
        assert all(p["duration"] <= SECOND for _, p in profiles(sink, "spend.py"))
        assert " 0 awaited" not in status(started)      # it has not been given up
        begun = time.monotonic()
        started.end()
        assert time.monotonic() - begun < END_S


def test_without_the_key_no_server_is_asked(rig, sink, library):
    """Not those of elfutils' variable, either."""
    path = library[0]
    with Sink(lambda asked: Answer(404)) as server:
        (rig.out / "spend.py").write_text(SCRIPT % str(path))
        started = rig.start("--rate", RATE, "--native", "on", "--otlp-endpoint", sink.url,
                            env={"DEBUGINFOD_URLS": server.url})
        rig.target().begin(1000)
        sink.wait(lambda s: len(names(s, path)) >= 2 and names(s, path)[-1] == {"hot"})
        started.end()
    assert not server.seen and "debug files" not in started.said()
