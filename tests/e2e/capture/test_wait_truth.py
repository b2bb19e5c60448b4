# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Waiting, as threads measured it themselves: by the clock, by the scheduler's account, around each call.

One process of each interpreter plays targets/waits.py, recorded in three modes at the
same time. Waits are measured: noise.wait_bound. Ticks on a CPU come by chance:
noise.count_bound.
"""
import collections
import concurrent.futures
import contextlib
import json
import os
import select
import subprocess
import time

import pytest

import noise
from bpf_objects import bpf_programs, bpf_stats
from paths import binary
from present import FOUND
from processes import TIMEOUT, kill
from profiles import GIL_REQUESTED, HAS_GIL, ON_CPU, SYNTHETIC, UNKNOWN
from recording import Recording, succeeded
from summary import lost_of_short_lives
from target import Target

pytestmark = pytest.mark.truth      # times of waiting

RATE = 4999             # threads that run for microseconds need many samples
PART_S = 1.2
MODES = ("wall", "gil", "offcpu")
PRIORITY = -15          # of the targets: what else runs here is not to disturb them
BUSY = 0.02             # of its time: a thread that is kept waiting longer is disturbed by others
KINDS = 3               # of waits: blocked, for the GIL, for a CPU
INTERVAL = 0.5 / (1e6 / RATE)   # a file has its interval in whole microseconds: so far off
A_CPU, THE_GIL = "<waiting for a CPU>", "<waiting for the GIL>"
CALLS = {"sleep": {"clock_nanosleep", "nanosleep", "select", "pselect6"}, "acquire": {"futex"},
         "read": {"read"}, "poll": {"poll", "ppoll"}, "select": {"select", "pselect6"},
         "fsync": {"fsync"}}


class Thread:
    """One thread of one part: what it says, and its samples in each mode."""

    def __init__(self, played, part, truth):
        self.played, self.part, self.truth = played, part, truth
        self.name = truth["name"]

    def __repr__(self):
        return f"{self.part}/{self.name}/{self.truth['tid']}"

    def s(self, key):
        return self.truth[key + "_ns"] / 1e9

    @property
    def switching_s(self):
        """What its switches took of it, by one account or the other."""
        return self.truth["switches"] * self.played.switch_s

    def waits(self, low_s, high_s, kinds=1):
        """What its waits are by our account, if they took so long by its own."""
        return noise.wait_bound(low_s, high_s, RATE, self.truth["switches"], kinds,
                                self.played.switch_s)

    def ticks(self, cpu_s, slices=None):
        """How many seconds of ticks there are in so much CPU time."""
        ticks = noise.count_bound(cpu_s, RATE, self.played.missed, slices or self.truth["switches"])
        return noise.Bound(ticks.low / RATE - self.switching_s, ticks.high / RATE + self.switching_s)

    def samples(self, mode):
        begin, end = self.truth["start_ns"] / 1e3, self.truth["end_ns"] / 1e3
        return [s for s in self.played.by_tid[mode].get(self.truth["tid"], ())
                if begin <= s.time_us < end]


class Played:
    """What one process did, and what three recordings have of it."""

    def __init__(self, interpreter, truth, summaries, profiles, paths, programs_s, stolen_s):
        self.interpreter, self.summaries, self.profiles = interpreter, summaries, profiles
        self.paths = paths
        self.missed = noise.missed(summaries["wall"], stolen_s)     # ticks
        self.phase = truth["phases"]["waits"]
        self.marks = self.phase["marks"]
        self.by_tid = {mode: {} for mode in MODES}
        for mode in MODES:
            for s in profiles[mode].samples:
                self.by_tid[mode].setdefault(s.tid, []).append(s)
        # three recordings look at each switch: it is theirs, too, what their programs take
        switches = sum(t.truth["switches"] for t in self.threads())
        self.switch_s = noise.SWITCH_S + programs_s / switches
        print(f"{interpreter}: a switch takes {1e6 * self.switch_s:.1f} us with three recordings")

    def threads(self, *parts):
        return [Thread(self, part, t) for part in parts or self.phase["parts"]
                for t in self.phase["parts"].get(part, {"threads": ()})["threads"]]

    def named(self, part, name):
        return [t for t in self.threads(part) if t.name == name]

    @property
    def disturbed(self):
        """Why others on this machine kept it from running, or None."""
        alone = ("sleeper", "queuing", "holder_busy", "hog")
        kept = [t for t in self.threads() if t.name in alone and
                t.s("delay") > BUSY * t.s("wall")]
        return f"without a CPU for more than {100 * BUSY:.0f} %: {kept}" if kept else None

    def seconds(self, samples):
        return len(samples) / RATE

    def at(self, samples, mark):
        """Those whose innermost Python frame is at a marked line."""
        def line(sample):
            for f in sample.frames:
                if f.file != SYNTHETIC:
                    return f.file == self.phase["file"] and f.line
            return None
        return [s for s in samples if line(s) in self.marks[mark]]


def play(interpreter, scratch, oracle):
    """Once more if others disturbed it: then threads do not do what the parts are about."""
    played = play_once(interpreter, scratch, oracle)
    if not played.disturbed:
        return played
    noise.note_retry(f"test_wait_truth[{interpreter.name}]", played.disturbed)
    return play_once(interpreter, scratch, oracle)


def go_first(target):
    """Its threads inherit it from the one that is there."""
    os.setpriority(os.PRIO_PROCESS, target.pid, PRIORITY)
    target.go()


def play_once(interpreter, scratch, oracle):
    paths = {mode: scratch / f"waits-{interpreter.name}-{mode}.tach" for mode in MODES}
    recordings = {}
    with Target(interpreter, scratch, f"waits={PART_S}") as target:
        try:
            for mode, path in paths.items():
                with contextlib.suppress(FileNotFoundError):
                    path.unlink()
                recordings[mode] = Recording(["-p", target.pid, "-m", mode, "-r", RATE, "-o", path,
                                              "--json"])
            for recording in recordings.values():
                recording.wait_recording()
            before, stolen = bpf_programs("on_switch"), noise.stolen_s()
            go_first(target)
            truth = target.wait_done()
            after, stolen = bpf_programs("on_switch"), noise.stolen_s() - stolen
            target.leave()
            summaries = {m: succeeded(r.wait()).summary for m, r in recordings.items()}
        finally:
            for recording in recordings.values():
                kill(recording.process)
    profiles = dict(zip(MODES, oracle.load(*paths.values())))
    spent_ns = sum(ns - before.get(program, (0, 0))[1] for program, (_, ns) in after.items())
    return Played(interpreter, truth, summaries, profiles, paths, spent_ns / 1e9,
                  stolen)


@pytest.fixture(scope="session")
def hold_so(scratch):
    """hold.c, which every glibc loads; an older one than ours, too."""
    so = scratch / "targets" / "hold.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", so, so.with_suffix(".c")], check=True)
    return so


@pytest.fixture(scope="session")
def all_played(request, scratch, oracle, hold_so):
    """Those that a selected test asks for, one at a time."""
    wanted = {item.callspec.params.get("played") for item in request.session.items
              if hasattr(item, "callspec")}
    with concurrent.futures.ThreadPoolExecutor(1) as pool, bpf_stats():
        yield {i.name: pool.submit(play, i, scratch, oracle) for i in FOUND if i.name in wanted}
        pool.shutdown(cancel_futures=True)


@pytest.fixture(params=[i.name for i in FOUND])
def played(root, request, all_played):
    return all_played[request.param].result()


@pytest.fixture
def with_gil(played):
    if played.interpreter.free_threaded:
        pytest.skip("a free-threaded build: no GIL")
    return played


@pytest.fixture
def holding(with_gil):
    if "convoy" not in with_gil.phase["parts"]:
        pytest.skip("a build without ctypes, which calls hold.c")
    return with_gil


def leaf(sample):
    return sample.frames[0].func if sample.frames else None


def runnable(samples):
    return [s for s in samples if leaf(s) == A_CPU]


def wants_gil(samples):
    return [s for s in samples if s.status & GIL_REQUESTED and not s.status & HAS_GIL]


def wrong(checks):
    """The failed ones of (what, figure, bound, figures that explain it...)."""
    return [(what, figure, str(bound), *why) for what, figure, bound, *why in checks
            if figure not in bound]


def test_nothing_is_lost_and_nothing_unknown(played):
    for mode in MODES:
        assert not lost_of_short_lives(played.summaries[mode]), mode
        for t in played.threads():
            unknown = [s for s in t.samples(mode) if s.status & UNKNOWN]
            assert not unknown, (mode, t, len(unknown), unknown[:2])


def test_every_thread_is_seen_all_the_time(played):
    """Ticks on a CPU come by chance (see test_shares); what is off it is measured."""
    checks = []
    for t in played.threads():
        off_cpu = played.seconds([s for s in t.samples("wall") if not s.status & ON_CPU])
        want = t.s("wall") - t.s("cpu")
        checks.append((t, off_cpu, t.waits(want, want, KINDS)))
    assert not wrong(checks)


def test_shares(played):
    """On a CPU, able to run, blocked: of each thread's time."""
    checks = []
    for t in played.threads():
        samples = t.samples("wall")
        on_cpu = played.seconds([s for s in samples if s.status & ON_CPU])
        checks.append(((t, "on a CPU"), on_cpu, t.ticks(t.s("cpu"))))
        if wants_gil(samples):
            continue        # the wait for the GIL ends when it runs, whatever delays that
        could = played.seconds(runnable(samples))
        checks.append(((t, "could run"), could, t.waits(t.s("delay"), t.s("delay"))))
    assert len(checks) >= 12
    assert not wrong(checks)


def test_sleeping_seventy_percent(played):
    t, = played.named("sleep", "sleeper")
    asleep = played.at([s for s in t.samples("wall") if not s.status & ON_CPU and
                        leaf(s) != A_CPU], "sleep")
    assert played.seconds(asleep) in t.waits(t.s("blocked"), t.s("blocked"))


def test_off_cpu_totals(played):
    """What has nothing to do with the GIL: exactly what the scheduler says was blocked."""
    checks = []
    for t in played.threads("sleep", "queue", "blocked"):
        samples = t.samples("offcpu")
        gil = played.seconds([s for s in samples if leaf(s) == THE_GIL])
        got = played.seconds(samples) - gil
        # a wait for the GIL is none of these, but the scheduler's account has it
        checks.append((t, got + gil, t.waits(t.s("blocked"), t.s("blocked") + gil, 2), gil))
    assert len(checks) >= 9
    assert not wrong(checks)


def test_totals_of_calls(played):
    """At the line of the call, what was timed around it; less the time until the thread ran."""
    checks = []
    for mark, part in (("read", "blocked"), ("poll", "blocked"), ("select", "blocked"),
                       ("acquire", "queue")):
        for t in played.threads(part):
            samples = played.at(t.samples("offcpu"), mark)
            if samples:
                least = t.s("wait") - t.s("delay") - t.s("cpu")
                checks.append(((t, mark), played.seconds(samples),
                               t.waits(least, t.s("wait"), 2)))
    assert len(checks) == 7
    assert not wrong(checks)


@pytest.mark.parametrize("mark", sorted(CALLS))
def test_what_it_was_blocked_in(played, mark):
    part = {"sleep": "sleep", "acquire": "queue"}.get(mark, "blocked")
    threads = played.threads(part)
    samples = [s for t in threads for s in played.at(t.samples("offcpu"), mark)]
    if mark == "fsync" and not samples:
        pytest.skip("this disk keeps nobody waiting")
    # the first time that it gets there, code may still have to be read from the disk
    wanted = {f"<blocked in {call}>" for call in CALLS[mark]} | {THE_GIL, "<blocked in page fault>"}
    strange = [s for s in samples if leaf(s) not in wanted]
    # or, on its way from one wait to the next, in the lock with which the GIL is made
    futex = [s for s in strange if leaf(s) == "<blocked in futex>"]
    assert played.seconds(futex) <= sum(t.waits(0, 0).high for t in threads)
    assert samples and len(strange) == len(futex), (len(samples), {leaf(s) for s in strange})


def test_two_threads_fight_for_the_gil(with_gil):
    threads, checks = with_gil.threads("fight"), []
    share = threads[0].s("cpu") / sum(t.s("cpu") for t in threads)
    for mode in ("wall", "gil"):
        ran = [len([s for s in t.samples(mode) if s.status & HAS_GIL and s.status & ON_CPU])
               for t in threads]
        checks.append(((mode, "share"), ran[0],
                       noise.share_bound(sum(ran), share, with_gil.missed, noise.LOCKSTEP), ran))
        for t in threads:
            # asking for it takes CPU time, too, which is not blocked
            waits = with_gil.seconds([s for s in wants_gil(t.samples(mode))
                                      if not s.status & ON_CPU])
            checks.append(((mode, t), waits,
                           t.waits(t.s("blocked"), t.s("blocked") + t.s("delay"))))
    # between giving it up and asking for it again one may be without a CPU
    for t in threads:
        neither = [s for s in t.samples("wall") if not s.status & (HAS_GIL | GIL_REQUESTED)]
        checks.append(((t, "neither"), with_gil.seconds(neither) -
                       with_gil.seconds(runnable(neither)), t.waits(0, 0)))
    assert not wrong(checks)


@pytest.mark.parametrize("part,name,mark", [("hold-busy", "wanting", "want"),
                                            ("hold-asleep", "wanting", "want"),
                                            ("convoy", "victim", "victim")])
def test_gil_wait_totals(holding, part, name, mark):
    checks = []
    for t in holding.named(part, name):
        # C's last clock, or Python's first, may have been late: without a CPU
        late = holding.seconds(holding.at(runnable(t.samples("wall")), mark))
        for mode in ("wall", "gil"):
            got = holding.seconds([s for s in holding.at(wants_gil(t.samples(mode)), mark)
                                   if not s.status & ON_CPU])
            least = t.s("gil_wait") - late - t.s("cpu")
            checks.append(((t, mode), got, t.waits(least, t.s("gil_wait")), late))
    assert not wrong(checks)


@pytest.mark.parametrize("part", ["hold-busy", "hold-asleep"])
def test_who_keeps_the_gil_in_c(holding, part):
    t, = holding.named(part, part.replace("hold-", "holder_"))
    checks = []
    for mode in ("wall", "gil"):
        held = holding.at([s for s in t.samples(mode) if s.status & HAS_GIL], part)
        running = holding.seconds([s for s in held if s.status & ON_CPU])
        waiting = holding.seconds(held) - running
        if part == "hold-busy":
            # by the clock: what it was without a CPU is measured, the rest is ticks
            checks.append(((mode, "running"), running, t.ticks(t.s("held") - waiting)))
        else:
            most = t.ticks(running).high    # of CPU time, if there were so many ticks
            checks.append(((mode, "asleep"), waiting, t.waits(t.s("held") - most, t.s("held"))))
    assert not wrong(checks)


# ---- tachbpf gil ----

def gil_of(played, mode, part, *argv):
    """What tachbpf gil says of one part."""
    window = played.phase["parts"][part]
    done = subprocess.run(
        [binary(), "gil", "--json", "--limit", "0", "--from", "@%.6f" % (window["start_ns"] / 1e9),
         "--to", "@%.6f" % (window["end_ns"] / 1e9), *argv, played.paths[mode]],
        capture_output=True, text=True, timeout=TIMEOUT, check=True)
    process, = json.loads(done.stdout)["processes"]
    return process


def is_at(played, place, mark):
    return bool(place and place["file"] == played.phase["file"] and
                place["line"] in played.marks[mark])


@pytest.mark.parametrize("mode", ["wall", "gil"])
@pytest.mark.parametrize("part,holder,waiter", [("hold-busy", "hold-busy", "want"),
                                                ("hold-asleep", "hold-asleep", "want"),
                                                ("convoy", "hog", "victim")])
def test_the_matrix_names_the_lines(holding, mode, part, holder, waiter):
    said = gil_of(holding, mode, part)
    of_waiter = [r for r in said["matrix"] if is_at(holding, r["waiter"], waiter)]
    waited = sum(r["wait_s"] for r in of_waiter)
    blamed = sum(r["wait_s"] for r in of_waiter if is_at(holding, r["holder"], holder))
    waiters = [t for t in holding.threads(part) if t.truth["gil_wait_ns"]]
    # While one of them has it or is on its way to a CPU with it, the others wait, not for the
    # holder. Who has it is known from ticks: one is lost at each end of its turn, to each of them.
    others = len(waiters) - 1
    each_other = sum(t.s("cpu") + t.s("delay") + t.switching_s for t in waiters) * others
    unknown = sum(t.truth["cnt"] for t in waiters) * 2 / RATE * len(waiters)
    assert blamed >= waited - each_other - unknown, (blamed, waited, each_other, of_waiter[:4])
    assert is_at(holding, said["matrix"][0]["holder"], holder)
    assert is_at(holding, said["matrix"][0]["waiter"], waiter)
    wanted = sum(t.s("gil_wait") for t in waiters)
    late = sum(holding.seconds(holding.at(runnable(t.samples("wall")), waiter)) for t in waiters)
    error = sum(noise.wait_error(RATE, t.truth["switches"], KINDS, holding.switch_s)
                for t in waiters) + waited * INTERVAL
    assert waited in noise.Bound(wanted - late - sum(t.s("cpu") for t in waiters) - error,
                                 wanted + error), (waited, wanted, late, error)
    of_threads = {t["thread"]: t["wait_s"] for t in said["threads"]}
    for t in waiters:
        everywhere = holding.seconds(wants_gil(holding.by_tid[mode][t.truth["tid"]]))
        assert (abs(of_threads[t.truth["tid"]] - everywhere) <=
                noise.wait_error(RATE) + INTERVAL * everywhere), t


@pytest.mark.parametrize("part,name", [("hold-busy", "holder_busy"),
                                       ("hold-asleep", "holder_asleep")])
def test_the_utilisation(holding, part, name):
    """Half the time: while C holds it, and next to nothing else."""
    said, (t,) = gil_of(holding, "wall", part), holding.named(part, name)
    # its own Python, and the others': a thread that runs has it for all of this time at most
    python = t.s("cpu") - t.s("held") if name == "holder_busy" else 0
    ticks = t.ticks(t.s("held"))        # wider than is necessary for one that sleeps with it
    held = noise.Bound(ticks.low * (1 - INTERVAL), (ticks.high + max(python, 0)) * (1 + INTERVAL))
    thread, = [x for x in said["threads"] if x["thread"] == t.truth["tid"]]
    assert thread["held_s"] in held
    window = holding.phase["parts"][part]
    whole = (window["end_ns"] - window["start_ns"]) / 1e9
    others = sum(o.ticks(o.s("cpu")).high for o in holding.threads(part) if o.name != name)
    assert said["utilisation_pct"] / 100 * whole in noise.Bound(held.low, held.high + others)


def test_the_summary_says_whether_there_is_a_gil(played):
    process, = played.summaries["wall"]["processes"]
    assert process["free_threaded"] is played.interpreter.free_threaded


def test_free_threaded_builds_say_so(played):
    """In a file without a session.json: threads that run at the same time give it away."""
    if not played.interpreter.free_threaded:
        pytest.skip("a build with a GIL")
    said = gil_of(played, "wall", "fight")
    assert not said["known"] and "free-threaded" in said["reason"] and "wait_s" not in said


# ---- starved ----

def test_starved_by_another_process(python, python315, scratch, oracle, hold_so):
    """Two that want the same CPU: each could run for half of the time, and does not."""
    out = scratch / "starved"
    with Target(python, scratch, f"starved={2 * PART_S}", cpu=0) as one, \
            Target(python315, scratch, f"starved={2 * PART_S}", cpu=0) as two, \
            Recording(["-p", f"{one.pid},{two.pid}", "-m", "wall", "-r", RATE, "-o", out,
                       "--json"]) as recording:
        recording.wait_recording()
        stolen = noise.stolen_s()
        for target in (one, two):
            go_first(target)
        truths = [target.wait_done() for target in (one, two)]
        stolen = noise.stolen_s() - stolen
        for target in (one, two):
            target.leave()
        summary = succeeded(recording.wait()).summary
    missed = noise.missed(summary, stolen)
    paths = {p["pid"]: out / p["file"] for p in summary["processes"]}
    for truth in truths:
        profile, = oracle.load(paths[truth["pid"]])
        t, = truth["phases"]["starved"]["parts"]["starved"]["threads"]
        mine = [s for s in profile.samples if s.tid == t["tid"] and
                t["start_ns"] <= s.time_us * 1000 < t["end_ns"]]
        assert t["delay_ns"] >= 0.3 * t["wall_ns"], "nobody was starved"
        cpu, delay, switches = t["cpu_ns"] / 1e9, t["delay_ns"] / 1e9, t["switches"]
        assert len(runnable(mine)) / RATE in noise.wait_bound(delay, delay, RATE, switches)
        ticks = noise.count_bound(cpu, RATE, missed, switches)
        assert len([s for s in mine if s.status & ON_CPU]) in ticks


# ---- CPython's own tools ----

def markers_of(gecko, thread, name, first_us):
    """(how many, how long) a thread's markers of a name, until the thread ends: CPython ends what
    is open with the process."""
    found, = [t for t in gecko["threads"] if int(t["tid"]) == thread.truth["tid"]]
    begin, end = (thread.truth[key] / 1e6 - first_us / 1e3 for key in ("start_ns", "end_ns"))
    strings, markers = gecko["shared"]["stringArray"], found["markers"]
    times = [max(0, min(b, end) - max(a, begin)) / 1e3 for n, a, b in
             zip(markers["name"], markers["startTime"], markers["endTime"])
             if strings[n] == name]
    return len(times), sum(times)


@pytest.mark.parametrize("played", ["system-3.11", "sid-3.15"], indirect=True)
def test_cpythons_gecko_timelines(played, oracle):
    """A wall capture as CPython 3.15 shows it: tracks of the GIL, of CPUs and of waiting."""
    gecko = json.loads(oracle.replay("gecko", played.paths["wall"]).read_text())
    first_us = min(s.time_us for s in played.profiles["wall"].samples)
    checks = []

    def check(thread, name, want, most=None):
        """A marker begins and ends with samples, which are an interval apart."""
        cnt, seconds = markers_of(gecko, thread, name, first_us)
        error = thread.switching_s + 2 * (cnt + 1) * (1 + noise.JITTER + noise.PAID) / RATE
        most = want if most is None else most
        checks.append(((thread, name), seconds, noise.Bound(want - error, most + error), cnt))

    for part, name in (("hold-busy", "wanting"), ("hold-asleep", "wanting"), ("convoy", "victim")):
        for t in played.named(part, name):
            check(t, "Waiting for GIL", t.s("gil_wait") - t.s("delay") - t.s("cpu"),
                  t.s("wall") - t.s("cpu"))
    for part, name in (("hold-busy", "holder_busy"), ("hold-asleep", "holder_asleep")):
        t, = played.named(part, name)
        check(t, "Has GIL", t.s("held"))
    t, = played.named("sleep", "sleeper")
    check(t, "On CPU", t.s("cpu"))
    check(t, "Off CPU", t.s("blocked"), t.s("wall") - t.s("cpu"))
    assert len(checks) == 9
    assert not wrong(checks)


def peer_command(target, mode, path):
    return ["nsenter", "-t", str(target.pid), "-m", "-r", "-w", "python3.15", "-m",
            "profiling.sampling", "attach", "--mode", mode, "-a", "-r", "999", "--binary",
            "-o", str(path), str(target.pid)]


def wait_for_files(paths):
    """A condition is polled: their profilers open them when they begin to sample."""
    end = time.monotonic() + TIMEOUT
    while not all(path.exists() for path in paths):
        assert time.monotonic() < end, "CPython's profilers do not start"
        select.select([], [], [], 0.01)


@pytest.fixture(scope="module")
def beside(root, scratch, oracle, python315, hold_so):
    """(truth, {mode: ours}, {mode: theirs}): one process, four profilers, the same time."""
    theirs = {mode: scratch / f"beside-{mode}.bin" for mode in ("wall", "gil")}
    ours = {mode: scratch / f"beside-{mode}.tach" for mode in ("wall", "gil")}
    with contextlib.ExitStack() as stack:
        target = stack.enter_context(Target(python315, scratch, "threads=4", "waits=1.0"))
        peers = {}
        for mode, path in theirs.items():
            peers[mode] = subprocess.Popen(peer_command(target, mode, path),
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                           text=True, start_new_session=True)
            stack.callback(kill, peers[mode])
        recordings = [stack.enter_context(Recording(["-p", target.pid, "-m", mode, "-r", 999, "-o",
                                                     path, "--json"]))
                      for mode, path in ours.items()]
        for recording in recordings:
            recording.wait_recording()
        wait_for_files(theirs.values())
        target.go()         # what comes first is for them to look around
        truth = target.wait_done()
        target.leave()      # and they end with it
        for peer in peers.values():
            _, error = peer.communicate(timeout=TIMEOUT)
            assert peer.returncode == 0, error
        for recording in recordings:
            succeeded(recording.wait())
    profiles = oracle.load(*ours.values(), *theirs.values())
    return truth, dict(zip(ours, profiles)), dict(zip(theirs, profiles[2:]))


STATES = {HAS_GIL: "has the GIL", GIL_REQUESTED: "wants the GIL", 0: "neither"}


def picture(profile, part, only=STATES):
    """Of a part's samples: how many, and how many in which function and state."""
    counts = collections.Counter()
    for s in profile.samples:
        if part["start_ns"] <= s.time_us * 1000 < part["end_ns"]:
            function = next((f.func for f in s.frames if f.file != SYNTHETIC), None)
            state = s.status & HAS_GIL or s.status & GIL_REQUESTED
            if state in only:
                counts[function, STATES[state]] += 1
    return sum(counts.values()), counts


@pytest.mark.parametrize("part", ["sleep", "fight", "hold-busy", "hold-asleep", "convoy", "queue"])
@pytest.mark.parametrize("mode", ["wall", "gil"])
def test_beside_cpythons_own_profiler(beside, mode, part):
    """The same picture, as far as both can know: see docs/gil.md for where they differ."""
    truth, ours, theirs = beside
    window = truth["phases"]["waits"]["parts"][part]
    # its mode gil has holders only
    only = STATES if mode == "wall" else (HAS_GIL,)
    (mine, here), (others, there) = picture(ours[mode], window, only), picture(theirs[mode],
                                                                               window, only)
    assert mine and others, (mine, others)
    if mode == "gil":       # as many of them
        assert mine in noise.share_bound(mine + others, 0.5, design=noise.LOCKSTEP)
    apart = {}
    for key in {*here, *there}:
        a, b = here.get(key, 0), there.get(key, 0)
        share = (a + b) / (mine + others)
        if (a not in noise.share_bound(mine, share, design=noise.LOCKSTEP) or
                b not in noise.share_bound(others, share, design=noise.LOCKSTEP)):
            apart[key] = a, b
    assert not apart, (mine, others, apart)
