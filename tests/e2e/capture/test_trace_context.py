# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Samples have the trace and the span that their thread worked for, however it publishes them.

trace_writer.c publishes for traced.py, in each model of thread-local variables; trace_events.c prints
what a capture sees.
"""
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter

import pytest

from agent import Agent, profiles, program
from http_sink import Sink
from paths import REPO, TARGETS, binary
from processes import kill

ARM64 = platform.machine() == "aarch64"
DESC, TRADITIONAL = ("desc", "trad") if ARM64 else ("gnu2", "gnu")
LIBRARY = ("-shared", "-fPIC")
MODELS = {
    "descriptor": (*LIBRARY, f"-mtls-dialect={DESC}", "-DEARLIER=4"),
    "general-dynamic": (*LIBRARY, f"-mtls-dialect={TRADITIONAL}", "-DEARLIER=4"),
    "local-dynamic": (*LIBRARY, f"-mtls-dialect={TRADITIONAL}", "-ftls-model=local-dynamic",
                      "-DEARLIER=1000"),
    "initial-exec": (*LIBRARY, "-ftls-model=initial-exec"),
    "local-exec": ("-DEXECUTABLE", "-DEARLIER=100", "-rdynamic"),
}
RATE, ENOUGH = 997, 40
TRACES = {"work_a": "a0" * 16, "work_b": "b0" * 16, "work_none": "-"}
ATTRIBUTES = {"work_a": "http.route=/a/{id},odd=" + "x" * 100 + ",-", "work_b": "-", "work_none": "-"}


@pytest.fixture(scope="module")
def trace_events():
    """The program, by the tree's own rules. By another name of its directory make would link all again, below other tests."""
    place = os.path.relpath(binary().parent, REPO)
    program = "tests/bench/trace_events"
    subprocess.run(["make", "-s", "-C", REPO, f"O={place}", f"{place}/{program}"], check=True, stdout=subprocess.DEVNULL)
    return binary().parent / program


@pytest.fixture
def writer(tmp_path):
    """model -> (the Python that uses it, the library's path or -)."""
    def build(model):
        out = tmp_path / f"writer_{model}.so"
        options = list(MODELS[model])
        visibility = "protected" if model == "local-dynamic" else "default"
        if model == "local-exec":
            library = f"python{sys.version_info.major}.{sys.version_info.minor}"
            if not shutil.which(f"{library}-config"):
                pytest.skip(f"no {library}-config")
            options += [f"-L{sysconfig.get_config_var('LIBDIR')}", f"-l{library}"]
        subprocess.run(["cc", "-O2", "-Wall", "-Werror", f'-DVISIBILITY="{visibility}"', "-o", out,
                        TARGETS / "trace_writer.c", *options], check=True)
        return (out, "-") if model == "local-exec" else (sys.executable, out)
    return build


class Traced:
    """A target that works for traces, and the events of it."""

    def __init__(self, trace_events, mode, argv):
        self.target = subprocess.Popen(list(map(str, argv)), stdin=subprocess.PIPE, text=True,
                                       stdout=subprocess.PIPE, start_new_session=True)
        assert self.target.stdout.readline() == "ready\n"
        self.reader = subprocess.Popen([trace_events, mode, str(RATE), str(self.target.pid)],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                       start_new_session=True)

    def __enter__(self):
        assert self.reader.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_):
        kill(self.reader)
        kill(self.target)

    def go(self):
        self.target.stdin.write("go\n")
        self.target.stdin.flush()

    def events(self):
        """(tgid, tid, weight, trace, span, attributes, frames) without end."""
        for line in self.reader.stdout:
            tgid, tid, weight, trace, span, attributes, *frames = line.split(maxsplit=6)
            yield (int(tgid), int(tid), int(weight), trace, span, attributes,
                   frames[0].rstrip(";\n").split(";") if frames else [])

    def collect(self, classify, classes, limit=20000):
        """Events by class, until so many classes have enough of them; None is not kept."""
        seen = {}
        for event in self.events():
            kind = classify(event)
            if kind is not None:
                seen.setdefault(kind, []).append(event)
            limit -= 1
            if sum(len(events) >= ENOUGH for events in seen.values()) >= classes or not limit:
                break
        assert limit, {kind: len(events) for kind, events in seen.items()}
        return seen


def work_of(event):
    """Which of the functions it is in; None: in none of them, where anything may be right."""
    return next(((name, event[1]) for name in TRACES if name in event[6]), None)


def check_work(seen):
    """seen: (work, thread) -> events."""
    spans = {}
    for (work, _), events in seen.items():
        for _, tid, _, trace, span, attributes, _ in events:
            assert (trace, attributes) == (TRACES[work], ATTRIBUTES[work])
            spans.setdefault((tid, work), set()).add(span)
    for (_, work), its in spans.items():
        assert len(its) == 1        # one span per thread and function
        if work != "work_none":
            assert its.pop() in [f"{n}{work[-1]}" * 8 for n in range(2)]
    assert len({tid for tid, _ in spans}) == 2


@pytest.mark.parametrize("model", MODELS)
def test_each_model(trace_events, writer, model):
    python, library = writer(model)
    with Traced(trace_events, "cpu", [python, TARGETS / "traced.py", library]) as traced:
        check_work(traced.collect(work_of, 2 * len(TRACES)))


def test_waits_have_the_context_of_their_begin(trace_events, writer):
    """But not a wait that began before the recording: user space finds that one, without a context."""
    python, library = writer("descriptor")
    known = set()

    def classify(event):
        begun, tid = event[1] in known, event[1]
        known.add(tid)
        return work_of(event) if begun else None
    with Traced(trace_events, "wall", [python, TARGETS / "traced.py", library, "sleep"]) as traced:
        check_work(traced.collect(classify, 2 * len(TRACES)))


def test_records_that_change(trace_events, writer):
    """Two traces in one record, changed in place: no event has a half of each."""
    python, library = writer("descriptor")
    with Traced(trace_events, "cpu", [python, TARGETS / "traced.py", library, "change"]) as traced:
        seen = traced.collect(lambda e: (e[3], e[4]) if e[3] != "-" else None, 4)
    assert set(seen) == {(f"{t}0" * 16, f"{n}{t}" * 8) for t in "ab" for n in range(2)}


def test_a_child_inherits_the_place(trace_events, writer):
    python, library = writer("descriptor")
    with Traced(trace_events, "cpu", [python, TARGETS / "traced.py", library, "fork"]) as traced:
        traced.go()
        seen = traced.collect(lambda e: work_of(e) if e[0] != traced.target.pid else None, 3)
    # Its own process context is not inherited: who reads it has no names for its keys.
    for (work, _), events in seen.items():
        for _, _, _, trace, span, _, _ in events:
            assert trace == TRACES[work]
            assert span in ("-", "2a" * 8, "2b" * 8)


DATADOG = """
import sys, time
from ddtrace import tracer
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
def work_traced():
    spin(0.01)
def work_none():
    spin(0.005)
with tracer.trace("first"):
    pass
print("ready", flush=True)
while True:
    with tracer.trace("request", resource="/a") as span:
        work_traced()
    work_none()
"""


def test_ddtrace(trace_events, tmp_path, monkeypatch):
    """The SDK that publishes by itself: pip install --target DIR ddtrace; PYTHONPATH=DIR."""
    if not importlib.util.find_spec("ddtrace"):
        pytest.skip("ddtrace is not installed")
    monkeypatch.setenv("DD_TRACE_OTEL_CTX_ENABLED", "true")
    monkeypatch.setenv("DD_TRACE_AGENT_URL", "http://127.0.0.1:9")
    program = tmp_path / "traced_by_datadog.py"
    program.write_text(DATADOG)
    with Traced(trace_events, "cpu", [sys.executable, program]) as traced:
        seen = traced.collect(lambda e: next((f for f in e[6] if f.startswith("work_")), None),
                              2)
    assert "-" not in {e[3] for e in seen["work_traced"]}
    assert len({e[4] for e in seen["work_traced"]}) > 1, "each request has a span of its own"
    assert {e[3] for e in seen["work_none"]} == {"-"}
    print(Counter(e[5] for e in seen["work_traced"]))


def links_in(sink):
    """function -> (trace, span, attributes) of its samples, of all that the server took."""
    seen = {}
    for _, profile in profiles(sink):
        for stack, _, link in profile["samples"]:
            work = next((name for name in TRACES if name in (frame[0] for frame in stack)), None)
            # Samples from before the agent has read the process context have no link.
            if work and (link or work == "work_none"):
                trace, span, *attributes = link or (b"", b"")
                seen.setdefault(work, set()).add((trace.hex(), span.hex(), tuple(attributes)))
    return seen


def test_agent(writer, tmp_path):
    """From the thread's memory to a server: links and attributes of OTLP samples."""
    if not program().exists():
        pytest.skip("built without the agent")
    python, library = writer("descriptor")
    target = subprocess.Popen([python, TARGETS / "traced.py", library], stdout=subprocess.PIPE,
                              text=True, start_new_session=True)
    try:
        assert target.stdout.readline() == "ready\n"
        with Sink() as sink, Agent(tmp_path, "--trace-context", "--rate", 499, "--window", "1s",
                                   "--budget-cpu", 0, "--otlp-endpoint", sink.url):
            sink.wait(lambda s: sum(map(len, links_in(s).values())) >= 2 + 2 + 1)
            seen = links_in(sink)
    finally:
        kill(target)
    route = (("http.route", "/a/{id}"), ("odd", "x" * 100))
    assert seen["work_a"] == {("a0" * 16, f"{n}a" * 8, route) for n in range(2)}
    assert seen["work_b"] == {("b0" * 16, f"{n}b" * 8, ()) for n in range(2)}
    assert seen["work_none"] == {("", "", ())}
