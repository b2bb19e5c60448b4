# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Choosing processes by cgroup, and by what a cgroup's path says: container, pod, unit."""
import contextlib
import time

import pytest

import cgroups
import noise
from grouping import same_worker
from processes import TIMEOUT, use_cpu
from recording import Recording, succeeded, tachbpf
from selecting import RATE, Burner, away, cpu_of, expect, record, recorded, run_in, working
from summary import files, lost_once_known

# Tests with the same container's name would see each other.
SAME_NAMES = same_worker("names")


# ---- cgroups ----

def test_a_cgroup_and_all_below_it(tree, python, out):
    inside, below, beside = tree.make("in"), tree.make("in", "deep", "er"), tree.make("inside")
    with contextlib.ExitStack() as stack:
        a, b, _ = [stack.enter_context(Burner(python, cgroups.enter(d, [])))
                   for d in (inside, below, beside)]
        expect(record(out, "--cgroup", tree.path(inside)), a, b)


@pytest.mark.parametrize("spell", ["mount", "relative", "slash"])
def test_ways_to_name_a_cgroup(tree, python, out, spell):
    inside, beside = tree.make("in"), tree.make("out")
    path = {"mount": inside, "relative": tree.path(inside)[1:], "slash": tree.path(inside) + "/"}
    with Burner(python, cgroups.enter(inside, [])) as a, \
            Burner(python, cgroups.enter(beside, [])):
        expect(record(out, "--cgroup", path[spell]), a)


def test_a_path_of_one_hierarchy_is_not_that_of_another(python, out):
    one, other = cgroups.v1(), cgroups.v2()
    if not one or not other:
        pytest.skip("this host has not both kinds of hierarchies")
    with cgroups.Tree(one) as v1, cgroups.Tree(other) as v2:
        v2.top.rmdir()
        v2.top = v2.mount / v1.top.name
        v2.top.mkdir()
        with Burner(python, cgroups.enter(v1.top, [])) as a, \
                Burner(python, cgroups.enter(v2.top, [])) as b:
            expect(record(out / "1", "--cgroup", v1.top), a)
            expect(record(out / "2", "--cgroup", v2.top), b)
            expect(record(out / "3", "--cgroup", v1.path(v1.top)), a, b,
                   others=False)


def test_several_cgroups_but_not_one_below(tree, python, out):
    one, two, apart = tree.make("one"), tree.make("two"), tree.make("two", "apart")
    with contextlib.ExitStack() as stack:
        a, b, _ = [stack.enter_context(Burner(python, cgroups.enter(d, [])))
                   for d in (one, two, apart)]
        expect(record(out, "--cgroup", tree.path(one), "--cgroup", tree.path(two),
                      "--exclude-cgroup", tree.path(apart)), a, b)


def test_all_but_a_cgroup(tree, python, out):
    with Burner(python, cgroups.enter(tree.make("in"), [])) as a, Burner(python) as b:
        seen = recorded(record(out, "--exclude-cgroup", tree.path(tree.top)))
        assert a.pid not in seen and b.pid in seen


def test_processes_and_cgroups_that_appear_later(tree, python, recording, oracle):
    inside, outside = tree.make("in"), tree.make("out")
    tree.make("in", "old")
    under_way = recording("--cgroup", tree.path(inside))
    owed = {}
    others = [run_in(outside, python, 0.4), run_in(tree.make("out", "new"), python, 0.4)]
    for directory in (inside, inside / "old", tree.make("in", "new"), tree.make("in", "a", "b")):
        process = run_in(directory, python, 0.4)
        owed[process.pid] = cpu_of(process)
    for process in others:
        cpu_of(process)
    summary = succeeded(under_way.stop()).summary
    seen = working(summary, oracle)
    assert set(recorded(summary)) == set(owed)
    for pid, cpu in owed.items():           # 0.4 s in work(), and some start-up
        assert seen[pid] >= noise.least(0.4, RATE, away(summary)), (seen, owed)
    assert not lost_once_known(summary)


def test_a_cgroup_that_is_made_later(tree, python, recording, oracle):
    later = tree.top / "later"
    under_way = recording("--cgroup", tree.path(later))
    other = run_in(tree.make("other"), python, 0.3)
    process = run_in(tree.make("later"), python, 0.5)
    below = run_in(tree.make("later", "below"), python, 0.5)
    for one in (other, process, below):
        cpu_of(one)
    finished = succeeded(under_way.stop())
    assert "there is no cgroup" in finished.stderr
    assert set(recorded(finished.summary)) == {process.pid, below.pid}
    assert all(n >= noise.least(0.5, RATE, away(finished.summary))
               for n in working(finished.summary, oracle).values())


def test_gone_within_a_second_and_complete(v2, python, recording, oracle):
    """A container's life in short: its cgroup is made, it runs for 200 ms, its cgroup goes."""
    under_way = recording("--cgroup", v2.path(v2.top))
    pids = []
    for n in range(10):
        directory = v2.make(f"container{n}")
        process = run_in(directory, python, 0.2)
        pids.append(process.pid)
        cpu_of(process)
        cgroups.remove(directory)
    summary = succeeded(under_way.stop()).summary
    seen = working(summary, oracle)
    assert set(recorded(summary)) == set(pids)
    assert set(seen) == set(pids)
    assert sum(seen.values()) >= noise.least(len(pids) * 0.2, RATE, away(summary)), seen


def test_a_process_that_moves(tree, python, out):
    inside, outside = tree.make("in"), tree.make("out")
    with Burner(python, cgroups.enter(outside, [])) as mover, \
            Burner(python, cgroups.enter(inside, [])) as leaver:
        with Recording(["--cgroup", tree.path(inside), "-r", RATE, "-o", out / "x",
                        "--json"]) as under_way:
            under_way.wait_recording()
            use_cpu(leaver.pid, 0.1)            # the interval in which one is in and one is not
            (inside / "cgroup.procs").write_text(str(mover.pid))
            (outside / "cgroup.procs").write_text(str(leaver.pid))
            moved_us = time.monotonic_ns() / 1000
            use_cpu(mover.pid, 0.1)
            summary = succeeded(under_way.stop()).summary
    ours = {f["pid"]: f for f in files(summary)}
    assert set(ours) == {mover.pid, leaver.pid}
    start = summary["start_monotonic_us"] / 1e6
    assert ours[mover.pid]["begin_s"] >= moved_us / 1e6 - start - 0.05
    assert all(f["samples"] > 0 for f in ours.values())


def test_the_samples_of_one_that_leaves_end_there(v2, python, out, oracle):
    inside, outside = v2.make("in"), v2.make("out")
    with Burner(python, cgroups.enter(inside, [])) as leaver:
        with Recording(["--cgroup", v2.path(inside), "-r", RATE, "-o", out / "x",
                        "--json"]) as under_way:
            under_way.wait_recording()
            use_cpu(leaver.pid, 0.2)            # the interval that is recorded
            (outside / "cgroup.procs").write_text(str(leaver.pid))
            left_us = time.monotonic_ns() / 1000
            time.sleep(0.3)
            summary = succeeded(under_way.stop()).summary
    profile, = oracle.load(files(summary)[0]["path"])
    assert profile.samples
    assert max(s.time_us for s in profile.samples) <= left_us


# ---- names of containers, pods and units, by the shape of their cgroups' paths ----

ID = "0123456789abcdef" * 4
OTHER = "fedcba9876543210" * 4
POD = "11111111-2222-3333-4444-555555555555"
SHAPES = [
    (["--container", ID[:8]], ["docker", ID], ["docker", OTHER]),
    (["--container", ID], ["system.slice", f"docker-{ID}.scope"],
     ["system.slice", f"docker-{OTHER}.scope"]),
    (["--container", ID[:12]], ["machine.slice", f"libpod-{ID}.scope", "container"],
     ["machine.slice", f"libpod-conmon-{ID}.scope"]),
    (["--container", ID[:12]], ["libpod_parent", f"libpod-{ID}"],
     ["libpod_parent", f"libpod-{OTHER}"]),
    (["--pod", POD], ["kubepods", "burstable", f"pod{POD}", ID],
     ["kubepods", "burstable", "pod" + POD.replace("1", "9"), OTHER]),
    (["--pod", POD, "--container", ID],
     ["kubepods.slice", "kubepods-besteffort.slice",
      f"kubepods-besteffort-pod{POD.replace('-', '_')}.slice", f"cri-containerd-{ID}.scope"],
     ["kubepods.slice", "kubepods-besteffort.slice",
      f"kubepods-besteffort-pod{POD.replace('-', '_')}.slice", f"cri-containerd-{OTHER}.scope"]),
    (["--unit", "nginx"], ["system.slice", "nginx.service"], ["system.slice", "nginx.socket"]),
    (["--unit", "nginx"], ["system.slice", "nginx.service", "worker"],
     ["system.slice", "nginx2.service"]),
    (["--unit", "user-*.slice"], ["user.slice", "user-7.slice", "session-1.scope"],
     ["user.slice"]),
    (["--exclude-container", OTHER, "--cgroup", "TOP"], ["docker", ID], ["docker", OTHER]),
    (["--exclude-unit", "cron", "--cgroup", "TOP"], ["system.slice", "nginx.service"],
     ["system.slice", "cron.service"]),
]


def wait_for_file_of(process, recorded_to):
    end = time.monotonic() + TIMEOUT
    while not list(recorded_to.glob(f"{process.pid}-*")):
        assert time.monotonic() < end, "the process is not recorded"
        time.sleep(0.01)


@SAME_NAMES
@pytest.mark.parametrize("argv,inside,outside", SHAPES,
                         ids=[f"{n}-{'-'.join(a)[2:24]}" for n, (a, _, _) in enumerate(SHAPES)])
def test_by_the_shape_of_a_path(tree, python, recording, out, oracle, argv, inside, outside):
    """Those that are there already, and those whose cgroup is made while we record."""
    argv = [tree.path(tree.top) if a == "TOP" else a for a in argv]
    here, there = tree.make("a", *inside), tree.make("a", *outside)
    with Burner(python, cgroups.enter(here, [])) as a, \
            Burner(python, cgroups.enter(there, [])):
        under_way = recording(*argv)
        later = run_in(tree.make("b", *inside), python, 0.3, out / "known")
        other = run_in(tree.make("b", *outside), python, 0.3)
        cpu_of(other)
        wait_for_file_of(later, out / "x")      # a disk may hold up the recorder
        (out / "known").touch()
        cpu_of(later)
        summary = succeeded(under_way.stop()).summary
    seen = recorded(summary)
    assert set(seen) == {a.pid, later.pid}, seen
    # Where user space is asked, the first ticks may come before it has answered: that is said.
    assert working(summary, oracle)[later.pid] >= noise.least(0.3, RATE, away(summary)), \
        summary["lost"]


@pytest.mark.parametrize("argv,what", [
    (["--container", "no-such-one"], "container 'no-such-one'"),
    (["--pod", "no-such-one"], "pod 'no-such-one'"), (["--unit", "nothing"], "unit 'nothing'"),
    (["--cgroup", "/no/such"], "cgroup '/no/such'")])
def test_what_is_not_there_is_said_and_waited_for(v2, python, out, argv, what):
    with Burner(python, cgroups.enter(v2.make("docker", ID), [])), \
            Burner(python, cgroups.enter(v2.make("x.service"), [])):
        finished = tachbpf(*argv, "-d", "0.3", "-o", out / "x", "--json")
    assert finished.returncode == 3         # no Python that is meant was seen
    assert f"there is no {what} now" in finished.stderr
    if argv[0] == "--container":
        assert ID[:12] in finished.stderr       # what there is
    if argv[0] == "--unit":
        assert "x.service" in finished.stderr
    assert not recorded(finished.summary)
