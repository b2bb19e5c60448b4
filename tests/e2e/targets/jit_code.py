# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""jit_code.py SECONDS [MAP]: Python calls machine code that is in no file, which calls Python again.

MAP "map": names it in /tmp/perf-PID.map. Says "ready", then burns CPU below that code.
"""
import ctypes
import mmap
import os
import platform
import sys
import time

CODE = {
    # push rbp; mov rbp, rsp; call rdi; pop rbp; ret
    "x86_64": b"\x55\x48\x89\xe5\xff\xd7\x5d\xc3",
    # stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret
    "aarch64": b"\xfd\x7b\xbf\xa9\xfd\x03\x00\x91\x00\x00\x3f\xd6\xfd\x7b\xc1\xa8\xc0\x03\x5f\xd6",
}[platform.machine()]


def burn_below_code():
    end = time.process_time() + float(sys.argv[1])
    while time.process_time() < end:
        for i in range(1000):
            i & 3


def call_code(function, callback):
    function(callback)


def main():
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(CODE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if sys.argv[2:] == ["map"]:
        with open("/tmp/perf-%d.map" % os.getpid(), "w") as names:
            names.write("%x %x made_up_code\n" % (address, len(CODE)))
    callback = ctypes.CFUNCTYPE(None)(burn_below_code)
    print("ready", flush=True)
    call_code(ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address),
              ctypes.cast(callback, ctypes.c_void_p))


main()
