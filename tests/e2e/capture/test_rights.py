# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What each process of a recording may do: as doctor says, and no more."""
import contextlib
import json
import os
import re
import shutil
import stat
import subprocess
import time
from pathlib import Path

import pytest

import refused_calls
from paths import REPO, binary
from present import absent
from processes import TIMEOUT, family, kill, use_cpu
from recording import Recording, succeeded, tachbpf
from target import Target

BURN = "while True: pass"
BITS = {"CAP_DAC_READ_SEARCH": 2, "CAP_SYS_PTRACE": 19, "CAP_SYS_ADMIN": 21, "CAP_PERFMON": 38,
        "CAP_BPF": 39, "CAP_CHECKPOINT_RESTORE": 40}
LASTING = {"tachbpf", "tachbpf-keeper", "tachbpf-reader", "tachbpf-inspect", "tachbpf-parser"}
OF_NATIVE = {"tachbpf-opener", "tachbpf-cache", "tachbpf-tables", "tachbpf-names"}
ASKER = "tachbpf-asker"     # only with --debuginfod: ../native/test_debuginfod.py
KEEPER_OF_MEMORY = "tachbpf-keeper --mode mem"
OF_MEMORY = {KEEPER_OF_MEMORY, "tachbpf-pages", "tachbpf-heap", "tachbpf-keeper --allocations", "tachbpf-prober"}
NOBODY, SOMEBODY = 65534, 54321
# Not nobody, for whose files workers wait in other tests (test_fuse.py): each user may block two.
ORDINARY = 54323


def status(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def by_name(pid):
    """{name: status} of a recording and all processes below it."""
    found = {}
    for one in family(pid):
        with contextlib.suppress(OSError, KeyError):
            its = status(one)
            if not its["State"].startswith("Z"):
                found["tachbpf" if one == pid else its["Name"]] = its
    return found


def when_all_are_there(pid, more=frozenset()):
    """
    Each is in its jail: it was forked with its parent's rights and filters, gives up the rights that it does not need,
    and then adds a filter of its own.
    """
    end = time.monotonic() + TIMEOUT
    while True:
        found = by_name(pid)
        filters = {its["Pid"]: int(its["Seccomp_filters"]) for its in found.values()}
        if LASTING | more <= set(found) and all(
                its["NoNewPrivs"] == "1" and (name == "tachbpf" or filters[its["Pid"]] > filters.get(its["PPid"], 0))
                for name, its in found.items()):
            return found
        assert time.monotonic() < end, sorted(found)
        time.sleep(0.01)


def table(prefix=(), program=None):
    """doctor's, by name."""
    done = subprocess.run([*map(str, prefix), str(program or binary()), "doctor", "--json"], capture_output=True,
                          text=True, timeout=TIMEOUT)
    return {p["name"]: p for p in json.loads(done.stdout)["processes"]}


def expect_table(found, rows):
    for name, its in found.items():
        bits = sum(1 << BITS[word] for word in rows[name]["capabilities"])
        for line in ("CapEff", "CapPrm"):
            assert int(its[line], 16) == bits, (name, line, its[line])
        assert int(its["CapInh"], 16) == int(its["CapAmb"], 16) == 0
        assert its["Seccomp"] == ("2" if rows[name]["filter"] else "0"), name


@pytest.mark.parametrize("options", [["-a"], ["-a", "-m", "wall"], ["-a", "--native"], ["-a", "-m", "mem"]],
                         ids=["cpu", "wall", "native", "mem"])
def test_each_process_has_what_doctor_says(scratch, out, python, options):
    with Target(python, scratch, "shares=600") as target, \
            Recording([*options, "-o", out / "x", "--json"]) as recording:
        recording.wait_recording()
        target.go()
        found = when_all_are_there(recording.process.pid, OF_NATIVE if "--native" in options else
                                   {"tachbpf-pages"} if "mem" in options else set())
        succeeded(recording.stop())
    rows = table()
    assert set(rows) == LASTING | {"tachbpf-walker", ASKER} | OF_NATIVE | OF_MEMORY
    assert ASKER not in found
    assert OF_NATIVE.isdisjoint(found) == ("--native" not in options)
    assert ("tachbpf-pages" in found) == ("mem" in options)
    if "mem" in options:
        rows["tachbpf-keeper"] = rows[KEEPER_OF_MEMORY]
    assert [n for n, row in rows.items() if not row["filter"]] == ["tachbpf"]
    expect_table(found, rows)
    # files are looked at with nobody's rights beside the capabilities, not with root's: only our own
    # files are written with these
    for name, its in found.items():
        uids = its["Uid"].split()
        assert uids == ["0", "0", "0", "0" if name in ("tachbpf", "tachbpf-cache") else str(NOBODY)], name
        assert name == "tachbpf" or its.get("Groups", "").split() == []


NUMBERS = {**BITS, "CAP_SETGID": 6, "CAP_SETUID": 7}


def in_packaging(name):
    """The capabilities that a container (of the DaemonSet) or a service leaves us."""
    text = (REPO / "packaging" / name).read_text()
    if name.endswith(".yaml"):
        return {"CAP_" + word for word in re.search(r"add: \[([^]]*)\]", text)[1].split(", ")}
    return set(re.search(r"^CapabilityBoundingSet=(.*)$", text, re.M)[1].split())


@pytest.mark.parametrize("name", ["kubernetes/base/tachbpf-agent.yaml", "tachbpf-agent.service", "tachbpf.service"])
def test_root_with_the_capabilities_of_our_packages(out, name):
    """The workers have nobody's rights to files there, too. To take these needs capabilities of its own."""
    numbers = [NUMBERS[cap] for cap in in_packaging(name) if cap in NUMBERS]
    bounding = ",".join(["-all", *(f"+cap_{number}" for number in numbers)])
    with Recording(["-a", "-o", out / "x"],
                   prefix=["setpriv", f"--bounding-set={bounding}", "--inh-caps=-all"]) as recording:
        recording.wait_recording()
        found = when_all_are_there(recording.process.pid)
        succeeded(recording.stop())
    for worker in sorted(set(found) - {"tachbpf"}):
        assert found[worker]["Uid"].split() == ["0", "0", "0", str(NOBODY)], worker
        assert found[worker].get("Groups", "").split() == []


def limit_of_files(pid):
    """(soft, hard)"""
    line, = [row for row in Path(f"/proc/{pid}/limits").read_text().splitlines() if row.startswith("Max open files")]
    return tuple(map(int, line.split()[3:5]))


def test_workers_may_open_what_the_hard_limit_allows(out):
    """The inspector keeps up to 1,024 files open, as many as the soft limit is on most systems."""
    with Recording(["-a", "-o", out / "x"], prefix=["sh", "-c", 'ulimit -Sn 256; exec "$0" "$@"']) as recording:
        recording.wait_recording()
        when_all_are_there(recording.process.pid)
        for pid in family(recording.process.pid):
            soft, hard = limit_of_files(pid)
            assert soft == hard > 256
        succeeded(recording.stop())


def test_text_of_doctor_names_them(root):
    text = succeeded(tachbpf("doctor")).stdout
    section = text.split("recorder processes\n")[1].split("\nrunning Python processes")[0]
    assert [line.strip().split("  ")[0] for line in section.splitlines()] == list(table())
    assert "capabilities: none; system call filter" in section


def test_under_sudo_files_are_made_with_the_users_rights(scratch, out, python):
    """Without CAP_CHOWN, CAP_FOWNER, CAP_DAC_OVERRIDE, and without root's groups."""
    where = out / "theirs"
    where.mkdir()
    os.chown(where, SOMEBODY, SOMEBODY)
    user = {"SUDO_UID": str(SOMEBODY), "SUDO_GID": str(SOMEBODY)}
    with Target(python, scratch, "shares=600") as target, \
            Recording(["-a", "-o", where / "x", "--json"], env=user) as recording:
        recording.wait_recording()
        target.go()
        found = when_all_are_there(recording.process.pid)
        use_cpu(target.pid, 0.3)
        summary = succeeded(recording.stop()).summary
    mine = found.pop("tachbpf")
    assert mine["Uid"].split() == ["0", "0", "0", str(SOMEBODY)]
    assert mine["Gid"].split() == ["0", "0", "0", str(SOMEBODY)]
    assert "0" not in mine.get("Groups", "").split()
    expect_table({"tachbpf": mine, **found}, table())
    assert summary["samples"] > 0
    for path in (where / "x", *(where / "x").iterdir()):
        its = path.stat()
        assert (its.st_uid, its.st_gid) == (SOMEBODY, SOMEBODY), path
        assert stat.S_IMODE(its.st_mode) & 0o077 == 0


SUDO = {"SUDO_UID": str(SOMEBODY), "SUDO_GID": str(SOMEBODY)}
BURN_A_WHILE = "import time; end = time.process_time() + 0.5\nwhile time.process_time() < end: pass\n"
THEN_CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])\n"
THEN_EXEC = "import os, sys; os.execv(sys.executable, [sys.executable, '-c', sys.argv[1]])\n"


@pytest.mark.parametrize("mode, owner", [(0o700, SOMEBODY), (0o755, 0), (0o700, 0)])
def test_under_sudo_a_command_and_its_children(system, out, mode, owner):
    """Files are the user's in a directory where that user may write, and root's own where not: `sudo -i`
    in root's home. The directory of the children is made when the rights are gone."""
    out.chmod(0o755)
    where = out / "here"
    where.mkdir()
    os.chown(where, owner, owner)
    where.chmod(mode)
    done = succeeded(tachbpf("--split", "all", "-o", where / "x.tach", "--html", where / "x.html", "--",
                             *system.command("-c", BURN_A_WHILE + THEN_CHILD, BURN_A_WHILE), env=SUDO))
    paths = [where / "x.tach", where / "x.tach.json", where / "x.html", where / "x.tach.d",
             *(where / "x.tach.d").iterdir()]
    assert (where / "x.tach.d" / "session.json") in paths
    assert list((where / "x.tach.d").glob("*.tach"))
    for path in paths:
        assert path.stat().st_uid == owner, path
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert ("the files will belong to root" in done.stderr) == (owner == 0)


def test_under_sudo_a_directory_in_roots_own(out):
    """It is made before the rights are gone, and given to the user, who can reach it."""
    where = out / "roots"
    where.mkdir(mode=0o755)
    out.chmod(0o755)
    succeeded(tachbpf("-a", "-d", "0.3", "-o", where / "x", env=SUDO))
    for path in (where / "x", *(where / "x").iterdir()):
        assert path.stat().st_uid == SOMEBODY


def test_under_sudo_nothing_of_an_earlier_recording_is_overwritten(system, out):
    """In the user's own home, which root may not look into once the rights are gone."""
    out.chmod(0o755)
    where = out / "home"
    where.mkdir(mode=0o700)
    os.chown(where, SOMEBODY, SOMEBODY)
    earlier = where / "x.1.tach"
    earlier.write_text("precious")
    succeeded(tachbpf("-o", where / "x.tach", "--",
                      *system.command("-c", BURN_A_WHILE + THEN_EXEC, BURN_A_WHILE), env=SUDO))
    assert earlier.read_text() == "precious"
    assert (where / "x.2.tach").stat().st_size


@pytest.fixture
def of_a_user(system, out):
    """A busy Python of an ordinary user's."""
    process = subprocess.Popen(system.command("-c", BURN), start_new_session=True, user=ORDINARY, group=ORDINARY,
                               extra_groups=[])
    yield process
    kill(process)


HIDDEN = ["unshare", "--mount", "sh", "-c", 'mount -t proc -o hidepid=2,gid=4321 proc /proc && exec "$@"', "sh"]


@pytest.mark.parametrize("env", [{}, {"SUDO_UID": str(SOMEBODY), "SUDO_GID": str(SOMEBODY)}],
                         ids=["root", "sudo"])
def test_a_proc_that_hides_processes(of_a_user, scratch, out, python, env):
    """hidepid=2: who may not trace a process does not see that there is one. The reader sees it."""
    if subprocess.run([*HIDDEN, "true"], capture_output=True).returncode:
        absent("no mount of /proc with hidepid")
    if env:
        os.chown(out, SOMEBODY, SOMEBODY)
    with Target(python, scratch, "shares=600") as target, \
            Recording(["-a", "-r", 999, "-o", out / "x", "--json"], prefix=HIDDEN, env=env) as recording:
        recording.wait_recording()
        target.go()
        for pid in (of_a_user.pid, target.pid):
            use_cpu(pid, 0.5)
        summary = succeeded(recording.stop()).summary
    for pid, uid in ((of_a_user.pid, ORDINARY), (target.pid, 0)):
        row, = [p for p in summary["processes"] if p["pid"] == pid]
        assert row["samples"] > 0 and row["uid"] == uid and row["command"]
    done = succeeded(tachbpf("ps", "--json", prefix=HIDDEN, env=env))
    row, = [p for p in json.loads(done.stdout)["pythons"] if p["pid"] == of_a_user.pid]
    assert row["uid"] == ORDINARY and row["profilable"]
    done = succeeded(tachbpf("top", "--json", "--once", "-i", "0.5", of_a_user.pid, prefix=HIDDEN, env=env))
    row, = json.loads(done.stdout)["processes"]
    assert row["pid"] == of_a_user.pid and row["rss_bytes"] > 1 << 20


AS_USER = ["setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups"]


@pytest.fixture
def for_anyone(out):
    """The program where any user can run it."""
    path = out / "tachbpf"
    shutil.copy(binary(), path)
    path.chmod(0o755)
    out.chmod(0o755)
    return path


def test_by_file_capabilities(scratch, out, python, for_anyone):
    """docs/containers.md, "Least privilege": not root, by what setcap gave the program."""
    setcap = shutil.which("setcap", path="/usr/sbin:/sbin:/usr/bin")
    if not setcap:
        absent("setcap is not installed: run make check-deps")
    subprocess.run([setcap, "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,"
                    "cap_checkpoint_restore=ep", for_anyone], check=True)
    mine = out / "mine"
    mine.mkdir()
    os.chown(mine, ORDINARY, ORDINARY)
    command = [str(for_anyone), "-a", "-r", "999", "-o", str(mine / "x"), "--json"]
    with Target(python, scratch, "shares=600") as target:
        process = subprocess.Popen([*AS_USER, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, start_new_session=True)
        try:
            found = when_all_are_there(process.pid)
            target.go()
            use_cpu(target.pid, 0.5)
            process.send_signal(2)
            said, errors = process.communicate(timeout=TIMEOUT)
        finally:
            kill(process)
    assert process.returncode == 0, errors
    row, = [p for p in json.loads(said)["processes"] if p["pid"] == target.pid]
    assert row["samples"] > 0
    assert all(its["Uid"].split() == [str(ORDINARY)] * 4 for its in found.values())
    expect_table(found, table(AS_USER, for_anyone))
    rows = table(AS_USER, for_anyone)
    assert rows["tachbpf"]["capabilities"] == ["CAP_PERFMON", "CAP_BPF"]
    assert rows["tachbpf-inspect"]["capabilities"] == [
        "CAP_DAC_READ_SEARCH", "CAP_SYS_PTRACE", "CAP_CHECKPOINT_RESTORE"]


def test_ps_and_doctor_of_an_ordinary_user(of_a_user, for_anyone):
    done = subprocess.run([*AS_USER, for_anyone, "ps", "--json"], capture_output=True, text=True,
                          timeout=TIMEOUT)
    assert done.returncode == 0 and not done.stderr, done.stderr
    listed = json.loads(done.stdout)
    row, = [p for p in listed["pythons"] if p["pid"] == of_a_user.pid]
    assert row["profilable"] and listed["unreadable"] > 0
    rows = table(AS_USER, for_anyone)
    assert all(row["capabilities"] == [] for row in rows.values())


def test_ps_v_names_what_it_cannot_inspect(of_a_user, for_anyone):
    """Each that the last line counts, by its pid and name, and why."""
    plain, told = (subprocess.run([*AS_USER, for_anyone, "ps", *more], capture_output=True, text=True,
                                  timeout=TIMEOUT) for more in ((), ("-v",)))
    assert plain.returncode == told.returncode == 0, (plain.stderr, told.stderr)
    assert not plain.stderr and plain.stdout.endswith("run as root (-v names them)\n")
    count, = re.findall(r"^(\d+) process(?:es)? could not be inspected: run as root$", told.stdout, re.M)
    named = re.findall(r" (\d+) .+ could not be inspected: Permission denied$", told.stderr, re.M)
    assert len(named) == int(count) == len(set(named)) and str(os.getpid()) in named
    assert str(of_a_user.pid) not in named


def test_where_filters_are_refused_no_process_has_one(scratch, out, python):
    """Some profiles of containers refuse seccomp(2)."""
    prefix = refused_calls.prefix(x86_64=317, aarch64=277)      # seccomp(2), and with it the old way
    with Target(python, scratch, "shares=600") as target, \
            Recording(["-a", "-o", out / "x", "--json"], prefix=prefix) as recording:
        recording.wait_recording()
        target.go()
        use_cpu(target.pid, 0.5)
        done = succeeded(recording.stop())
    assert done.stderr.count("seccomp(2) is refused") == 1
    assert [p for p in done.summary["processes"] if p["pid"] == target.pid and p["samples"]]
    assert not any(row["filter"] for row in table(prefix).values())
