# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Four threads that touch memory at the same time, each in a function of its own."""
import threading

from book import CHUNK, MIB, PATTERN, kept, pace, private, took


def first_thread(size):
    memory = private(size)
    for at in range(0, size, CHUNK):
        memory[at:at + CHUNK] = PATTERN
        pace(CHUNK)
    kept.append(memory)
    took(size)


def second_thread(size):
    memory = private(size)
    for at in range(0, size, CHUNK):
        memory[at:at + CHUNK] = PATTERN
        pace(CHUNK)
    kept.append(memory)
    took(size)


def third_thread(size):
    memory = private(size)
    for at in range(0, size, CHUNK):
        memory[at:at + CHUNK] = PATTERN
        pace(CHUNK)
    kept.append(memory)
    took(size)


def ends_early(size):
    """Its memory outlives it."""
    memory = private(size)
    for at in range(0, size, CHUNK):
        memory[at:at + CHUNK] = PATTERN
        pace(CHUNK)
    kept.append(memory)
    took(size)


def run(mib=8):
    """Sizes differ, so that one cannot pass for another."""
    threads = [threading.Thread(target=function, name=function.__name__, args=(size * MIB,))
               for function, size in ((first_thread, mib), (second_thread, 2 * mib),
                                      (third_thread, 3 * mib), (ends_early, max(1, mib // 2)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
