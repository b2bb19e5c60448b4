# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Start short-lived Pythons, some at a time, and say what each of them did.

    python brood.py OUT COUNT PARALLEL MILLISECONDS [spawn|fork|both|shell] [SECONDS]

spawn starts "python -S -E brood.py" (vfork and exec where this CPython does so),
fork forks this process, shell is as spawn by way of a shell that becomes Python after
0 to some milliseconds. SECONDS: spread over so long, by the clock. OUT gets one line
per child: pid, CPU ns burnt in burn_known(), and the name of what ran it: each forked
child makes that by exec, all at the same addresses, with the same first line.
"""
import os
import subprocess
import sys
import time

SHELL = 'i=0; while [ $i -lt $0 ]; do i=$((i + 1)); done; exec "$@"'
started = []    # kept: a Popen that is forgotten reaps its process


def cpu_ns():
    return int(time.process_time() * 1e9)


def burn_known(cpu_ms):
    end = time.process_time() + cpu_ms / 1e3
    while time.process_time() < end:
        pass


def life(out, cpu_ms, name):
    """Burn below a function of that name, and append what was burnt: one write is atomic."""
    scope = {"burn_known": burn_known}
    exec("def %s(cpu_ms):\n    burn_known(cpu_ms)\n" % name, scope)
    start = cpu_ns()
    scope[name](cpu_ms)
    burnt = cpu_ns() - start
    fd = os.open(out, os.O_WRONLY | os.O_APPEND)
    os.write(fd, ("%d %d %s\n" % (os.getpid(), burnt, name)).encode())
    os.close(fd)


def start(out, cpu_ms, how, name):
    argv = [sys.executable, "-S", "-E", __file__, out, cpu_ms, name]
    if how == "spawn":
        started.append(subprocess.Popen(argv))
    elif how == "shell":
        turns = str(len(started) * 97 % 8000)
        started.append(subprocess.Popen(["/bin/sh", "-c", SHELL, turns] + argv))
    elif not os.fork():
        life(out, float(cpu_ms), name)
        os._exit(0)


def main(out, count, parallel, cpu_ms, how="spawn", seconds="0"):
    open(out, "w").close()
    ways = ("spawn", "fork") if how == "both" else (how,)
    begin = time.time()
    living = 0
    for i in range(int(count)):
        if living == int(parallel):
            os.wait()
            living -= 1
        time.sleep(max(0, begin + i * float(seconds) / int(count) - time.time()))
        start(out, cpu_ms, ways[i % len(ways)], "child_%05d" % i)
        living += 1
    while living:
        os.wait()
        living -= 1


if __name__ == "__main__":
    if len(sys.argv) == 4:
        life(sys.argv[1], float(sys.argv[2]), sys.argv[3])
    else:
        main(*sys.argv[1:])
