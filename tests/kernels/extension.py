# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A guest's C extension module: targets/chains, compiled for its machine type with the headers of its
Python and its C library, with symbols and stripped. The headers are in the cache: complete or absent.
"""
import shutil
import subprocess
import tempfile
from pathlib import Path

import chains
import packages
import prepare
from packages import Failed, Suite

TRIPLETS = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}
# Directories of the job: the module with symbols, and the stripped one.
BUILDS = ("chains-whole", "chains-stripped")


def tool(arch, name):
    """The compiler's: this machine's own, or that for another machine type."""
    found = shutil.which(f"{TRIPLETS[arch.debian]}-{name}")
    if not found:
        raise Failed(f"{TRIPLETS[arch.debian]}-{name} is not there: make check-all-deps")
    return found


def build_headers(arch, row, scratch, fresh):
    suite = Suite(scratch / "apt", row.suite, arch.debian)
    packages.unpack(suite.download([f"lib{row.pythons[0]}-dev", "libc6-dev", "linux-libc-dev"]), fresh)
    for library in [*fresh.rglob("*.a"), *fresh.rglob("*.o")]:
        library.unlink()


def headers(arch, row):
    """A directory with usr/include."""
    return prepare.complete(f"{arch.name}-headers-{row.suite}", (arch, row.suite, row.pythons[0]),
                            lambda scratch, fresh: build_headers(arch, row, scratch, fresh))


def modules(arch, row, scratch):
    """Directory of the job -> the module in it, for the Python that runs the job."""
    sysroot, built = headers(arch, row), Path(tempfile.mkdtemp(dir=scratch)) / "chains.so"  # beside other guests
    chains.compile_module([tool(arch, "gcc"), f"--sysroot={sysroot}"],
                          [f"-I{sysroot}/usr/include/{row.pythons[0]}"], built)
    whole = built.read_bytes()
    subprocess.run([tool(arch, "strip"), built], check=True)
    return dict(zip(BUILDS, (whole, built.read_bytes())))
