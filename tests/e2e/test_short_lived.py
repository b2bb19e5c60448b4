# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processes that are over before anybody could look at them: every sample counts, with its name."""
import collections
import re
import subprocess

import pytest

from harness import Recording, files, lost, succeeded, tach_files, tachbpf

RATE = 999
COUNT, PARALLEL = 200, 8
ROOT_FRAME = re.compile(r"<process (\d+) (.*)>")


def burnt(path):
    """pid -> CPU seconds in burn_known()."""
    return {int(pid): int(ns) / 1e9 for pid, ns in (line.split() for line in open(path))}


class Brood:
    def __init__(self, interpreter, scratch, out, oracle, cpu_ms, how, *options):
        self.truth_path = out / "truth"
        argv = interpreter.command(scratch / "targets" / "brood.py", self.truth_path, COUNT,
                                   PARALLEL, cpu_ms, how)
        self.finished = succeeded(tachbpf("-r", RATE, "-o", out / "p", "--json", *options, "--",
                                          *argv))
        self.summary = self.finished.summary
        self.truth = burnt(self.truth_path)
        self.samples = [s for profile in oracle.load(*tach_files(out / "p"))
                        for s in profile.samples]

    def in_known(self):
        """Samples in the known function, by process."""
        return collections.Counter(s.tid for s in self.samples
                                   if any(f.func == "burn_known" for f in s.frames))


@pytest.fixture(params=("spawn", "fork"))
def how(request):
    return request.param


@pytest.mark.parametrize("cpu_ms, at_least", ((30, 0.99), (10, 0.95)))
def test_samples_of_short_processes_are_there(interpreter, scratch, out, oracle, cpu_ms, at_least,
                                              how):
    brood = Brood(interpreter, scratch, out, oracle, cpu_ms, how)
    assert len(brood.truth) == COUNT
    owed = sum(brood.truth.values()) * RATE
    seen = brood.in_known()
    present = sum(seen[pid] for pid in brood.truth)
    print(f"{interpreter.name} {how} {cpu_ms} ms: {present} of {owed:.0f} samples, "
          f"{sum(pid in seen for pid in brood.truth)} of {COUNT} processes")
    assert present >= at_least * owed - brood.summary["ticks"]["missed"]
    assert not set(seen) - set(brood.truth), "burn_known() in a process that has none"

    frames = [f for s in brood.samples for f in s.frames]
    nameless = [f for f in frames if f.func.startswith("<un")]
    assert len(nameless) <= 0.001 * len(frames), collections.Counter(nameless).most_common(3)
    losses = lost(brood.summary)
    losses.pop("late_discovery", None)      # of shells and loaders, before there is a Python
    assert not losses, losses


def test_short_processes_share_a_file_and_keep_their_names(python, scratch, out, oracle):
    brood = Brood(python, scratch, out, oracle, 10, "spawn")
    merged = [p for p in brood.summary["processes"] if p.get("merged")]
    assert len(files(brood.summary)) <= 3       # the parent's, theirs, and a shim's at most
    members = {m["pid"]: m["samples"] for p in merged for m in p["members"]}
    assert sum(p["merged"] for p in merged) >= COUNT
    by_root = collections.Counter()
    for sample in brood.samples:
        match = ROOT_FRAME.fullmatch(sample.frames[-1].func) if sample.frames else None
        if match:
            assert int(match[1]) == sample.tid      # these have one thread each
            by_root[int(match[1])] += 1
    assert by_root == {pid: n for pid, n in members.items() if n}
    assert sum(p["samples"] for p in files(brood.summary)) == brood.summary["samples"]


def test_split_all_gives_each_its_file(python, scratch, out, oracle):
    brood = Brood(python, scratch, out, oracle, 10, "spawn", "--split", "all")
    owners = {p["pid"] for p in files(brood.summary)}
    assert len(owners & set(brood.truth)) >= 0.95 * COUNT
    assert not [s for s in brood.samples if s.frames and ROOT_FRAME.match(s.frames[-1].func)]


def test_a_chain_of_execs(scratch, out, oracle):
    """sh, then one Python after the other in the same process, then sleep: each what it is."""
    from e2e_fixtures import FOUND
    chain = [i for i in FOUND if not i.prefix[0] == "unshare"][:4]
    if len(chain) < 2:
        pytest.skip("needs two Pythons that run without a root of their own")
    script = scratch / "targets" / "brood.py"
    program = "import os, sys; sys.argv[0] == '-c' or None\n"
    code = (f"import os, sys; sys.path.insert(0, {str(script.parent)!r}); import brood; "
            "brood.burn_known(60); rest = sys.argv[1:]; "
            "os.execv(rest[0], rest)")
    argv = ["/bin/sleep", "0.05"]
    for i in reversed(chain):
        argv = [*i.prefix, "-S", "-E", "-B", "-c", code, *argv]
    finished = succeeded(tachbpf("-r", RATE, "-o", out / "p", "--json", "--",
                                 "/bin/sh", "-c", 'exec "$@"', "sh", *argv))
    assert program
    with_files = files(finished.summary)
    assert sorted(p["python"] for p in with_files) == \
        sorted(".".join(map(str, i.version)) for i in chain)
    assert len({p["pid"] for p in with_files}) == 1
    for process, profile in zip(with_files, oracle.load(*(p["path"] for p in with_files))):
        assert profile.info["python_version"] == tuple(map(int, process["python"].split("."))) \
            or list(profile.info["python_version"]) == list(map(int, process["python"].split(".")))
        seen = sum(any(f.func == "burn_known" for f in s.frames) for s in profile.samples)
        assert seen >= 0.9 * 0.060 * RATE - finished.summary["ticks"]["missed"], process


def test_many_processes_that_do_nothing(python, out):
    """Nothing of them stays: not in memory, not in the kernel's maps, not as files."""
    run = ("import subprocess, sys\n"
           "for i in range(%d): subprocess.run([sys.executable, '-S', '-E', '-c', 'pass'])\n")
    recording = Recording(["-r", RATE, "-o", out / "p", "--json", "--", *python.command("-c", run % 1500)])
    rss = []
    with recording:
        while recording.process.poll() is None:
            rss.append(resident_kib(recording.process.pid))
            subprocess.run(["sleep", "0.25"], check=True)
        finished = succeeded(recording.wait())
    third = len(rss) // 3
    assert third >= 3, "too quick to be measured"
    early, late = max(rss[third:2 * third]), max(rss[2 * third:])
    assert late <= 1.10 * early, rss
    assert len(tach_files(out / "p")) <= 4
    assert sum(p.get("merged", 1) for p in finished.summary["processes"]) >= 1500


def resident_kib(pid):
    try:
        for line in open(f"/proc/{pid}/status"):
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0
