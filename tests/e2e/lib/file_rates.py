"""How fast our TACH writer, reader and conversion are beside CPython 3.15's, with the same samples, in CPU time.

CPython's reader makes Python objects of samples, which is what it is for; its collector here does nothing with
them. Our part is tests/bench/bench_files.c."""
import resource
import subprocess
from dataclasses import dataclass
from pathlib import Path

import replay_all

SAMPLES = 400000
ROUNDS = 2

# In CPython 3.15: FILE OUT -> "read write", samples per second of CPU time. Run as a file.
PEER = replay_all.KEEP + """
import sys, time, _remote_debugging as r
path, out = sys.argv[1:]

class Nothing:
    aggregating = True
    def collect(self, interpreters, timestamps_us=None):
        pass
    def collect_failed_sample(self):
        pass

reader = r.BinaryReader(path)
start = time.process_time()
count = reader.replay(Nothing())
read = count / (time.process_time() - start)
keep = Keep()
r.BinaryReader(path).replay(keep)
keep.all.sort(key=lambda pair: pair[1])
writer = r.BinaryWriter(out, 100, 0, compression=1)
start = time.process_time()
for interpreters, us in keep.all:
    writer.write_sample(interpreters, us)
writer.finalize()
print(read, len(keep.all) / (time.process_time() - start))
"""


@dataclass
class Rates:
    """Samples per second, bytes a sample, and seconds to collapsed stacks."""
    write: float = 0
    read: float = 0
    size: float = 0
    collapsed: float = 0
    write_plain: float = 0      # not compressed; ours only


def cpu_seconds(argv):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(list(map(str, argv)), check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def number(*argv):
    return float(subprocess.run(list(map(str, argv)), check=True, capture_output=True,
                                text=True).stdout)


def our_rates(tool, tachbpf, path, depth):
    rates = Rates()
    rates.write = number(tool, "write", path, SAMPLES * 5, depth, "zstd")
    rates.write_plain = number(tool, "write", path, SAMPLES * 5, depth, "none")
    number(tool, "write", path, SAMPLES, depth, "zstd")
    rates.read = number(tool, "read", path, 5)
    rates.collapsed = cpu_seconds([tachbpf, "convert", path, "-o", path.with_suffix(".folded")])
    return rates


def their_rates(python, tachbpf, path):
    """Also the size of our file of the samples that they wrote: theirs has only names that are used."""
    script, out = path.with_suffix(".py"), path.with_suffix(".peer.tach")
    script.write_text(PEER)
    done = subprocess.run(python.command(script, path, out), check=True, capture_output=True, text=True,
                          timeout=600)
    read, write = map(float, done.stdout.split())
    again = path.with_suffix(".again.tach")
    subprocess.run([tachbpf, "convert", out, "-o", again], check=True)
    seconds = cpu_seconds(python.command("-m", "profiling.sampling", "replay", "--collapsed", "-o",
                                         path.with_suffix(".theirs"), path))
    return Rates(write, read, out.stat().st_size / SAMPLES, seconds), again.stat().st_size / SAMPLES


def best(a, b):
    return Rates(max(a.write, b.write), max(a.read, b.read), b.size,
                 min(a.collapsed or b.collapsed, b.collapsed), max(a.write_plain, b.write_plain))


def compare(tool, tachbpf, python, scratch, depth):
    """(ours, theirs): the best of some rounds, one after the other. python: None: there is no CPython 3.15."""
    path = Path(scratch) / f"depth{depth}.tach"
    ours, theirs = Rates(), Rates()
    for _ in range(ROUNDS):
        ours = best(ours, our_rates(tool, tachbpf, path, depth))
        if python:
            one, ours.size = their_rates(python, tachbpf, path)
            theirs = best(theirs, one)
    if not python:
        ours.size = path.stat().st_size / SAMPLES
    return ours, theirs
