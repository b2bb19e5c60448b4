# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""split_code.py HOW DIRECTORY: changes how a library is mapped, says "ready", and burns in its function.

HOW: what is done with the pages of the function: mprotect, mlock, madvise (nothing is written);
hook (written with the same bytes, as by a library that patches functions), hooks (again and again),
writable (and left so), copied (to memory in place of the library's code), deleted (the library's
file), memfd (the library is in memory), plain.
"""
import ctypes
import os
import shutil
import sys
import threading
import time

READ, WRITE, EXEC = 1, 2, 4
PRIVATE, ANONYMOUS = 2, 32
ITS_OWN = os.RTLD_LOCAL | os.RTLD_DEEPBIND      # it calls its own functions, not the other zlib's
PAGE = os.sysconf("SC_PAGESIZE")
libc = ctypes.CDLL(None)
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
for name in ("mprotect", "mlock", "madvise"):
    getattr(libc, name).argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int][:2 + (name != "mlock")]


def mapped(path):
    """The (address, length) of the code of a file."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            words = line.split(maxsplit=5)
            if words[1].startswith("r-x") and words[-1].strip().startswith(path):
                first, end = (int(x, 16) for x in words[0].split("-"))
                return first, end - first
    raise SystemExit(path + " is not mapped")


def write(page):
    """The same bytes: the page is a copy of its own afterwards."""
    libc.mprotect(page, PAGE, READ | WRITE | EXEC)
    first = ctypes.c_ubyte.from_address(page)
    first.value = first.value


def hook(page):
    write(page)
    libc.mprotect(page, PAGE, READ | EXEC)


def hook_again_and_again(pages):
    for page in pages:
        hook(page)
        time.sleep(0.005)


def copy(start, length):
    memory = libc.mmap(None, length, READ | WRITE, PRIVATE | ANONYMOUS, -1, 0)
    ctypes.memmove(memory, start, length)
    libc.mprotect(memory, length, READ | EXEC)
    assert libc.mremap(memory, length, length, 3, start) == start


def zlib_path():
    with open("/proc/self/maps") as maps:
        return next(line.split()[-1] for line in maps if "/libz.so" in line)


def load(how, directory):
    """A copy of zlib, so that nothing else is in it. Returns it and the path in its mappings."""
    ctypes.CDLL("libz.so.1")
    if how == "memfd":
        fd = os.memfd_create("code")
        with open(zlib_path(), "rb") as source:
            os.write(fd, source.read())
        return ctypes.CDLL("/proc/self/fd/%d" % fd, ITS_OWN), "/memfd:code"
    path = os.path.join(directory, "libcopy.so")
    shutil.copy(zlib_path(), path)
    try:
        return ctypes.CDLL(path, ITS_OWN), path
    finally:
        if how == "deleted":
            os.unlink(path)


def treat(how, page, start, length):
    if how == "mprotect":
        libc.mprotect(page, PAGE, READ | WRITE | EXEC)
        libc.mprotect(page, PAGE, READ | EXEC)
    elif how == "mlock":
        libc.mlock(page, PAGE)
    elif how == "madvise":
        libc.madvise(page, PAGE, 10)        # MADV_DONTFORK
    elif how == "hook":
        hook(page)
    elif how == "hooks":
        pages = range(start, start + length, PAGE)
        threading.Thread(target=hook_again_and_again, args=(list(pages) * 1000,), daemon=True).start()
    elif how == "writable":
        write(page)
    elif how == "copied":
        copy(start, length)


def burn(function, data):
    while True:
        function(0, data, len(data))


def main(how, directory):
    library, path = load(how, directory)
    start, length = mapped(path)
    function = library.crc32_z
    page = ctypes.cast(function, ctypes.c_void_p).value & -PAGE
    treat(how, page, start, length)
    print("ready", flush=True)
    burn(function, b"x" * 2000000)


main(*sys.argv[1:])
