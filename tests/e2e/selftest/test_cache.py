# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""interp/cache.py leaves a thing completely or not at all, shown with small things of its own."""
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from interp import cache
from paths import LIB


class Thing:
    """What prepare() makes here: a directory with one file, by way of a command."""
    what = "for a test"

    def __init__(self, text, command="echo %s > made/text", name="thing"):
        self.text, self.command, self.name, self.count = text, command, name, 0

    def recipe(self):
        return self.text

    def make(self, workshop):
        self.count += 1
        os.mkdir(workshop.path("made"))
        workshop.run("sh", "-c", self.command.replace("%s", self.text))
        return workshop.path("made")


@pytest.fixture
def own_cache(root, tmp_path, monkeypatch):
    monkeypatch.setenv("TACHBPF_CACHE", str(tmp_path))
    return tmp_path


def left(directory):
    return sorted(p.name for p in directory.iterdir() if p.is_dir())


def test_a_thing_is_made_once_and_again_when_its_recipe_changes(own_cache):
    jobs = cache.Jobs(1)
    first, other = Thing("first"), Thing("other")
    for thing, text in ((first, "first"), (first, "first"), (other, "other")):
        cache.prepare(thing, jobs)
        assert (own_cache / "thing" / "text").read_text() == text + "\n"
    assert (first.count, other.count) == (1, 1)
    assert left(own_cache) == ["thing"]


def test_what_fails_leaves_nothing_and_takes_nothing_away(own_cache):
    jobs = cache.Jobs(1)
    with pytest.raises(cache.Failed, match="ended with 3, see .*thing.log"):
        cache.prepare(Thing("bad", "exit 3"), jobs)
    assert left(own_cache) == []
    cache.prepare(Thing("good"), jobs)
    with pytest.raises(cache.Failed):
        cache.prepare(Thing("bad", "exit 3"), jobs)
    assert (own_cache / "thing" / "text").read_text() == "good\n"


def test_two_at_the_same_time_make_it_once(own_cache):
    jobs, thing = cache.Jobs(4), Thing("once", "echo %s > made/text; sleep 0.3")
    threads = [threading.Thread(target=cache.prepare, args=(thing, jobs)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert thing.count == 1 and left(own_cache) == ["thing"]


KILLED = """
import sys
sys.path[:0] = sys.argv[1:3]
from interp import cache
from test_cache import Thing
cache.prepare(Thing("half", "touch made/half; echo $$ > made/pid; sleep 600"), cache.Jobs(1))
"""


def test_one_that_is_killed_leaves_nothing_that_looks_complete(own_cache):
    here = os.path.dirname(os.path.abspath(__file__))
    running = subprocess.Popen([sys.executable, "-B", "-c", KILLED, LIB, here],
                               start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 30
        while not list(own_cache.glob("thing.new.*/made/pid")):
            assert running.poll() is None and time.monotonic() < end
            time.sleep(0.01)
    finally:
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
    assert not (own_cache / "thing").exists()
    assert cache.prepare(Thing("whole"), cache.Jobs(1)) is not None
    assert left(own_cache) == ["thing"]
    assert sorted(os.listdir(own_cache / "thing")) == [cache.STAMP, "text"]


def test_what_is_in_use_is_replaced_but_kept_until_it_is_free(own_cache):
    jobs = cache.Jobs(1)
    cache.prepare(Thing("old", "cp /bin/sleep made/sleep"), jobs)
    user = subprocess.Popen([str(own_cache / "thing" / "sleep"), "600"])
    try:
        cache.prepare(Thing("new"), jobs)
        assert len(left(own_cache)) == 2
        assert os.path.exists(f"/proc/{user.pid}/exe")
    finally:
        user.kill()
        user.wait()
    cache.prepare(Thing("new"), jobs)
    assert left(own_cache) == ["thing"]


def test_jobs_are_never_more_than_were_granted(own_cache):
    jobs, running, most = cache.Jobs(2), [], []

    def work():
        with jobs.one():
            running.append(1)
            most.append(len(running))
            time.sleep(0.02)
            running.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 8 and max(most) <= 2
