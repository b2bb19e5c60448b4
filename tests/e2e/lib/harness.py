# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the tests are written with: targets, the profiler, and profiles as CPython reads them.

Nothing here sleeps to synchronise: targets shake hands through pipes, and the
profiler is recording when it holds one open perf event per CPU. Every process
started here is killed at the end of its `with` block at the latest.
"""
import bisect
import collections
import concurrent.futures
import contextlib
import json
import os
import re
import select
import signal
import subprocess
import time
from pathlib import Path

import noise

HERE = Path(__file__).resolve().parent.parent
REPO = HERE.parent.parent
TARGETS = HERE / "targets"
TIMEOUT = 600           # a safety net for what hangs, never a verdict: a busy machine takes long

HAS_GIL, ON_CPU, UNKNOWN, GIL_REQUESTED, HAS_EXCEPTION, MAIN_THREAD = 1, 2, 4, 8, 16, 32
MAX_FRAMES = 256

Frame = collections.namedtuple("Frame", "file func line end_line col end_col opcode")
Sample = collections.namedtuple("Sample", "time_us tid interp status frames")

SYNTHETIC = "~"
GC = (SYNTHETIC, "<GC>")
TRUNCATED = "<truncated>"
UNREADABLE = "<unreadable frame>"


# What was run: argv, files it writes, and how it ended; evidence.py keeps it when a test fails.
ran = []


def note(argv, **more):
    entry = dict(argv=[str(arg) for arg in argv], began=time.monotonic(), **more)
    ran.append(entry)
    return entry


def binary():
    return Path(os.environ.get("TACHBPF", REPO / "build" / "tachbpf")).resolve()


def online_cpus():
    return len(os.sched_getaffinity(1))


def kill(process):
    """End a process and whatever it started; all of ours lead a session of their own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(TIMEOUT)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def cpu_s(pid):
    """CPU seconds a process has had, from the kernel's own exact count."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def use_cpu(pid, seconds, patience=600):
    """Wait until a process has had so much more CPU time, by the scheduler's count: how long
    that takes on a busy machine is no verdict, and patience is only for one that hangs."""
    enough, end = cpu_s(pid) + seconds, time.monotonic() + patience
    while cpu_s(pid) < enough:
        assert time.monotonic() < end, f"process {pid} gets no CPU"
        time.sleep(0.01)


class Target:
    """A behaviour of targets/ running under one interpreter; use as a context manager."""

    def __init__(self, interpreter, scratch, *plan, cpu=None, name="target", program="run.py"):
        self.interpreter = interpreter
        self.truth_path = Path(scratch) / f"{name}-{interpreter.name}-{os.urandom(3).hex()}.json"
        argv = interpreter.command(Path(scratch) / "targets" / program, self.truth_path, *plan)
        if cpu is not None:
            argv = ["taskset", "-c", str(cpu), *argv]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, start_new_session=True)
        note(argv, pid=self.process.pid, files=[self.truth_path])

    def __enter__(self):
        try:
            self.expect("ready")
        except BaseException:
            kill(self.process)
            raise
        return self

    def __exit__(self, *_):
        kill(self.process)

    @property
    def pid(self):
        return self.process.pid

    def expect(self, word, timeout=TIMEOUT):
        ready, _, _ = select.select([self.process.stdout], [], [], timeout)
        line = self.process.stdout.readline().strip() if ready else "nothing in time"
        assert line == word, f"{self.interpreter} said {line!r} instead of {word!r}"

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def wait_done(self, timeout=TIMEOUT):
        """Until the work is done; the process stays. Returns its truth."""
        self.expect("done", timeout)
        return Truth(json.loads(self.truth_path.read_text()))

    def stop(self):
        self.process.terminate()
        return self.wait_done()

    def leave(self):
        """Let the process end by itself."""
        self.process.stdin.close()
        assert self.process.wait(TIMEOUT) == 0


class Truth(dict):
    def name(self, qualname):
        """What this version calls a function: up to 3.10 code has no qualified name."""
        return qualname if self["version"] >= [3, 11] else qualname.rpartition(".")[2]

    def stack(self, function):
        """The stack that a leaf function burns in, innermost first."""
        function = self.name(function)
        found = [s for key, s in self["stacks"].items() if key.endswith(":" + function)]
        assert len(found) == 1, f"{function}: {len(found)} stacks"
        return [tuple(frame) for frame in found[0]]

    def window_us(self, phase):
        p = self["phases"][phase]
        return p["start_ns"] // 1000, p["end_ns"] // 1000

    def cpu_between(self, start_us, end_us):
        """CPU seconds the process had in a window of CLOCK_MONOTONIC."""
        return self.cpu_at(end_us) - self.cpu_at(start_us)

    def cpu_at(self, time_us):
        clock, ns = self["clock"], time_us * 1000
        i = bisect.bisect(clock, [ns])
        if i == 0 or i == len(clock):
            return clock[min(i, len(clock) - 1)][1] / 1e9
        (t0, c0), (t1, c1) = clock[i - 1], clock[i]
        return (c0 + (c1 - c0) * (ns - t0) / (t1 - t0)) / 1e9


class Profile:
    """One TACH file as CPython 3.15's own reader decodes it."""

    def __init__(self, decoded):
        self.path = decoded["path"]
        self.info = decoded["info"]
        self.replayed = decoded["replayed"]
        frames = [Frame(*f) for f in decoded["frames"]]
        stacks = [tuple(frames[i] for i in s) for s in decoded["stacks"]]
        self.samples = sorted(
            (Sample(t, tid, interp, status, stacks[stack])
             for tid, interp, status, stack, times in decoded["samples"] for t in times),
            key=lambda s: (s.time_us, s.tid))

    def between(self, start_us, end_us):
        return [s for s in self.samples if start_us <= s.time_us < end_us]

    def phase(self, truth, name):
        return self.between(*truth.window_us(name))


def leaf_is(sample, function):
    return bool(sample.frames) and sample.frames[0].func == function


def names(sample):
    return [(f.file, f.func) for f in sample.frames]


def without_gc(sample):
    """The sample's frames less a <GC> marker on top."""
    frames = sample.frames
    return frames[1:] if frames and (frames[0].file, frames[0].func) == GC else frames


def fraction(samples, test):
    """Of how many of the samples test() is true; at least 50 are needed to say anything."""
    assert len(samples) >= 50, f"only {len(samples)} samples to judge by"
    return sum(map(bool, map(test, samples))) / len(samples)


class Oracle:
    """CPython 3.15's own reader and exporters, inside the root that has a Python 3.15."""

    def __init__(self, interpreter, scratch):
        self.interpreter = interpreter
        self.scratch = Path(scratch)

    def load(self, *paths):
        """Profiles of the files, decoded by one Python process."""
        out = self.scratch / f"decoded-{os.urandom(4).hex()}.json"
        self.run(self.scratch / "oracle.py", out, *paths)
        with open(out) as f:
            profiles = [Profile(json.loads(line)) for line in f]
        out.unlink()
        return profiles

    def replay(self, fmt, path):
        """The CLI's own conversion: the file it writes."""
        out = self.scratch / f"replay-{os.urandom(4).hex()}"
        self.run("-m", "profiling.sampling", "replay", "--" + fmt, "-o", out, path)
        return out

    def run(self, *argv):
        done = subprocess.run(self.interpreter.command(*argv), capture_output=True, text=True,
                              timeout=TIMEOUT)
        assert done.returncode == 0, f"CPython's reader: {done.stderr or done.stdout}"
        return done.stdout


class Finished:
    """What the profiler said and how it ended."""

    def __init__(self, argv, returncode, stdout, stderr):
        self.argv, self.returncode, self.stdout, self.stderr = argv, returncode, stdout, stderr

    @property
    def summary(self):
        return json.loads(self.stdout)

    def __repr__(self):
        return (f"{' '.join(map(str, self.argv))}\n -> exit {self.returncode}\n"
                f"stdout: {self.stdout[-2000:]}\nstderr: {self.stderr[-4000:]}")


class Recording:
    """A tachbpf that runs; use as a context manager."""

    def __init__(self, argv, prefix=(), env=None, cwd=None):
        self.argv = [*prefix, str(binary()), *map(str, argv)]
        self.process = subprocess.Popen(
            self.argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
            stdin=subprocess.DEVNULL,
            start_new_session=True, env=dict(os.environ, **(env or {})))
        self.noted = note(self.argv, pid=self.process.pid, cwd=str(cwd or os.getcwd()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        kill(self.process)
        self.noted.setdefault("exit", self.process.returncode)

    def perf_events(self):
        """How many perf events the profiler holds open."""
        count = 0
        with contextlib.suppress(FileNotFoundError):
            for fd in Path(f"/proc/{self.process.pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    count += "perf_event" in os.readlink(fd)
        return count

    def wait_recording(self, cpus=None, timeout=30):
        """Until one perf event per CPU is open; a condition is polled, nothing is guessed."""
        cpus = cpus or online_cpus()
        end = time.monotonic() + timeout
        while self.perf_events() < cpus:
            if self.process.poll() is not None:
                raise AssertionError(f"the profiler ended early: {self.wait()!r}")
            assert time.monotonic() < end, "the profiler does not start recording"
            select.select([], [], [], 0.005)
        return self

    def stop(self, signum=signal.SIGINT):
        self.process.send_signal(signum)
        return self.wait()

    def wait(self, timeout=TIMEOUT):
        try:
            out, err = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            kill(self.process)
            raise AssertionError(f"{self.argv} did not end within {timeout} s") from None
        self.noted.update(exit=self.process.returncode, ended=time.monotonic(), stdout=out,
                          stderr=err)
        return Finished(self.argv, self.process.returncode, out, err)


def tachbpf(*argv, timeout=TIMEOUT, **kwargs):
    """Run the profiler to its end."""
    with Recording(argv, **kwargs) as recording:
        return recording.wait(timeout)


def succeeded(finished):
    assert finished.returncode == 0, repr(finished)
    return finished


def lost(summary):
    """Losses by cause, only those that happened."""
    return {cause: n for cause, n in summary["lost"].items() if n}


def lost_once_known(summary):
    """Losses but for ticks of processes that have just begun: of the loader, before there is
    a Python, and until user space has looked at a program for the first time."""
    return {cause: n for cause, n in lost(summary).items() if cause != "late_discovery"}


def lost_of_short_lives(summary):
    """Those, but for ticks in the copying of a page at its first write after a fork, when
    nobody can read it: of processes of 8 ms that were forked 0.03 % on average, 0.13 % at
    worst; chance makes more of few samples."""
    losses = lost_once_known(summary)
    if losses.get("thread_state_unreadable", 0) <= noise.few_bound(summary["samples"], 0.0013):
        losses.pop("thread_state_unreadable", None)
    return losses


def files(summary):
    """The processes of a summary (or of session.json) that have a file, with its path."""
    output = Path(summary["output"])
    is_file = output.suffix == ".tach" or output.is_file()      # of one process that was asked for
    return [dict(p, path=output if is_file else output / p["file"])
            for p in summary["processes"] if p["file"]]


ROOT_FRAME = re.compile(r"<process (\d+) (.*)>")


def owners(summary, oracle):
    """(pid, sample) of all files; whose a sample of a merged file is, its root frame says."""
    with_files = files(summary)
    for process, profile in zip(with_files, oracle.load(*(p["path"] for p in with_files))):
        for sample in profile.samples:
            if process["pid"] is not None:
                yield process["pid"], sample
                continue
            match = ROOT_FRAME.fullmatch(sample.frames[-1].func)
            assert match and sample.frames[-1].file == SYNTHETIC, sample
            yield int(match[1]), sample


def map_entries(pid, name):
    """The keys in a process' BPF map of that name, each a 32-bit number."""
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        said = dict(re.findall(r"^(\w+):\s*(\S+)$", info.read_text(), re.M))
        if "map_id" not in said:
            continue
        shown = subprocess.run(["bpftool", "-j", "map", "show", "id", said["map_id"]],
                               capture_output=True, text=True, timeout=60, check=True).stdout
        if json.loads(shown)["name"] != name:
            continue
        dump = subprocess.run(["bpftool", "-j", "map", "dump", "id", said["map_id"]],
                              capture_output=True, text=True, timeout=60, check=True).stdout
        return {int.from_bytes(bytes(int(b, 16) for b in e["key"]), "little")
                for e in json.loads(dump)}
    raise AssertionError(f"process {pid} has no map {name}")


def tach_files(directory):
    return sorted(Path(directory).glob("*.tach"))


def record_target(interpreter, scratch, oracle, rate, name, seconds):
    """(truth, summary, profile) of a behaviour of targets/run.py that takes so long."""
    out = Path(scratch) / f"{name}-{interpreter.name}.tach"
    with Target(interpreter, scratch, f"{name}={seconds}") as target, \
            Recording(["-p", target.pid, "-r", rate, "-o", out, "--json"]) as recording:
        recording.wait_recording()
        target.go()
        truth = target.wait_done()
        target.leave()
        summary = succeeded(recording.wait()).summary
    profile, = oracle.load(files(summary)[0]["path"])
    return truth, summary, profile


@contextlib.contextmanager
def bpf_stats():
    """The kernel counts what BPF programs take."""
    stats = Path("/proc/sys/kernel/bpf_stats_enabled")
    before = stats.read_text()
    stats.write_text("1")
    try:
        yield
    finally:
        stats.write_text(before)


def bpf_programs(*named):
    """(name, id) -> (runs, ns) of these programs, whoever loaded them."""
    out = subprocess.run(["bpftool", "prog", "show", "-j"], capture_output=True, text=True,
                         timeout=60, check=True).stdout
    return {(p["name"], p["id"]): (p.get("run_cnt", 0), p.get("run_time_ns", 0))
            for p in json.loads(out) if p.get("name") in named}


def of_all(interpreters, record, *args):
    """Name -> future of record(interpreter, *args), as many at a time as there are CPUs; all
    are done when the first test goes on."""
    with concurrent.futures.ThreadPoolExecutor(online_cpus()) as pool:
        return {i.name: pool.submit(record, i, *args) for i in interpreters}
