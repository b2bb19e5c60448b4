# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Blocks of the C library's allocator, for the exact mode: each function knows its bytes one by one.

Blocks below 512 bytes are none of the account. realloc() is a free and a new block. Blocks that are
kept go into a list that has its size from the start: nothing else is allocated here.
"""
import ctypes
import sys
import sysconfig
import threading

from book import account, kept, skipped

LEAST = 512
libc = ctypes.CDLL(None)
for name, restype, argtypes in (
        ("malloc", ctypes.c_void_p, (ctypes.c_size_t,)),
        ("calloc", ctypes.c_void_p, (ctypes.c_size_t, ctypes.c_size_t)),
        ("realloc", ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_size_t)),
        ("aligned_alloc", ctypes.c_void_p, (ctypes.c_size_t, ctypes.c_size_t)),
        ("posix_memalign", ctypes.c_int, (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)),
        ("free", None, (ctypes.c_void_p,))):
    getattr(libc, name).restype, getattr(libc, name).argtypes = restype, argtypes

COUNT = 200
SIZES = [100 + 37 * i for i in range(COUNT)]    # some below LEAST
ONES = [size + 1 for size in SIZES]


def enter(function, allocated, freed=0):
    account(function.__code__, allocated, allocated - freed)


def counted(sizes):
    return sum(size for size in sizes if size >= LEAST)


def mallocs(room):
    for i in range(COUNT):
        room[i] = libc.malloc(SIZES[i])


def callocs(room):
    for i in range(COUNT):
        room[i] = libc.calloc(2, SIZES[i])


def reallocs(room):
    """Larger, step by step: some in place, some not, the last by mremap()."""
    block, size = libc.malloc(1000), 1000
    for _ in range(12):
        size *= 2
        block = libc.realloc(block, size)
    room[0] = block


def aligns(room):
    for i in range(COUNT):
        room[i] = libc.aligned_alloc(64, 64 * (i + 8))


def memaligns(room, place):
    for i in range(COUNT):
        assert libc.posix_memalign(place, 4096, ONES[i]) == 0
        room[i] = place[0]


def mallocs_and_frees():
    """Nothing stays, at addresses that are used again and again."""
    for i in range(COUNT):
        libc.free(libc.malloc(SIZES[i]))


def frees_half(room):
    for i in range(0, COUNT, 2):
        libc.free(room[i])


def in_threads(rooms, number):
    room = rooms[number]
    for i in range(COUNT):
        room[i] = libc.malloc(ONES[i])


def makes_bytes(room):
    for i in range(COUNT):
        room[i] = bytes(ONES[i])


def fails():
    """No block: no bytes."""
    for _ in range(10):
        assert libc.malloc(1 << 62) is None


def room():
    kept.append([None] * COUNT)
    return kept[-1]


def play_simple():
    blocks = room()
    mallocs(blocks)
    enter(mallocs, counted(SIZES), counted(SIZES[::2]))
    frees_half(blocks)
    callocs(room())
    enter(callocs, counted(2 * size for size in SIZES))
    reallocs(room())
    grown = [1000 << i for i in range(13)]
    enter(reallocs, sum(grown), sum(grown[:-1]))
    aligns(room())
    enter(aligns, counted(64 * (i + 8) for i in range(COUNT)))
    memaligns(room(), (ctypes.c_void_p * 1)())
    enter(memaligns, counted(ONES))
    mallocs_and_frees()
    enter(mallocs_and_frees, counted(SIZES), counted(SIZES))
    fails()
    enter(fails, 0)


def run():
    play_simple()
    rooms = [room() for _ in range(4)]
    threads = [threading.Thread(target=in_threads, args=(rooms, i)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    enter(in_threads, 4 * counted(ONES))
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        skipped.append("bytes: another allocator")
        return
    filled = room()
    makes_bytes(filled)
    enter(makes_bytes, counted(map(sys.getsizeof, filled)))
