# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""region(): spans by the clock of samples, beside the recording; almost nothing without one."""
import asyncio
import json
import os
import signal
import sys
import threading
import timeit

import pytest
import tachbpf
from recorded import SAMPLES, in_thread, needs_root, totals
from tachbpf import _region
from work import busy_work, other_work

ENTRY_NS = 1000


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.tach"


def selected(path, span):
    """Samples of a span's thread and time, by the program's own filters: function to count."""
    return totals(path, "--thread", str(span.thread), "--from", f"@{span.begin_ns / 1e9:.6f}", "--to", f"@{span.end_ns / 1e9:.6f}")


@needs_root
def test_samples_of_a_region_are_those_of_its_code(path):
    """Two threads at the same time, each in a region of its own."""
    def work(name, function):
        with tachbpf.region(name, number=7):
            function()

    with tachbpf.record(path):
        threads = [threading.Thread(target=work, args=what) for what in (("busy", busy_work), ("other", other_work))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    spans = {span.name: span for span in _region.read(path)}
    assert set(spans) == {"busy", "other"} and spans["busy"].attributes == {"number": 7}
    busy, other = selected(path, spans["busy"]), selected(path, spans["other"])
    assert busy["busy_work"] > SAMPLES and "other_work" not in busy
    assert other["other_work"] > SAMPLES and "busy_work" not in other


@needs_root
def test_a_region_is_a_profile(path):
    """With its own sums, equal to what the program says of this thread and time; nested spans count once."""
    with tachbpf.record(path) as r:
        for function in (busy_work, other_work, busy_work):
            with tachbpf.region(function.__name__):
                with tachbpf.region("inner"), tachbpf.region("inner"):
                    function(0.1)
    profile = r.read()
    assert [span.name for span in profile.regions].count("inner") == 6 and profile.regions.lost == 0
    other, span = profile.in_region("other_work"), next(s for s in profile.regions if s.name == "other_work")
    assert {row.function: row.total for row in other.functions(detail=True)} == selected(path, span)
    assert sum(sample.weight for sample in other.samples) == other.weight == other.tree().total
    busy, inner = profile.in_region("busy_work"), profile.in_region("inner")
    assert busy.weight > SAMPLES and not {"other_work"} & {row.function for row in busy.functions()}
    assert other.weight + busy.weight >= inner.weight > other.weight + busy.weight - 5
    with pytest.raises(tachbpf.Error, match="no region 'x'; there are busy_work, inner, other_work"):
        profile.in_region("x")
    stale = json.loads(_region.beside(path).read_text())
    stale["begin_ns"] = profile.meta.start_us * 1000 - 1
    _region.beside(path).write_text(json.dumps(stale))
    with pytest.raises(tachbpf.Error, match="or any other"):
        tachbpf.read(path).in_region("inner")


@needs_root
def test_open_at_the_begin_and_at_the_end(path):
    """Regions that are open while the recording begins or ends are cut there, also other threads'."""
    inside, leave = threading.Event(), threading.Event()

    def wait():
        with tachbpf.region("around"):
            inside.set()
            leave.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    inside.wait()
    with tachbpf.region("before"):
        recording = tachbpf.record(path)
        recording.start()
        busy_work(0.02)
    with tachbpf.region("after"):
        busy_work(0.02)
        recording.stop()
    leave.set()
    thread.join()
    content = json.loads(_region.beside(path).read_text())
    spans = {span.name: span for span in _region.read(path)}
    assert set(spans) == {"around", "before", "after"}
    assert spans["around"].begin_ns == spans["before"].begin_ns == content["begin_ns"]
    assert spans["around"].end_ns == spans["after"].end_ns == content["end_ns"]
    assert spans["around"].thread != spans["before"].thread == threading.get_native_id()
    assert spans["before"].end_ns < spans["after"].begin_ns


@needs_root
def test_a_recording_without_regions_has_no_file(path):
    """Nor those of an earlier recording of that name."""
    with tachbpf.record(path), tachbpf.region("a"):
        busy_work(0.02)
    assert [span.name for span in _region.read(path)] == ["a"]
    with tachbpf.record(path, force=True):
        busy_work(0.02)
    assert not _region.beside(path).exists() and not _region.read(path)


def kept():
    """What is kept of regions as by a recording, without one."""
    return _region.keep()


def written(keeper, path):
    path.touch()
    keeper.end(path, _region.monotonic_ns())
    return _region.read(path)


def test_limits_are_told(path, monkeypatch):
    monkeypatch.setattr(_region, "KEPT_MAX", 3)
    keeper = kept()
    for number in range(5):
        with tachbpf.region("n" * 2000, text="t" * 500, other=[1, 2], none=None, **{f"a{i}": i for i in range(20)}):
            pass
    spans = written(keeper, path)
    assert len(spans) == 3 and spans.lost == 2
    assert spans[0].name == "n" * 1023 + "…"
    assert len(spans[0].attributes) == 16
    assert spans[0].attributes["text"] == "t" * 255 + "…" and spans[0].attributes["other"] == "[1, 2]"
    assert spans[0].attributes["none"] is None and spans[0].attributes["a3"] == 3


def test_a_file_that_would_be_too_large_has_what_fits(path, monkeypatch):
    monkeypatch.setattr(_region, "FILE_MAX", 20_000)
    keeper = kept()
    for number in range(100):
        with tachbpf.region(f"{number}", text="é" * 200):
            pass
    spans = written(keeper, path)
    assert 10 < len(spans) < 20 and len(spans) + spans.lost == 100
    assert [span.name for span in spans] == [f"{number}" for number in range(len(spans))]
    assert _region.beside(path).stat().st_size <= 20_000


def test_values_that_json_does_not_have(path):
    class Bad:
        def __str__(self):
            raise ValueError

    keeper = kept()
    with tachbpf.region("a", nan=float("nan"), big=1 << 63, huge=10 ** 9999, bad=Bad(), low=1 - (1 << 63)):
        pass
    values = written(keeper, path)[0].attributes
    assert values["nan"] == "nan" and values["big"] == str(1 << 63) and values["bad"] == "<Bad>"
    assert isinstance(values["huge"], str) and len(values["huge"]) <= 256 and values["low"] == 1 - (1 << 63)
    json.loads(_region.beside(path).read_text(), parse_constant=pytest.fail)


def test_decorator_and_reuse(path):
    @tachbpf.region("call", kind="sync")
    def work(n):
        return n if n == 0 else work(n - 1)

    @tachbpf.region("await")
    async def awaited():
        await asyncio.sleep(0)
        return threading.get_native_id()

    keeper, again = kept(), tachbpf.region("again")
    assert work(2) == 0 and work.__name__ == "work"
    assert asyncio.run(awaited()) == threading.get_native_id()
    for _ in range(2):
        with again:
            pass
    with pytest.raises(KeyError), tachbpf.region("failed"):
        raise KeyError
    spans = written(keeper, path)
    assert [span.name for span in spans] == ["call", "call", "call", "await", "again", "again", "failed"]
    calls = spans[:3]
    assert calls[2].begin_ns < calls[1].begin_ns < calls[0].begin_ns <= calls[0].end_ns < calls[2].end_ns
    with pytest.raises(TypeError, match="generator"):
        @tachbpf.region("g")
        def generator():
            yield


def test_threads_are_the_kernels(path):
    """A forked child has other ids, and no part in its parent's recording."""
    keeper, ids = kept(), []

    def work():
        with tachbpf.region("thread"):
            ids.append(threading.get_native_id())

    in_thread(work)
    with tachbpf.region("main"):
        ids.append(threading.get_native_id())
    child = os.fork()
    if not child:
        with tachbpf.region("child"):
            right = _region._thread.tid == os.getpid() and not _region._keepers
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    spans = written(keeper, path)
    assert [span.thread for span in spans] == ids and "child" not in [span.name for span in spans]


def test_a_region_in_a_signal_handler(path):
    """It may interrupt the end of another one."""
    keeper, handled = kept(), []

    def handle(*_):
        with tachbpf.region("handler"):
            handled.append(1)

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    while len(handled) < 20:
        with tachbpf.region("work"):
            pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    spans = written(keeper, path)
    assert len(spans) + spans.lost > 20
    assert sum(span.name == "handler" for span in spans) == len(handled) or spans.lost


def test_cost_without_a_recording(record_property, capsys):
    """The best of many short runs, so that other programs on this machine do not count."""
    region = tachbpf.region

    def enter():
        with region("name"):
            pass

    cost = {}
    for name, function in (("enter", enter), ("nothing", lambda: None)):
        cost[name] = min(timeit.repeat(function, number=100, repeat=2000)) / 100 * 1e9
    entry_ns = cost["enter"] - cost["nothing"]
    record_property("entry_ns", round(entry_ns))
    with capsys.disabled():
        print(f" [{entry_ns:.0f} ns per region, Python {sys.version.split()[0]}]", end="")
    assert entry_ns <= ENTRY_NS and not _region._open


# ---- the file of others ----


GOOD = {"version": 1, "pid": 1, "begin_ns": 0, "end_ns": 9, "lost": 0, "regions": [["a", 1, 2, 3, {}]]}


def test_a_good_file(path):
    _region.beside(path).write_text(json.dumps(GOOD))
    assert _region.read(path) == [_region.Span("a", 1, 2, 3, {})]


@pytest.mark.parametrize("text, why", [
    ("", "damaged"), ("[" * 100_000, "damaged"), ("[]", "version"), ("{}", "version"), ('{"version": 2}', "version"),
    *((json.dumps({**GOOD, **wrong}), "form") for wrong in (
        {"regions": None}, {"lost": "x"}, {"begin_ns": None}, {"regions": [1]}, {"regions": [["a", 1, 2, 3]]}, {"regions": [["a", 1, -2, 3, {}]]},
        {"regions": [["a", 1, 2, 1 << 63, {}]]}, {"regions": [[1, 1, 2, 3, {}]]}, {"regions": [["a", 1, 2.5, 3, {}]]},
        {"regions": [["a", 1, 2, 3, []]]})),
])
def test_damaged_files(path, text, why):
    _region.beside(path).write_text(text)
    with pytest.raises(tachbpf.Error, match=why):
        _region.read(path)


def test_a_file_that_is_too_large(path, monkeypatch):
    monkeypatch.setattr(_region, "FILE_MAX", 100)
    _region.beside(path).write_text(json.dumps(GOOD) + " " * 100)
    with pytest.raises(tachbpf.Error, match="larger"):
        _region.read(path)
