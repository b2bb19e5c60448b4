# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""hostile_code.py WHAT ARGUMENT...: a Python whose machine code is a trap for who unwinds or names it.

Says "ready" and burns CPU for ever, below burn_below(). WHAT is a function of this file.
"""
import ctypes
import mmap
import os
import shutil
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.dlopen.restype = ctypes.c_void_p
libc.dlclose.argtypes = [ctypes.c_void_p]
READ_EXEC, PRIVATE = 5, mmap.MAP_PRIVATE
FAILED = ctypes.c_void_p(-1).value


def spin():
    for i in range(1000):
        i & 3


def burn_below(turn=spin):
    print("ready", flush=True)
    while True:
        turn()


def libraries(*paths):
    """Code of each is executed in turn: its function calls Python, which burns."""
    callback = ctypes.PYFUNCTYPE(None)(spin)
    functions = []
    for path in paths:
        try:
            functions.append(ctypes.PyDLL(path).call_it)
        except OSError:         # the dynamic linker does not want it
            pass
    functions = [f for f in functions if f]

    def turn():
        for f in functions:
            f(callback)
    burn_below(turn)


def loading(path):
    """Loads a library, calls it, unloads it; again and again."""
    callback = ctypes.PYFUNCTYPE(None)(spin)

    def turn():
        handle = libc.dlopen(path.encode(), 2)
        ctypes.PyDLL(None, handle=handle).call_it(callback)
        libc.dlclose(handle)
    burn_below(turn)


def mapping(path):
    """A thread maps and unmaps code without end."""
    fd = os.open(path, os.O_RDONLY)
    size = os.fstat(fd).st_size & ~4095

    def churn():
        while True:
            found = [libc.mmap(None, size, READ_EXEC, PRIVATE, fd, 0) for _ in range(20)]
            for address in found:
                libc.munmap(address, size)
    threading.Thread(target=churn, daemon=True).start()
    burn_below()


def many(path, number):
    """Maps so many pages with code, none beside its neighbour in the file, as it may have."""
    fd = os.open(path, os.O_RDONLY)
    pages = os.fstat(fd).st_size // 4096
    for i in range(int(number)):
        if libc.mmap(None, 4096, READ_EXEC, PRIVATE, fd, i * 2 % pages * 4096) == FAILED:
            break
    burn_below()


def shrinking(path):
    """Maps a library of its own, which a thread cuts and restores."""
    whole = open(path, "rb").read()
    mine = path + ".shrinks"
    shutil.copy(path, mine)
    fd = os.open(mine, os.O_RDWR)
    assert libc.mmap(None, len(whole), READ_EXEC, PRIVATE, fd, 0) != FAILED

    def churn():
        i = 0
        while True:
            i += 1
            os.ftruncate(fd, i * 4099 % len(whole))
            time.sleep(0.001)
            os.pwrite(fd, whole, 0)
    threading.Thread(target=churn, daemon=True).start()
    burn_below()


def perf_map(what):
    """Code that is in no file, and a perf map that is not what it should be."""
    from_x86 = b"\x55\x48\x89\xe5\xff\xd7\x5d\xc3"
    from_arm = (b"\xfd\x7b\xbf\xa9\xfd\x03\x00\x91\x00\x00\x3f\xd6\xfd\x7b\xc1\xa8"
                b"\xc0\x03\x5f\xd6")
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(from_x86 if os.uname().machine == "x86_64" else from_arm)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    path = "/tmp/perf-%d.map" % os.getpid()
    line = "%x 100 secret_name\n" % address
    if what == "symlink":
        with open(path + ".target", "w") as f:
            f.write(line)
        os.symlink(path + ".target", path)
    elif what == "fifo":
        os.mkfifo(path)
    elif what == "foreign":
        with open(path, "w") as f:
            f.write(line)
        os.chown(path, 65534, 65534)
    elif what == "huge":
        with open(path, "w") as f:
            f.write(line)
            f.truncate(1 << 30)
    callback = ctypes.CFUNCTYPE(None)(lambda: burn_below())
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(ctypes.cast(callback, ctypes.c_void_p))


globals()[sys.argv[1]](*sys.argv[2:])
