# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The matrix: architectures, kernels, root file systems. Rows only; who uses them is elsewhere."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Arch:
    name: str           # as the Makefile's ARCH
    debian: str         # dpkg's word
    kernel: str         # the package whose dependencies are the newest kernel of a suite
    qemu: tuple         # the emulator and its machine; never KVM
    cpu: str
    qemu_package: str
    console: str        # the kernel's name of qemu's first serial line


@dataclass(frozen=True)
class Kernel:
    name: str           # in tables and on the command line
    suite: str          # of Debian, where the kernel comes from
    root: str           # whose Pythons and C library run on it
    always: bool        # in every `make check-kernels`, not only with ALL=1
    five_levels: bool   # x86: its page tables have five levels


@dataclass(frozen=True)
class Root:
    suite: str
    pythons: tuple      # the first runs the job; each is profiled
    helper: tuple       # libraries of tachbpf-elf
    beside: tuple = ()  # (suite, Python): of other suites, each in a root of its own


ARCHES = {a.name: a for a in (
    Arch("x86", "amd64", "linux-image-cloud-amd64",
         ("qemu-system-x86_64", "-M", "q35", "-accel", "tcg,thread=multi"), "max",
         "qemu-system-x86", "ttyS0"),
    Arch("arm64", "arm64", "linux-image-cloud-arm64",
         ("qemu-system-aarch64", "-M", "virt", "-accel", "tcg,thread=multi"),
         # of servers; its cycle counter samples, and it notes by itself which pages are used
         "neoverse-n1",
         "qemu-system-arm", "ttyAMA0"),
)}

# The binary is built against bookworm's C library, so bullseye's kernel gets a newer root.
KERNELS = (
    Kernel("5.10", "bullseye", "bookworm", True, False),    # with five it dies early
    Kernel("6.1", "bookworm", "bookworm", False, False),
    Kernel("6.12", "trixie", "trixie", False, True),
    Kernel("sid", "sid", "sid", False, False),
)

HELPER = ("libdw1", "libelf1", "liblzma5", "libseccomp2", "libxxhash0", "zlib1g")
HELPER_T64 = ("libdw1t64", "libelf1t64", *HELPER[2:])

ROOTS = {r.suite: r for r in (
    Root("bookworm", ("python3.11",), HELPER, (("bullseye", "python3.9"),)),
    Root("trixie", ("python3.13",), HELPER_T64),
    Root("sid", ("python3.15", "python3.14", "python3.13"), HELPER_T64, (("bookworm", "python3.11"),)),
)}
