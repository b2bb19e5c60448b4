# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Hostile targets: nothing crashes, hangs or affects other profiles, and every loss is counted."""
import subprocess
import time

import pytest

import accounting
import hostile
import noise
from paths import binary
from processes import TIMEOUT, online_cpus, use_cpu
from recording import Recording, succeeded, tachbpf
from summary import files, lost_once_known
from target import Target

RATE = 499
FIRST = 4               # samples in which names may still be missing
# user/capture/capture.c, bpf/budget.bpf.h: what each sample has, the part of a CPU's time that comes
# on top, and what a CPU saves up
LIMIT_NS, NAMES_SHARE, PURSE_NS = 60_000, 512, 2_000_000
WALKED = ("samples", "native_thread", "no_frames", "thread_state_unreadable",
          "thread_state_uncertain", "ring_full")
HONEST_S = 0.2          # of CPU for the honest process; a score of traps run beside it
# Traps whose profile is certain: the functions' name, whether the stacks are truncated
CERTAIN = {
    "plain": ("level", False), "cycle-1": ("round", True), "cycle-2": ("round", True),
    "cycle-1000": ("round", True), "deep": ("down", True), "hole-below": ("above", True),
    "exceptions": ("level", False),
}


def verify(path):
    done = subprocess.run([str(binary()), "info", "--verify", str(path)], capture_output=True,
                          text=True, timeout=TIMEOUT)
    assert done.returncode == 0 and "sound" in done.stdout, done.stdout + done.stderr


class Ordeal:
    """One recording of all traps of one disguise, and of an honest Python."""

    def __init__(self, summary, pids, honest, stop_s):
        self.summary, self.pids, self.honest, self.stop_s = summary, pids, honest, stop_s
        self.rows = {r["pid"]: r for r in summary["processes"]}
        self.files = {f["pid"]: f["path"] for f in files(summary)}


class Programs(dict):
    """Disguise -> its program, which is built at its first use."""

    def __init__(self, directory):
        super().__init__()
        self.directory = directory

    def __missing__(self, name):
        self[name] = hostile.build(self.directory, name)
        return self[name]


@pytest.fixture(scope="session")
def programs(root, tmp_path_factory):
    return Programs(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="session")
def ordeals():
    return {}


def each(disguises, first):
    """Parameters: those in first always, the others in check-truth."""
    return [d if d in first else pytest.param(d, marks=pytest.mark.truth) for d in disguises]


@pytest.fixture(params=each(sorted(hostile.DISGUISES), first=("3.11", "3.15")))
def ordeal(request, ordeals, programs, scratch, python):
    name = request.param
    if name not in ordeals:
        with hostile.all_of(programs[name]) as traps, \
                Target(python, scratch, "shares=600") as honest:
            honest.go()
            pids = {n: t.pid for n, t in traps.items()}
            argv = ["-p", ",".join(map(str, [honest.pid, *pids.values()])), "-r", RATE, "-o",
                    scratch / f"hostile-{name}", "--self-time", "--json"]
            stolen, outside = noise.stolen_s(), noise.account(honest.pid)
            with Recording(argv) as recording:
                recording.wait_recording()
                inside = noise.account(honest.pid)
                use_cpu(honest.pid, HONEST_S)   # meanwhile the traps are sampled
                used = noise.account(honest.pid) - inside
                start = time.monotonic()
                summary = succeeded(recording.stop()).summary
                found = Ordeal(summary, pids, honest.pid, time.monotonic() - start)
                found.least, found.most = used, noise.account(honest.pid) - outside
                found.stolen = noise.stolen_s() - stolen
                ordeals[name] = found
    return ordeals[name]


@pytest.mark.truth
def test_it_ends_soon_after_ctrl_c(ordeal):
    assert ordeal.stop_s < 5


def test_every_tick_ends_in_exactly_one_way(ordeal):
    accounting.check(ordeal.summary)


def test_the_honest_process_loses_nothing(ordeal):
    row = ordeal.rows[ordeal.honest]
    lost = ordeal.summary["lost_total"]         # of all processes: some may be its own
    low = noise.count_bound(ordeal.least.cpu_s, RATE, lost + noise.missed(
        ordeal.summary, ordeal.stolen), slices=ordeal.least.slices).low
    high = noise.count_bound(ordeal.most.cpu_s, RATE, slices=ordeal.most.slices).high
    assert max(1, low) <= row["samples"] <= high, (low, high, row)
    # The traps' deep stacks fill the ring buffer within a second in which the machine does not
    # run the recorder: these losses are counted above, and none may be when it runs alone.
    losses = lost_once_known(row)
    losses.pop("ring_full", None)
    assert not row["unreadable"] and not losses


@pytest.mark.truth
def test_the_profiler_keeps_up_with_the_traps(ordeal):
    row = ordeal.rows[ordeal.honest]
    assert not lost_once_known(row)
    # the traps keep the profiler busy: a name may be missing in one sample
    assert row["unresolved"] <= 0.1 * row["samples"]
    assert ordeal.summary["lost"]["ring_full"] == 0


def test_files_are_sound(ordeal):
    assert ordeal.files
    for path in ordeal.files.values():
        verify(path)


@pytest.mark.parametrize("scenario", sorted(CERTAIN))
def test_certain_stacks_are_right(ordeal, oracle, scenario):
    function, truncated = CERTAIN[scenario]
    row = ordeal.rows[ordeal.pids[scenario]]
    profile, = oracle.load(ordeal.files[ordeal.pids[scenario]])
    assert profile.samples
    # of a thousand new code objects at once the names come some samples later
    without_names = [i for i, s in enumerate(profile.samples)
                     if any(f.func == "<unresolved>" for f in s.frames)]
    assert all(i < FIRST for i in without_names), without_names
    names = {f.func for s in profile.samples for f in s.frames}
    assert names - {"<truncated>", "<unresolved>"} == {function}
    if truncated:
        assert row["truncated"] == row["samples"]
    elif not ordeal.summary["late"]:
        assert row["truncated"] == 0


def test_escape_sequences_stay_in_the_file(ordeal):
    done = subprocess.run([str(binary()), "report", "--limit", "0",
                           str(ordeal.files[ordeal.pids["dirty"]])], capture_output=True,
                          timeout=TIMEOUT)
    assert done.returncode == 0
    assert not set(done.stdout) & (set(range(32)) - {10})
    done.stdout.decode()


def test_samples_stay_within_their_budget(ordeal):
    """Whatever the traps do: in all, by the kernel side's own count of ticks and of time."""
    summary = ordeal.summary
    ticks = summary["ticks"]
    walked = sum(ticks[end] for end in WALKED)
    used = summary["sample_time"]["mean_ns"] * walked
    earned = ticks["expected"] * (LIMIT_NS + 1_000_000_000 // RATE // NAMES_SHARE)
    # what comes after the last reading of the clock is not limited by it, nor is what a busy
    # machine does meanwhile: an eighth of the limit is usual
    assert used < earned + online_cpus() * PURSE_NS + walked * LIMIT_NS // 3, summary


@pytest.mark.truth
def test_no_sample_takes_long(ordeal):
    # make bench-hostile judges the aim of 600 us: here other tests use the machine, too
    assert ordeal.summary["sample_time"]["p999_ns"] < 1_000_000


def words_and_values():
    for word in range(1, 111):
        for value in (0, 8, 112, 376, 0xffff, 1 << 32, 1 << 63, (1 << 64) - 8):
            yield word, value


@pytest.mark.parametrize("disguise", each(["3.13", "3.14", "3.15"], first=("3.15",)))
def test_wrong_debug_offsets(programs, scratch, tmp_path, disguise):
    script = tmp_path / "all.sh"
    lines = []
    for i, (word, value) in enumerate(words_and_values()):
        copy = tmp_path / f"h{i}"
        hostile.corrupt(programs[disguise], copy, word, value)
        lines.append(f"timeout -s KILL 0.03 {copy} {('tangle', 'plain')[i % 2]}")
    quarters = [" ; ".join(lines[i::4]) for i in range(4)]
    script.write_text("\n".join(f"( {q} ) >/dev/null 2>&1 &" for q in quarters) + "\nwait\n")
    done = succeeded(tachbpf("-r", "999", "--json", "-q", "-o", scratch / f"lies-{disguise}",
                             "--", "sh", script))
    assert done.summary["processes"], "wrong offsets of fields that are not used are accepted"
    assert any("debug offsets" in r["reason"] for r in done.summary["refused"])
    for f in files(done.summary):
        verify(f["path"])
