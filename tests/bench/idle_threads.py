# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""idle_threads.py N: a process whose N threads wait for what never comes."""
import sys
import threading


def wait():
    threading.Event().wait()


for _ in range(int(sys.argv[1])):
    threading.Thread(target=wait, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
