# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""deny.py SYSCALL COMMAND...: run a command under a seccomp filter that lets one call fail with EPERM."""
import ctypes
import errno
import os
import platform
import struct
import sys

NUMBERS = {"x86_64": {"bpf": 321, "perf_event_open": 298, "process_vm_readv": 310,
                      "socketpair": 53, "memfd_create": 319, "pidfd_open": 434, "prctl": 157,
                      "capset": 126, "seccomp": 317},
           "aarch64": {"bpf": 280, "perf_event_open": 241, "process_vm_readv": 270,
                       "socketpair": 199, "memfd_create": 279, "pidfd_open": 434, "prctl": 167,
                       "capset": 91, "seccomp": 277}}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
RET_ALLOW, RET_ERRNO = 0x7fff0000, 0x00050000
LD_NR, JEQ, RET = 0x20, 0x15, 0x06


def main():
    number = NUMBERS[platform.machine()][sys.argv[1]]
    code = b"".join(struct.pack("HBBI", *i) for i in (
        (LD_NR, 0, 0, 0), (JEQ, 0, 1, number), (RET, 0, 0, RET_ERRNO | errno.EPERM),
        (RET, 0, 0, RET_ALLOW)))
    buffer = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None, use_errno=True)
    # without no_new_privs, which root does not need: the profiler keeps its capabilities
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")
    os.execvp(sys.argv[2], sys.argv[2:])


main()
