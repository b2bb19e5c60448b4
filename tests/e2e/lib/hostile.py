# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs that pass for CPython and whose memory is a trap (targets/hostile), compiled and run."""
import contextlib
import os
import re
import select
import struct
import subprocess

from paths import REPO, TARGETS
from processes import TIMEOUT, kill

SOURCES = sorted((TARGETS / "hostile").glob("*.c"))
CPYTHON = [REPO / "user" / "cpython" / name for name in ("layout.c", "debug_offsets.c")]
# name -> minor version, further flags; "3.15-list" hides where its thread state is
DISGUISES = {
    "3.11": (11, ()), "3.12": (12, ()), "3.13": (13, ()), "3.14": (14, ()), "3.15": (15, ()),
    "3.15-list": (15, ("-DNO_TLS_GETTER",)),
}


def build(directory, disguise, *more):
    """more: further flags, such as -DSILENT_RUNTIME: nobody can read its runtime."""
    minor, flags = DISGUISES[disguise]
    flags = (*flags, *more)
    out = directory / "".join([f"hostile-{disguise}", *more])
    offsets = REPO / "tests" / "golden" / f"debug_offsets_3.{minor}.bin"
    if offsets.exists():
        flags = (*flags, f'-DOFFSETS="{offsets}"')
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-std=gnu11", "-D_GNU_SOURCE",
                    "-no-pie", "-fno-pie", "-rdynamic", f"-DMINOR={minor}", *flags, f"-I{REPO}",
                    f"-I{REPO / 'user'}", "-o", str(out), *map(str, SOURCES + CPYTHON),
                    "-lpthread"], check=True, timeout=TIMEOUT)
    return out


def scenarios():
    """The names, from the source: known before anything is compiled."""
    text = (TARGETS / "hostile" / "scenarios.c").read_text()
    table = text[text.index("const struct scenario scenarios[]"):]
    return re.findall(r'^\t\{ "([a-z0-9-]+)",', table, re.M)


class Hostile:
    """One trap, burning; use as a context manager."""

    def __init__(self, program, scenario, seconds=TIMEOUT, cpu=None):
        argv = [str(program), scenario, str(seconds)]
        if cpu is not None:
            argv = ["taskset", "-c", str(cpu), *argv]
        self.scenario = scenario
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, start_new_session=True)

    def __enter__(self):
        ready, _, _ = select.select([self.process.stdout], [], [], TIMEOUT)
        if not ready or self.process.stdout.readline() != "ready\n":
            kill(self.process)
            raise AssertionError(f"{self.scenario} did not start")
        return self

    def __exit__(self, *_):
        # one that waits for a page from itself dies of SIGKILL all the same
        kill(self.process)

    @property
    def pid(self):
        return self.process.pid


@contextlib.contextmanager
def all_of(program):
    with contextlib.ExitStack() as stack:
        yield {name: stack.enter_context(Hostile(program, name)) for name in scenarios()}


def runtime_offset(program):
    """Where in the file its _PyRuntime is: the one of two copies that begins a page."""
    data = program.read_bytes()
    found = [m.start() for m in re.finditer(b"xdebugpy", data) if m.start() % 4096 == 0]
    assert len(found) == 1
    return found[0]


def corrupt(program, out, word, value):
    """A copy whose debug offsets have this value in one 8-byte word."""
    data = bytearray(program.read_bytes())
    struct.pack_into("<Q", data, runtime_offset(program) + 8 * word, value)
    out.write_bytes(data)
    os.chmod(out, 0o755)
