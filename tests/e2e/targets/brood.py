# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Start short-lived Pythons, some at a time, and say what each of them did.

    python brood.py OUT COUNT PARALLEL MILLISECONDS [spawn|fork]

spawn starts "python -S -E chick.py" (vfork and exec where this CPython does so),
fork forks this process. OUT gets one line per child: pid, CPU ns burnt in the
known function.
"""
import os
import subprocess
import sys
import time

started = []    # kept: a Popen that is forgotten reaps its process


def burn_known(cpu_ms):
    end = time.process_time() + cpu_ms / 1e3
    while time.process_time() < end:
        pass


def life(out, cpu_ms):
    """Burn, and append what was burnt: one write is atomic."""
    start = time.process_time()
    burn_known(cpu_ms)
    burnt = int((time.process_time() - start) * 1e9)
    fd = os.open(out, os.O_WRONLY | os.O_APPEND)
    os.write(fd, b"%d %d\n" % (os.getpid(), burnt))
    os.close(fd)


def start(out, cpu_ms, how):
    if how == "spawn":
        started.append(subprocess.Popen([sys.executable, "-S", "-E", __file__, out, cpu_ms]))
    elif not os.fork():
        life(out, float(cpu_ms))
        os._exit(0)


def main(out, count, parallel, cpu_ms, how="spawn"):
    open(out, "w").close()
    living = 0
    for _ in range(int(count)):
        if living == int(parallel):
            os.wait()
            living -= 1
        start(out, cpu_ms, how)
        living += 1
    while living:
        os.wait()
        living -= 1


if __name__ == "__main__":
    if len(sys.argv) == 3:
        life(sys.argv[1], float(sys.argv[2]))
    else:
        main(*sys.argv[1:])
