# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Containers: every sample says where it came from, in every output; so does tachbpf ps."""
import contextlib
import csv
import gzip
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

import cgroups
from container_runtimes import IMAGE, Runc, program_of, usr_of
from paths import binary
from present import need
from processes import TIMEOUT, kill, use_cpu
from recording import Recording, succeeded, tachbpf
from summary import ROOT_FRAME, files, lost_of_short_lives, owners

RATE = 999
BURN = "while True: pass"
# Its host name is the beginning of its id.
BRIEF = "import os; sum(range(3000000)); print(os.uname().nodename)"
POD = "0b4c8a3e-51d2-4f0e-9a86-7d1f3f0a2c55"
# Of a stack's column: hostile programs of other tests may run beside, with long names.
csv.field_size_limit(1 << 26)


@contextlib.contextmanager
def started(argv, **kwargs):
    process = subprocess.Popen([*map(str, argv)], start_new_session=True,
                               stdin=subprocess.DEVNULL, **kwargs)
    try:
        yield process
    finally:
        kill(process)


def record(out, *argv, seconds=2):
    return succeeded(tachbpf(*argv, "-r", RATE, "-d", seconds, "-o", out / "x", "--json")).summary


def row_of(summary, pid):
    found = [p for p in summary["processes"] if p["pid"] == pid]
    assert len(found) == 1, (pid, [(p["pid"], p["comm"]) for p in summary["processes"]])
    return found[0]


def everyone(summary):
    """(row, process) of all; the row of those that share a file is the file's."""
    return [(p, m) for p in summary["processes"] for m in p.get("members", [p])]


def in_container(summary, label):
    """Pids of all processes in it, and their samples."""
    found = {}
    for p, m in everyone(summary):
        where = p["container"] or m.get("container")
        if where and where["label"] == label:
            found[m["pid"]] = found.get(m["pid"], 0) + m["samples"]
    return found


# ---- labels ----

@pytest.fixture(scope="module")
def mixed(podman, system, scratch):
    """Two containers of podman's with different Pythons, one with Kubernetes' cgroup, a process of
    the host, and short ones in a container, recorded together."""
    out = scratch / "mixed"
    out.mkdir()
    sid, old = need("sid-3.15"), need("sid-3.13")
    with contextlib.ExitStack() as stack:
        pids = {}
        for name, python in (("checkout", system), ("pay", sid)):
            _, pids[name] = stack.enter_context(podman.running(
                name, usr_of(python), [program_of(python), "-c", BURN]))
        kube = stack.enter_context(Runc(
            old.root, [program_of(old), "-c", BURN],
            f"/kubepods/burstable/pod{POD}/{{id}}"))
        pids["kube"] = kube.pid
        host = stack.enter_context(started(system.command("-c", BURN)))
        pids["host"] = host.pid
        with Recording(["-a", "-r", RATE, "-o", out / "x", "--json"]) as recording:
            recording.wait_recording()
            brief = [podman.run(f"brief{i}", usr_of(system),
                                [program_of(system), "-c", BRIEF], "--rm").strip() for i in range(3)]
            for pid in pids.values():
                use_cpu(pid, 0.3)
            summary = succeeded(recording.stop()).summary
    return {"summary": summary, "pids": pids, "brief": brief, "kube": kube, "sid": sid, "old": old,
            "dir": out / "x"}


def test_who_and_where(mixed):
    summary, pids = mixed["summary"], mixed["pids"]
    checkout, pay = row_of(summary, pids["checkout"]), row_of(summary, pids["pay"])
    for row, name in ((checkout, "checkout"), (pay, "pay")):
        assert row["container"]["runtime"] == "podman"
        assert row["container"]["name"] == row["container"]["label"] == name
        assert row["container"]["image"] == IMAGE
        assert len(row["container"]["id"]) == 64
        assert row["ns_pid"] == 1 and row["uid"] == 0
    assert pay["python"].startswith("3.15.")
    kube = row_of(summary, pids["kube"])
    assert kube["python"].startswith("3.13.")
    assert kube["container"]["runtime"] == "oci" and kube["container"]["id"] == mixed["kube"].cid
    assert kube["container"]["label"] == mixed["kube"].cid[:12]
    assert kube["container"]["pod_uid"] == POD and kube["container"]["qos"] == "burstable"
    assert kube["ns_pid"] == 1
    host = row_of(summary, pids["host"])
    assert host["container"] is None and host["ns_pid"] == host["pid"]
    assert json.loads((mixed["dir"] / "session.json").read_text())["processes"] == \
        summary["processes"]


def brief_label(mixed, i):
    """On a busy machine its runtime may have removed it before its name was looked up: then it has its id."""
    name = f"brief{i}"
    return name if in_container(mixed["summary"], name) else mixed["brief"][i]


@pytest.mark.parametrize("always", [False, pytest.param(True, marks=pytest.mark.truth)])
def test_gone_within_a_second_and_named(mixed, always):
    """Containers that began and ended while -a ran: 0 of their samples without a container."""
    summary = mixed["summary"]
    for i in range(3):
        label = brief_label(mixed, i)
        found = in_container(summary, label)
        assert len(found) == 1 and sum(found.values()) > 0, (i, found)
        row, member = next((p, m) for p, m in everyone(summary) if m["pid"] in found)
        assert member["ns_pid"] == 1 and member["uid"] == 0
        assert row["container"]["id"].startswith(mixed["brief"][i])
        assert row["container"]["image"] == IMAGE if label == f"brief{i}" else not always
    # Other tests' hostile programs may run beside, outside of containers.
    others = [p for p in summary["processes"] if not p["container"]]
    assert not lost_of_short_lives(summary, others), summary["lost"]


def test_root_frames_of_merged_files(mixed, oracle):
    summary = mixed["summary"]
    for p, profile in zip(files(summary), oracle.load(*(f["path"] for f in files(summary)))):
        if p["pid"] is not None or not p["container"]:
            continue
        for sample in profile.samples:
            match = ROOT_FRAME.fullmatch(sample.frames[-1].func)
            assert match and match[2].endswith(" @" + p["container"]["label"]), sample.frames[-1]
    assert sum(1 for _ in owners(summary, oracle)) == summary["samples"]


def test_report_by_container(mixed):
    report = json.loads(succeeded(tachbpf("report", "--by", "container", "--limit", 0, "--json",
                                          mixed["dir"])).stdout)
    rows = {r["container"]: r for r in report["rows"]}
    for label in ("checkout", "pay", *(brief_label(mixed, i) for i in range(3)), mixed["kube"].cid[:12]):
        expected = in_container(mixed["summary"], label)
        assert (rows[label]["self"], rows[label]["processes"]) == (sum(expected.values()), len(expected)), label
    assert rows["checkout"]["image"] == IMAGE
    assert rows[None]["self"] > 0
    assert sum(r["self"] for r in report["rows"]) == mixed["summary"]["samples"]
    table = succeeded(tachbpf("report", "--by", "container", mixed["dir"])).stdout
    assert "checkout" in table and "(none)" in table and IMAGE in table


def convert(mixed, out, suffix, *argv):
    path = out / ("all" + suffix)
    succeeded(tachbpf("convert", mixed["dir"], "-o", path, *argv))
    return path


def test_labels_in_exports(mixed, out):
    pid = mixed["pids"]["checkout"]
    folded = convert(mixed, out, ".folded").read_text()
    assert f"process:{pid} " in folded and " @checkout;tid:" in folded
    with open(convert(mixed, out, ".csv"), newline="") as f:
        rows = list(csv.DictReader(f))
    assert {r["container"] for r in rows if r["process"] == str(pid)} == {"checkout"}
    assert {r["container"] for r in rows if r["process"] == str(mixed["pids"]["host"])} == {""}
    speedscope = json.loads(convert(mixed, out, ".speedscope.json").read_text())
    names = [p["name"] for p in speedscope["profiles"]]
    assert any(n.startswith(f"process {pid} ") and " @checkout thread " in n for n in names)
    assert {p.get("container") for p in speedscope["tachbpf"]["processes"]} >= {
        "checkout", "pay", brief_label(mixed, 1)}
    gecko = json.loads(convert(mixed, out, ".json", "--format", "gecko").read_text())
    assert any(t["processName"].endswith(" @checkout") for t in gecko["threads"])
    pprof = gzip.decompress(convert(mixed, out, ".pb.gz").read_bytes())
    for text in (b"container", b"checkout", b"image", IMAGE.encode()):
        assert text in pprof
    heap = convert(mixed, out, ".html")
    assert heap.stat().st_size > 10000


@pytest.mark.parametrize("fmt", ["collapsed", "speedscope", "csv", "pprof"])
def test_exports_by_container(mixed, out, fmt):
    path = out / "x"
    succeeded(tachbpf("convert", "--format", fmt, "--by", "container", mixed["dir"], "-o", path))
    expected = {label: sum(in_container(mixed["summary"], label).values())
                for label in ("checkout", "pay", brief_label(mixed, 2))}
    found = {}
    if fmt == "collapsed":
        for line in path.read_text().splitlines():
            stack, _, weight = line.rpartition(" ")
            label = stack.split(";")[0].removeprefix("container:")
            found[label] = found.get(label, 0) + int(weight)
    elif fmt == "csv":
        with open(path, newline="") as f:
            for r in csv.DictReader(f):
                assert r["process"] == r["thread"] == ""
                found[r["container"]] = found.get(r["container"], 0) + int(r["weight"])
    elif fmt == "speedscope":
        names = [p["name"] for p in json.loads(path.read_text())["profiles"]]
        assert len(names) == len(set(names))
        assert {"container " + label for label in [*expected, "(none)"]} <= set(names)
        return
    else:
        assert b"checkout" in gzip.decompress(path.read_bytes())
        return
    assert {label: found[label] for label in expected} == expected


def test_html_selectors_say_the_container(mixed, out):
    """The page's data: zlib in base64, see docs/format-flamegraph.md."""
    import base64
    import re
    import zlib
    page = convert(mixed, out, ".html", "--format", "flamegraph").read_text()
    data = max(re.findall(r"[A-Za-z0-9+/=]{200,}", page), key=len)
    assert b'"container":"checkout"' in zlib.decompress(base64.b64decode(data))


# ---- namespaces ----

def namespace_below(pid, depth):
    """The pid namespace of the process that is so many unshares below."""
    end = time.monotonic() + TIMEOUT
    for _ in range(depth):
        path = Path(f"/proc/{pid}/task/{pid}/children")
        while not path.read_text().split():
            assert time.monotonic() < end, "it does not start"
            time.sleep(0.01)
        pid = path.read_text().split()[0]
    return str(os.stat(f"/proc/{pid}/ns/pid").st_ino)


def test_nested_pid_namespaces(system, out):
    """Three deep: the host's number and that inside are both recorded."""
    nest = ["unshare", "--pid", "--fork", "--kill-child"]
    with started([*nest, *nest, *nest, *system.command("-c", BURN)]) as process:
        number = namespace_below(process.pid, 3)
        summary = record(out, "-a")
        deep = [p for p in summary["processes"]
                if p["container"] and p["container"]["runtime"] == "pidns" and
                p["container"]["id"] == number]
        assert len(deep) == 1 and deep[0]["ns_pid"] == 1, summary["processes"]
        status = Path(f"/proc/{deep[0]['pid']}/status").read_text()
        numbers = next(line.split()[1:] for line in status.splitlines()
                       if line.startswith("NStgid:"))
        assert len(numbers) == 4 and int(numbers[0]) == deep[0]["pid"]


def test_children_and_execs_in_namespaces(system, out):
    """What the kernel tells of forks and execs has the numbers inside, too."""
    code = ("import os, time\n"
            "time.sleep(1)\n"
            "if os.fork() == 0:\n"
            "    end = time.process_time() + 0.3\n"
            "    while time.process_time() < end: pass\n"
            "    os._exit(0)\n"
            "os.wait()\n"
            "os.execv('/proc/self/exe', ['python3', '-c', 'while True: pass'])\n")
    with started(["unshare", "--pid", "--fork", "--kill-child",
                  *system.command("-c", code)]) as process:
        number = namespace_below(process.pid, 1)
        summary = record(out, "-a", seconds=4)
    inside = []
    for p, m in everyone(summary):
        where = p["container"] or m.get("container")
        if where and where["runtime"] == "pidns" and where["id"] == number:
            inside.append(m["ns_pid"])
    assert sorted(set(inside)) == [1, 2], inside    # the first, its child, and itself after exec


@pytest.mark.parametrize("kind", list(cgroups.HIERARCHIES))
def test_one_hierarchy_is_enough(kind, system, out):
    """A container whose name only v2, or only a hierarchy of v1, has."""
    mount = cgroups.HIERARCHIES[kind]()
    if not mount:
        pytest.skip(f"no {kind} hierarchy is mounted here")
    cid = os.urandom(32).hex()
    with cgroups.Tree(mount) as tree:
        inside = tree.make("docker", cid)
        with started(cgroups.enter(inside, system.command("-c", BURN))) as process:
            with Recording(["-a", "-r", RATE, "-o", out / "x", "--json"]) as recording:
                recording.wait_recording()
                brief = [subprocess.run(cgroups.enter(inside, system.command("-c", BRIEF)),
                                        check=True) for _ in range(3)]
                time.sleep(1)
                summary = succeeded(recording.stop()).summary
            assert len(brief) == 3
        assert row_of(summary, process.pid)["container"]["id"] == cid
        found = in_container(summary, cid[:12])
        assert len(found) == 4 and all(found.values()), found


def test_from_a_cgroup_namespace_of_its_own(podman, system, out):
    """/proc/PID/cgroup shows paths above ours as "/..": they are understood."""
    with podman.running("sideways", usr_of(system),
                        [program_of(system), "-c", BURN]) as (_, pid):
        mount = cgroups.v2() or cgroups.v1()
        with cgroups.Tree(mount) as tree:
            done = subprocess.run(cgroups.enter(tree.make("a", "b"), [
                "unshare", "--cgroup", binary(), "-a", "-r", RATE, "-d", 2, "-o", out / "x",
                "--json"]), capture_output=True, text=True, timeout=TIMEOUT)
            assert done.returncode == 0, done.stderr
            summary = json.loads(done.stdout)
    assert row_of(summary, pid)["container"]["name"] == "sideways"


# ---- many ----

@pytest.mark.parametrize("within_s", [None, pytest.param(1, marks=pytest.mark.truth)])
def test_two_hundred_containers_at_once(system, out, within_s):
    """All are told apart, and looking at all of them takes a second at most."""
    mount = cgroups.v2() or cgroups.v1()
    cids = [os.urandom(32).hex() for _ in range(200)]
    code = "import time\nwhile True: time.sleep(0.05)"
    with cgroups.Tree(mount) as tree, contextlib.ExitStack() as stack:
        for cid in cids:
            argv = ["unshare", "--pid", "--fork", "--kill-child", *system.command("-S", "-c", code)]
            stack.enter_context(started(cgroups.enter(tree.make("docker", cid), argv)))
        listed = ps()
        end = time.monotonic() + TIMEOUT
        while sum(in_docker(p, cids) for p in listed) < 200:
            assert time.monotonic() < end, "they do not start"
            listed = ps()
        began = time.monotonic()
        with Recording(["-a", "-r", 99, "-o", out / "x", "--json"]) as recording:
            recording.wait_recording()
            took = time.monotonic() - began
            time.sleep(3)
            summary = succeeded(recording.stop()).summary
    rows = [p for p in summary["processes"] if in_docker(p, cids)]
    assert {p["container"]["id"] for p in rows} == set(cids)
    assert all(p["ns_pid"] == 1 for p in rows)
    print(f"200 containers: recording after {took:.2f} s, {summary['startup_cpu_s']:.2f} s of CPU")
    assert within_s is None or summary["startup_cpu_s"] <= within_s


def in_docker(row, cids):
    where = row["container"]
    return bool(where and where["runtime"] == "docker" and where["id"] in cids)


# ---- ps ----

def ps(*argv, **kwargs):
    return json.loads(succeeded(tachbpf("ps", "--json", *argv, **kwargs)).stdout)["pythons"]


def entry(pythons, pid):
    found = [p for p in pythons if p["pid"] == pid]
    assert len(found) == 1, (pid, pythons)
    return found[0]


def ps_when_ready(pid):
    """The list once the process' interpreter is initialised and has had some CPU time."""
    end = time.monotonic() + TIMEOUT
    while True:
        listed = ps()
        found = [p for p in listed if p["pid"] == pid]
        if found and found[0]["reason"] is None and found[0]["cpu_percent"] > 5:
            return listed
        assert time.monotonic() < end, found
        time.sleep(0.05)


def test_ps_of_containers(podman, system, unsupported):
    with podman.running("listed", usr_of(system),
                        [program_of(system), "-c", BURN]) as (cid, pid):
        listed = ps_when_ready(pid)
        found = entry(listed, pid)
        assert found["ns_pid"] == 1 and found["container"]["name"] == "listed"
        assert found["container"]["id"] == cid
        assert found["version"] == ".".join(map(str, system.version))
        assert found["threads"] == 1
        assert found["command"].endswith("-c " + BURN)
        assert found["profilable"] and found["reason"] is None
        assert [p["pid"] for p in ps("--container", "listed")] == [pid]
        assert pid not in [p["pid"] for p in ps("--exclude-container", cid[:12])]
        refused = entry(listed, unsupported.pid)
        assert not refused["profilable"] and "3.5" in refused["reason"]
        table = succeeded(tachbpf("ps")).stdout
        assert " listed " in table and f"{unsupported.pid} cannot be profiled: " in table


@pytest.mark.parametrize("name", ["system-3.11", "pyenv-3.12.1", "pyenv-3.6.15", "sid-3.14-dbg",
                                  "sid-3.15", "ft-3.13", "musl-3.11.2", "trace-refs-3.11.2"])
def test_ps_tells_builds(name):
    python = need(name)
    with started(python.command("-c", "import time\nprint(1, flush=True)\ntime.sleep(99)"),
                 stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "1\n"
        found = entry(ps(), process.pid)
    expected = {python.kind} | {word for word, is_so in (
        ("debug", python.debug), ("free-threaded", python.free_threaded),
        ("trace-refs", python.trace_refs)) if is_so}
    assert set(found["build"]) - {"musl"} == expected
    assert found["version"] == ".".join(map(str, python.version))


def test_ps_without_rights(system):
    """Another user sees what it may see, and is told that there is more."""
    with started(system.command("-c", BURN)):
        done = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", binary(), "ps"],
                              capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    assert "could not be inspected: run as root" in done.stdout


def test_ps_of_the_host(system):
    """A process in no container is told as such."""
    with started(system.command("-c", BURN)) as process:
        found = entry(ps_when_ready(process.pid), process.pid)
        assert found["container"] is None and found["ns_pid"] == process.pid
