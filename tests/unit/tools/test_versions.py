#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_versions.py - tools/versions.sh refuses what is too old in one line that names it, and
docs/packaging.md has the same versions."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path("tools/versions.sh").resolve()
TABLE = Path("docs/packaging.md").resolve()
# Headers of libraries: file -> text with a version.
HEADERS = {
    "bpf/libbpf_version.h": "#define LIBBPF_MAJOR_VERSION {}\n#define LIBBPF_MINOR_VERSION {}\n",
    "elfutils/version.h": "#define _ELFUTILS_VERSION {}\n",
    "zlib.h": '#define ZLIB_VERSION "{}.{}.{}"\n',
    "zstd.h": "#define ZSTD_VERSION_MAJOR {}\n#define ZSTD_VERSION_MINOR {}\n"
              "#define ZSTD_VERSION_RELEASE {}\n",
    "xxhash.h": "#define XXH_VERSION_MAJOR {}\n#define XXH_VERSION_MINOR {}\n"
                "#define XXH_VERSION_RELEASE {}\n",
    "seccomp.h": "#define SCMP_VER_MAJOR {}\n#define SCMP_VER_MINOR {}\n#define SCMP_VER_MICRO {}\n",
    "elfutils/libdw.h": "",
    "libiberty/demangle.h": "",
    "lzma.h": "#define LZMA_VERSION_MAJOR {}\n#define LZMA_VERSION_MINOR {}\n#define LZMA_VERSION_PATCH {}\n",
    "curl/curlver.h": '#define LIBCURL_VERSION "{}.{}.{}"\n',
    "yaml.h": "",
    "microhttpd.h": "#define MHD_VERSION 0x{:02}{:02}{:02}00\n",
}
OLDEST = {"bpf/libbpf_version.h": (1, 1), "elfutils/version.h": (176,), "zlib.h": (1, 2, 11),
          "zstd.h": (1, 4, 0), "xxhash.h": (0, 8, 0), "seccomp.h": (2, 4, 0),
          "elfutils/libdw.h": (), "libiberty/demangle.h": (), "lzma.h": (5, 2, 0),
          "curl/curlver.h": (7, 77, 0), "yaml.h": (),
          "microhttpd.h": (0, 9, 71)}
WITHOUT_NATIVE = ", and make NATIVE=0 builds without what --native needs"
WITHOUT = ", and make AGENT=0 builds without the agent"


class Versions(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.top = Path(scratch.name)

    def tool(self, name, says):
        path = self.top / name
        path.write_text(f"#!/bin/sh\necho '{says}'\n")
        path.chmod(0o755)
        return path

    def gcc(self, major):
        """This machine's, that says another version."""
        path = self.top / "gcc"
        path.write_text(f"#!/bin/sh\nexec gcc -U__GNUC__ -D__GNUC__={major} \"$@\"\n")
        path.chmod(0o755)
        return str(path)

    def check(self, clang="Debian clang version 14.0.6", bpftool="bpftool v7.0.0", cc="gcc", env=None,
              absent=(), **other):
        for name, text in HEADERS.items():
            path = self.top / "include" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.format(*other.get(name, OLDEST[name])))
        for name in absent:
            (self.top / "include" / name).unlink()
        return subprocess.run(
            ["sh", str(SCRIPT), str(self.tool("clang", clang)), str(self.tool("bpftool", bpftool)),
             cc, "-nostdinc", f"-I{self.top}/include"], capture_output=True, text=True, env=env)

    def refused(self, what, without="", **versions):
        done = self.check(**versions)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, f"tachbpf needs at least {what}; `sudo make deps` installs "
                                      f"what it can{without}\n")

    def test_the_oldest_that_will_do(self):
        done = self.check()
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_an_old_clang(self):
        self.refused("clang 14 (here: 13.0.1)", clang="Ubuntu clang version 13.0.1-2ubuntu2")

    def test_an_old_bpftool(self):
        self.refused("bpftool 7.0 (here: 5.15.0)", bpftool="bpftool v5.15.0")

    def test_old_coreutils(self):
        self.tool("basenc", "basenc (GNU coreutils) 8.30")
        done = self.check(env={**os.environ, "PATH": f"{self.top}:{os.environ['PATH']}"})
        self.assertIn("tachbpf needs at least coreutils 8.31 (here: 8.30); ", done.stderr)

    def test_an_old_make(self):
        """One without what make 4.3 has brought."""
        done = subprocess.run(["make", ".FEATURES=target-specific", "help"], text=True,
                              capture_output=True, env={**os.environ, "MAKEFLAGS": ""})
        self.assertEqual(done.returncode, 2)
        self.assertIn("tachbpf needs at least make 4.3 (here: ", done.stderr)

    def test_an_old_gcc(self):
        done = self.check(cc=self.gcc(7))
        self.assertRegex(done.stderr, r"^tachbpf needs at least gcc 8 \(here: 7\.\d+\); .*\n$")

    def test_another_compiler(self):
        clang = shutil.which("clang")
        self.assertEqual(self.check(cc=clang).stderr if clang else "", "")

    def test_a_wrapper_of_bpftool_that_refuses(self):
        self.refused("bpftool 7.0 (there is none)", bpftool="")

    def test_old_libraries(self):
        for name, here, says in (("bpf/libbpf_version.h", (0, 8), "libbpf 1.1 (here: 0.8)"),
                                 ("elfutils/version.h", (175,), "libelf 0.176 (here: 0.175)"),
                                 ("zlib.h", (1, 2, 8), "zlib 1.2.11 (here: 1.2.8)"),
                                 ("zstd.h", (1, 3, 8), "zstd 1.4.0 (here: 1.3.8)"),
                                 ("xxhash.h", (0, 7, 4), "xxhash 0.8.0 (here: 0.7.4)")):
            with self.subTest(name):
                self.refused(says, **{name: here})

    def test_the_agents_libraries(self):
        """They are named, and so is the way without them; with AGENT=0 they may be old or not there."""
        for name, here, says in (("curl/curlver.h", (7, 76, 1), "libcurl 7.77.0 (here: 7.76.1)"),
                                 ("microhttpd.h", (0, 9, 59), "libmicrohttpd 0.9.71 (here: 0.9.59)")):
            with self.subTest(name):
                self.refused(says, WITHOUT, **{name: here})
        self.refused("libyaml 0.2 (there is none)", WITHOUT, absent=("yaml.h",))
        done = self.check(absent=("yaml.h", "curl/curlver.h"), env={**os.environ, "AGENT": "0"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_libraries_of_native(self):
        """Like those of the agent."""
        self.refused("liblzma 5.2.0 (here: 5.1.9)", WITHOUT_NATIVE, **{"lzma.h": (5, 1, 9)})
        for name, says in (("elfutils/libdw.h", "libdw 0.176"), ("libiberty/demangle.h", "libiberty 2.30")):
            with self.subTest(name):
                self.refused(f"{says} (there is none)", WITHOUT_NATIVE, absent=(name,))
        done = self.check(absent=("elfutils/libdw.h", "libiberty/demangle.h", "lzma.h"),
                          env={**os.environ, "NATIVE": "0"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_newer_microhttpd(self):
        self.assertEqual(self.check(**{"microhttpd.h": (1, 0, 2)}).returncode, 0)

    def test_two_at_once(self):
        self.refused("clang 14 (here: 11.0.1), zlib 1.2.11 (here: 1.2.8)",
                     clang="Debian clang version 11.0.1-2", **{"zlib.h": (1, 2, 8)})

    def test_the_documents_table(self):
        needed = [n for n in re.findall(r"\b([A-Z_]+)=([0-9.]+)", SCRIPT.read_text()) if n[0] not in ("AGENT", "NATIVE")]
        self.assertEqual(len(needed), 16)
        for name, version in needed:
            row = rf"^\| {name.lower().replace('_', '-')} \| {re.escape(version)} \|"
            self.assertRegex(TABLE.read_text(), re.compile(row, re.M))


if __name__ == "__main__":
    unittest.main()
