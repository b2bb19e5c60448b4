"""Burns as much CPU time as each line of stdin says, in seconds; answers with the CPU time that it
used for the line and the scheduler's slices, then waits for the next one. Ends with its input.

A line "SECONDS exec" or "SECONDS exit" has it burnt by forked children of 10 ms each, which then execute
a small program, or end."""
import os
import sys
import time

CHILD_S = 0.01
SMALL = ("true", "sort", "date", "uname", "head")


def slices():
    with open("/proc/self/schedstat") as f:
        return int(f.read().split()[2])


def burn(end):
    while time.process_time() < end:
        for _ in range(500):
            pass


def fork_one(how, number):
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    burn(time.process_time() + CHILD_S)
    if how == "exec":
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.execvp(SMALL[number % len(SMALL)], [SMALL[number % len(SMALL)], "--version"])
    os._exit(0)


def main():
    print("ready", flush=True)
    for line in iter(sys.stdin.readline, ""):
        start, before = time.process_time(), slices()
        words = line.split()
        if len(words) == 1:
            burn(start + float(line))
        else:
            for number in range(int(float(words[0]) / CHILD_S)):
                fork_one(words[1], number)
        print("%.9f %d" % (time.process_time() - start, slices() - before), flush=True)


if __name__ == "__main__":
    main()
