#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_elf_program.py - tachbpf-elf itself, over its two sockets: names, lines and patterns of
libraries that are compiled here, against nm and eu-addr2line; separate debug files; hostile files;
what the process may do."""
import array
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

BUILD = Path(__file__).resolve().parents[3]
PROGRAM = BUILD / "tachbpf-elf"
WIRE = Path("user/elf_helper/elf_wire.h").resolve().read_text()
HEAD = struct.Struct("<IIIiIIII")
NAME = struct.Struct("<QQIHHHH4x")
MATCH = struct.Struct("<QQII")
FACTS = struct.Struct("<20sII4xQQQQQQIIII192s")
ELF_LINES, ELF_MANGLED = 1, 2
ELF_COSTLY_MAX = 8
WAIT_S = 60


def kinds():
    body = re.sub(r"/\*.*?\*/", "", re.search(r"enum elf_message_kind \{(.*?)\};", WIRE, re.S)[1], flags=re.S)
    words = re.findall(r"\w+", body.replace("= 1", ""))
    return {word: number for number, word in enumerate(words, 1)}


KIND = kinds()


def run(*argv, **more):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Helper:
    """opener: called with (kind, data) of each question to the opener, returns a path or None."""

    def __init__(self, role="names", opener=lambda kind, data: None):
        self.main, its_main = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.opener, its_opener = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        high = [os.dup(its_main.fileno()), os.dup(its_opener.fileno())]
        actions = [(os.POSIX_SPAWN_DUP2, os.dup2(high[0], 100), 3), (os.POSIX_SPAWN_DUP2, os.dup2(high[1], 101), 4)]
        self.pid = os.posix_spawn(PROGRAM, [PROGRAM, role, str(os.getpid())], os.environ,
                                  file_actions=actions)
        for fd in (*high, 100, 101):
            os.close(fd)
        its_main.close()
        its_opener.close()
        self.answer_opener, self.asked, self.stored, self.request = opener, [], [], 0
        self.status = None

    def close(self):
        self.main.close()
        self.opener.close()
        return self.wait()

    def wait(self):
        """Its status as of waitpid()."""
        end = time.monotonic() + WAIT_S
        while self.status is None and time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
            else:
                time.sleep(0.005)
        assert self.status is not None, "the helper goes on"
        return self.status

    @staticmethod
    def send(sock, kind, file=0, request=0, data=b"", cnt=0, flags=0, fd=None):
        head = HEAD.pack(KIND[kind], file, request, 0, cnt, len(data), flags, 0)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))] if fd is not None else []
        sock.sendmsg([head + data], rights)

    @staticmethod
    def receive(sock):
        message, rights, _, _ = sock.recvmsg(65536, 64)
        if not message:
            raise EOFError
        head = HEAD.unpack_from(message)
        fds = [fd for _, _, data in rights for fd in array.array("i", data)]
        return head, message[HEAD.size:], fds

    def hand(self, file, path):
        with open(path, "rb") as f:
            self.send(self.opener, "PASS_FILE", file, fd=f.fileno())

    def serve_opener(self):
        head, data, fds = self.receive(self.opener)
        kind = next(k for k, v in KIND.items() if v == head[0])
        if kind == "STORE_CACHE":
            self.stored.append((data, fds[0]))
            return
        self.asked.append((kind, data))
        path = self.answer_opener(kind, data)
        if path is None:
            self.send(self.opener, "PASS_MORE", head[1], head[2])
            return
        with open(path, "rb") as f:
            self.send(self.opener, "PASS_MORE", head[1], head[2], fd=f.fileno())

    def ask(self, kind, file, data=b"", cnt=0, flags=0):
        """The messages of the answer: (kind, result, data, descriptors)."""
        self.request += 1
        self.send(self.main, kind, file, self.request, data, cnt, flags)
        answers = []
        while True:
            ready, _, _ = select.select([self.main, self.opener], [], [], WAIT_S)
            assert ready, "no answer"
            if self.opener in ready:
                self.serve_opener()
            if self.main not in ready:
                continue
            head, body, fds = self.receive(self.main)
            assert head[2] == self.request and head[1] == file and head[5] == len(body)
            answers.append((next(k for k, v in KIND.items() if v == head[0]), head[3], body, fds))
            if not head[7]:
                return answers

    def names(self, file, addrs, flags=0, kind="HELPER_NAMES"):
        """addr -> [(name, start, source, line)], innermost first."""
        out = {}
        for at in range(0, len(addrs), 256):
            some = addrs[at:at + 256]
            for answer, result, data, _ in self.ask(kind, file, struct.pack(f"<{len(some)}Q", *some),
                                                    len(some), flags):
                assert (answer, result) == ("NAMES", 0), (answer, result)
                self.unpack(data, out)
        return out

    @staticmethod
    def unpack(data, out):
        at = 0
        while at < len(data):
            addr, start, line, name_bytes, source_bytes, inlined, mangled = NAME.unpack_from(data, at)
            at += NAME.size
            name, source = data[at:at + name_bytes], data[at + name_bytes:at + name_bytes + source_bytes]
            assert name.endswith(b"\0") and (not source or source.endswith(b"\0"))
            out.setdefault(addr, []).append((name[:-1].decode(), start, source[:-1].decode(), line))
            if mangled:
                out.setdefault("mangled", set()).add(addr)
            at += name_bytes + source_bytes
        assert at == len(data)


SOURCE_C = """
static int __attribute__((noinline)) inner(int n) { return n * 3; }
static inline __attribute__((always_inline)) int twice(int n)
{
	return inner(n) + inner(n + 1);
}
int outer(int n)
{
	return twice(n) + 1;
}
extern int alias(int n) __attribute__((alias("outer")));
int __attribute__((weak)) weak(int n) { return n + 2; }
int other(int n) { return weak(n) + outer(n); }
"""
SOURCE_CC = """
namespace ns {
struct Thing { int method(int n); };
int Thing::method(int n) { return n + 1; }
template <typename T> T __attribute__((noinline)) generic(T v) { return v + v; }
int use(int n) { return generic<int>(n) + generic<long>(n); }
}
"""
SOURCE_RS = """
pub mod inner { #[inline(never)] pub fn count(n: u64) -> u64 { (0..n).map(|x| x ^ n).sum() } }
#[no_mangle] pub extern "C" fn entry(n: u64) -> u64 { inner::count(n) }
"""


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.top = Path(scratch.name)
        self.helpers = []

    def tearDown(self):
        for helper in self.helpers:
            ended = helper.status is not None
            self.assertTrue(helper.close() == 0 or ended)

    def helper(self, *args, **more):
        self.helpers.append(Helper(*args, **more))
        return self.helpers[-1]

    def library(self, source=SOURCE_C, name="lib.so", compiler="gcc", *flags):
        path = self.top / name
        code = path.with_suffix(".cc" if compiler == "g++" else ".c")
        code.write_text(source)
        run(compiler, "-O2", "-g", "-shared", "-fPIC", *flags, "-o", path, code)
        return path

    @staticmethod
    def functions(path, *options):
        """[(address, size, {names})] as nm says it."""
        found = {}
        for line in run("nm", "-S", "--defined-only", *options, path).splitlines():
            words = line.split()
            if len(words) == 4 and words[2] in "tTwWi":
                at = int(words[0], 16), int(words[1], 16)
                found.setdefault(at, set()).add(re.sub("@.*", "", words[3]))
        return [(addr, size, names) for (addr, size), names in sorted(found.items())]


class Needs(Case):
    def needs(self, path):
        """The strings of the answer."""
        helper = self.helper()
        helper.hand(1, path)
        (kind, result, data, _), = helper.ask("HELPER_NEEDS", 1)
        self.assertEqual((kind, result), ("NEEDS", 0))
        return data.decode().split("\0")[:-1]

    def test_a_program(self):
        """As readelf says it."""
        dynamic = run("readelf", "-d", "/usr/bin/python3")
        linker = re.search(r"interpreter: (.*)\]", run("readelf", "-l", "/usr/bin/python3"))[1]
        self.assertEqual(self.needs("/usr/bin/python3"),
                         [linker, "", *re.findall(r"NEEDED.*\[(.*)\]", dynamic)])

    def test_a_library(self):
        path = self.library(SOURCE_C, "lib.so", "gcc", "-Wl,-rpath,$ORIGIN/x:/y", "-Wl,--no-as-needed", "-lm")
        self.assertEqual(self.needs(path)[:3], ["", "$ORIGIN/x:/y", "libm.so.6"])

    def test_a_script(self):
        path = self.top / "script"
        path.write_text("#!/usr/bin/python3\n")
        self.assertEqual(self.needs(path), [])


class Names(Case):
    def check_all(self, helper, file, functions, demangle=lambda names: names):
        """The first, a middle and the last byte of each function, and the one behind it."""
        addrs = sorted({addr + off for addr, size, _ in functions for off in (0, size // 2, size - 1)})
        got = helper.names(file, addrs)
        for addr, size, names in functions:
            for off in (0, size // 2, size - 1):
                (name, start, source, line), = got[addr + off]
                self.assertIn(name, demangle(names))
                self.assertEqual((start, source, line), (addr, "", 0))

    def test_c(self):
        path = self.library()
        helper = self.helper()
        helper.hand(1, path)
        self.check_all(helper, 1, [f for f in self.functions(path) if "_" not in min(f[2])])

    def test_the_system_libraries(self):
        """Each function of the C library and of libm, by .dynsym."""
        helper = self.helper()
        for file, name in enumerate(("libc.so.6", "libm.so.6"), 1):
            path = Path(run("gcc", f"-print-file-name={name}").strip()).resolve()
            functions = self.functions(path, "-D")
            starts = {}
            for addr, size, names in functions:
                starts.setdefault(addr, set()).update(names)
            helper.hand(file, path)
            got = helper.names(file, sorted(starts))
            self.assertGreater(len(starts), 100)
            for addr, names in starts.items():
                self.assertIn(got[addr][0][0], names)

    def test_global_before_local_and_aliases(self):
        path = self.library()
        helper = self.helper()
        helper.hand(1, path)
        at = {n: a for a, _, names in self.functions(path) for n in names}
        got = helper.names(1, [at["outer"], at["weak"], at["inner"]])
        self.assertIn(got[at["outer"]][0][0], ("outer", "alias"))
        self.assertEqual(got[at["weak"]][0][0], "weak")
        self.assertEqual(got[at["inner"]][0][0], "inner")

    def test_nothing_there(self):
        """An address in no function has no name; one in no segment neither."""
        path = self.library()
        helper = self.helper()
        helper.hand(1, path)
        self.assertEqual(helper.names(1, [8, 1 << 40]), {8: [("", 0, "", 0)], 1 << 40: [("", 0, "", 0)]}
                         | {a: v for a, v in helper.names(1, [1 << 40]).items() if v[0][0] == "" and v[0][1]})

    def test_start_of_code_without_a_name(self):
        """Stripped, and not exported: the FDE says where it begins."""
        path = self.library()
        inner = next(a for a, _, names in self.functions(path) if "inner" in names)
        run("strip", path)
        helper = self.helper()
        helper.hand(1, path)
        self.assertEqual(helper.names(1, [inner + 1])[inner + 1], [("", inner, "", 0)])

    def test_cplusplus(self):
        path = self.library(SOURCE_CC, "libcc.so", "g++")
        helper = self.helper()
        helper.hand(1, path)
        functions = [f for f in self.functions(path) if any(n.startswith("_ZN2ns") for n in f[2])]
        got = {helper.names(1, [addr])[addr][0][0] for addr, _, _ in functions}
        self.assertEqual(got, {"ns::Thing::method", "ns::use", "ns::generic<int>", "ns::generic<long>"})

    @unittest.skipUnless(shutil.which("rustc"), "there is no rustc")
    def test_rust(self):
        code = self.top / "lib.rs"
        code.write_text(SOURCE_RS)
        for version in ("legacy", "v0"):
            path = self.top / f"lib{version}.so"
            done = subprocess.run(["rustc", "--crate-type=cdylib", "--crate-name=thing", "-O", "-g", "-C",
                                   f"symbol-mangling-version={version}", "-o", path, code],
                                  capture_output=True, text=True)
            if done.returncode:     # the older one needs -Z unstable-options
                continue
            helper = self.helper()
            helper.hand(1, path)
            at = next(a for a, _, names in self.functions(path) if any("5inner5count" in n for n in names))
            self.assertEqual(helper.names(1, [at])[at][0][0], "thing::inner::count")

    def test_long_names_are_cut(self):
        name = "f" * 2000
        path = self.library(f"int {name}(void) {{ return 1; }}")
        helper = self.helper()
        helper.hand(1, path)
        at = next(a for a, _, names in self.functions(path) if name in names)
        self.assertEqual(helper.names(1, [at])[at][0][0], "f" * 508 + "...")

    def test_forget(self):
        helper = self.helper()
        helper.hand(1, self.library())
        self.assertEqual(helper.ask("HELPER_NAMES", 1, bytes(8), 1)[0][0], "NAMES")
        helper.send(helper.main, "HELPER_FORGET", 1)
        self.assertEqual(helper.ask("HELPER_NAMES", 1, bytes(8), 1)[0][0], "NO_FILE")

    def test_the_oldest_file_goes(self):
        path = self.library()
        helper = self.helper()
        for file in range(1, 600):
            helper.hand(file, path)
            if file % 50 == 0:
                helper.names(file, [4096])
        self.assertEqual(helper.ask("HELPER_NAMES", 1, bytes(8), 1)[0][0], "NO_FILE")
        self.assertEqual(helper.ask("HELPER_NAMES", 599, bytes(8), 1)[0][0], "NAMES")

    def test_match(self):
        path = self.library()
        helper = self.helper()
        helper.hand(1, path)
        (kind, result, data, _), = helper.ask("HELPER_MATCH", 1, b"out*\0inner\0none\0", 3)
        self.assertEqual((kind, result), ("MATCHES", 0))
        got = [MATCH.unpack_from(data, at) for at in range(0, len(data), MATCH.size)]
        want = [(a, a + s, 0 if n == "outer" else 1, 0) for a, s, names in self.functions(path) for n in names
                if n in ("outer", "inner")]
        self.assertEqual(got, sorted(want))

    def test_many_matches(self):
        path = self.library("".join(f"int many_{i}(void) {{ return {i}; }}\n" for i in range(3000)), "many.so", "gcc",
                            "-O0", "-g0")
        helper = self.helper()
        helper.hand(1, path)
        answers = helper.ask("HELPER_MATCH", 1, b"many_*\0", 1)
        self.assertGreater(len(answers), 1)
        self.assertEqual(sum(len(a[2]) for a in answers) // MATCH.size, 3000)


def costly(number):
    """A name that stands for 2^50 types, which the demangler searches without printing anything."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    references = [f"S{digits[i // 36] if i > 35 else ''}{digits[i % 36]}_E" for i in range(1, 51)]
    return f"_Z4f{number:03}IDp1AI{'S0_I' * 49}1a{''.join(references)}Evv"


class Costly(Case):
    """Names that take too long to demangle."""

    def helper_with(self, count):
        """A helper that has a library with as many of them, and three others: their addresses by name."""
        names = [costly(i) for i in range(count)] + ["_ZN2ns5Thing6methodEi", "_ZN2ns3endEv", "plain"]
        path = self.library("".join(f'int f{i}(void) __asm__("{name}");\nint f{i}(void) {{ return {i}; }}\n'
                                    for i, name in enumerate(names)), "costly.so", "gcc", "-g0")
        helper = self.helper()
        helper.hand(1, path)
        return helper, {n: a for a, _, found in self.functions(path) for n in found if n in names}

    def test_the_others_are_there(self):
        helper, at = self.helper_with(5)
        got = helper.names(1, sorted(at.values()))
        self.assertEqual({got[a][0][0] for a in at.values()},
                         {costly(i) for i in range(5)} | {"ns::Thing::method", "ns::end", "plain"})
        self.assertEqual(got["mangled"], {at[costly(i)] for i in range(5)})

    def test_so_many_that_the_rest_is_not_tried(self):
        helper, at = self.helper_with(200)
        got = helper.names(1, [at[costly(i)] for i in range(200)] + [at["_ZN2ns3endEv"], at["plain"]])
        self.assertEqual(got[at["_ZN2ns3endEv"]][0][0], "_ZN2ns3endEv")
        self.assertEqual(got["mangled"], {*at.values()} - {at["plain"], at["_ZN2ns5Thing6methodEi"]})
        starts, = self.children(helper.pid)
        ticks = sum(map(int, Path(f"/proc/{starts}/stat").read_text().rsplit(")", 1)[1].split()[13:15]))
        self.assertLess(ticks / os.sysconf("SC_CLK_TCK"), ELF_COSTLY_MAX * 0.1)

    def test_when_told_not_to_try(self):
        helper, at = self.helper_with(1)
        got = helper.names(1, sorted(at.values()), ELF_MANGLED)
        self.assertEqual({got[a][0][0] for a in at.values()}, {*at})
        self.assertEqual(got["mangled"], {*at.values()} - {at["plain"]})

    @staticmethod
    def children(pid):
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def test_what_its_processes_may_do(self):
        helper, at = self.helper_with(0)
        helper.names(1, [at["_ZN2ns3endEv"]])
        starts, = self.children(helper.pid)
        demangles, = self.children(starts)
        for pid in starts, demangles:
            status = Path(f"/proc/{pid}/status").read_text()
            self.assertRegex(status, r"CapEff:\t0{16}\n")
            self.assertRegex(status, r"NoNewPrivs:\t1\n")
            if os.geteuid() == 0:
                self.assertEqual(os.listdir(f"/proc/{pid}/fd"), ["0"])
            if b"__asan_init" not in PROGRAM.read_bytes():
                self.assertRegex(status, r"Seccomp:\t2\n")
        helper.close()
        end = time.monotonic() + WAIT_S
        while Path(f"/proc/{demangles}").exists() and time.monotonic() < end:
            time.sleep(0.005)
        self.assertFalse(Path(f"/proc/{demangles}").exists())


class Debug(Case):
    """Separate debug files, as distributions make them."""

    def split(self, *flags):
        path = self.library(SOURCE_C, "lib.so", "gcc", *flags)
        functions = [f for f in self.functions(path) if "_" not in min(f[2])]
        debug = self.top / "lib.debug"
        run("objcopy", "--only-keep-debug", path, debug)
        run("strip", path)
        run("objcopy", f"--add-gnu-debuglink={debug}", path)
        return path, debug, functions

    def test_by_build_id(self):
        path, debug, functions = self.split("-Wl,--build-id=sha1")
        wanted = []

        def opener(kind, data):
            wanted.append(data)
            return debug

        helper = self.helper(opener=opener)
        helper.hand(7, path)
        Names.check_all(self, helper, 7, functions)
        (data,), build_id = wanted, bytes.fromhex(
            re.search(r"Build ID: (\w+)", run("readelf", "-n", path))[1])
        self.assertEqual(data[:20], build_id)
        self.assertEqual(struct.unpack_from("<I", data, 20)[0], 20)
        self.assertEqual(data[28:].rstrip(b"\0"), b"lib.debug")

    def test_by_checksum(self):
        path, debug, functions = self.split("-Wl,--build-id=none")
        helper = self.helper(opener=lambda kind, data: debug)
        helper.hand(1, path)
        Names.check_all(self, helper, 1, functions)

    def test_a_wrong_one_is_refused(self):
        for flag in ("sha1", "none"):
            path, _, functions = self.split(f"-Wl,--build-id={flag}")
            other = self.library(SOURCE_C + "int more;", f"other{flag}.so", "gcc", f"-Wl,--build-id={flag}")
            helper = self.helper(opener=lambda kind, data, other=other: other)
            helper.hand(1, path)
            inner = next(a for a, _, names in functions if "inner" in names)
            self.assertEqual(helper.names(1, [inner])[inner][0][0], "")
            self.assertEqual(len(helper.asked), 1)

    def test_lines_of_a_separate_file(self):
        path, debug, functions = self.split("-Wl,--build-id=sha1")
        helper = self.helper(opener=lambda kind, data: debug)
        helper.hand(1, path)
        outer = next(a for a, _, names in functions if "outer" in names)
        got = helper.names(1, [outer], ELF_LINES)[outer]
        self.assertEqual(got[-1][2], str(path.with_suffix(".c")))
        self.assertTrue(got[-1][3])

    def test_mini_debuginfo(self):
        path, debug, functions = self.split("-Wl,--build-id=sha1")
        mini = self.top / "mini"
        run("objcopy", "-S", "--remove-section=.gdb_index", "--remove-section=.comment",
            "--keep-symbol=inner", debug, mini)
        run("xz", "-9", mini)
        run("objcopy", "--add-section", f".gnu_debugdata={mini}.xz", path)
        helper = self.helper()
        helper.hand(1, path)
        inner = next(a for a, _, names in functions if "inner" in names)
        self.assertEqual(helper.names(1, [inner])[inner][0][:2], ("inner", inner))

    def test_a_broken_mini_debuginfo(self):
        path, _, functions = self.split("-Wl,--build-id=sha1")
        for number, data in enumerate((b"no xz", b"\xfd7zXZ\0" + bytes(100), os.urandom(5000))):
            packed, one = self.top / "packed", self.top / f"one{number}"
            packed.write_bytes(data)
            run("objcopy", "--add-section", f".gnu_debugdata={packed}", path, one)
            helper = self.helper()
            helper.hand(1, one)
            outer = next(a for a, _, names in functions if "outer" in names)
            self.assertIn(helper.names(1, [outer])[outer][0][0], ("outer", "alias"))

    def test_mini_debuginfo_that_is_a_bomb(self):
        """65 MiB of zeros: no more than 64 are unpacked, and nothing of it is used."""
        path, _, functions = self.split("-Wl,--build-id=sha1")
        bomb = self.top / "bomb"
        with open(bomb, "wb") as f:
            f.truncate(65 << 20)
        run("xz", "-1", bomb)
        run("objcopy", "--add-section", f".gnu_debugdata={bomb}.xz", path)
        helper = self.helper()
        helper.hand(1, path)
        outer = next(a for a, _, names in functions if "outer" in names)
        self.assertIn(helper.names(1, [outer])[outer][0][0], ("outer", "alias"))

    @unittest.skipUnless(shutil.which("dwz"), "there is no dwz")
    def test_shared_by_dwz(self):
        one, two = self.library(SOURCE_C, "one.so"), self.library(SOURCE_C, "two.so")
        shared = self.top / "shared.debug"
        run("dwz", "-m", shared, one, two)
        helper = self.helper(opener=lambda kind, data: shared)
        helper.hand(1, one)
        outer = next(a for a, _, names in self.functions(one) if "outer" in names)
        self.assertTrue(helper.names(1, [outer], ELF_LINES)[outer][-1][3])


class Lines(Case):
    def addr2line(self, path, addr):
        """[(function, file, line)] of eu-addr2line, innermost first."""
        lines = run("eu-addr2line", "-i", "-f", "-e", path, hex(addr)).splitlines()
        out = []
        for function, place in zip(lines[::2], lines[1::2]):
            file, _, line = re.sub(r" \(discriminator \d+\)|:\d+$", "", place).rpartition(":") \
                if place.count(":") < 2 else place.rsplit(":", 2)[:1] + [""] + [place.rsplit(":", 2)[1]]
            out.append((function.split(" inlined at ")[0], file, int(line)))
        return out

    def test_each_instruction(self):
        """Of a library with inlined functions: the same functions, files and lines as eu-addr2line's."""
        path = self.library()
        addrs = [int(m, 16) for m in re.findall(r"^ +(\w+):\t", run(
            "objdump", "-d", "--no-show-raw-insn", "-j", ".text", path), re.M)]
        wanted = [(a, s) for a, s, names in self.functions(path)
                  if names & {"inner", "outer", "other", "weak", "alias"}]
        addrs = [x for x in addrs if any(a <= x < a + s for a, s in wanted)]
        helper = self.helper()
        helper.hand(1, path)
        got = helper.names(1, addrs, ELF_LINES)
        inlined = 0
        for addr in addrs:
            ours = [(n if n != "alias" else "outer", s, line) for n, _, s, line in got[addr]]
            self.assertEqual(ours, self.addr2line(path, addr), hex(addr))
            inlined += len(ours) > 1
        self.assertGreater(inlined, 3)

    def test_dwarf_versions_and_compressed_sections(self):
        for flags in (("-gdwarf-4",), ("-gdwarf-5",), ("-gz=zlib",), ("-gdwarf-5", "-gno-column-info")):
            path = self.library(SOURCE_C, "lib" + "".join(flags) + ".so", "gcc", *flags)
            outer = next(a for a, _, names in self.functions(path) if "outer" in names)
            helper = self.helper()
            helper.hand(1, path)
            name, start, source, line = helper.names(1, [outer], ELF_LINES)[outer][-1]
            self.assertIn(name, ("outer", "alias"))
            self.assertEqual((start, source), (outer, str(path.with_suffix(".c"))))
            self.assertIn(line, range(7, 11))

    def test_no_lines(self):
        path = self.library()
        run("strip", "-g", path)
        helper = self.helper()
        helper.hand(1, path)
        outer = next(a for a, _, names in self.functions(path) if "outer" in names)
        self.assertEqual(helper.names(1, [outer], ELF_LINES)[outer][0][2:], ("", 0))


class PerfMap(Case):
    def test_names(self):
        path = self.top / "perf-1.map"
        path.write_text("1000 100 first\n1100 80 py::f:/x/y z.py\nbad line\n1040 10 second\n")
        helper = self.helper()
        helper.hand(1, path)
        got = helper.names(1, [0xfff, 0x1000, 0x1040, 0x1050, 0x1100, 0x117f, 0x1180], 0, "HELPER_PERF_NAMES")
        self.assertEqual({a: v[0][:2] for a, v in got.items()}, {
            0xfff: ("", 0), 0x1000: ("first", 0x1000), 0x1040: ("second", 0x1040), 0x1050: ("first", 0x1000),
            0x1100: ("py::f:/x/y z.py", 0x1100), 0x117f: ("py::f:/x/y z.py", 0x1100), 0x1180: ("", 0)})

    def test_it_has_grown(self):
        path = self.top / "perf-1.map"
        path.write_text("1000 100 first\n")
        helper = self.helper()
        helper.hand(1, path)
        self.assertEqual(helper.names(1, [0x2000], 0, "HELPER_PERF_NAMES")[0x2000][0][0], "")
        path.write_text("1000 100 first\n2000 100 second\n")
        helper.hand(1, path)
        self.assertEqual(helper.names(1, [0x2000], 0, "HELPER_PERF_NAMES")[0x2000][0][0], "second")


class Tables(Case):
    def facts(self, data):
        fields = FACTS.unpack(data)
        return dict(zip(("build_id", "id_bytes", "machine", "text_start", "text_end", "plt_start", "plt_end",
                         "eval_start", "eval_end", "cached", "build_us", "load_cnt", "stripped", "loads"), fields))

    def test_facts(self):
        path = self.library("int _PyEval_EvalFrameDefault(int n) { return n * 5 + 1; }", "libp.so", "gcc",
                            "-Wl,--build-id=sha1")
        helper = self.helper("tables")
        helper.hand(1, path)
        (kind, _, data, fds), = helper.ask("HELPER_TABLE", 1)
        self.assertEqual((kind, len(fds)), ("TABLE", 1))
        facts = self.facts(data)
        self.assertIn(facts["build_id"].hex(), run("readelf", "-n", path))
        (start, size, _), = [f for f in self.functions(path) if "_PyEval_EvalFrameDefault" in f[2]]
        self.assertEqual((facts["eval_start"], facts["eval_end"]), (start, start + size))
        segments = [tuple(int(x, 16) for x in m) for m in re.findall(
            r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+) 0x\w+ R E", run("readelf", "-lW", path))]
        self.assertEqual(facts["load_cnt"], len(segments))
        self.assertEqual([struct.unpack_from("<QQQ", facts["loads"], 24 * i) for i in range(len(segments))],
                         segments)
        self.assertLessEqual(facts["text_start"], start)
        self.assertGreaterEqual(facts["text_end"], start + size)
        stubs = [(int(m[0], 16), int(m[1], 16)) for m in re.findall(
            r" \.plt\S* +PROGBITS +(\w+) \w+ (\w+)", run("readelf", "-SW", path))]
        self.assertEqual((facts["plt_start"], facts["plt_end"]),
                         (min(a for a, _ in stubs), max(a + n for a, n in stubs)))
        self.assertEqual(facts["stripped"], 0)
        run("strip", path)
        helper.hand(2, path)
        (_, _, data, fds2), = helper.ask("HELPER_TABLE", 2)
        self.assertEqual(self.facts(data)["stripped"], 1)
        os.close(fds2[0])
        os.close(fds[0])

    def test_cache(self):
        """A table that was kept is taken; one that is broken is built again."""
        path, kept = self.library(), self.top / "kept"
        helper = self.helper("tables", opener=lambda kind, data: kept if kept.exists() else None)
        helper.send(helper.opener, "PASS_MORE", 0, 0, bytes(range(192)))
        helper.hand(1, path)
        (_, _, data, fds), = helper.ask("HELPER_TABLE", 1)
        self.assertEqual(self.facts(data)["cached"], 0)
        while not helper.stored:
            helper.serve_opener()
        digest, fd = helper.stored.pop()
        self.assertEqual([(k, d) for k, d in helper.asked], [("WANT_CACHE", digest)])
        table = os.pread(fds[0], 1 << 26, 0)
        self.assertEqual(os.pread(fd, 1 << 26, 0), table)
        for content, cached in ((table, 1), (table[:-1], None), (b"", 0), (bytes(len(table)), 0),
                                (table[:16] + bytes(16) + table[32:], 0)):
            kept.write_bytes(content)
            (_, result, data, more), = helper.ask("HELPER_TABLE", 1)
            self.assertEqual(result, 0)
            self.assertEqual(os.pread(more[0], 1 << 26, 0), table)
            if cached is not None:
                self.assertEqual(self.facts(data)["cached"], cached)
            fds += more
        for fd in [fd, *fds, *(fd for _, fd in helper.stored)]:
            os.close(fd)

    def test_tables_have_a_low_priority_after_half_a_second(self):
        """A file with half a million times the rows of one function takes at least a tenth of that."""
        own = os.getpriority(os.PRIO_PROCESS, 0)
        path, helper = self.library(), self.helper("tables")
        (start, _, _), *_ = self.functions(path)
        cie = struct.pack("<IIB3sBBBBB3x", 16, 0, 1, b"zR", 1, 0x78, 16, 1, 4)
        rows = 16 * bytes((0x41, 0x0e, 16))            # one byte on, the CFA is 16 bytes above the stack pointer
        fde = struct.pack("<IIQQB48s3x", 72, 24, start, 64, 0, rows)
        data, frame = bytearray(path.read_bytes()), 500000 * (cie + fde)

        def priority_after(number):
            helper.hand(number, path)
            for fd in helper.ask("HELPER_TABLE", number)[0][3]:
                os.close(fd)
            return os.getpriority(os.PRIO_PROCESS, helper.pid)
        self.assertEqual(priority_after(1), own)
        shoff, = struct.unpack_from("<Q", data, 40)
        section, = re.findall(r"\[ *(\d+)\] \.eh_frame ", run("readelf", "-SW", path))
        struct.pack_into("<QQ", data, shoff + 64 * int(section) + 24, len(data), len(frame))
        path.write_bytes(data + frame)
        self.assertTrue(any(priority_after(number) == max(own, 10) for number in range(2, 12)))

    def test_no_elf_file(self):
        path = self.top / "text"
        path.write_text("hello" * 1000)
        helper = self.helper("tables")
        helper.hand(1, path)
        (kind, result, _, fds), = helper.ask("HELPER_TABLE", 1)
        self.assertEqual((kind, fds), ("TABLE", []))
        self.assertLess(result, 0)

    def test_no_file(self):
        helper = self.helper("tables")
        self.assertEqual(helper.ask("HELPER_TABLE", 5)[0][0], "NO_FILE")


class Hostile(Case):
    def test_truncated(self):
        """Every length of the headers, some of the rest."""
        data = self.library().read_bytes()
        helper = self.helper()
        path = self.top / "cut"
        for number, length in enumerate([*range(0, 512, 7), *range(512, len(data), 331)], 1):
            path.write_bytes(data[:length])
            helper.hand(number, path)
            helper.names(number, [4096, 4400], ELF_LINES)
            path.unlink()

    def test_one_byte_wrong(self):
        """In section headers, symbols and DWARF; whoever dies of it (libdw) is not asked again."""
        data = bytearray(self.library().read_bytes())
        at = struct.unpack_from("<Q", data, 40)[0]
        helper = self.helper()
        path = self.top / "wrong"
        for number, off in enumerate(range(at, len(data), 5), 1):
            changed = bytearray(data)
            changed[off] ^= 0xff
            path.write_bytes(changed)
            helper.hand(number, path)
            helper.names(number, [4096, 4400])
            path.unlink()

    def test_four_billion_symbols(self):
        """A sparse file whose .symtab says that it has 2^32 symbols."""
        data = bytearray(self.library().read_bytes())
        shoff, = struct.unpack_from("<Q", data, 40)
        size, cnt = struct.unpack_from("<HH", data, 58)
        for i in range(cnt):
            if struct.unpack_from("<I", data, shoff + i * size + 4)[0] == 2:
                struct.pack_into("<Q", data, shoff + i * size + 32, 24 << 32)
        path = self.top / "huge"
        path.write_bytes(data)
        os.truncate(path, 25 << 32)
        helper = self.helper()
        helper.hand(1, path)
        begin = time.monotonic()
        helper.names(1, [4400])
        self.assertLess(time.monotonic() - begin, WAIT_S)

    def test_a_file_that_shrinks(self):
        path = self.library()
        helper = self.helper()
        addrs = [a for a, _, _ in self.functions(path)]
        helper.hand(1, path)
        helper.names(1, addrs, ELF_LINES)
        helper.hand(2, path)
        helper.names(2, addrs)
        os.truncate(path, 100)
        self.assertEqual({names[0][0] for names in helper.names(2, addrs).values()}, {""})
        helper.names(1, addrs, ELF_LINES)
        helper.ask("HELPER_TABLE", 1)

    def test_what_is_no_message_ends_it(self):
        for data in (b"x", HEAD.pack(99, 0, 0, 0, 0, 0, 0, 0), HEAD.pack(KIND["HELPER_NAMES"], 1, 0, 0, 1, 8, 0, 0),
                     HEAD.pack(KIND["TABLE"], 1, 0, 0, 0, 0, 0, 0), bytes(40000)):
            for socket_name in ("main", "opener"):
                helper = self.helper()
                getattr(helper, socket_name).send(data)
                self.assertNotEqual(helper.wait(), 0)

    def test_wrong_counts_end_it(self):
        for kind, data, cnt in (("HELPER_NAMES", bytes(8), 2), ("HELPER_NAMES", bytes(8 * 257), 257),
                                ("HELPER_MATCH", b"abc", 1), ("HELPER_MATCH", b"", 0), ("HELPER_TABLE", b"x", 0)):
            helper = self.helper()
            helper.hand(1, self.library())
            helper.send(helper.main, kind, 1, 1, data, cnt)
            self.assertNotEqual(helper.wait(), 0)


class Rights(Case):
    def test_what_it_may_do(self):
        helper = self.helper()
        helper.hand(1, self.library())
        helper.names(1, [4400], ELF_LINES)
        status = Path(f"/proc/{helper.pid}/status").read_text()
        self.assertRegex(status, r"CapEff:\t0{16}\n")
        self.assertRegex(status, r"CapPrm:\t0{16}\n")
        self.assertRegex(status, r"NoNewPrivs:\t1\n")
        if b"__asan_init" not in PROGRAM.read_bytes():
            self.assertRegex(status, r"Seccomp:\t2\n")
            self.assertRegex(Path(f"/proc/{helper.pid}/limits").read_text(), r"Max address space +2147483648 ")
        if os.geteuid() == 0:
            self.assertRegex(status, r"Uid:\t0\t0\t0\t65534\n")
            self.assertLessEqual({os.readlink(f"/proc/{helper.pid}/fd/{fd}").split(":")[0]
                                  for fd in ("0", "1", "2")}, {"/dev/null", "/dev/pts/0"} | {
                                      os.readlink(f"/proc/self/fd/{fd}").split(":")[0] for fd in (0, 1, 2)})

    def test_it_ends_with_its_sockets(self):
        for name in ("main", "opener"):
            helper = self.helper()
            getattr(helper, name).close()
            self.assertEqual(helper.wait(), 0)

    def test_it_has_no_other_parent(self):
        done = subprocess.run([PROGRAM, "names", "1"], capture_output=True)
        self.assertEqual(done.returncode, 1)

    def test_by_hand(self):
        done = subprocess.run([PROGRAM], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (1, f"{PROGRAM} is started by tachbpf\n"))

    def test_a_terminal_does_not_end_it(self):
        helper = self.helper()
        helper.hand(1, self.library())
        helper.names(1, [4400])
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(helper.pid, number)
        helper.names(1, [4400])


if __name__ == "__main__":
    unittest.main()
