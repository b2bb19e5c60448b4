# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--allocations against a library that keeps a book of what it allocates: to the byte."""
import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from processes import TIMEOUT, kill

PROGRAM = Path(os.environ["TACHBPF"]).parent / "tests/bpf/heap_program"
HERE = Path(__file__).parent
MIN = 512

# Answers each line with one: what it has called is over then.
TARGET = """
import ctypes, sys
work = ctypes.CDLL(sys.argv[1])
def in_python(name, *args):
    return getattr(work, name)(*args)
print("ready", flush=True)
for line in sys.stdin:
    name, *args = line.split()
    print(in_python(name, *(int(a) if a.isdigit() else a.encode() for a in args)), flush=True)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("heap") / "heap_work.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", path, HERE / "heap_work.c", "-lpthread"], check=True)
    return path


class Lines:
    """A program that answers lines."""

    def __init__(self, *command):
        self.process = subprocess.Popen(list(map(str, command)), text=True, start_new_session=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        kill(self.process)

    def line(self):
        return self.process.stdout.readline().strip()

    def call(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        return self.line()


class Heap(Lines):
    """heap_program."""

    def __init__(self, pid, least=MIN, how="force"):
        super().__init__(PROGRAM, pid, least, how)
        assert self.line() == "recording"

    def end(self):
        """{address: (bytes, function)}; allocations and frees that were seen."""
        self.process.stdin.close()
        *lines, last = self.process.stdout.read().splitlines()
        assert self.process.wait(TIMEOUT) == 0
        _, allocs, frees, wrong = last.split()
        assert wrong == "0", last
        blocks = (line.split(" ", 2) for line in lines)
        return {int(a, 16): (int(n), f) for a, n, f in blocks}, int(allocs), int(frees)


@pytest.fixture
def target(library):
    with Lines(sys.executable, "-c", TARGET, library) as t:
        assert t.line() == "ready"
        yield t


def book_of(target, tmp_path, least=MIN, maps=True):
    path = tmp_path / "book"
    assert target.call("heap_book", path, least) == "0"
    rows = (line.split() for line in path.read_text().splitlines())
    return {int(a, 16): int(n) for a, n, mapped in rows if maps or mapped == "0"}


def compare(live, book):
    """Each block of the book is recorded to the byte, and no other of its functions."""
    wrong = {hex(a): (n, live.get(a)) for a, n in book.items() if live.get(a, (0,))[0] != n}
    assert not wrong, f"{len(wrong)} of {len(book)}: {dict(list(wrong.items())[:5])}"
    extra = {hex(a): row for a, row in live.items()
             if a not in book and (row[1] == "in_python" or row[1].startswith("<native thread"))}
    return extra


@pytest.mark.parametrize("threads", (1, 4))
def test_every_block_to_the_byte(target, tmp_path, threads):
    target.call("heap_work", 1, 1)      # what ctypes and the threads need once
    with Heap(target.pid) as heap:
        target.call("heap_work", threads, 4000)
        book = book_of(target, tmp_path)
        live, allocs, frees = heap.end()
    assert len(book) > 100 * threads and frees > len(book) and allocs > frees
    extra = compare(live, book)
    # pthread_create() keeps some bytes for a thread, and stdio for the book's file
    assert len(extra) <= 3 * threads, extra


def test_blocks_of_one_byte(target, tmp_path):
    with Heap(target.pid, least=1) as heap:
        target.call("heap_work", 1, 2000)
        book = book_of(target, tmp_path, 1)
        live, _, _ = heap.end()
    compare(live, book)


def test_what_was_there_before_sends_no_free(target, tmp_path):
    target.call("heap_work", 1, 4000)
    before = book_of(target, tmp_path, maps=False)
    with Heap(target.pid) as heap:
        target.call("heap_work", 1, 4000)
        # mremap() of a mapping that is not recorded brings none that is
        book = book_of(target, tmp_path, maps=False)
        live, _, _ = heap.end()
    compare(live, {a: n for a, n in book.items() if before.get(a) != n})


def first_bytes(pid, address):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as f:
        f.seek(address)
        return f.read(16)


def maps_of(pid):
    """(first address, last address, offset, path)"""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        fields = line.split(None, 5)
        first, last = (int(n, 16) for n in fields[0].split("-"))
        yield first, last, int(fields[2], 16), fields[5] if len(fields) > 5 else ""


def malloc_address(pid):
    """Where this process has malloc(): its libc is ours, at another address."""
    own = ctypes.cast(ctypes.CDLL("libc.so.6").malloc, ctypes.c_void_p).value
    first, _, offset, path = next(m for m in maps_of("self") if m[0] <= own < m[1])
    return next(m[0] for m in maps_of(pid) if m[2:] == (offset, path)) + own - first


def test_kill_9_leaves_no_probe(target, library):
    with Lines(sys.executable, "-c", TARGET, library) as other:
        assert other.line() == "ready"
        places = {t.pid: malloc_address(t.pid) for t in (target, other)}
        before = {pid: first_bytes(pid, place) for pid, place in places.items()}
        heap = Heap(target.pid)
        probed = first_bytes(target.pid, places[target.pid])
        assert probed != before[target.pid]
        assert first_bytes(other.pid, places[other.pid]) == before[other.pid]
        heap.process.kill()
        heap.process.wait(TIMEOUT)
        end = time.monotonic() + TIMEOUT
        while first_bytes(target.pid, places[target.pid]) != before[target.pid]:
            assert time.monotonic() < end, "the probe is still there"
        assert target.call("heap_work", 2, 1000)


def test_a_forked_child_is_not_recorded(target, tmp_path):
    with Heap(target.pid) as heap:
        target.call("heap_work", 1, 1000)
        assert target.call("heap_fork", 3000) == "0"
        book = book_of(target, tmp_path)
        live, _, _ = heap.end()
    compare(live, book)


def test_a_hundred_thousand_blocks(target):
    with Heap(target.pid) as heap:
        target.call("heap_many", 100_000, 600)
        live, _, _ = heap.end()
    assert sum(row == (600, "in_python") for row in live.values()) == 100_000


def test_what_would_cost_too_much_is_sampled(target):
    """In bursts, which a program that allocates all the time survives. One that does not is recorded whole."""
    with Lines(sys.executable, "-c", "while True: [bytes(1000) for i in range(9)]") as busy:
        with Heap(busy.pid, how="judge") as heap:
            time.sleep(0.2)     # of the first burst
            _, allocs, frees = heap.end()
        assert allocs > 0 and frees > 0
        assert busy.process.poll() is None
    with Heap(target.pid, how="judge") as heap:
        target.call("heap_many", 100, 600)
        live, _, _ = heap.end()
    assert sum(row == (600, "in_python") for row in live.values()) == 100
