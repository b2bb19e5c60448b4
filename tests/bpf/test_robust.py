# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Difficult machines: busy, full, with few rights, shared with another tachbpf."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import accounting
import hostile
import noise
from paths import binary
from processes import TIMEOUT, online_cpus, use_cpu
from recording import Recording, succeeded, tachbpf
from summary import files
from target import Target

DENY = [sys.executable, str(Path(__file__).resolve().parent / "deny.py")]
SYSCTL = Path("/proc/sys/kernel")


@contextlib.contextmanager
def sysctl(name, value):
    knob = SYSCTL / name
    before = knob.read_text()
    try:
        knob.write_text(str(value))
    except OSError as error:
        pytest.skip(f"{knob} cannot be set: {error}")
    try:
        yield
    finally:
        knob.write_text(before)


GONE_S = 120            # an upper limit


@pytest.fixture(scope="module")
def deep(root, tmp_path_factory):
    return hostile.build(tmp_path_factory.mktemp("robust"), "3.15")


def test_two_at_once(scratch, python):
    stolen = noise.stolen_s()
    with Target(python, scratch, "shares=600", cpu=0) as target:
        target.go()
        with Recording(["-p", target.pid, "-C", 0, "-o", scratch / "one.tach", "--json"]) as one, \
                Recording(["-p", target.pid, "-C", 0, "-r", "499", "-o", scratch / "two.tach",
                           "--json"]) as two:
            one.wait_recording(1)
            two.wait_recording(1)
            use_cpu(target.pid, 0.7)
            first, second = succeeded(one.stop()).summary, succeeded(two.stop()).summary
    for summary, rate in ((first, 999), (second, 499)):
        accounting.check(summary)
        assert summary["lost_total"] == 0
        # CPU 0 is never idle: the target is pinned to it
        bound = noise.count_bound(summary["duration_s"], rate,
                                  rate * (noise.stolen_s() - stolen), slices=0)
        assert summary["ticks"]["expected"] in bound, (summary["ticks"], str(bound))
        assert summary["samples"] > 0


def test_a_full_ring_buffer_is_counted_and_passes(scratch, deep):
    """User space is stopped for a while, and then continues."""
    with hostile.Hostile(deep, "deep", cpu=0) as target:
        # without a limit a sample has all its frames on a slow machine, too
        with Recording(["-p", target.pid, "-C", 0, "-r", "9999", "-o", scratch / "full.tach",
                        "--no-sample-limit", "--json"]) as recording:
            recording.wait_recording(1)
            recording.process.send_signal(signal.SIGSTOP)
            # 4 KiB a sample, 10,000 samples in a second of CPU time: more than the buffer's 16 MiB
            use_cpu(target.pid, 0.1 + online_cpus() * 0.4)
            recording.process.send_signal(signal.SIGCONT)
            use_cpu(target.pid, 0.3)
            summary = succeeded(recording.stop()).summary
    accounting.check(summary)
    assert summary["lost"]["ring_full"] > 0
    row, = summary["processes"]
    assert row["samples"] == summary["ticks"]["samples"]
    done = subprocess.run([binary(), "info", "--verify", scratch / "full.tach"],
                          capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0 and "sound" in done.stdout


def test_a_stopped_profiler_loses_no_processes(scratch, python):
    """Processes that begin and end meanwhile do not stay in py_procs or in user space's table."""
    with Recording(["-a", "-o", scratch / "stopped", "--json"]) as recording:
        recording.wait_recording()
        recording.process.send_signal(signal.SIGSTOP)
        for _ in range(30):
            subprocess.run(python.command("-c", "sum(range(10 ** 5))"), check=True, timeout=TIMEOUT)
        recording.process.send_signal(signal.SIGCONT)
        summary = succeeded(recording.stop()).summary
    accounting.check(summary)


# Missed ticks only show while one thread keeps the CPU, so the target has a CPU of its own.
@pytest.mark.parametrize("counted", [False, pytest.param(True, marks=pytest.mark.truth)])
@pytest.mark.alone
def test_throttled_ticks_are_announced(scratch, python, counted):
    """On a shared CPU throttled ticks cannot be counted, so a message says before that they may occur."""
    with Target(python, scratch, "shares=600", cpu=0) as target:
        target.go()
        with sysctl("perf_event_max_sample_rate", 250):
            finished = succeeded(tachbpf("-p", target.pid, "-C", 0, "-r", "9999", "-d", "1.5", "-o",
                                         scratch / "throttled.tach", "--json"))
    assert "kernel.perf_event_max_sample_rate" in finished.stderr
    ticks = finished.summary["ticks"]
    accounting.check(finished.summary)
    if not counted:
        return
    if ticks["delivered"] > 0.8 * 9999 * finished.summary["duration_s"]:
        pytest.skip("this kernel does not throttle its CPU clock")
    assert ticks["delivered"] > 0 and ticks["missed"] > 0


@pytest.mark.alone
def test_with_the_kernels_own_statistics_on(scratch, python):
    with Target(python, scratch, "shares=600", cpu=0) as target:
        target.go()
        with sysctl("bpf_stats_enabled", 1):
            summary = succeeded(tachbpf("-p", target.pid, "-C", 0, "-d", "1", "-o",
                                        scratch / "stats.tach", "--json")).summary
    accounting.check(summary)
    assert summary["samples"] > 0 and summary["lost_total"] == 0


def one_error(finished, *words):
    lines = finished.stderr.strip().splitlines()
    assert finished.returncode == 1 and len(lines) == 1, repr(finished)
    for word in words:
        assert word in lines[0], repr(finished)


@pytest.mark.parametrize("call", ["bpf", "perf_event_open"])
def test_a_seccomp_filter_is_named(scratch, python, call):
    with Target(python, scratch, "shares=600") as target:
        output = scratch / f"denied-{call}.tach"
        one_error(tachbpf("-p", target.pid, "-o", output, prefix=[*DENY, call]), call, "seccomp")
    assert not output.exists()


# without these no worker starts: user/doctor/worker_calls.c
@pytest.mark.parametrize("call", ["socketpair", "memfd_create", "pidfd_open", "prctl", "capset"])
def test_a_call_that_workers_need_is_named(scratch, python, call):
    """Before anything has begun, by record, ps and doctor; with what to do."""
    with Target(python, scratch, "shares=600") as target:
        output = scratch / f"denied-{call}"
        for argv in (("-p", target.pid, "-o", output), ("-a", "-d", "1", "-o", output), ("ps",)):
            one_error(tachbpf(*argv, prefix=[*DENY, call]), f"{call}(2) is refused", "seccomp",
                      "--security-opt seccomp=unconfined", "SystemCallFilter=")
    assert not output.exists()
    done = tachbpf("doctor", "--json", prefix=[*DENY, call])
    found, = [c for c in json.loads(done.stdout)["checks"] if c["name"] == "worker processes"]
    assert done.returncode == 1 and found["verdict"] == "problem", repr(done)
    assert f"{call}(2)" in found["text"] and "seccomp=unconfined" in found["fix"]


def test_without_filters_of_our_own_it_records_and_says_so_once(scratch, python, oracle):
    with Target(python, scratch, "shares=600", cpu=0) as target:
        target.go()
        output = scratch / "no-seccomp.tach"
        done = succeeded(tachbpf("-p", target.pid, "-d", "1", "-o", output,
                                 prefix=[*DENY, "seccomp"]))
        samples = oracle.load(output)[0].samples
    said, = [line for line in done.stderr.splitlines() if "warning" in line]
    assert "seccomp(2) is refused" in said and "--security-opt seccomp=unconfined" in said
    assert sum(s.frames[0].func != "<unresolved>" for s in samples) > 0.9 * len(samples) > 0
    done = tachbpf("doctor", "--json", prefix=[*DENY, "seccomp"])
    found, = [c for c in json.loads(done.stdout)["checks"] if c["name"] == "seccomp"]
    assert done.returncode == 0 and found["verdict"] == "off", repr(done)


def test_without_process_vm_readv_the_kernel_sends_the_names(scratch, python, oracle):
    with Target(python, scratch, "shares=600", cpu=0) as target:
        target.go()
        output = scratch / "no-reads.tach"
        succeeded(tachbpf("-p", target.pid, "-d", "2", "-o", output,
                          prefix=[*DENY, "process_vm_readv"]))
        samples = oracle.load(output)[0].samples
    assert sum(s.frames[0].func != "<unresolved>" for s in samples) > 0.9 * len(samples)


def all_named(samples):
    return samples and all(f.func != "<unresolved>" for s in samples for f in s.frames)


# 3 cannot be taken back before a reboot; for us it is a process_vm_readv that is refused: above.
@pytest.mark.parametrize("scope", [0, 1, 2])
@pytest.mark.alone
def test_yama_refuses_root_nothing(scratch, python, oracle, scope):
    """Whoever may trace whom (kernel.yama.ptrace_scope): all frames have their names, ps its rows."""
    if not (SYSCTL / "yama/ptrace_scope").exists():
        pytest.skip("this kernel has no Yama: there is no kernel.yama.ptrace_scope")
    with sysctl("yama/ptrace_scope", scope), Target(python, scratch, "shares=600", cpu=0) as target:
        check_all_is_read(scratch / f"yama-{scope}.tach", target, oracle)


def check_all_is_read(output, target, oracle):
    target.go()
    done = succeeded(tachbpf("-p", target.pid, "-d", "1", "-o", output, "--json"))
    assert not done.summary["refused"], repr(done)
    assert all_named(oracle.load(output)[0].samples)
    row, = [p for p in json.loads(succeeded(tachbpf("ps", "--json")).stdout)["pythons"]
            if p["pid"] == target.pid]
    assert row["profilable"] and row["remark"] is None


def in_mount_namespace(script):
    return ["unshare", "-m", "sh", "-c", f'{script} && exec "$@"', "sh"]


def test_without_type_information(scratch):
    hidden = in_mount_namespace("mount -t tmpfs none /sys/kernel/btf")
    one_error(tachbpf("-a", "-o", scratch / "nobtf", prefix=hidden), "BTF")


def test_with_type_information_that_is_none(scratch, out):
    (out / "empty").write_text("")
    hidden = in_mount_namespace(f"mount --bind {out}/empty /sys/kernel/btf/vmlinux")
    one_error(tachbpf("-a", "-o", scratch / "badbtf", prefix=hidden), "BPF", "btf")


def test_the_helper_that_reads_ends_with_a_killed_profiler(scratch, deep):
    """It holds no perf event and no program, and is gone even while its read hangs."""
    with hostile.Hostile(deep, "strange-codes", cpu=0) as target:
        with Recording(["-p", target.pid, "-o", scratch / "helper.tach"]) as recording:
            recording.wait_recording()
            children = Path(f"/proc/{recording.process.pid}/task/{recording.process.pid}/children")
            end = time.monotonic() + GONE_S
            while not (pids := children.read_text().split()):
                assert time.monotonic() < end, "no helper"
                time.sleep(0.01)
            for pid in pids:        # the keeper's children, and theirs
                pids += Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            for fd in (fd for pid in pids for fd in Path(f"/proc/{pid}/fd").iterdir()):
                with contextlib.suppress(OSError):
                    assert not any(word in os.readlink(fd) for word in ("perf_event", "bpf"))
            recording.process.kill()
            recording.wait()
    end = time.monotonic() + GONE_S
    while any(Path(f"/proc/{p}").exists() and
              Path(f"/proc/{p}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z" for p in pids):
        assert time.monotonic() < end, "the helper stays"
        time.sleep(0.05)
    assert not files({"output": str(scratch / "helper.tach"), "processes": []})
