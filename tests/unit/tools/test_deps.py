#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_deps.py - which packages tools/deps.sh installs, on systems that are played from recordings.

tests/golden/deps has what apt-cache policy and Ubuntu's wrapper of bpftool print on these systems.
"""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOLS = Path("tools").resolve()
GOLDEN = Path("tests/golden/deps").resolve()
BASICS = "sh dirname sed awk grep sort ls tr cat uname head"
# Programs and headers that a build needs, but for bpftool and libbpf.
PROGRAMS = ("clang", "python3", "xz")
HEADERS = ("string.h", "gelf.h", "zlib.h", "zstd.h", "xxhash.h", "seccomp.h",
           "elfutils/libdw.h", "libiberty/demangle.h", "lzma.h")
AGENT_HEADERS = ("curl/curl.h", "yaml.h", "microhttpd.h")
NEW_LIBBPF = "#define LIBBPF_MAJOR_VERSION 1\n#define LIBBPF_MINOR_VERSION 3\n"


class System:
    """A system of its own in a directory: PATH, /usr, and tools/ with libbpf.sh replaced."""

    def __init__(self, top, recorded=None, manager="apt-get", root=True):
        self.top, self.log = Path(top), Path(top) / "log"
        self.log.write_text("")
        self.bin = self.top / "bin"
        self.bin.mkdir()
        for name in BASICS.split():
            (self.bin / name).symlink_to(shutil.which(name))
        shutil.copytree(TOOLS, self.top / "tree/tools")
        self.script(self.top / "tree/tools/libbpf.sh", f'echo "libbpf.sh" >>{self.log}')
        self.program("id", f"echo {0 if root else 1000}")
        if manager:
            self.program(manager, f'[ "$2" = repolist ] || [ "$3" = repolist ] || echo "{manager} $*" >>{self.log}')
        if recorded:
            self.program("apt-cache", f'cat "{GOLDEN}/{recorded}/policy-$2.txt" 2>/dev/null')

    def script(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def program(self, name, text=""):
        self.script(self.bin / name, text)

    def header(self, name, text=""):
        path = self.top / "usr/include" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def fill(self, libbpf=NEW_LIBBPF, headers=HEADERS + AGENT_HEADERS):
        """All that a build needs, but for bpftool."""
        for name in PROGRAMS:
            self.program(name)
        for name in headers:
            self.header(name)
        self.header("bpf/libbpf.h")
        if libbpf:
            self.header("bpf/libbpf_version.h", libbpf)

    def run(self, script="deps.sh", *args, **env):
        return subprocess.run(["sh", str(self.top / "tree/tools" / script), *args], text=True,
                              capture_output=True,
                              env={"PATH": str(self.bin), "ROOT": str(self.top), **env})

    def did(self):
        return self.log.read_text().splitlines()


class Deps(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.top = scratch.name

    def test_nothing_is_missing(self):
        system = System(self.top, "debian-13")
        system.fill()
        system.program("bpftool", "echo bpftool v7.5.0")
        self.assertEqual(system.run("deps.sh", "build").returncode, 0)
        self.assertEqual(system.did(), [])

    def installed(self, recorded, fill=True, **args):
        system = System(self.top, recorded, **args)
        if fill:
            system.fill()
        done = system.run("deps.sh", "build")
        return [line.split(" ", 1)[1] for line in system.did() if " install " in line], done

    def test_ubuntu_24_04_has_no_package_bpftool(self):
        installs, done = self.installed("ubuntu-24.04")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(installs, ["install -y -q --no-install-recommends linux-tools-generic"])

    def test_ubuntu_22_04_takes_the_newer_kernels_tools(self):
        installs, _ = self.installed("ubuntu-22.04")
        self.assertEqual(installs,
                         ["install -y -q --no-install-recommends linux-tools-generic-hwe-22.04"])

    def test_debian_has_a_package_bpftool(self):
        installs, _ = self.installed("debian-13")
        self.assertEqual(installs, ["install -y -q --no-install-recommends bpftool"])

    def test_an_old_libbpf_is_built_from_source(self):
        system = System(self.top, "ubuntu-22.04")
        system.fill(libbpf=None)        # libbpf 0.5 has no header with its version
        system.program("bpftool", "echo bpftool v7.4.0")
        self.assertEqual(system.run("deps.sh", "build").returncode, 0)
        self.assertIn("libbpf.sh", system.did())

    def test_fedora(self):
        installs, done = self.installed(None, fill=False, manager="dnf")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(installs, [
            "install -y -q --setopt=install_weak_deps=False glibc-devel clang bpftool "
            "libbpf-devel elfutils-libelf-devel zlib-devel libzstd-devel xxhash-devel "
            "libseccomp-devel elfutils-devel "
            "binutils-devel xz-devel libcurl-devel libyaml-devel libmicrohttpd-devel python3"])

    def test_a_tarball_needs_a_compiler_and_no_clang(self):
        system = System(self.top, "debian-13")
        system.fill()
        (system.bin / "clang").unlink()
        (system.top / "tree/generated").mkdir()
        system.run("deps.sh", "build")
        self.assertEqual([line for line in system.did() if " install " in line],
                         ["apt-get install -y -q --no-install-recommends gcc"])

    def test_the_tests_need_more_compilers(self):
        system = System(self.top, "debian-13")
        system.fill()
        system.run("deps.sh", "check")
        self.assertRegex(" ".join(system.did()), " gcc llvm .* chromium ")

    def test_what_only_the_agent_needs(self):
        for agent, names in (("1", "libcurl4-openssl-dev libyaml-dev libmicrohttpd-dev"), ("0", None)):
            with self.subTest(agent), tempfile.TemporaryDirectory() as top:
                system = System(top, "debian-13")
                system.fill(headers=HEADERS)
                system.program("bpftool", "echo bpftool v7.5.0")
                system.run("deps.sh", "build", AGENT=agent)
                self.assertEqual([line for line in system.did() if " install " in line],
                                 [f"apt-get install -y -q --no-install-recommends {names}"] * bool(names))

    def test_what_only_a_static_agent_needs(self):
        for agent, names in (("1", "libssl-dev libnghttp2-dev dpkg-dev"), ("0", None)):
            with self.subTest(agent), tempfile.TemporaryDirectory() as top:
                system = System(top, "debian-13")
                system.fill()
                system.program("bpftool", "echo bpftool v7.5.0")
                system.run("deps.sh", "static", AGENT=agent)
                self.assertEqual([line for line in system.did() if " install " in line],
                                 [f"apt-get install -y -q --no-install-recommends {names}"] * bool(names))

    def test_what_only_native_needs(self):
        for native, names in (("1", "libdw-dev libiberty-dev liblzma-dev"), ("0", None)):
            with self.subTest(native), tempfile.TemporaryDirectory() as top:
                system = System(top, "debian-13")
                system.fill(headers=HEADERS[:-3] + AGENT_HEADERS)
                system.program("bpftool", "echo bpftool v7.5.0")
                system.run("deps.sh", "build", NATIVE=native)
                self.assertEqual([line for line in system.did() if " install " in line],
                                 [f"apt-get install -y -q --no-install-recommends {names}"] * bool(names))

    def test_curls_headers_where_debian_has_them(self):
        system = System(self.top, "debian-13")
        system.fill(headers=(*HEADERS, "yaml.h", "microhttpd.h", f"{os.uname().machine}-linux-gnu/curl/curl.h"))
        system.program("bpftool", "echo bpftool v7.5.0")
        self.assertEqual(system.run("deps.sh", "build").returncode, 0)
        self.assertEqual(system.did(), [])

    def test_packages_need_more(self):
        for what, names in (("deb", "git dpkg-dev build-essential debhelper lintian"),
                            ("rpm", "git rpm file")):
            with self.subTest(what), tempfile.TemporaryDirectory() as top:
                system = System(top, "debian-13")
                system.fill()
                system.program("bpftool", "echo bpftool v7.5.0")
                system.run("deps.sh", what)
                self.assertEqual([line for line in system.did() if " install " in line],
                                 ["apt-get install -y -q --no-install-recommends " + names])

    def test_rhel_enables_the_repository_of_headers(self):
        system = System(self.top, None, manager=None)
        system.program("dnf", f'case "$*" in *repolist*) printf "repo id  name\\nbaseos  B\\ncrb  C\\n" ;; '
                              f'*) echo "dnf $*" >>{system.log} ;; esac')
        system.run("deps.sh", "build")
        self.assertIn("--enablerepo=crb", system.did()[0])

    def test_no_root(self):
        installs, done = self.installed("debian-13", root=False)
        self.assertEqual((installs, done.returncode), ([], 1))
        self.assertIn("run `sudo apt-get install bpftool`", done.stderr)

    def test_no_package_manager_that_is_known(self):
        _, done = self.installed(None, manager=None)
        self.assertEqual(done.returncode, 1)
        self.assertIn("missing: bpftool (Debian's names)", done.stderr)


class Bpftool(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.system = System(scratch.name)
        # As Ubuntu's: it looks for the program of the kernel that runs.
        self.system.program("bpftool", f'cat "{GOLDEN}/bpftool-wrapper.txt" >&2; exit 2')

    def test_a_wrapper_that_refuses_is_not_taken(self):
        for version in ("5.15.0-204", "6.8.0-149"):
            path = self.system.top / f"usr/lib/linux-tools/{version}-generic/bpftool"
            self.system.script(path, "echo bpftool v7.4.0")
        done = self.system.run("bpftool.sh")
        self.assertEqual(done.stdout, f"{path}\n")

    def test_there_is_none(self):
        done = self.system.run("bpftool.sh")
        self.assertEqual((done.stdout, done.returncode), ("", 1))


if __name__ == "__main__":
    unittest.main()
