# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""conmon.py -c ID -n NAME -b BUNDLE PATH READY: a process that says that it is a container's monitor.

As fuse_server.py's PROGRAM: it writes a byte to the descriptor READY. Its child is a Python that uses
the CPU for ever; a profiler that wants the name of its container reads our arguments.
"""
import ctypes
import os
import sys

PR_SET_NAME = 15


def main():
    path, ready = sys.argv[-2:]
    assert os.path.exists(path)
    ctypes.CDLL(None).prctl(PR_SET_NAME, b"conmon", 0, 0, 0)
    if not os.fork():
        while True:
            sum(range(1000))
    os.write(int(ready), b"r")
    os.wait()


if __name__ == "__main__":
    main()
