# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--native of PyTorch: a library of 300 MB that exports 58,775 functions, mapped in pieces, and stacks of more than a
hundred C functions; beside one busy process for each CPU."""
import contextlib
import subprocess

import pytest

import native_frames
from processes import kill, online_cpus, ready, use_cpu
from programs import SID, Program
from recording import Recording, succeeded
from zoo import prepare

PYTORCH = Program("PyTorch", SID, "python3-torch", "python3 torch_levels.py")
CPU_S = 6               # of the program
FIRST_US = 1e6          # until then tables are not expected
CUT = ("too deep", "time limit", *native_frames.NOT_YET)
MAX_CUT = 0.005
LARGE = "libtorch_cpu.so"


@contextlib.contextmanager
def busy_machine():
    with contextlib.ExitStack() as stack:
        for _ in range(online_cpus()):
            loop = subprocess.Popen(["sh", "-c", "while :; do :; done"], start_new_session=True)
            stack.callback(kill, loop)
        yield


def recorded(place, out, oracle, rate):
    env = prepare(PYTORCH, place, out)
    argv = ["env", *(f"{name}={value}" for name, value in env.items()), *place.command(PYTORCH.command)]
    with busy_machine(), ready(argv) as process, Recording(
            ["-p", process.pid, "-r", rate, "--native", "--json", "-o", out / "rec"]) as recording:
        recording.wait_recording()
        use_cpu(process.pid, CPU_S)
        succeeded(recording.stop())
    profile, = oracle.load(out / "rec")
    return [s for s in profile.samples if s.time_us > profile.samples[0].time_us + FIRST_US]


@pytest.mark.parametrize("rate", [99, 999])
def test_deep_stacks_of_a_large_library(place, out, oracle, rate, capsys):
    samples = recorded(place(PYTORCH), out, oracle, rate)
    cut = [s for s in samples if set(native_frames.causes(s)) & set(CUT)]
    large = [[f.func for f in s.frames if f.file.startswith("[" + LARGE)] for s in samples]
    without = sum(any("+0x" in name for name in names) for names in large)
    named = sum(any(name.startswith("at::") for name in names) for names in large)
    with capsys.disabled():
        print(f"\nPyTorch at {rate} Hz: {len(samples)} samples, {len(cut)} cut, {named} with a function of at::, {without} "
              f"with one of {LARGE} without a name")
    assert len(samples) > 100
    assert len(cut) <= MAX_CUT * len(samples), [native_frames.causes(s) for s in cut[:20]]
    assert named > 0.5 * len(samples) and without < 0.1 * len(samples)
