"""Burns as much CPU time as each line of stdin says, in seconds; answers with the CPU time that it
used for the line and the scheduler's slices, then waits for the next one. Ends with its input."""
import sys
import time


def slices():
    with open("/proc/self/schedstat") as f:
        return int(f.read().split()[2])


def burn(end):
    while time.process_time() < end:
        for _ in range(500):
            pass


def main():
    print("ready", flush=True)
    for line in iter(sys.stdin.readline, ""):
        start, before = time.process_time(), slices()
        burn(start + float(line))
        print("%.9f %d" % (time.process_time() - start, slices() - before), flush=True)


if __name__ == "__main__":
    main()
