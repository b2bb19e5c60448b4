# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`convert -o x.pftrace` and `x.chrome.json`, read by Perfetto's own descriptors, and loaded by trace_processor where it can be had."""
from __future__ import annotations

import ast
import asyncio
import collections
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tachbpf as package
from recorded import needs_root
from tachbpf import _region
from tachbpf._program import find
from work import busy_work

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e" / "lib"))
import make_tach                        # noqa: E402

perfetto = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2",
                               reason="perfetto, whose descriptors decode the trace, is not installed")
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="recording requires root")

PROGRAM = """
import threading, time
times = []
def known():
    end = time.monotonic() + 0.1
    while time.monotonic() < end: pass
def nap(): time.sleep(0.1)
def worker():
    for _ in range(5):
        for function in known, nap:
            begin = time.monotonic(); function(); times.append((function.__name__, begin, time.monotonic()))
t = threading.Thread(target=worker, name="worker-1"); t.start(); t.join()
open("times", "w").write(repr(times))
"""


class Slice(NamedTuple):
    """Times in milliseconds."""
    track: str
    name: str
    begin: float
    length: float
    depth: int


def tachbpf(*arguments: object, cwd: Path | None = None) -> None:
    subprocess.run([find(), *map(str, arguments)], check=True, timeout=120, cwd=cwd)


def decoded(path: Path) -> Any:
    trace = perfetto.Trace()
    trace.ParseFromString(path.read_bytes())
    return trace


def slices_of(trace: Any) -> list[Slice]:
    """Every slice: each that begins ends, on its track, as a stack does."""
    names: dict[int, str] = {}
    tracks: dict[int, str] = {}
    opened: dict[int, list[tuple[int, str]]] = collections.defaultdict(list)
    last: dict[int, int] = {}
    found = []
    for packet in trace.packet:
        names.update((n.iid, n.name) for n in packet.interned_data.event_names)
        if packet.HasField("track_descriptor"):
            d = packet.track_descriptor
            tracks[d.uuid] = d.thread.thread_name or d.process.process_name or d.name
        if not packet.HasField("track_event") or packet.track_event.type not in (1, 2):
            continue
        event, at = packet.track_event, packet.timestamp
        assert at >= last.get(event.track_uuid, 0), "times on a track never decrease"
        last[event.track_uuid] = at
        stack = opened[event.track_uuid]
        if event.type == 1:
            stack.append((at, names[event.name_iid]))
        else:
            begin, name = stack.pop()
            found.append(Slice(tracks[event.track_uuid], name, begin / 1e6, (at - begin) / 1e6, len(stack)))
    assert not any(opened.values())
    return found


def chrome_slices(path: Path) -> list[Slice]:
    events = json.loads(path.read_text())["traceEvents"]
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    return [Slice(tracks[e["pid"], e["tid"]], e["name"], e["ts"] / 1e3, e["dur"] / 1e3, -1) for e in events if e["ph"] == "X"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wall recording of a program whose thread works and sleeps five times, and both timelines of it."""
    if os.geteuid():
        pytest.skip("recording requires root")
    directory = tmp_path_factory.mktemp("trace")
    (directory / "two.py").write_text(PROGRAM)
    tachbpf("record", "-q", "-m", "wall", "-o", directory / "two.tach", "--", sys.executable, "two.py", cwd=directory)
    for ending in ("pftrace", "chrome.json"):
        tachbpf("convert", directory / "two.tach", "-o", directory / f"two.{ending}")
    return directory


def test_slices_of_a_known_function(recorded: Path) -> None:
    """Five calls, whose times the program noted by the same clock: a slice begins and ends within some intervals (1 ms) of them."""
    found = slices_of(decoded(recorded / "two.pftrace"))
    noted = ast.literal_eval((recorded / "times").read_text())
    for name in ("known", "nap"):
        calls = sorted(s for s in found if s.track == "worker-1" and s.name == name)
        truth = [(begin * 1000, end * 1000) for function, begin, end in noted if function == name]
        assert len(calls) == len(truth) == 5, (name, calls)
        off = [max(abs(s.begin - begin), abs(s.begin + s.length - end)) for s, (begin, end) in zip(calls, truth)]
        assert sorted(off)[2] < 2.5 and max(off) < 20, (name, off)
    names = {s.name for s in found if s.track == "state"}
    assert {"on CPU, GIL held", "waiting"} <= names
    waits = [s for s in found if s.track == "state" and s.name == "waiting" and 98 < s.length < 200]
    assert len(waits) >= 5


def test_both_formats_have_the_same_slices(recorded: Path) -> None:
    perfettos = slices_of(decoded(recorded / "two.pftrace"))
    chromes = chrome_slices(recorded / "two.chrome.json")
    renamed = [s._replace(track="state") if s.track.endswith(": state") else s for s in chromes]
    assert [(s.track, s.name) for s in perfettos] == [(s.track, s.name) for s in renamed]
    assert all(abs(a.begin - b.begin) < 0.001 and abs(a.length - b.length) < 0.001 for a, b in zip(perfettos, renamed))


def test_process_threads_and_clock(recorded: Path) -> None:
    trace = decoded(recorded / "two.pftrace")
    tracks = [p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")]
    process, = [t.process for t in tracks if t.HasField("process")]
    threads = [t.thread for t in tracks if t.HasField("thread")]
    session = json.loads((recorded / "two.tach.json").read_text())
    assert process.pid == session["processes"][0]["pid"] and {t.pid for t in threads} == {process.pid}
    assert "worker-1" in {t.thread_name for t in threads}
    snapshot, = [p.clock_snapshot for p in trace.packet if p.HasField("clock_snapshot")]
    clocks = {c.clock_id: c.timestamp for c in snapshot.clocks}
    assert snapshot.primary_trace_clock == 3 and set(clocks) == {1, 3}      # CLOCK_REALTIME, CLOCK_MONOTONIC
    assert min(p.timestamp for p in trace.packet if p.timestamp) >= clocks[3]
    counters = [p.track_event.counter_value for p in trace.packet if p.track_event.type == 4]
    assert counters and all(0 <= c <= 100 for c in counters) and max(counters) > 50
    facts = {a.name: a.string_value or a.uint_value for p in trace.packet for a in p.track_event.debug_annotations}
    assert facts["mode"] == "wall" and facts["interval_us"] > 0


@pytest.fixture(scope="module")
def with_regions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of this process: nested regions, those of two tasks that overlap, and of another thread."""
    path = tmp_path_factory.mktemp("regions") / "x.tach"

    async def tasks() -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def first() -> None:
            with package.region("task 1"):
                await begun.wait()
            ended.set()

        async def second() -> None:
            with package.region("task 2"):
                begun.set()
                await ended.wait()

        await asyncio.gather(first(), second())

    with package.record(path, mode="wall"):
        with package.region("outer", file='"a"\n', rows=7, share=2.5, last=True, less=-3, none=None, bad=float("nan")):
            with package.region("inner"):
                busy_work(0.02)
            busy_work(0.02)
        asyncio.run(tasks())
        thread = threading.Thread(target=package.region("other")(busy_work), args=(0.02,), name="worker-1")
        thread.start()
        thread.join()
    return path


def regions_of(trace: Any) -> list[Slice]:
    return [s for s in slices_of(trace) if s.track.startswith("regions")]


@needs_root
def test_regions_are_slices(with_regions: Path, tmp_path: Path) -> None:
    """Their names and exact times, as the program noted them; nested as they were; below their thread."""
    tachbpf("convert", with_regions, "-o", tmp_path / "x.pftrace")
    tachbpf("convert", with_regions, "-o", tmp_path / "x.chrome.json")
    trace, spans = decoded(tmp_path / "x.pftrace"), _region.read(with_regions)
    found = regions_of(trace)
    noted = sorted((s.name, s.begin_ns / 1e6, (s.end_ns - s.begin_ns) / 1e6) for s in spans)
    assert sorted((s.name, s.begin, s.length) for s in found) == noted and len(noted) == 5
    places = {s.name: (s.track, s.depth) for s in found}
    assert places["outer"] == ("regions", 0) and places["inner"] == ("regions", 1) and places["other"] == ("regions", 0)
    assert {places["task 1"], places["task 2"]} == {("regions", 0), ("regions 2", 0)}
    tracks = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
    parents = [tracks[t.parent_uuid].thread.tid for t in tracks.values() if t.name.startswith("regions")]
    assert sorted(parents) == sorted([os.getpid(), os.getpid(), next(s.thread for s in spans if s.name == "other")])
    chromes = [s for s in chrome_slices(tmp_path / "x.chrome.json") if ": regions" in s.track]
    assert sorted(s.name for s in chromes) == sorted(s.name for s in found)
    for one, other in zip(sorted(chromes, key=lambda s: s.name), sorted(found, key=lambda s: s.name)):
        assert abs(one.begin - other.begin) < 0.001 and abs(one.length - other.length) < 0.001


@needs_root
def test_attributes_of_regions(with_regions: Path, tmp_path: Path) -> None:
    """With their types; JSON has them alike."""
    tachbpf("convert", with_regions, "-o", tmp_path / "x.pftrace")
    tachbpf("convert", with_regions, "-o", tmp_path / "x.chrome.json")
    event, = (p.track_event for p in decoded(tmp_path / "x.pftrace").packet
              if any(a.name == "share" for a in p.track_event.debug_annotations))
    values = {a.name: getattr(a, a.WhichOneof("value")) for a in event.debug_annotations}
    assert values == {"file": r'"a"\x0a', "rows": 7, "share": 2.5, "last": True, "less": -3, "none": "null", "bad": "nan"}
    events = json.loads((tmp_path / "x.chrome.json").read_text())["traceEvents"]
    args, = (e["args"] for e in events if e["name"] == "outer")
    assert args == {**values, "none": None}


@needs_root
def test_a_selection_has_its_regions(with_regions: Path, tmp_path: Path) -> None:
    """A part of the time and one thread, in a timeline and in a TACH file; merged they are all there."""
    inner = next(s for s in _region.read(with_regions) if s.name == "inner")
    middle = (inner.begin_ns + inner.end_ns) // 2000
    selection = ("--thread", inner.thread, "--to", f"@{middle / 1e6:.6f}")
    tachbpf("convert", with_regions, "-o", tmp_path / "x.pftrace", *selection)
    assert {(s.name, round((s.begin + s.length) * 1e3)) for s in regions_of(decoded(tmp_path / "x.pftrace"))} == {
        ("outer", middle), ("inner", middle)}
    tachbpf("convert", with_regions, "-o", tmp_path / "y.tach", *selection)
    some = _region.read(tmp_path / "y.tach")
    assert {(s.name, s.end_ns) for s in some} == {("outer", middle * 1000), ("inner", middle * 1000)}
    assert package.read(tmp_path / "y.tach").in_region("inner").weight > 0
    tachbpf("merge", with_regions, tmp_path / "y.tach", "-o", tmp_path / "z.tach")
    assert len(_region.read(tmp_path / "z.tach")) == 7
    (tmp_path / "plain.tach").write_bytes(with_regions.read_bytes())
    tachbpf("convert", tmp_path / "plain.tach", "-o", tmp_path / "z.tach", "--thread", inner.thread)
    assert not _region.beside(tmp_path / "z.tach").exists()


def test_damaged_regions_cost_only_themselves(tmp_path: Path) -> None:
    writer = make_tach.Writer()
    writer.add(writer.stack([(b"/x/a.py", b"f", 3)]), tid=1, time_us=1000)
    writer.write(tmp_path / "x.tach", mode="wall")
    _region.beside(tmp_path / "x.tach").write_text('{"version": 1, "begin_ns": 1000000, "lost": 0, "regions": [["a", 1, 3000, 2000, {}]]}')
    done = subprocess.run([find(), "convert", tmp_path / "x.tach", "-o", tmp_path / "x.pftrace"], stderr=subprocess.PIPE, text=True, check=True)
    assert done.stderr.count("\n") == 1 and "x.tach.regions.json': expected a region's end after its begin at byte" in done.stderr
    found = slices_of(decoded(tmp_path / "x.pftrace"))
    assert "f" in {s.name for s in found} and not any(s.track == "regions" for s in found)


@needs_root
def test_regions_of_a_directory(tmp_path: Path) -> None:
    """With its children a recording is a directory: the regions are of the process that noted them."""
    with package.record(tmp_path / "all", children=True), package.region("parent"):
        subprocess.run([sys.executable, "-c", "import time; end = time.monotonic() + 0.1\nwhile time.monotonic() < end: pass"], check=True)
        busy_work(0.05)
    tachbpf("convert", tmp_path / "all", "-o", tmp_path / "x.pftrace")
    assert [s.name for s in regions_of(decoded(tmp_path / "x.pftrace"))] == ["parent"]


def test_hostile_names_are_utf8(tmp_path: Path) -> None:
    """A name of any bytes: the descriptors' strings are text, and JSON is JSON."""
    writer = make_tach.Writer()
    stack = writer.stack([(b"/x/\xff\n.py", b"f\xfe\"\\\x1b[31m", 3), (b"/x", b"<module>", 1)])
    for i in range(50):
        writer.add(stack, tid=1 + i % 3, time_us=1000 * i)
    writer.write(tmp_path / "x.tach", mode="wall")
    tachbpf("convert", tmp_path / "x.tach", "-o", tmp_path / "x.perfetto-trace")
    tachbpf("convert", tmp_path / "x.tach", "-o", tmp_path / "x.chrome.json")
    found = [s for s in slices_of(decoded(tmp_path / "x.perfetto-trace")) if s.track.startswith("thread")]
    assert [(s.name, s.depth) for s in found] == [(r'f\xfe"\\x1b[31m', 1), ("<module>", 0)] * 3
    assert len([s for s in chrome_slices(tmp_path / "x.chrome.json") if s.track.startswith("thread") and "state" not in s.track]) == 6


def test_trace_processor_loads_it(recorded: Path) -> None:
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig    # type: ignore[import-untyped]
    shell = os.environ.get("TRACE_PROCESSOR")
    if not shell:
        pytest.skip("no trace_processor_shell: TRACE_PROCESSOR names none, and the package downloads it")
    for name in ("two.pftrace", "two.chrome.json"):
        with TraceProcessor(trace=str(recorded / name), config=TraceProcessorConfig(bin_path=shell)) as tp:
            rows = list(tp.query("select s.dur from slice s join thread_track t on s.track_id = t.id where s.name = 'known'"))
            assert len(rows) == 5
            bad = list(tp.query("select name, value from stats where severity = 'error' and value > 0"))
            assert not bad, [(r.name, r.value) for r in bad]
