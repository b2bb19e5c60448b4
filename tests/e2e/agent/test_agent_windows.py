# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a server gets is what processes used."""
import json
import subprocess
from collections import Counter

import pytest

import noise
from agent import bound_s, decoded, profile_ids, profiles, seconds_of
from command import good
from otlp_decode import CPU, otlp_stream
from paths import binary
from pprof_decode import Pprof

RATE = 999
SECOND = 10**9
# As targets/spend.py, but a thread that knows no Python uses the CPU: libc's atoi, of 32 MB.
NATIVE = """
import ctypes, sys, time
libc, digits = ctypes.CDLL(None), ctypes.create_string_buffer(b"0" * (32 << 20))
print("ready", flush=True)
for line in iter(sys.stdin.readline, ""):
    start, thread = time.process_time(), ctypes.c_ulong()
    while time.process_time() < start + float(line):
        libc.pthread_create(ctypes.byref(thread), None, libc.atoi, digits)
        libc.pthread_join(thread, None)
    print(time.process_time() - start, 1 << 30, flush=True)
"""
# As targets/spend.py, but two threads with names do it, and one whose name is a number.
THREADS = """
import sys, threading, time
print("ready", flush=True)
for line in iter(sys.stdin.readline, ""):
    end = time.process_time() + float(line)
    def burn():
        while time.process_time() < end:
            pass
    threads = [threading.Thread(target=burn, name=name) for name in ("mailer", "indexer", None)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(line.strip(), 1 << 30, flush=True)
"""


def test_cpu_time_of_each_service(rig, sink):
    """Also at a low rate: a sample stands for the time between two ticks."""
    for rate in (RATE, 99):
        started = rig.start("--rate", rate, "--otlp-endpoint", sink.url)
        stolen = noise.stolen_s()
        names = [f"first-{rate}.py", f"second-{rate}.py"]
        targets = [rig.target(name) for name in names]
        for target, seconds in zip(targets, (3, 1.5)):
            target.begin(seconds)
        spent = [target.done() for target in targets]
        stolen = noise.stolen_s() - stolen
        started.end()
        sink.settle()
        for name, used in zip(names, spent):
            assert seconds_of(sink, name) in bound_s(used, rate, stolen), (name, used)


def test_stacks_and_windows(rig, sink):
    started = rig.start("--rate", RATE, "--otlp-endpoint", sink.url)
    target = rig.target()
    target.spend(2.5)
    started.end()
    sink.settle()
    stacks, ends = {}, []
    for attributes, profile in profiles(sink, "spend.py"):
        assert attributes["process.runtime.name"] == "cpython"
        assert profile["period_type"] == CPU
        assert abs(profile["period"] - SECOND / RATE) < 1000        # whole microseconds
        end = profile["time"] + profile["duration"]
        assert profile["duration"] <= SECOND
        ends.append(end)
        for stack, value, _ in profile["samples"]:
            key = tuple(frame[0] for frame in stack)
            stacks[key] = stacks.get(key, 0) + value
    # all but the last one, which SIGTERM cut, end with a second of the wall clock
    assert len(ends) >= 3 and all(end % SECOND == 0 for end in sorted(ends)[:-1])
    expected = ("burn", "main", "<module>")
    assert stacks[expected] > 0.9 * sum(stacks.values()), stacks
    ids = profile_ids(sink)
    assert len(ids) == len(set(ids))


def named_frames(stack):
    """"a.py:f:3" and "<GC>", which has no place, as name:line; without the words for process and thread."""
    for word in stack.split(";"):
        if word.count(":") >= 2:
            _, name, line = word.rsplit(":", 2)
            yield f"{name}:{max(int(line), 0)}"
        elif word.startswith("<"):
            yield f"{word}:0"


def pprof_stacks(paths):
    stacks = Counter()
    for path in paths:
        for stack, values, _ in Pprof(path).samples:
            stacks[tuple(stack)] += values[0]
    return stacks


def test_a_recording_says_the_same(rig, sink):
    """The same events as OTLP and as TACH, which tachbpf's reader decodes: each stack has as many
    samples in both. So they have as pprof, of windows and of the recording, with the same names."""
    out, windows = rig.out / "recordings", rig.out / "pprof"
    started = rig.start("--rate", RATE, "--otlp-endpoint", sink.url, "--tach-dir", out, "--pprof-dir", windows)
    rig.target().spend(1.5)
    started.end()
    sink.settle()
    sent, recorded = Counter(), Counter()
    for _, profile in profiles(sink, "spend.py"):
        for stack, value, _ in profile["samples"]:
            sent[tuple(f"{name}:{line}" for name, _, line, _ in reversed(stack))] += value
    recording, = out.iterdir()
    for path in recording.glob("*.tach"):
        done = subprocess.run([binary(), "convert", path, "--format", "collapsed", "--lines", "-o", "-"],
                              check=True, capture_output=True, text=True)
        for text in done.stdout.splitlines():
            stack, _, count = text.rpartition(" ")
            recorded[tuple(named_frames(stack))] += int(count)
    assert sent == recorded and sum(sent.values()) > RATE
    good("convert", *recording.glob("*.tach"), "--format", "pprof", "-o", rig.out / "all.pb.gz")
    assert pprof_stacks(windows.glob("*-cpu-*.pb.gz")) == pprof_stacks([rig.out / "all.pb.gz"])


def rows_of(*argv, key=("function", "file")):
    report = json.loads(good("report", "-q", *argv, "--json", "--limit", 0))
    return {tuple(row[k] for k in key): (row["self"], row.get("total")) for row in report["rows"]}


def test_requests_are_read_back(rig, sink):
    """What was sent, saved as it came or as a stream, has the functions and services that the same
    windows have as pprof, also once it is converted."""
    windows, sent = rig.out / "pprof", rig.out / "sent"
    sent.mkdir()
    started = rig.start("--rate", RATE, "--native", "full", "--otlp-endpoint", sink.url, "--pprof-dir", windows)
    targets = [rig.target(name) for name in ("first.py", "second.py")]
    for target in targets:
        target.begin(1.2)
    for target in targets:
        target.done()
    started.end()
    sink.settle()
    stream = sent / "stream.otlp"
    stream.write_bytes(otlp_stream(posted.body for posted in sink.taken()))
    for number, posted in enumerate(sink.taken()):
        (sent / f"{number}.otlp.gz").write_bytes(posted.raw)
    assert len(sink.taken()) > 1
    samples = "--value", "samples"
    want = rows_of(windows, *samples)
    assert ("burn", str(targets[0].path)) in want
    for files in [stream], sorted(sent.glob("*.gz")):
        assert rows_of(*files, *samples) == want
        by = "--by", "service", *samples
        services = rows_of(*files, *by, key=("service.name",))
        assert services == rows_of(windows, *by, key=("service.name",))
        assert {"first.py", "second.py"} <= {name for name, in services}
        times = [sum(own for own, _ in rows_of(*of).values()) for of in ([windows], files)]
        assert times[0] == pytest.approx(times[1], rel=0.02)
    good("convert", stream, *samples, "--format", "pprof", "-o", rig.out / "all.pb.gz")
    assert pprof_stacks([rig.out / "all.pb.gz"]) == pprof_stacks(windows.glob("*-cpu-*.pb.gz"))


@pytest.mark.parametrize("options", [(), ("--thread-names",)])
def test_names_of_threads(rig, sink, options):
    """Each of the threads that share a stack has a sample, if that is wanted."""
    (rig.out / "threads.py").write_text(THREADS)
    started = rig.start("--rate", RATE, "--otlp-endpoint", sink.url, *options)
    rig.target("threads.py").spend(3)
    started.end()
    sink.settle()
    names = Counter()
    for _, profile in profiles(sink, "threads.py"):
        for (leaf, *_), value, link in profile["samples"]:
            if leaf[0] == "burn":
                assert link is None or link[:2] == (None, None)
                names.update({dict(link[2:] if link else ()).get("thread.name"): value})
    if options:
        assert names["mailer"] > 0.5 * RATE and names["indexer"] > 0.5 * RATE, names
        assert sum(names.values()) > 2 * RATE
    else:
        assert set(names) == {None}


def test_addresses_of_machine_code(rig, sink):
    """Of a stripped Python, functions without a name: their library's build id, and the address in it."""
    started = rig.start("--rate", RATE, "--native", "full", "--otlp-endpoint", sink.url)
    rig.target().spend(2)
    started.end()
    sink.settle()
    requests = [decoded(posted) for posted in sink.taken()]
    mappings = {file: attributes for r in requests for file, attributes in r.mappings.values()}
    addresses = {name: at for r in requests for name, at in r.addresses.items() if at}
    assert addresses, mappings
    for name, at in addresses.items():
        assert name.endswith(f"+{at:#x}"), name
    mappings.pop("[vdso]", None)
    assert mappings
    for file, attributes in mappings.items():
        notes = subprocess.run(["readelf", "-n", file], check=True, capture_output=True, text=True).stdout
        assert f"Build ID: {attributes['process.executable.build_id.gnu']}" in notes, file


@pytest.mark.parametrize("options", [(), ("--no-native-threads",)])
def test_cpu_time_outside_python(rig, sink, options):
    """Of the service, unless it is not wanted."""
    (rig.out / "native.py").write_text(NATIVE)
    started = rig.start("--rate", RATE, "--otlp-endpoint", sink.url, *options)
    stolen = noise.stolen_s()
    target = rig.target("native.py")
    used = target.spend(2)
    stolen = noise.stolen_s() - stolen
    started.end()
    sink.settle()
    native = sum(value * profile["period"] for _, profile in profiles(sink, "native.py")
                 for (*_, root), value, _ in profile["samples"]
                 if root[0].startswith("<native thread python3")) / SECOND
    if options:
        assert native == 0 and seconds_of(sink, "native.py") < 0.5 * used.cpu_s
    else:
        assert native > 0.5 * used.cpu_s
        assert seconds_of(sink, "native.py") in bound_s(used, RATE, stolen)
