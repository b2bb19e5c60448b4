# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every kernel field that vmlinux.h names exists in the running kernel's own type information."""
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ARCH = {"x86_64": "x86", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
HEADER = Path(__file__).resolve().parents[2] / "vmlinux" / ARCH / "vmlinux.h"
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.M | re.S)


def structs(text):
    return {name: body for name, body in STRUCT.findall(text)}


def fields(body):
    body = re.sub(r"/\*.*?\*/", "", body)
    return [declaration.split()[-1].lstrip("*").partition("[")[0]
            for declaration in body.split(";") if declaration.strip()]


@pytest.fixture(scope="module")
def kernel():
    bpftool = shutil.which("bpftool", path="/usr/sbin:/sbin:/usr/bin:/bin")
    assert bpftool, "bpftool is a build dependency"
    dump = subprocess.run([bpftool, "btf", "dump", "file", "/sys/kernel/btf/vmlinux", "format", "c"],
                          capture_output=True, text=True, timeout=120, check=True).stdout
    return structs(dump)


OURS = structs(HEADER.read_text())


def test_the_header_has_structs_to_check():
    assert {"task_struct", "signal_struct", "thread_struct"} <= set(OURS)


@pytest.mark.parametrize("name", sorted(OURS))
def test_every_field_exists(kernel, name):
    assert name in kernel
    missing = [f for f in fields(OURS[name])
               if not re.search(rf"\b{f}\b(\[[^]]*\])*( : \d+)?;", kernel[name])]
    assert not missing
