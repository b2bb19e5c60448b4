# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs with a CPython in them: compiled here against what interpreters bring along
(headers are not needed: embed.c declares what it calls), run as processes that shake hands.
Knows how to build and run them; nothing of the profiler."""
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import interpreters
from paths import E2E
from processes import TIMEOUT, kill

NO_LIBRARY = "it has no libpython.so"
SOURCE = E2E / "targets" / "embed" / "embed.c"
BURN = E2E / "targets" / "embed" / "burn.py"
BY_HAND = E2E / "targets" / "embed" / "by_hand.py"

ASK = """
import json, os, sys, sysconfig as s
v = s.get_config_var
libs = [os.path.join(d, n) for d in (v("LIBPL"), v("LIBDIR"), os.path.join(v("LIBDIR") or "", v("MULTIARCH") or ""))
        for n in (v("INSTSONAME"), v("LDLIBRARY"), v("LIBRARY"), "libpython%d.%d.so.1.0" % sys.version_info[:2])
        if d and n]
found = [os.path.realpath(p) for p in libs if os.path.exists(p)]
print(json.dumps({"shared": [p for p in found if ".so" in os.path.basename(p)],
                  "static": [p for p in found if p.endswith(".a")],
                  "libs": ((v("LIBS") or "") + " " + (v("SYSLIBS") or "")).split(),
                  "home": sys.base_prefix, "exe": os.path.realpath(sys.executable)}))
"""


@dataclass
class Kit:
    """What an interpreter brings for those who embed it; paths as its processes see them."""

    interpreter: interpreters.Interpreter
    shared: str         # libpython3.X.so.1.0, or None
    static: str         # libpython3.X.a, or None
    libs: list          # what the static one needs
    home: str
    exe: str            # the interpreter's own file

    @property
    def in_root(self):
        return self.interpreter.prefix[0] == "unshare"

    def outside(self, path):
        """A path of the interpreter's, as we see it."""
        return Path(self.interpreter.root + path)

    @property
    def libc(self):
        """What a program that is to run there is linked to: its libc may be older than ours."""
        if not self.in_root:
            return ["-ldl"]
        where = self.outside(f"/lib/{os.uname().machine}-linux-gnu")
        return ["-nodefaultlibs", *(where / name for name in ("libc.so.6", "libpthread.so.0",
                                                             "libdl.so.2")), "-lgcc"]

    def command(self, *argv):
        """Argv that starts a program where the interpreter lives."""
        return [*self.interpreter.prefix[:-1], *map(str, argv)]

    @property
    def env(self):
        return dict(os.environ, PYTHONHOME=self.home, PYTHONDONTWRITEBYTECODE="1")


def kit(interpreter):
    """The Kit of an interpreter."""
    done = subprocess.run(interpreter.command("-S", "-c", ASK), capture_output=True, text=True,
                          timeout=TIMEOUT, check=True)
    said = json.loads(done.stdout)
    return Kit(interpreter, (said["shared"] or [None])[0], (said["static"] or [None])[0],
               said["libs"], said["home"], said["exe"])


def cc(out, *flags, libc=("-ldl",)):
    """Compile embed.c; the compiler's words when it cannot."""
    done = subprocess.run(["gcc", "-O1", "-w", "-D_GNU_SOURCE", "-pthread", "-o", str(out),
                           str(SOURCE), *map(str, flags), *map(str, libc)],
                          capture_output=True, text=True, timeout=TIMEOUT)
    return None if done.returncode == 0 else done.stderr


def link_shared(kit, out, *flags):
    """Linked to libpython."""
    if not kit.shared:
        return NO_LIBRARY
    lib = kit.outside(kit.shared)
    return cc(out, "-DLINKED", *flags, lib, f"-Wl,-rpath,{os.path.dirname(kit.shared)}",
              "-Wl,--allow-shlib-undefined", libc=kit.libc)


def link_static(kit, out, *flags):
    """With libpython.a in it."""
    if kit.interpreter.libc != "glibc":
        return "its libpython.a is made for another libc"
    return cc(out, "-DLINKED", "-no-pie", *flags, kit.outside(kit.static), *kit.libs, "-lm", "-lutil",
              "-lz", "-lexpat")


def strip(path):
    subprocess.run(["strip", "--strip-all", path], check=True, timeout=TIMEOUT)


def strip_sections(path):
    """What sstrip does: no section headers, nothing behind the last segment."""
    import struct
    data = bytearray(Path(path).read_bytes())
    phoff, = struct.unpack_from("<Q", data, 32)
    phentsize, phnum = struct.unpack_from("<HH", data, 54)
    end = 0
    for i in range(phnum):
        off, = struct.unpack_from("<Q", data, phoff + i * phentsize + 8)
        filesz, = struct.unpack_from("<Q", data, phoff + i * phentsize + 32)
        end = max(end, off + filesz)
    struct.pack_into("<Q", data, 40, 0)             # e_shoff
    struct.pack_into("<HHH", data, 58, 0, 0, 0)     # e_shentsize, e_shnum, e_shstrndx
    Path(path).write_bytes(data[:end])


class Ran:
    """One run of Python in an embedder: which, and its CPU and wall clocks in ns."""

    def __init__(self, words):
        self.python, *clocks = map(int, words)
        self.cpu_start, self.cpu_end, self.wall_start, self.wall_end = clocks

    @property
    def cpu_s(self):
        return (self.cpu_end - self.cpu_start) / 1e9


class Swapped(Ran):
    """What one thread of the step "swap" did: how it got its state, its tid, its own clocks."""

    MAIN, NEW_INTERPRETER, OF_NEW_INTERPRETER, LENT, NATIVE = range(5)

    def __init__(self, words):
        self.how, self.tid = map(int, words[:2])
        super().__init__(words[1:])


class Embedder:
    """A program of ours at its steps; use as a context manager. It begins with "wait"."""

    def __init__(self, kit, exe, *steps, env=None, prefix=None, argv0=None):
        argv = kit.command(exe, *steps) if prefix is None else [*prefix, str(exe), *steps]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, start_new_session=True,
                                        env=dict(kit.env, **(env or {})))
        self.said = []

    def __enter__(self):
        try:
            self.until("ready")
        except BaseException:
            kill(self.process)
            raise
        return self

    def __exit__(self, *_):
        kill(self.process)

    @property
    def pid(self):
        return self.process.pid

    def until(self, word):
        for line in self.process.stdout:
            if line.strip() == word:
                return
            self.said.append(line.split())
        raise AssertionError(f"it ended before {word!r}: {self.said}")

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def wait_done(self):
        """Until it says "done". Its runs."""
        self.until("done")
        return self.runs()

    def runs(self):
        return [Ran(words[1:]) for words in self.said if words[0] == "ran"]

    def swapped(self):
        """How -> Swapped."""
        return {s.how: s for s in (Swapped(w[1:]) for w in self.said if w[0] == "swapped")}

    def starved(self):
        """Tid -> seconds for which by_hand.py's sleeps were too short: until a thread is asleep, it may
        have to wait for a CPU, and the end of a sleep is a point in time."""
        return {int(w[1]): int(w[2]) / 1e9 for w in self.said if w[0] == "starved"}

    def leave(self):
        self.process.stdin.close()
        assert self.process.wait(TIMEOUT) == 0


def burn_in(scratch, script=BURN):
    """A script where every root sees it."""
    path = Path(scratch) / script.name
    if not path.exists():
        shutil.copy(script, path)
    return path
