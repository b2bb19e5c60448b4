# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""touch.py: touches pages of private memory, in functions that it names by their code objects.

Each line of input is an order, and its answer a line of JSON: the minor faults that the kernel counted
meanwhile, and what the order says.
  codes              addresses of the code objects of page_0 ... page_9, odd, even, reading
  shares PAGES PACE  page_I touches I + 1 of 55 pages, in random order; it sleeps after each PACE pages
  loop STEP PAGES    of each STEP pages odd touches one and even the others, one after the other
  read PAGES         reading reads /dev/zero into so many untouched pages: the kernel touches them
  move BYTES NEW     mremap() of so many bytes: where from, where to
  idle               a system call that touches nothing
"""
import ctypes
import json
import mmap
import random
import resource
import sys
import time

PAGE = mmap.PAGESIZE
ROOM = 4096             # pages touched before all are given back
MADV_NOHUGEPAGE, MADV_DONTNEED = 15, 4
MREMAP_MAYMOVE = 1

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
libc.mremap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int)
libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def private(size):
    at = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    libc.madvise(at, size, MADV_NOHUGEPAGE)
    return at, (ctypes.c_char * size).from_address(at)


AT, MEMORY = private(ROOM * PAGE)
TOUCH = [compile(f"def page_{i}(at): MEMORY[at] = 1", "touch.py", "exec") for i in range(10)]
for made in TOUCH:
    exec(made)
PAGES = [globals()[f"page_{i}"] for i in range(10)]


def odd(at):
    MEMORY[at] = 1


def even(at):
    MEMORY[at] = 1


def reading(zero, view):
    return zero.readinto(view)


def give_back():
    libc.madvise(AT, ROOM * PAGE, MADV_DONTNEED)


def codes():
    named = {f.__name__: f for f in [*PAGES, odd, even, reading]}
    return {name: id(f.__code__) for name, f in named.items()}


def shares(pages, pace):
    done = dict.fromkeys((f.__name__ for f in PAGES), 0)
    for _ in range(pages // ROOM):
        for at, touch in enumerate(random.choices(PAGES, weights=range(1, 11), k=ROOM)):
            touch(at * PAGE)
            done[touch.__name__] += 1
            if at % pace == 0:
                time.sleep(0.005)
        give_back()
    return done


def loop(step, pages):
    at, done = 0, {"odd": 0, "even": 0}
    for n in range(pages):
        if n % step:
            even(at)
            done["even"] += 1
        else:
            odd(at)
            done["odd"] += 1
        at += PAGE
        if at == ROOM * PAGE:
            give_back()
            at = 0
    give_back()
    return done


def read(pages):
    view = memoryview(MEMORY).cast("B")
    with open("/dev/zero", "rb", buffering=0) as zero:
        got = reading(zero, view[:pages * PAGE])
    give_back()
    return {"reading": got // PAGE}


def move(size, new):
    at, memory = private(size)
    libc.mmap(ctypes.c_void_p(at + size), PAGE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    memory[0] = 1
    return {"from": at, "to": libc.mremap(at, size, new, MREMAP_MAYMOVE)}


def idle():
    return {}


ORDERS = {f.__name__: f for f in (codes, shares, loop, read, move, idle)}


def main():
    print("ready", flush=True)
    for line in sys.stdin:
        name, *words = line.split()
        if name == "go":
            continue
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        answer = ORDERS[name](*map(int, words))
        answer["faults"] = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        print(json.dumps(answer), flush=True)


main()
