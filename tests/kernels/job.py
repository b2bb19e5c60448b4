# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is done inside a guest, by the guest's own Python (3.9 and later): job.py DISK PYTHON...

Each step leaves facts; whether they are right is said outside, by judge.py. A step that
fails leaves its traceback and the next one is done. All goes to DISK as a tar: result.json,
the profiles, and "end" as the last file, the sign that it is whole.
"""
import ctypes
import glob
import io
import json
import os
import subprocess
import sys
import tarfile
import time
import traceback

import chains
from processes import online_cpus
from recording import Recording, tachbpf
from target import Target

SCRATCH = "/tmp/scratch"
RATE = 499
# An emulated cycle counter ticks as the emulator finds time: it has a step of its own.
# An emulated CPU is many times slower than the limit of a sample's time is made for.
PATIENT = ("--no-sample-limit",)
CLOCK = ("-r", RATE, "-e", "cpu-clock", *PATIENT)
# However short it lives: a file of its own.
EACH = ("--split", "all")
# Emulated interrupts take so long that the kernel would lower its limit of the rate.
UNLIMITED = {"perf_event_max_sample_rate": "100000", "perf_cpu_time_max_percent": "0"}
WAITS = ("nap", "read", "poll", "lock")
# Of an extension module: each link alone, and some by chance, twice. A stripped one has only names of
# methods: no links through which a library calls its functions.
CHAINS = {"whole": chains.chains(45), "stripped": ["rfp.", "vm.", "an.", "bS.", "0i.", "fPr.", "ICv.", "o.", "w;"]}
CHAIN_MS = 40           # of CPU, of each leaf
LIFE = ("parent_burns", "child_burns", "program_burns")
HERE = os.path.dirname(os.path.abspath(__file__))


class Python:
    """As target.Target wants it."""

    def __init__(self, name):
        """python3.11, or bookworm:python3.11, which has a root of its own."""
        self.name = name
        suite, _, program = name.rpartition(":")
        self.prefix = ["/usr/sbin/chroot", "/beside/" + suite, "/usr/bin/" + program] \
            if suite else [name]

    def command(self, *args):
        return [*self.prefix, *map(str, args)]


def ended(finished):
    """A run of the profiler, as facts."""
    try:
        summary = finished.summary
    except ValueError:
        summary = None
    return {"status": finished.returncode, "summary": summary, "stderr": finished.stderr[-4000:],
            "admissions": finished.stderr.count(": CPython "),
            "stdout": "" if summary else finished.stdout[-4000:]}


def read_back(path):
    """What our own reader says of a profile."""
    verify = tachbpf("info", "--verify", path)
    report = tachbpf("report", "--json", "--limit", "0", path)
    return {"verify": verify.returncode, "verify_says": verify.stdout + verify.stderr,
            "report": json.loads(report.stdout) if not report.returncode else report.stderr}


def doctor(pythons):
    text = tachbpf("doctor")
    as_json = tachbpf("doctor", "--json")
    return {"status": text.returncode, "text": text.stdout, "stderr": text.stderr,
            "json": json.loads(as_json.stdout)}


def command(pythons):
    """-- COMMAND: a child that is forked, and one that execs, belong to it."""
    out, truth = SCRATCH + "/command", SCRATCH + "/life"
    done = ended(tachbpf("-v", *CLOCK, *EACH, "--json", "-o", out, "--", pythons[0].name, "-B",
                         HERE + "/targets/life.py", truth, "0.7"))
    lives = {}
    for name in LIFE:
        if os.path.exists("%s.%s" % (truth, name)):
            with open("%s.%s" % (truth, name)) as f:
                lives[name] = json.load(f)
    files = glob.glob(out + "/*.tach")
    return dict(done, lives=lives, read={os.path.basename(f): read_back(f) for f in files})


def one_pid(pythons):
    """-p: a process that runs already; its shares, and how deep its stack is walked."""
    out = SCRATCH + "/pid.tach"
    with Target(pythons[0], SCRATCH, "shares=4", "deep=0.7", "recursion=0.7") as target:
        with Recording(["-p", target.pid, *CLOCK, "--json", "-o", out]) as recording:
            recording.wait_recording(timeout=90)
            target.go()
            truth = target.wait_done()
            target.leave()
            done = ended(recording.wait())
    truth.pop("positions")
    return dict(done, truth=truth, read=read_back(out))


def everything(pythons):
    """-a: every Python there is, the running ones and one that starts later."""
    out = SCRATCH + "/all"
    targets = [Target(p, SCRATCH, "shares=1.5", "threads=0.6") for p in pythons]
    truths = {}
    try:
        for t in targets:
            t.expect("ready")
        with Recording(["-a", *CLOCK, *EACH, "--json", "-o", out]) as recording:
            recording.wait_recording(timeout=90)
            for t in targets:
                t.go()
            for t in targets:
                truth = t.wait_done()
                truths[t.interpreter.name] = {"pid": truth["pid"], "phases": truth["phases"]}
                t.leave()
            with Target(pythons[0], SCRATCH, "shares=0.5", name="later") as later:
                later.go()
                truth = later.wait_done()
                truths["later"] = {"pid": truth["pid"], "phases": truth["phases"]}
                later.leave()
            done = ended(recording.stop())
    finally:
        for t in targets:
            t.__exit__()
    files = glob.glob(out + "/*.tach")
    return dict(done, truths=truths, read={os.path.basename(f): read_back(f) for f in files})


class Inside(Python):
    """A Python that enters a cgroup before it is one."""

    def __init__(self, python, cgroup):
        self.name = python.name
        self.prefix = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', cgroup,
                       *python.prefix]


def chosen(pythons):
    """Conditions: one process of three is not asked for; one comes later, in a cgroup that does."""
    out, top = SCRATCH + "/chosen", SCRATCH + "/cgroups"
    os.mkdir(top)
    # There is no mount(8) here.
    if ctypes.CDLL(None, use_errno=True).mount(b"none", top.encode(), b"cgroup2", 0, None):
        raise OSError(ctypes.get_errno(), "cgroup2 cannot be mounted")
    for name in ("in", "out"):
        os.mkdir(top + "/" + name)
    pids = {}
    with Target(Inside(pythons[0], top + "/in"), SCRATCH, "shares=1", name="in") as inside, \
            Target(Inside(pythons[0], top + "/out"), SCRATCH, "shares=1", name="out") as outside:
        argv = ["--cgroup", "/in", "--uid", "0", "--exclude-comm", "nothing*", "--exclude-unit",
                "nothing", "--min-age", "0.01", *CLOCK, *EACH, "--json", "-o", out]
        with Recording(argv) as recording:
            recording.wait_recording(timeout=90)
            for target in (inside, outside):
                target.go()
            for name, target in (("in", inside), ("out", outside)):
                pids[name] = target.wait_done()["pid"]
            os.mkdir(top + "/in/later")
            with Target(Inside(pythons[0], top + "/in/later"), SCRATCH, "shares=0.5",
                        name="later") as later:
                later.go()
                pids["later"] = later.wait_done()["pid"]
            done = ended(recording.stop())
    files = glob.glob(out + "/*.tach")
    return dict(done, pids=pids, read={os.path.basename(f): read_back(f) for f in files})


def waiting(pythons):
    """-m offcpu --kernel: threads that wait for what is usually waited for."""
    out = SCRATCH + "/waiting.tach"
    with Target(pythons[0], SCRATCH, 1.5, *WAITS, name="waiting", program="offcpu.py") as target:
        argv = ["-p", target.pid, "-m", "offcpu", "--kernel", *CLOCK, "--json", "-o", out]
        with Recording(argv) as recording:
            recording.wait_recording(timeout=90)
            target.go()
            target.expect("done")
            done = ended(recording.stop())
    return dict(done, threads=json.loads(target.truth_path.read_text())["threads"],
                read=read_back(out))


def native(pythons):
    """--native: what a function of Python calls in a library, and where the target waits before.
    --async: its programs load, too."""
    out = SCRATCH + "/native.tach"
    with Target(pythons[0], SCRATCH, "squeeze=5", name="native") as target:
        asleep = tachbpf("dump", "--json", "--native", str(target.pid))
        argv = ["-p", target.pid, "--native", "--async", *CLOCK, "--json", "-o", out]
        with Recording(argv) as recording:
            recording.wait_recording(timeout=90)
            target.go()
            truth = target.wait_done()
            target.leave()
            done = ended(recording.wait())
    return dict(done, truth={"phases": truth["phases"]}, read=read_back(out),
                asleep=asleep.stdout, asleep_says=asleep.stderr,
                chains={name: play_chains(pythons[0], name) for name in CHAINS})


def play_chains(python, name):
    """C functions of an extension module and Python's call each other."""
    out, played = f"{SCRATCH}/chains-{name}.tach", 2 * CHAINS[name]
    with Target(python, SCRATCH, f"{HERE}/chains-{name}", CHAIN_MS, *played, name="chains",
                program="chains/play_chains.py") as target:
        with Recording(["-p", target.pid, "--native", *CLOCK, "--json", "-o", out]) as recording:
            recording.wait_recording(timeout=90)
            target.go()
            truth = target.wait_done(timeout=240)
            target.leave()
            done = ended(recording.wait())
    return dict(done, truth=truth, read=read_back(out))


def memory(pythons):
    """-m mem: what functions hold, also what was moved."""
    out = SCRATCH + "/memory.mlyze"
    with Target(pythons[0], SCRATCH, name="memory", program="hoard.py") as target:
        argv = ["-p", target.pid, "-m", "mem", *CLOCK, "--json", "-o", out]
        with Recording(argv) as recording:
            recording.wait_recording(timeout=90)
            target.go()
            target.expect("done", 240)
            done = ended(recording.stop())
    said = tachbpf("mem", "--json", "--limit", "0", out)
    return dict(done, truth=json.loads(target.truth_path.read_text()),
                rows=json.loads(said.stdout)["rows"] if not said.returncode else [],
                read={"verify": said.returncode, "verify_says": said.stderr})


def cycles(pythons):
    """-e cycles: the hardware's counter, where there is one."""
    out = SCRATCH + "/cycles.tach"
    for name, value in UNLIMITED.items():
        with open("/proc/sys/kernel/" + name, "w") as f:
            f.write(value)
    with Target(pythons[0], SCRATCH, "shares=4", name="cycles") as target:
        argv = ["-p", target.pid, "-r", RATE, "-e", "cycles", *PATIENT, "--json", "-o"]
        trial = tachbpf(*argv, SCRATCH + "/trial", "-d", "0.1")
        if trial.returncode:
            return {"refused": trial.stderr}
        with Recording([*argv, out]) as recording:
            recording.wait_recording(timeout=90)
            target.go()
            truth = target.wait_done()
            target.leave()
            done = ended(recording.wait())
    return dict(done, truth={"phases": truth["phases"]}, read=read_back(out))


def kernel_log():
    """What the kernel had to say, most of it about booting."""
    lines = []
    fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    try:
        while True:
            lines.append(os.read(fd, 8192).decode(errors="replace").split("\n")[0])
    except OSError:
        os.close(fd)
    return lines


STEPS = (doctor, command, one_pid, everything, chosen, waiting, native, memory, cycles)


def do(step, pythons):
    start = time.monotonic()
    try:
        facts = step(pythons)
    except Exception:
        facts = {"error": traceback.format_exc()}
    facts["seconds"] = time.monotonic() - start
    print("guest: %s %.1f s%s" % (step.__name__, facts["seconds"],
                                  " FAILED" if "error" in facts else ""), flush=True)
    return facts


def versions(pythons):
    return {p.name: subprocess.check_output(p.command("-V"), text=True).split()[1]
            for p in pythons}


def write(disk, result):
    def add(tar, name, data):
        info = tarfile.TarInfo(name)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))

    with open(disk, "r+b") as raw, tarfile.open(fileobj=raw, mode="w|") as tar:
        add(tar, "result.json", json.dumps(result).encode())
        for path in glob.glob(SCRATCH + "/**/*.tach", recursive=True):
            if os.path.isfile(path):
                with open(path, "rb") as f:
                    add(tar, os.path.relpath(path, SCRATCH), f.read())
        add(tar, "end", b"")


def main(disk, names):
    os.makedirs(SCRATCH)
    os.symlink(HERE + "/targets", SCRATCH + "/targets")
    pythons = [Python(n) for n in names]
    result = {"release": os.uname().release, "version": os.uname().version,
              "machine": os.uname().machine, "cpus": online_cpus(),
              "pythons": versions(pythons), "rate": RATE}
    for step in STEPS:
        result[step.__name__] = do(step, pythons)
    result["kernel_log"] = kernel_log()
    write(disk, result)


main(sys.argv[1], sys.argv[2:])
