# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Who is who: however a process comes, changes and goes, its samples are its own."""
import collections
import os
import subprocess

import pytest

import noise
from present import FOUND, absent, need
from processes import kill
from recording import Recording, succeeded, tachbpf
from summary import files, lost_of_short_lives, owners

RATE = 999
LINK_MS = 60            # of CPU, of each program in a chain of execs
WAYS = {        # the roles of each way, in order
    "fork": ["parent", "child", "later"],
    "spawn": ["parent", "child", "later"],
    "posix_spawn": ["parent", "child", "later"],
    "double_fork": ["parent", "middle", "grandchild"],
    "daemonize": ["daemon"],
    "exec_self": ["before", "other"],
    "exec_thread": ["before", "other"],
    "main_exits": ["first", "second"],
    "pid_again": ["first", "second", "other"],
}
SAME_PROCESS = ("exec_self", "exec_thread", "main_exits", "pid_again")
PYTHONS = ("pyenv-3.8.18", "system-3.11", "pyenv-3.12.1", "sid-3.15")


# The command's end ends the recording: one that waits until all parts have said what they did.
UNTIL = 'truth=$1; lines=$2; shift 2; "$@"; ' \
        'until [ "$(wc -l < $truth)" = $lines ]; do sleep 0.02; done'


def live(python, scratch, out, way):
    argv = python.command("-S", "-E", "-B", scratch / "targets" / "lives.py", out / "truth", way)
    (out / "truth").touch()
    return succeeded(tachbpf("-r", RATE, "-o", out / "p", "--split", "all", "--json", "--",
                             "/bin/sh", "-c", UNTIL, "sh", out / "truth", len(WAYS[way]), *argv))


def truth(path):
    """(pid, role) -> CPU seconds."""
    return {(int(pid), role): int(ns) / 1e9
            for pid, role, ns in (line.split() for line in open(path))}


def burns(sample):
    return {f.func[len("burn_"):] for f in sample.frames if f.func.startswith("burn_")}


def check(summary, oracle, said):
    """Every part's samples are there, under its process' id, and no other's are.

    Of 80 ticks chance takes some where a busy machine cuts a part into many slices, but never
    all; how many are there is test_short_lived.py's business.
    """
    away = noise.missed(summary) + summary["lost_total"]
    seen = collections.Counter()
    for pid, sample in owners(summary, oracle):
        for role in burns(sample):
            seen[pid, role] += 1
    assert not set(seen) - set(said), "a role that this process did not have"
    for part, cpu_s in said.items():
        assert seen[part] >= noise.least(cpu_s, RATE, away), (part, seen, away)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PYTHONS)
def test_a_way_of_life(name, way, scratch, out, oracle):
    finished = live(need(name), scratch, out, way)
    said = truth(out / "truth")
    assert sorted(role for _, role in said) == sorted(WAYS[way])
    assert len({pid for pid, _ in said}) == 1 or way not in SAME_PROCESS
    check(finished.summary, oracle, said)
    assert not lost_of_short_lives(finished.summary)


@pytest.mark.parametrize("way", ("pid_again", "exec_self"))
def test_one_process_id_is_several_processes(way, scratch, out, oracle, python):
    """Each has a file of its own, with nothing of the others."""
    finished = live(python, scratch, out, way)
    pid = next(iter(truth(out / "truth")))[0]
    mine = [p for p in files(finished.summary) if p["pid"] == pid]
    roles = [set().union(*map(burns, profile.samples))
             for profile in oracle.load(*(p["path"] for p in mine))]
    assert [r for r in roles if r] == [{role} for role in WAYS[way]]
    assert all(a["begin_s"] <= b["begin_s"] for a, b in zip(mine, mine[1:]))


def wait_for_zombie(pid):
    for _ in range(30000):      # a safety net
        with open(f"/proc/{pid}/status") as status:
            if "State:\tZ" in status.read():
                return
        subprocess.run(["sleep", "0.01"], check=True)
    raise AssertionError("the first thread goes on")


@pytest.mark.parametrize("selection", ("-p", "-a"))
@pytest.mark.parametrize("name", ("system-3.11", "pyenv-3.12.1"))
def test_found_after_its_main_thread_has_ended(name, selection, scratch, out, oracle):
    """The kernel shows nothing of such a process under its own id, only under its threads'."""
    argv = need(name).command("-S", "-E", "-B", scratch / "targets" / "lives.py", out / "truth",
                              "main_exits")
    target = subprocess.Popen(argv, start_new_session=True,
                              env=dict(os.environ, LIVES_WAIT="1"))
    try:
        wait_for_zombie(target.pid)
        chosen = ["-p", target.pid, "-o", out / "p.tach"] if selection == "-p" else \
            ["-a", "-o", out / "p", "--split", "all"]
        with Recording([*chosen, "-r", RATE, "--json"]) as recording:
            recording.wait_recording()
            (out / "truth.go").touch()
            assert target.wait(60) == 0
            finished = succeeded(recording.wait() if selection == "-p" else recording.stop())
    finally:
        kill(target)
    said = truth(out / "truth")
    mine = dict(finished.summary, processes=[p for p in finished.summary["processes"]
                                             if p["pid"] == target.pid])
    assert files(mine), "it was not found"
    del said[target.pid, "first"]       # was over by then
    check(dict(mine, ticks=finished.summary["ticks"]), oracle, said)


def chain():
    """Pythons of different minor versions that run without a root of their own."""
    by_minor = {i.minor: i for i in FOUND if not i.root}
    return [by_minor[minor] for minor in sorted(by_minor)]


@pytest.fixture
def execs(scratch, out):
    """sh, then one Python after the other in the same process, then sleep: the links, the summary."""
    links = chain()
    if len(links) < 2:
        absent("needs two running Python processes without a root of their own")
    code = (f"import os, sys; sys.path.insert(0, {str(scratch / 'targets')!r}); import brood; "
            f"brood.burn_known({LINK_MS}); rest = sys.argv[1:]; os.execv(rest[0], rest)")
    argv = ["/bin/sleep", "0.05"]
    for i in reversed(links):
        argv = [*i.prefix, "-S", "-E", "-B", "-c", code, *argv]
    finished = succeeded(tachbpf("-r", RATE, "-o", out / "p", "--json", "--split", "all", "--",
                                 "/bin/sh", "-c", 'exec "$@"', "sh", *argv))
    return [".".join(map(str, i.version)) for i in links], finished.summary


def test_a_chain_of_execs(execs, oracle):
    """Each link is what it is. On a busy machine one may have ended before it was inspected: then
    its ticks are counted as such."""
    links, summary = execs
    with_files = files(summary)
    found = [p["python"] for p in with_files]
    assert found and found == [version for version in links if version in found]
    away = noise.missed(summary) + summary["lost_total"]
    if found != links:
        unseen = LINK_MS / 1e3 * (len(links) - len(found))
        assert summary["unidentified"] >= noise.least(unseen, RATE, away)
    assert len({p["pid"] for p in with_files}) == 1
    for process, profile in zip(with_files, oracle.load(*(p["path"] for p in with_files))):
        assert ".".join(map(str, profile.info["python_version"])) == process["python"]
        seen = sum(any(f.func == "burn_known" for f in s.frames) for s in profile.samples)
        assert seen >= noise.least(LINK_MS / 1e3, RATE, away), process


@pytest.mark.truth
def test_no_link_of_a_chain_of_execs_is_missed(execs):
    links, summary = execs
    assert [p["python"] for p in files(summary)] == links
