# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What can be done to a mapping: touched, dropped, touched again, moved, only read, taken away."""
import resource
import sys
import sysconfig

from book import CHUNK, MIB, PAGE, PATTERN, account, gave, kept, pace, private, skipped, took

try:
    import ctypes
except ImportError:
    ctypes = None
MADV_DONTNEED = 4


def drop(memory, begin, size):
    """madvise(MADV_DONTNEED), which module mmap has from 3.8 on. False: not here."""
    if hasattr(memory, "madvise"):
        memory.madvise(MADV_DONTNEED, begin, size)
        return True
    if not ctypes:
        return False
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return libc.madvise(address + begin, size, MADV_DONTNEED) == 0


def fills(size):
    memory = private(size)
    for at in range(0, size, CHUNK):
        memory[at:at + CHUNK] = PATTERN
        pace(CHUNK)
    kept.append(memory)
    took(size)
    return memory


def touches_again(memory, size):
    for at in range(0, size, CHUNK):
        memory[at:at + CHUNK] = PATTERN
        pace(CHUNK)
    took(size)


def unmaps(size):
    memory = private(size)
    for at in range(0, size, CHUNK):
        memory[at:at + CHUNK] = PATTERN
        pace(CHUNK)
    took(size)
    memory.close()
    gave(unmaps, size)


def moves(size):
    """It grows behind another mapping, so mremap() moves it: the pages stay its own."""
    memory, step = private(CHUNK), CHUNK
    for at in range(0, size, step):
        if at + step > len(memory):
            kept.append(private(PAGE))          # takes the place next to it, most of the time
            memory.resize(2 * len(memory))
        memory[at:at + step] = PATTERN
        pace(step)
    kept.append(memory)
    took(size)


def grows_by_realloc(size):
    """A list of one number, which realloc() lets grow: mremap() in glibc; musl copies, so pages are counted."""
    numbers, faults = [], resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    while len(numbers) < size // 8:
        numbers.extend((1,) * 8192)
        pace(65536)
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
    kept.append(numbers)
    account(sys._getframe().f_code, faults * PAGE, size)


def reads_zeros(size):
    """Pages that nobody wrote to are the kernel's page of zeros: none of them is the process' own."""
    memory = private(size)
    for at in range(0, size, PAGE):
        memory[at]
    kept.append(memory)
    took(0)


def reads_and_writes(size):
    """Two faults a page, of which the second brings it. If nobody has looked in between, the first may have
    brought one, too, that was taken away again."""
    memory = private(size)
    for at in range(0, size, PAGE):
        memory[at]
    for at in range(0, size, CHUNK):
        memory[at:at + CHUNK] = PATTERN
        pace(CHUNK)
    kept.append(memory)
    took(size, most=2 * size)


def run(mib=8):
    size = mib * MIB
    memory = fills(size)
    if drop(memory, 0, size // 2):
        gave(fills, size // 2)
        touches_again(memory, size // 4)
    else:
        skipped.append("madvise()")
    unmaps(size)
    try:
        moves(size)
    except (SystemError, ValueError) as error:     # a build without mremap()
        skipped.append("mmap.resize(): %s" % error)
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        skipped.append("realloc(): another allocator, which copies")
    else:
        grows_by_realloc(size)
    reads_zeros(size)
    reads_and_writes(size // 2)
