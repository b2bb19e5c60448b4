# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""gdb's view of a process' stacks, and whether a sample of the same moment has the same functions.

The names of a function at one address are many (aliases), and each of the two chooses; so names are
the same if the library's symbol table has them at the same address. A function without a name is the
same as any in its library.
"""
import collections
import functools
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import native_frames
from paths import LIB
from processes import TIMEOUT

PATIENCE = 180          # s, of a gdb that reads symbols first
EVAL = "_PyEval_EvalFrameDefault"


@dataclass(frozen=True)
class Stop:
    start_us: int
    end_us: int
    frames: list            # [name or None, path of the library or "", address]


def run(pid, out, number):
    argv = ["gdb", "-q", "-batch", "-nx", "-p", str(pid), "-ex", f"set $stops = {number}", "-ex",
            f'set $out = "{out}"', "-x", str(LIB / "gdb_stops.py")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE)
    assert Path(out).exists(), done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(Path(out).read_text())


def stops(pid, out, number):
    """So many of a running process, which goes on afterwards."""
    return [Stop(-(-s["start_ns"] // 1000), s["end_ns"] // 1000, s["frames"])
            for s in run(pid, out, number)]


def threads(pid, out):
    """{tid: its stack now} of a process, as stops."""
    return {t["tid"]: Stop(0, 0, t["frames"]) for t in run(pid, out, 0)}


def debug_file(path):
    """The separate one that gdb reads, too, by build id; None."""
    said = subprocess.run(["readelf", "-n", path], capture_output=True, text=True,
                          timeout=TIMEOUT).stdout
    found = re.search(r"Build ID: ([0-9a-f]{2})([0-9a-f]+)", said)
    debug = Path(f"/usr/lib/debug/.build-id/{found[1]}/{found[2]}.debug") if found else None
    return debug if debug and debug.exists() else None


@functools.lru_cache()
def names_at(path):
    """Address -> the names there, and name -> addresses, of a file's symbol tables."""
    at, of = collections.defaultdict(set), collections.defaultdict(set)
    debug = debug_file(path)
    for table in ([path], ["--dynamic", path], *([[debug]] if debug else [])):
        said = subprocess.run(["nm", "--defined-only", *table], capture_output=True, text=True,
                              timeout=TIMEOUT).stdout
        for address, _, name in (line.split(" ", 2) for line in said.splitlines()):
            at[address].add(plain(name))
            of[plain(name)].add(address)
    return at, of


# What compilers append to the names of functions that they have copied or divided; debug
# information, which gdb prefers, has them without.
COPIES = re.compile(r"\.(constprop|part|isra|cold|lto_priv|llvm)\b.*")


def plain(name):
    return COPIES.sub("", name.partition("@")[0])


@functools.lru_cache(None)
def shown(name):
    """As a reader wants it: without what C++'s and Rust's compilers made of it, and arguments."""
    if not name.startswith("_Z") and not name.startswith("_R"):
        return name
    return subprocess.run(["c++filt", "--no-params", name], capture_output=True, text=True,
                          timeout=TIMEOUT).stdout.strip()


def aliases(name, path):
    at, of = names_at(path)
    return {shown(other) for address in of[plain(name)] for other in at[address]} | {shown(plain(name))}


def same_function(theirs, ours):
    """Of gdb's frame and one of a profile: a difference in words, or None."""
    name, path, _ = theirs
    library = path.rpartition("/")[2]
    if library and native_frames.library(ours) != library and \
            native_frames.library(ours) != Path(path).resolve().name:
        return f"{library} is {native_frames.library(ours)}"
    if not name or nameless(ours) or not path:
        return None
    found = aliases(name, path)
    cut = ours.func[:-3] if ours.func.endswith("...") else None     # longer than a name may be
    if plain(ours.func) in found or cut and any(other.startswith(cut) for other in found):
        return None
    return f"{name} is {ours.func}"


def nameless(frame):
    return bool(re.fullmatch(r".*\+0x[0-9a-f]+", frame.func))


def difference(stop, sample):
    """Why a sample's machine code is not that of the stop; None: it is. CUT: as far as it goes."""
    ours = [f for f in sample.frames if native_frames.kind(f) == native_frames.NATIVE
            and not f.func.startswith(EVAL)]
    theirs = [f for f in stop.frames if not (f[0] or "").startswith(EVAL)]
    if native_frames.causes(sample):
        inside = next(i for i, f in enumerate(sample.frames) if native_frames.cause(f))
        ours = [f for f in sample.frames[:inside] if f in ours]
        theirs = theirs[:len(ours)]
    for number, (a, b) in enumerate(zip(theirs, ours)):
        why = same_function(a, b)
        if why:
            return f"frame {number}: {why}"
    if len(theirs) != len(ours):
        return f"gdb has {len(theirs)} frames, the sample {len(ours)}"
    return None


def side_by_side(stop, sample):
    """For who looks at a difference."""
    lines = ["gdb:"] + [f"    {name} {path}" for name, path, _ in stop.frames]
    return "\n".join(lines + ["profile:"] + [f"    {f.func} {f.file}" for f in sample.frames])
