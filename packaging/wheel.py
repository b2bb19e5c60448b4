#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""wheel.py BINARY VERSION EPOCH DIRECTORY [STRIP]: a Python wheel of the package tachbpf (python/tachbpf) with
a static tachbpf as a command, and what is beside it: tachbpf-elf, which --native needs, and tachbpf-agent.

The package is Python alone, and the programs need no C library. So one wheel serves all of Python's versions,
and has the tags of glibc's and of musl's systems: the oldest that are known, since newer ones, such as
manylinux_2_28, would only refuse systems on which it works. STRIP, if it is there, is run on the programs. The
same arguments give the same bytes.
"""
import base64
import hashlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

MACHINES = {62: "x86_64", 183: "aarch64"}       # ELF's e_machine
TAGS = ("manylinux_2_17", "manylinux2014", "musllinux_1_1")
BESIDE = ("tachbpf-elf", "tachbpf-agent")       # not with NATIVE=0, AGENT=0
HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "python"
PYTEST_PLUGIN = "tachbpf/_pytest.py"
# What only some uses need: pip install 'tachbpf[arrow]'.
EXTRAS = {
    "arrow": ["pyarrow>=12"],
    "pandas": ["pandas>=1.5"],
    "polars": ["polars>=1", "pyarrow>=12"],
    "jupyter": ["ipython>=8"],
    "pytest": ["pytest>=7"],
    "mcp": ["mcp>=2; python_version >= '3.10'"],
}


def machine(binary):
    if binary[:4] != b"\x7fELF":
        raise SystemExit("wheel: this is no ELF file")
    return MACHINES[struct.unpack_from("<H", binary, 18)[0]]


def needs_interpreter(binary):
    """Does an ELF file name a dynamic linker (PT_INTERP)?"""
    offset, = struct.unpack_from("<Q", binary, 32)
    size, count = struct.unpack_from("<HH", binary, 54)
    return any(struct.unpack_from("<I", binary, offset + i * size)[0] == 3 for i in range(count))


def stripped(path, strip):
    """The file's bytes without symbols and debug information; as it is if there is no such strip."""
    if not strip or not shutil.which(strip):
        return path.read_bytes()
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run([strip, "-o", out.name, str(path)], check=True)
        return Path(out.name).read_bytes()


def read_static(path, strip):
    if needs_interpreter(path.read_bytes()):
        raise SystemExit(f"wheel: {path} is linked dynamically: make static builds the other one")
    return stripped(path, strip)


def package():
    """The package's files, by their names in the wheel."""
    found = sorted(p for p in PACKAGE.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {p.relative_to(PACKAGE).as_posix(): (p.read_bytes(), 0o644) for p in found}


def requirement(extra, wanted):
    """A line of metadata; what is wanted may have a marker of its own."""
    name, _, marker = wanted.partition(";")
    condition = f"({marker.strip()}) and extra == '{extra}'" if marker else f"extra == '{extra}'"
    return f"Requires-Dist: {name}; {condition}\n"


def extras():
    return "".join(f"Provides-Extra: {extra}\n" + "".join(requirement(extra, w) for w in wanted)
                   for extra, wanted in EXTRAS.items())


def metadata(version):
    readme = (HERE / "wheel" / "README.md").read_text()
    return (f"Metadata-Version: 2.1\nName: tachbpf\nVersion: {version}\n"
            "Summary: System-wide profiler for Python on Linux\n"
            "License: GPL-2.0-only OR BSD-2-Clause\n"
            "Classifier: Environment :: Console\n"
            "Classifier: Operating System :: POSIX :: Linux\n"
            "Classifier: Programming Language :: Python :: 3\n"
            "Classifier: Topic :: Software Development :: Debuggers\n"
            "Classifier: Typing :: Typed\n"
            f"Requires-Python: >=3.9\n{extras()}Description-Content-Type: text/markdown\n\n" + readme)


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def programs(path, strip, version):
    """The commands, by their names in the wheel."""
    found = [path, *filter(Path.exists, (path.with_name(name) for name in BESIDE))]
    return {f"tachbpf-{version}.data/scripts/{p.name}": (read_static(p, strip), 0o755) for p in found}


def information(version, tags, files):
    """The files of tachbpf-VERSION.dist-info, without RECORD."""
    info = {
        "METADATA": metadata(version),
        "WHEEL": ("Wheel-Version: 1.0\nGenerator: tachbpf\nRoot-Is-Purelib: false\n"
                  + "".join(f"Tag: {t}\n" for t in tags)),
        "LICENSE": (HERE.parent / "LICENSE").read_text(),
    }
    if PYTEST_PLUGIN in files:
        info["entry_points.txt"] = "[pytest11]\ntachbpf = tachbpf._pytest\n"
    return {f"tachbpf-{version}.dist-info/{name}": (text.encode(), 0o644) for name, text in info.items()}


def main():
    path, version, epoch, out, *strip = sys.argv[1:]
    path, info = Path(path), f"tachbpf-{version}.dist-info"
    tags = [f"py3-none-{tag}_{machine(path.read_bytes())}" for tag in TAGS]
    files = {**package(), **programs(path, strip[0] if strip else "", version)}
    files.update(information(version, tags, files))
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
