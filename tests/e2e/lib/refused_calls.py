# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A command whose system calls of one number fail with EPERM, as container runtimes do: linux/filter.h,
linux/seccomp.h."""

CODE = """
import ctypes, os, platform, struct, sys
number = %r[platform.machine()]
rows = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *r) for r in rows))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(rows), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
if os.geteuid():
    assert not libc.prctl(38, 1, 0, 0, 0)
assert not libc.prctl(22, 2, program, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def prefix(**numbers):
    """Words before the command. numbers: of the call on each machine, x86_64= and aarch64=."""
    return ["/usr/bin/python3", "-c", CODE % numbers]
