# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--native and --kernel: what they refuse, and what they say where something is missing.

What their frames are is the subject of ../native.
"""
import os
import shutil
import subprocess

import pytest

from command import refused
from paths import binary
from processes import TIMEOUT
from profiles import SYNTHETIC
from recording import succeeded, tachbpf

# For a second, on a CPU and off it; and for a second of CPU time.
BUSY = ["/usr/bin/python3", "-c", """
import time
end = time.monotonic() + 1
while time.monotonic() < end:
    sorted(range(20000), key=str)
    time.sleep(0.001)
"""]
IN_THE_KERNEL = ["/usr/bin/python3", "-c", """
import os, time
while time.process_time() < 1:
    os.urandom(1 << 20)
"""]
HIDE_KALLSYMS = 'mount --bind /dev/null /proc/kallsyms && exec "$0" "$@"'


@pytest.fixture(scope="module")
def alone(scratch):
    """The program without the helper beside it."""
    place = scratch / "without-helper"
    place.mkdir()
    return shutil.copy(binary(), place)


def without_helper(program, *argv):
    return subprocess.run([program, *map(str, argv)], capture_output=True, text=True, timeout=TIMEOUT,
                          env={**os.environ, "TACHBPF_ELF": "/nonexistent/tachbpf-elf"})


@pytest.mark.parametrize("value", ["", "ful", "full,", "full,all", "lines full"])
def test_bad_values(root, out, value):
    refused(tachbpf("-a", f"--native={value}", "-d", "1", "-o", out / "x"), "--native", "=full,lines",
            status=2)
    assert not (out / "x").exists()


def test_without_the_helper_it_says_what_to_do(root, out, alone):
    done = without_helper(alone, "--native", "-o", out / "x", "--", "true")
    refused(done, "tachbpf-elf", "does not exist", "tachbpf doctor", "leave out --native")
    assert not (out / "x").exists()
    done = without_helper(alone, "-o", out / "y", "--", *BUSY)
    assert done.returncode == 0 and (out / "y").is_dir(), done


def test_without_names_of_the_kernel_it_records_the_rest(root, out):
    prefix = ["unshare", "--mount", "sh", "-c", HIDE_KALLSYMS]
    done = succeeded(tachbpf("--native", "--json", "-o", out / "x", "--", *BUSY, prefix=prefix))
    assert "kernel functions are left out" in done.stderr
    assert done.summary["native"]["frames"] > 0
    refused(tachbpf("--native", "--kernel", "-o", out / "y", "--", *BUSY, prefix=prefix), "--kernel",
            "/proc/kallsyms")


@pytest.mark.parametrize("mode", ["cpu", "wall", "offcpu", "gil", "exception", "all"])
def test_each_mode_takes_it(root, out, mode):
    done = succeeded(tachbpf("-m", mode, "--native=full,lines", "--json", "-o", out / "x", "--", *BUSY))
    summary = done.summary
    assert summary["mode"] == mode
    assert set(summary["native"]["ends"]) >= {"whole", "jit", "no_unwind_information", "late"}
    process, = summary["processes"]
    assert process["native"]["frames"] == summary["native"]["frames"]
    assert sum(process["native"]["ends"].values()) == sum(summary["native"]["ends"].values())
    if mode != "exception":     # there is none
        assert summary["native"]["ends"]["whole"] > 0


def test_without_it_nothing_is_said_of_machine_code(root, out):
    summary = succeeded(tachbpf("--json", "-o", out / "x", "--", *BUSY)).summary
    assert "native" not in summary and "native" not in summary["processes"][0]


def test_the_kernels_functions_on_a_cpu(root, out, oracle):
    """Ticks that interrupted the kernel have its functions."""
    succeeded(tachbpf("--kernel", "-o", out / "x.tach", "--", *IN_THE_KERNEL))
    profile, = oracle.load(out / "x.tach")
    urandom = [s for s in profile.samples
               if any(f.file == SYNTHETIC and "random" in f.func for f in s.frames)]
    assert len(urandom) > len(profile.samples) / 2
