# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""calls.py USER CPU_S LIBRARY...: as this user (0: as now), calls hot() of each library in turn, for so much CPU time.

Says "ready" when it has loaded them, and begins at a line on its standard input.
"""
import ctypes
import os
import sys
import time

user, cpu_s, libraries = int(sys.argv[1]), float(sys.argv[2]), [ctypes.CDLL(path) for path in sys.argv[3:]]
if user:
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
print("ready", flush=True)
sys.stdin.readline()
end = time.process_time() + cpu_s
while time.process_time() < end:
    for library in libraries:
        library.hot()
