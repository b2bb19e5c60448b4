#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_light.py - tachbpf stays light: what only the agent or tachbpf-elf needs is not in it, neither as a library,
nor as a symbol, nor as bytes."""
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(__file__).resolve().parents[3]
TACHBPF = BUILD / "tachbpf"
# What it had on x86-64 when events, asyncio's tasks and the flight recorder came (the agent came with
# 2,676,972, --native with 3,149,417), and an eighth for what comes to tachbpf itself: code and data as
# `size` counts them. curl's code alone is 0.7 MB, libdw's 0.6 MB. A file's bytes are mostly debug
# information.
MOST_LOADED = 3970569 * 9 // 8
MOST_BYTES = 8989928 * 9 // 8
# The C library's, and those that tools/libs.sh may find no complete archive of.
OWN = {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
       "libbpf.so.1", "libelf.so.1", "libseccomp.so.2", "libz.so.1",
       "libzstd.so.1", "libxxhash.so.0"}
# Makefile: AGENT_ROOMS
ROOMS = "(delivery|config|metrics|exporters|agent)"
FOREIGN = re.compile(r"\b(curl_|Curl_|yaml_|MHD_)\w+")
# tachbpf-elf's: elfutils, libiberty, liblzma.
ELF = re.compile(r"\b(dwarf_|elf_lines_|cplus_demangle|rust_demangle|lzma_)\w+")


def readelf(option, path=TACHBPF):
    return subprocess.run(["readelf", "--wide", option, path], check=True, text=True,
                          capture_output=True).stdout


def is_sanitized():
    return "__asan_init" in readelf("--symbols")


class Light(unittest.TestCase):
    def test_libraries(self):
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic")))
        self.assertEqual({n for n in needed - OWN if not n.startswith(("libasan", "libubsan", "libgcc_s"))},
                         set())

    def test_symbols(self):
        self.assertIsNone(FOREIGN.search(readelf("--symbols")))

    def test_symbols_of_native(self):
        """Neither tachbpf nor the agent links what parses files of others for --native."""
        for program in (TACHBPF, BUILD / "tachbpf-agent"):
            if program.exists():
                self.assertIsNone(ELF.search(readelf("--symbols", program)), program)
                self.assertNotRegex(readelf("--dynamic", program), r"\[(libdw|liblzma|libiberty)")

    @unittest.skipUnless((BUILD / "tachbpf-elf").exists(), "built with NATIVE=0")
    def test_the_helper_has_them(self):
        """Else the test before would see nothing."""
        self.assertRegex(readelf("--symbols", BUILD / "tachbpf-elf"), ELF)

    def test_bytes(self):
        if is_sanitized():
            self.skipTest("a sanitizer's code is more than ours")
        segments = re.findall(r"^ +LOAD +(?:0x\w+ +){3}(0x\w+)", readelf("--program-headers"), re.M)
        loaded = sum(int(size, 16) for size in segments)
        self.assertTrue(0 < loaded <= MOST_LOADED, f"{loaded} bytes, {MOST_LOADED} are allowed")
        self.assertLessEqual(TACHBPF.stat().st_size, MOST_BYTES)

    @unittest.skipUnless((BUILD / "tachbpf-agent").exists(), "built with AGENT=0")
    def test_the_agent_has_them(self):
        """Else these tests would see nothing."""
        self.assertRegex(readelf("--dynamic", BUILD / "tachbpf-agent"), r"\[libyaml")


class Without(unittest.TestCase):
    """make AGENT=0, on a system that has none of the agent's libraries."""

    def make(self, *words):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        with tempfile.TemporaryDirectory() as top:
            done = subprocess.run(["make", "-n", "-B", f"O={top}/build", *words], env=env, text=True,
                                  capture_output=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return done.stdout

    def test_nothing_of_the_agent_is_built(self):
        """Not linked, not compiled, not among the tests nor what is fuzzed nor installed."""
        for words in (("all",), ("check-unit",), ("fuzz", "SAN=1"), ("install",)):
            with self.subTest(words):
                said = self.make("AGENT=0", *words)
                self.assertNotRegex(said, rf"-lcurl|-lyaml|-lmicrohttpd|user/{ROOMS}/|agent_main"
                                          rf"|unit/{ROOMS}/|fuzz_agent|bin/tachbpf-agent")
                self.assertIn("-o ", said)

    def test_nothing_of_native_is_built(self):
        """make NATIVE=0: neither tachbpf-elf nor its tests, and none of its libraries."""
        for words in (("all",), ("check-unit",), ("fuzz", "SAN=1"), ("install",)):
            with self.subTest(words):
                said = self.make("NATIVE=0", *words)
                self.assertNotRegex(said, r"-ldw|-liberty|-llzma|elf_main|elf_lines|unit/elf_helper/"
                                          r"|fuzz_elf_|fuzz_perf_map|install.*tachbpf-elf")
                self.assertIn("-o ", said)

    def test_a_static_build_has_no_agent(self):
        self.assertNotRegex(self.make("LINK=static", "all"), "-lcurl|agent_main")

    def links_without(self, left_out):
        """All other objects in one program use nothing of these."""
        others = re.compile(left_out)
        objects = [p for p in (BUILD / "user").rglob("*.o") if not others.search(f"{p}")]
        defined, wanted = set(), {}
        for path in objects:
            for kind, name in re.findall(r"^[ \da-f]*([A-Zu]) (\w+)$", subprocess.run(
                    ["nm", "--no-sort", path], check=True, text=True, capture_output=True).stdout, re.M):
                if kind == "U":
                    wanted.setdefault(name, path)
                else:
                    defined.add(name)
        in_others = set()
        for path in (p for p in (BUILD / "user").rglob("*.o") if others.search(f"{p}")):
            in_others |= set(re.findall(r"^[\da-f]+ [A-Z] (\w+)$", subprocess.run(
                ["nm", path], check=True, text=True, capture_output=True).stdout, re.M))
        self.assertEqual({n: f"{p}" for n, p in wanted.items() if n in in_others - defined}, {})

    def test_it_links_without_the_agent(self):
        self.links_without(f"user/({ROOMS}/|agent_main)")

    def test_it_links_without_native(self):
        """Makefile: ELF_FILES"""
        self.links_without("user/(elf_main|elf_helper/(?!elf_start|elf_channel))")


if __name__ == "__main__":
    unittest.main()
