# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""traps.py NAME: memory that a profiler of memory must survive. CPython 3.8 and later, with ctypes.

It says "ready", waits for a line, does its work, says "done WORDS" and waits for the end of its input; or
it works until it is killed.
"""
import ctypes
import mmap
import os
import select
import sys
import threading
import time

MIB, GIB, PAGE = 1 << 20, 1 << 30, mmap.PAGESIZE
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
MAP_NORESERVE = 0x4000
PROT_READ_WRITE = 3
MADV_DONTNEED, MADV_MERGEABLE, MADV_PAGEOUT = 4, 12, 21
SYS_USERFAULTFD = {"x86_64": 323, "aarch64": 282}
UFFDIO_API, UFFDIO_REGISTER = 0xC018AA3F, 0xC020AA00
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long)
kept = []


def done(*words):
    print("done", *words, flush=True)
    sys.stdin.readline()


def storm():
    """Faults as fast as they come, and each page is given back."""
    memory, rounds = mmap.mmap(-1, MIB, flags=PRIVATE), 0
    pattern = b"\1" * MIB
    end = time.monotonic() + 3
    begin = time.process_time()
    while time.monotonic() < end:
        memory[:] = pattern
        memory.madvise(MADV_DONTNEED)
        rounds += 1
    done(rounds, time.process_time() - begin)


def silent():
    """A thread touches pages that userfaultfd never fills; the others go on."""
    fd = libc.syscall(SYS_USERFAULTFD[os.uname().machine], os.O_CLOEXEC)
    if fd < 0:
        return done("denied")
    size = 64 * PAGE
    address = libc.mmap(None, size, PROT_READ_WRITE, PRIVATE, -1, 0)
    api = (ctypes.c_uint64 * 3)(0xAA, 0, 0)
    register = (ctypes.c_uint64 * 4)(address, size, 1, 0)
    if libc.ioctl(fd, ctypes.c_ulong(UFFDIO_API), api) or \
            libc.ioctl(fd, ctypes.c_ulong(UFFDIO_REGISTER), register):
        return done("denied")
    threading.Thread(target=ctypes.memset, args=(address, 1, size), daemon=True).start()
    grows_beside(16)
    done("waiting")


def grows_beside(mib):
    for _ in range(mib):
        kept.append(b"\1" * MIB)
        time.sleep(0.02)


def sparse():
    """Four TiB that nobody has room for, one page touched in each GiB."""
    size = 4096 * GIB
    address = libc.mmap(None, size, PROT_READ_WRITE, PRIVATE | MAP_NORESERVE, -1, 0)
    assert address and address != ctypes.c_void_p(-1).value
    for at in range(0, size, GIB):
        touches_sparse(address + at)
    done(size // GIB)


def touches_sparse(address):
    ctypes.memset(address, 1, 1)


def mappings():
    """Ten thousand mappings, a page each; neighbours differ, so that they stay apart."""
    for i in range(10000):
        prot = mmap.PROT_READ | mmap.PROT_WRITE | (mmap.PROT_EXEC if i % 2 else 0)
        touches_mapping(mmap.mmap(-1, PAGE, flags=PRIVATE, prot=prot))
    done(len(kept))


def touches_mapping(memory):
    memory[0] = 1
    kept.append(memory)


def merged():
    """Equal pages, which the kernel makes one where KSM runs."""
    memory = mmap.mmap(-1, 32 * MIB, flags=PRIVATE)
    memory.madvise(MADV_MERGEABLE)
    touches_equal(memory)
    done()


def touches_equal(memory):
    for at in range(0, len(memory), MIB):
        memory[at:at + MIB] = b"\1" * MIB
        time.sleep(0.005)


def paged_out():
    """Memory that goes to the swap device; where there is none, it stays."""
    memory = mmap.mmap(-1, 32 * MIB, flags=PRIVATE)
    touches_equal(memory)
    memory.madvise(MADV_PAGEOUT)
    kept.append(memory)
    with open("/proc/self/status") as f:
        done(*[line.split()[1] for line in f if line.startswith("VmSwap")])


def without_end():
    """Until the limit of its control group ends it."""
    while True:
        kept.append(b"\1" * MIB)
        time.sleep(0.01)


def crowd():
    """Five hundred processes that end at once; ten kinds of programs cannot be told from one."""
    for _ in range(500):
        pid = os.fork()
        if pid == 0:
            block = b"\1" * (256 * 1024)
            os._exit(len(block) & 1)
        os.waitpid(pid, 0)
    done(500)


def waits_to_be_known():
    """A page now and then until it hears that the recording has some; then 8 MiB."""
    while not select.select([sys.stdin], [], [], 0.001)[0]:
        touches_a_page()
    sys.stdin.readline()
    touches_once()
    done()


def touches_once():
    kept.append(b"\1" * (8 * MIB))


def touches_a_page():
    kept.append(b"\1" * PAGE)


def main():
    print("ready", flush=True)
    if sys.stdin.readline():
        globals()[sys.argv[1]]()


main()
