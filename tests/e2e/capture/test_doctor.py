# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tachbpf doctor: what it finds here, and what it says where something is missing."""
import json
import os
import shutil
import subprocess

import pytest

import refused_calls
from paths import binary
from processes import TIMEOUT
from recording import succeeded, tachbpf
from target import Target

IN_OWN_MOUNTS = ["unshare", "--mount", "sh", "-c"]
def doctor(prefix=(), status=0, program=None):
    if program:
        done = subprocess.run([*prefix, str(program), "doctor", "--json"], capture_output=True,
                              text=True, timeout=TIMEOUT)
    else:
        done = tachbpf("doctor", "--json", prefix=prefix)
    assert done.returncode == status, (done.stdout[-3000:], done.stderr)
    found = json.loads(done.stdout)
    assert found["ok"] == (status == 0)
    return found


def verdict(found, name):
    check, = [c for c in found["checks"] if c["name"] == name]
    return check


@pytest.fixture(scope="module")
def for_anyone(scratch):
    """The program where any user can run it."""
    path = scratch / "doctor-for-anyone"
    shutil.copy(binary(), path)
    path.chmod(0o755)
    return path


def nobody(*caps):
    words = ",".join("+" + c for c in caps)
    grant = ["--inh-caps=-all," + words, "--ambient-caps=-all," + words] if caps else []
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *grant]


def test_all_is_well_here(root):
    found = doctor()
    assert found["problems"] == 0
    assert not [c for c in found["checks"] if c["verdict"] == "problem"]
    assert all(f["found"] for f in found["features"] if f["need"] == "required")
    assert found["programs"]["loaded"]
    # the verifier processed each, and the walk is far from the kernel's limit of 1,000,000
    assert all(0 < n < 500000 for n in found["programs"]["instructions"].values())
    assert found["programs"]["instructions"]["on_cpu_tick"] > 1000


def test_text_and_json_say_the_same(root):
    text = succeeded(tachbpf("doctor")).stdout
    found = doctor()
    for check in found["checks"]:
        assert check["name"] in text
    for feature in found["features"]:
        assert feature["name"] in text
    assert text.splitlines()[-1] == "ready to record"


def test_pythons_that_run_are_counted(scratch, python):
    version = ".".join(map(str, python.version))
    with Target(python, scratch, "shares=600"), Target(python, scratch, "shares=600"):
        found = doctor()["pythons"]
    assert found["versions"][version] >= 2
    assert found["profilable"] == sum(found["versions"].values()) <= found["processes"]


def test_pythons_that_cannot_be_profiled_are_named(unsupported):
    found = doctor()["pythons"]
    text = tachbpf("doctor").stdout
    mine, = [p for p in found["not_profilable"] if p["pid"] == unsupported.pid]
    assert "3.5.4" in mine["why"]
    assert str(unsupported.pid) in text and mine["why"] in text


def test_without_privileges_it_says_what_is_missing_and_what_it_cannot_see(root, for_anyone):
    found = doctor(nobody(), status=1, program=for_anyone)
    for name in ("CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE"):
        assert verdict(found, name)["verdict"] == "problem"
        assert "setcap" in verdict(found, name)["fix"]
    assert verdict(found, "bpf(2)")["verdict"] == "problem"
    assert not found["programs"]["loaded"]
    # type information is everybody's
    assert all(f["found"] for f in found["features"] if f["need"] == "required")
    assert found["pythons"]["unreadable"] > 0


def test_three_capabilities_are_enough(root, for_anyone):
    done = subprocess.run([*nobody("bpf", "perfmon", "sys_ptrace"), "true"], capture_output=True)
    if done.returncode:
        pytest.skip("setpriv knows no such capabilities: " + done.stderr.decode())
    found = doctor(nobody("bpf", "perfmon", "sys_ptrace"), program=for_anyone)
    assert found["programs"]["loaded"]
    assert verdict(found, "CAP_SYS_ADMIN")["verdict"] == "note"


def test_what_native_needs(root, for_anyone, monkeypatch):
    found = doctor()
    for name in ("helper", "mapped files", "kernel's functions", "tables on disk"):
        assert verdict(found, name)["verdict"] == "ok", verdict(found, name)
    # it is not beside that program, and it is no problem that it is missing
    monkeypatch.setenv("TACHBPF_ELF", "/nonexistent/tachbpf-elf")
    found = doctor(program=for_anyone)
    assert verdict(found, "helper")["verdict"] == "off" and verdict(found, "helper")["fix"]
    found = doctor(nobody(), status=1, program=for_anyone)
    assert "CAP_CHECKPOINT_RESTORE" in verdict(found, "mapped files")["fix"]
    assert "kptr_restrict" in verdict(found, "kernel's functions")["fix"]


def test_what_memory_needs(root, for_anyone):
    names = ("page faults", "pages", "moves of memory", "huge pages", "--allocations")
    found = doctor()
    for name in names:
        assert verdict(found, name)["group"] == "--mode mem"
        assert verdict(found, name)["verdict"] == "ok", verdict(found, name)
    # whether a page is another one is for CAP_SYS_ADMIN to see, and recording works without it
    found = doctor(nobody("bpf", "perfmon", "sys_ptrace"), program=for_anyone)
    assert verdict(found, "pages")["verdict"] == "off"
    assert "CAP_SYS_ADMIN" in verdict(found, "pages")["fix"]
    assert verdict(found, "page faults")["verdict"] == "ok"
    # without any right
    found = doctor(nobody(), status=1, program=for_anyone)
    assert verdict(found, "page faults")["verdict"] == "off"
    assert verdict(found, "--allocations")["verdict"] == "note"


def test_a_helper_that_others_can_change_is_not_started(root, for_anyone, scratch, monkeypatch):
    helper = scratch / "elf-of-all"
    helper.write_text("#!/bin/sh\n")
    helper.chmod(0o777)
    monkeypatch.setenv("TACHBPF_ELF", str(helper))
    found = verdict(doctor(program=for_anyone), "helper")
    assert found["verdict"] == "off" and "other users can change" in found["text"]


def test_another_pid_namespace(root):
    found = doctor(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"], status=1)
    assert verdict(found, "PID namespace")["verdict"] == "problem"
    assert "--pid=host" in verdict(found, "PID namespace")["fix"]


def test_no_type_information(root):
    hide = 'mount -t tmpfs none /sys/kernel/btf && exec "$0" "$@"'
    found = doctor([*IN_OWN_MOUNTS, hide], status=1)
    assert verdict(found, "type information")["verdict"] == "problem"
    assert "CONFIG_DEBUG_INFO_BTF" in verdict(found, "type information")["fix"]
    assert not found["programs"]["loaded"]


def test_a_filter_that_refuses_bpf(root):
    found = doctor(refused_calls.prefix(x86_64=321, aarch64=280), status=1)   # bpf(2)
    assert verdict(found, "bpf(2)")["verdict"] == "problem"
    assert "seccomp" in verdict(found, "bpf(2)")["fix"]
    assert verdict(found, "seccomp")["verdict"] == "note"
    assert verdict(found, "CAP_BPF")["verdict"] == "ok"


def test_few_open_files_are_said_and_are_no_problem(root):
    found = doctor(["prlimit", "--nofile=64:64"])
    assert verdict(found, "open files")["verdict"] == "off"
    assert "ulimit -n" in verdict(found, "open files")["fix"]


def test_it_attaches_nothing_and_leaves_nothing(root):
    before = os.listdir("/sys/fs/bpf") if os.path.isdir("/sys/fs/bpf") else []
    doctor()
    assert (os.listdir("/sys/fs/bpf") if os.path.isdir("/sys/fs/bpf") else []) == before


def test_bad_command_lines_and_a_full_disk(root):
    for argv in (["doctor", "now"], ["doctor", "--frobnicate"]):
        done = tachbpf(*argv)
        assert done.returncode == 2 and not done.stdout and done.stderr, repr(done)
    with open("/dev/full", "w") as full:
        done = subprocess.run([binary(), "doctor"], stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=TIMEOUT)
    assert done.returncode == 1 and "standard output" in done.stderr


def test_one_is_no_plural(python):
    """In a pid namespace with nothing else in it."""
    alone = ["unshare", "--pid", "--fork", "--mount-proc"]
    assert succeeded(tachbpf("ps", prefix=alone)).stdout == "no Python process among 1 process\n"
    begin = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    said = tachbpf("doctor", prefix=[*alone, *python.command("-c", begin)]).stdout
    assert " 1 of 1 process\n" in said, said
    assert "\n1 problem: recording cannot work\n" in said, said
    said = succeeded(tachbpf("ps", "--comm", "no such name")).stdout
    assert said == "no process matches the filters\n"
