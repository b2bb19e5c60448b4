"""A process that has little to do: duty.py PHASE. A millisecond of work, half a second of sleep."""
import sys
import time


def work(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def main():
    print("ready", flush=True)
    time.sleep(float(sys.argv[1]) / 2)
    while True:
        work(0.001)
        time.sleep(0.5)


main()
