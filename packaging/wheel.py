#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""wheel.py BINARY VERSION EPOCH DIRECTORY: a Python wheel that carries a static tachbpf as a command,
and what is beside it: tachbpf-elf, which --native needs, and tachbpf-agent.

The files need no C library, so one wheel has the tags of glibc's and of musl's systems. The same
arguments give the same bytes.
"""
import base64
import hashlib
import struct
import sys
import time
import zipfile
from pathlib import Path

MACHINES = {62: "x86_64", 183: "aarch64"}       # ELF's e_machine
TAGS = ("manylinux_2_17", "manylinux2014", "musllinux_1_1")
BESIDE = ("tachbpf-elf", "tachbpf-agent")       # not with NATIVE=0, AGENT=0
HERE = Path(__file__).resolve().parent


def machine(binary):
    if binary[:4] != b"\x7fELF":
        raise SystemExit("wheel: this is no ELF file")
    return MACHINES[struct.unpack_from("<H", binary, 18)[0]]


def needs_interpreter(binary):
    """Does an ELF file name a dynamic linker (PT_INTERP)?"""
    offset, = struct.unpack_from("<Q", binary, 32)
    size, count = struct.unpack_from("<HH", binary, 54)
    return any(struct.unpack_from("<I", binary, offset + i * size)[0] == 3 for i in range(count))


def read_static(path):
    binary = path.read_bytes()
    if needs_interpreter(binary):
        raise SystemExit(f"wheel: {path} is linked dynamically: make static builds the other one")
    return binary


def metadata(version):
    readme = (HERE / "wheel" / "README.md").read_text()
    return (f"Metadata-Version: 2.1\nName: tachbpf\nVersion: {version}\n"
            "Summary: System-wide profiler for Python on Linux\n"
            "License: GPL-2.0-only OR BSD-2-Clause\n"
            "Classifier: Environment :: Console\n"
            "Classifier: Operating System :: POSIX :: Linux\n"
            "Classifier: Topic :: Software Development :: Debuggers\n"
            "Requires-Python: >=3.6\nDescription-Content-Type: text/markdown\n\n" + readme)


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def main():
    path, version, epoch, out = sys.argv[1:]
    binary = read_static(Path(path))
    tags = [f"py3-none-{tag}_{machine(binary)}" for tag in TAGS]
    info = f"tachbpf-{version}.dist-info"
    files = {
        f"tachbpf-{version}.data/scripts/tachbpf": (binary, 0o755),
        f"{info}/METADATA": (metadata(version).encode(), 0o644),
        f"{info}/WHEEL": (("Wheel-Version: 1.0\nGenerator: tachbpf\nRoot-Is-Purelib: false\n"
                           + "".join(f"Tag: {t}\n" for t in tags)).encode(), 0o644),
        f"{info}/LICENSE": ((HERE.parent / "LICENSE").read_bytes(), 0o644),
    }
    for beside in (Path(path).with_name(name) for name in BESIDE):
        if beside.exists():
            files[f"tachbpf-{version}.data/scripts/{beside.name}"] = (read_static(beside), 0o755)
    record = "".join(record_line(n, data) for n, (data, _) in files.items()) + f"{info}/RECORD,,\n"
    files[f"{info}/RECORD"] = (record.encode(), 0o644)
    when = time.gmtime(max(int(epoch), 315532800))[:6]       # zip files begin in 1980
    name = Path(out) / f"tachbpf-{version}-py3-none-{'.'.join(t.split('-')[2] for t in tags)}.whl"
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for member, (data, mode) in files.items():
            entry = zipfile.ZipInfo(member, when)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    print(name)


if __name__ == "__main__":
    main()
