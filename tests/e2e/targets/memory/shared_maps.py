# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Memory that is not the process' own: of files, and shared. None of it counts, but private copies."""
import mmap
import os
import tempfile

from book import CHUNK, MIB, PAGE, PATTERN, kept, pace, took


def reads_file_map(fd, size):
    memory = mmap.mmap(fd, size, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
    for at in range(0, size, PAGE):
        memory[at]
    kept.append(memory)
    took(0)


def writes_file_map(fd, size):
    memory = mmap.mmap(fd, size, flags=mmap.MAP_SHARED)
    for at in range(0, size, CHUNK):
        memory[at:at + CHUNK] = PATTERN
    kept.append(memory)
    took(0)


def writes_shared(size):
    memory = mmap.mmap(-1, size)        # shared: a child would see it
    for at in range(0, size, CHUNK):
        memory[at:at + CHUNK] = PATTERN
    kept.append(memory)
    took(0)


def copies_file_map(fd, size):
    """A private mapping of a file: each first write makes a copy."""
    memory = mmap.mmap(fd, size, flags=mmap.MAP_PRIVATE)
    for at in range(0, size, CHUNK):
        memory[at:at + CHUNK] = PATTERN
        pace(CHUNK)
    kept.append(memory)
    took(size)


def run(mib=16):
    size = mib * MIB
    with tempfile.TemporaryFile(dir=os.environ["TARGET_SCRATCH"], buffering=0) as f:
        f.truncate(size)
        for function in (reads_file_map, writes_file_map):
            function(f.fileno(), size)
        writes_shared(size)
        copies_file_map(f.fileno(), size // 2)
