# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tachbpf -a: twenty Pythons of four versions, nothing lost, and accuracy beside the peer."""
import collections
import contextlib
import json
import subprocess

import pytest

import accounting
import noise
from present import FOUND
from processes import TIMEOUT, kill, online_cpus
from profiles import UNREADABLE, fraction, without_gc
from recording import Recording, succeeded
from summary import files, lost
from target import Target

VERSIONS = ("system-3.11", "pyenv-3.12.1", "sid-3.14", "sid-3.15")
EACH = 5
RATE = 999
SECONDS = 10
TURNS = {"burn_sixty": 0.6, "burn_thirty": 0.3, "burn_ten": 0.1}    # of the same loop


class Everything:
    def __init__(self, finished, directory, truths, profiles):
        self.finished, self.directory, self.truths = finished, directory, truths
        self.summary = finished.summary
        self.profiles = profiles        # pid -> Profile


def four_versions():
    """Those asked for, or where pyenv is not at hand any four of the newest."""
    wanted = [i for i in FOUND if i.name in VERSIONS] or FOUND
    newest = {i.minor: i for i in FOUND if not i.debug}
    newest.update({i.minor: i for i in wanted})
    return [newest[minor] for minor in sorted(newest)][-5:][:4]


@pytest.fixture(scope="module")
def everything(scratch, oracle):
    directory = scratch / "everything"
    with contextlib.ExitStack() as stack:
        targets = [stack.enter_context(Target(i, scratch, "shares=600", name=f"all{n}"))
                   for i in four_versions() for n in range(EACH)]
        for target in targets:
            target.go()
        recording = stack.enter_context(
            Recording(["-a", "-r", RATE, "-d", SECONDS, "-o", directory, "--json"]))
        finished = succeeded(recording.wait())
        truths = {t.pid: t.stop() for t in targets}
    paths = {f["pid"]: f["path"] for f in files(finished.summary) if f["pid"] in truths}
    profiles = dict(zip(paths, oracle.load(*paths.values())))
    return Everything(finished, directory, truths, profiles)


def test_each_of_twenty_processes_has_a_file(everything):
    versions = {i.minor for i in four_versions()}
    assert len(everything.truths) == EACH * len(versions) >= 2 * EACH
    assert set(everything.profiles) == set(everything.truths)
    assert {tuple(t["version"][:2]) for t in everything.truths.values()} == versions


@pytest.mark.truth
def test_nothing_is_lost(everything):
    losses = lost(everything.summary)
    # other programs of this machine may start and end meanwhile; ours are there all along,
    # and that their files are complete is another test
    for cause in ("late_discovery", "unidentified"):
        losses.pop(cause, None)
    assert not losses, losses
    assert not [p for p in files(everything.summary)
                if p["pid"] in everything.truths and any(p["lost"].values())]


@pytest.mark.truth
def test_each_file_is_complete(everything):
    wrong = []
    # what the machine did not deliver of its busy CPUs' ticks is no sample of anyone
    ticks = everything.summary["ticks"]
    due = RATE * everything.summary["duration_s"] * online_cpus()
    undelivered = max(ticks["missed"], due - ticks["delivered"])
    assert undelivered <= 0.2 * due, "more than a stall: a CPU without a clock"
    for pid, profile in everything.profiles.items():
        start = profile.info["start_time_us"]
        end = start + profile.info["duration_sec"] * 1e6
        assert end - start >= 9.5e6
        bound = noise.count_bound(everything.truths[pid].cpu_between(start, end), RATE, undelivered)
        if len(profile.samples) not in bound:
            wrong.append((pid, len(profile.samples), str(bound)))
    assert not wrong


@pytest.mark.truth
def test_time_zero_is_when_sampling_begins(everything):
    """Not when the programs were loaded, nor when processes were looked for."""
    for pid, profile in everything.profiles.items():
        first = min(s.time_us for s in profile.samples) - profile.info["start_time_us"]
        assert first <= 0.3e6           # five processes a CPU take turns
    begins = {f["pid"]: f["begin_s"] for f in files(everything.summary)}
    assert all(begins[pid] == 0 for pid in everything.profiles), begins


def test_each_file_is_named_after_its_process(everything):
    # -a: other processes of this machine come meanwhile, and short ones share a file
    for file in (f for f in files(everything.summary) if not f.get("merged")):
        assert file["path"].name == f"{file['pid']}-{file['comm']}.tach"


def test_each_file_has_the_version_of_its_python(everything):
    for pid, profile in everything.profiles.items():
        assert list(profile.info["python_version"]) == everything.truths[pid]["version"]


@pytest.mark.truth
def test_each_file_has_the_shares_of_its_process(everything):
    for pid, profile in everything.profiles.items():
        counts = collections.Counter(without_gc(s)[0].func for s in profile.samples
                                     if without_gc(s))
        seen = sum(counts[name] for name in TURNS)
        for name, share in TURNS.items():
            bound = noise.share_bound(seen, share)
            assert counts[name] in bound, (pid, name, counts, str(bound))


def test_the_session_file_lists_what_there_is(everything):
    session = json.loads((everything.directory / "session.json").read_text())
    listed = {f["pid"]: f for f in files(session)}
    assert set(everything.truths) <= set(listed)
    on_disk = {p.name for p in everything.directory.glob("*.tach")}
    # (of files that short processes share there are several without a pid)
    assert {f["path"].name for f in files(session)} == on_disk
    for pid, profile in everything.profiles.items():
        assert listed[pid]["samples"] == profile.replayed
        assert listed[pid]["python"] == ".".join(map(str, everything.truths[pid]["version"]))


def test_the_session_file_says_when_and_what_was_lost(everything):
    session = json.loads((everything.directory / "session.json").read_text())
    assert session["rate_hz"] == RATE
    assert session["duration_s"] >= SECONDS
    assert session["lost"] == everything.summary["lost"]


@pytest.mark.truth
def test_the_duration_is_kept(everything):
    assert abs(everything.summary["duration_s"] - SECONDS) <= 0.5


def test_the_sum_of_the_files_is_the_total(everything):
    summary = everything.summary
    accounting.check(summary)
    assert sum(f["samples"] for f in files(summary)) == summary["samples"]
    assert summary["files"] == len(files(summary))


@pytest.mark.truth
def test_the_profiler_takes_little(everything):
    # 4 busy CPUs at 999 Hz; its own share of one CPU
    assert everything.summary["cpu_percent"] <= 10


@pytest.fixture(scope="module")
def compared(scratch, oracle, python315):
    """The same busy process, by both profilers at the same time for ten seconds."""
    ours, theirs = scratch / "ours.tach", scratch / "theirs.bin"
    with Target(python315, scratch, "busy=600") as target:
        target.go()
        enter = ["nsenter", "-t", str(target.pid), "-m", "-r", "-w"]
        peer = subprocess.Popen(
            [*enter, "python3.15", "-m", "profiling.sampling", "attach", "--mode", "cpu", "-a",
             "-r", str(RATE), "-d", str(SECONDS), "--binary", "-o", str(theirs), str(target.pid)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            with Recording(["-p", target.pid, "-r", RATE, "-d", SECONDS, "-o", ours,
                            "--json"]) as recording:
                finished = succeeded(recording.wait())
            said, error = peer.communicate(timeout=TIMEOUT)
            assert peer.returncode == 0, error
        finally:
            kill(peer)
        target.stop()
    mine, other = oracle.load(ours, theirs)
    return finished.summary, mine, other


@pytest.mark.truth
def test_the_top_ten_functions_are_those_of_the_peer(compared):
    """As often, for what chance may do to either."""
    _, mine, other = compared
    both = [collections.Counter(s.frames[0].func for s in p.samples if s.frames)
            for p in (mine, other)]
    top = [f for f, _ in both[1].most_common(10)]
    assert len(top) == 10
    apart = {}
    for function in top:
        share = sum(c[function] for c in both) / sum(sum(c.values()) for c in both)
        for counts in both:
            total = sum(counts.values())
            bound = noise.share_bound(total, share, design=noise.slow_design(RATE))
            if counts[function] not in bound:
                apart[function] = counts[function], total, str(bound)
    assert not apart


@pytest.mark.truth
def test_unreadable_frames_are_fewer_than_one_in_a_thousand(compared, record_property, capsys):
    summary, mine, other = compared
    share = fraction(mine.samples, lambda s: any(f.func == UNREADABLE for f in s.frames))
    with capsys.disabled():
        print(f"\n  unreadable: ours {100 * share:.3f} % of {len(mine.samples)} samples, "
              f"the peer's error rate {other.info['error_rate']:.2f} %")
    assert share <= 0.001
