# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every kernel field that vmlinux.h names exists in the kernel's type information: in the running
kernel's, and in that of another architecture's kernels, if check-kernels has fetched some."""
import platform
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from interp.cache import cache_dir
from processes import TIMEOUT

ARCH = {"x86_64": "x86", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
HEADERS = Path(__file__).resolve().parents[2] / "vmlinux"
# magic, version, flags, length of the header (include/uapi/linux/btf.h)
BTF_START = struct.pack("<HBBI", 0xeb9f, 1, 0, 24)
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.M | re.S)


def structs(text):
    return {name: body for name, body in STRUCT.findall(text)}


def fields(body):
    body = re.sub(r"/\*.*?\*/", "", body)
    return [declaration.split()[-1].lstrip("*").partition("[")[0]
            for declaration in body.split(";") if declaration.strip()]


def dumped(btf):
    bpftool = shutil.which("bpftool", path="/usr/sbin:/sbin:/usr/bin:/bin")
    assert bpftool, "bpftool is a build dependency"
    dump = subprocess.run([bpftool, "btf", "dump", "file", btf, "format", "c"],
                          capture_output=True, text=True, timeout=TIMEOUT, check=True).stdout
    return structs(dump)


def btf_of_image(vmlinuz):
    """The largest BTF in a kernel image that is not compressed (arm64's); b"": there is none."""
    data, found, at = vmlinuz.read_bytes(), b"", -1
    while (at := data.find(BTF_START, at + 1)) >= 0:
        type_off, type_len, str_off, str_len = struct.unpack_from("<4I", data, at + 8)
        end = 24 + str_off + str_len
        if type_off == 0 and str_off == type_len and len(found) < end <= len(data) - at:
            found = data[at:at + end]
    return found


def ours(arch):
    return structs((HEADERS / arch / "vmlinux.h").read_text())


def missing(arch, kernel):
    return [f"{name}.{field}" for name, body in ours(arch).items() for field in fields(body)
            if not re.search(rf"\b{field}\b(\[[^]]*\])*( : \d+)?;", kernel.get(name, ""))]


@pytest.mark.parametrize("arch", sorted(p.name for p in HEADERS.iterdir() if p.is_dir()))
def test_the_header_has_structs_to_check(arch):
    assert {"task_struct", "signal_struct", "thread_struct"} <= set(ours(arch))
    assert all(map(fields, ours(arch).values()))


def test_every_field_exists_in_the_running_kernel():
    assert not missing(ARCH, dumped("/sys/kernel/btf/vmlinux"))


def test_every_field_exists_in_kernels_of_another_machine(tmp_path):
    checked = []
    for arch in sorted(p.name for p in HEADERS.iterdir() if p.is_dir() and p.name != ARCH):
        for image in sorted(Path(cache_dir()).glob(f"kernels/{arch}-kernel-*/vmlinuz")):
            btf = tmp_path / image.parent.name
            btf.write_bytes(btf_of_image(image))
            if not btf.stat().st_size:
                continue
            checked.append(btf.name)
            assert not missing(arch, dumped(btf)), btf.name
    if not checked:
        pytest.skip("no such kernel in the cache: make check-kernels ALL=1 fetches arm64's")
    print("checked", *checked)
