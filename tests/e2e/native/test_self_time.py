# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Time in C functions of a stripped Python against the same Python with its symbols.

With symbols each sample says which function ran. Its entry point is the innermost one that CPython's
tables or the library's exports name: that is what the recording of the stripped one has to show.
"""
import collections
import math
import os
import shutil
import subprocess
import time

import pytest

import native_frames
from debian_debug import debug_directory, debug_files, images
from method_lists import MethodLists
from present import absent, need
from processes import TIMEOUT, kill
from recording import Recording, succeeded
from summary import files

pytestmark = pytest.mark.truth

RATE, SECONDS = 1999, 20
AGREE = 0.9
PYTHON = "(Python)"
INTERPRETERS = ("system-3.11", "pyenv-3.13.0", "sid-3.13", "sid-3.15")
MOUNT = 'mount --bind "$0" /usr/lib/debug && exec "$@"'


def stripped(interpreter, where):
    """Copies of these without symbols; the environment that prefers them."""
    (where / "lib-dynload").mkdir(parents=True)
    for path in images(interpreter):
        copy = shutil.copy(path, where / "lib-dynload" if "lib-dynload" in path else where)
        subprocess.run(["strip", "-s", copy], check=True)
    return {"LD_LIBRARY_PATH": str(where), "PYTHONPATH": str(where / "lib-dynload")}


class Symbols:
    """How one recording gets symbols, and the other none."""

    def __init__(self, interpreter, out):
        self.files = {path: path for path in images(interpreter)}
        if interpreter.name.startswith("pyenv"):
            self.prefixes, self.environments = ((), ()), ({}, stripped(interpreter, out / "copy"))
            return
        debug = debug_directory(interpreter)
        self.prefixes, self.environments = (("unshare", "--mount", "sh", "-c", MOUNT, debug), ()), ({}, {})
        # What has none is without symbols in either recording.
        self.files = debug_files(debug, images(interpreter))


def record(command, scratch, out, prefix, env):
    """The summary of a while, and the process."""
    process = subprocess.Popen([*command, scratch / "targets" / "c_functions.py", "0"], stdout=subprocess.PIPE,
                               text=True, start_new_session=True, env=dict(os.environ, **env))
    try:
        assert process.stdout.readline() == "ready\n"
        with Recording(["-p", process.pid, "--native", "-r", RATE, "-o", out, "--json"],
                       prefix) as recording:
            recording.wait_recording()
            time.sleep(SECONDS)         # how much is recorded; nothing is awaited
            return succeeded(recording.stop()).summary, process.pid
    finally:
        kill(process)


def inner(sample):
    """What ran inside the innermost Python function."""
    found = []
    for frame in sample.frames:
        if native_frames.kind(frame) == native_frames.PYTHON:
            break
        if native_frames.kind(frame) == native_frames.NATIVE:
            found.append((native_frames.library(frame), frame.func))
    return found


def stacks(oracle, summary, pid):
    profile, = oracle.load(*(f["path"] for f in files(summary) if f["pid"] == pid))
    return [inner(s) for s in profile.samples
            if not set(native_frames.causes(s)) & set(native_frames.NOT_YET)]


def functions(path, *options):
    """[(address, name)] by nm."""
    lines = subprocess.run(["nm", "--defined-only", *options, path], capture_output=True, text=True, timeout=TIMEOUT,
                           check=True).stdout.splitlines()
    return [(int(words[0], 16), words[2].partition("@")[0]) for words in map(str.split, lines) if words[1] in "TtWwi"]


def entry_names(path, symbols_of, lists):
    """Symbol -> the names that its function has without symbols; none: it has no name."""
    named = {address: {name} for address, name in lists.of(path).items()}
    exported = collections.defaultdict(set)
    for address, name in functions(path, "-D"):
        exported[address].add(name)
    named.update(exported)
    known = {}
    for address, symbol in functions(symbols_of):
        known.setdefault(symbol, []).append(named.get(address, set()))
    # Of several functions with this symbol nobody knows which one ran: one without a name counts.
    return {symbol: set().union(*found) if all(found) else set() for symbol, found in known.items()}


def entry_point(stack, known):
    """The names of a stack's entry point. Part of a function is called foo.cold or foo.part.0."""
    for library, function in stack:
        if library not in known:
            return {function}
        names = known[library].get(function) or known[library].get(function.partition(".")[0])
        if names:
            return names
    return {PYTHON}


def compare(with_symbols, without, known):
    """(share of machine code's time that has its entry point's name, what chance takes from it, the largest
    differences)"""
    shown = collections.Counter(stack[0][1] if stack else PYTHON for stack in without)
    wanted = collections.Counter()
    for stack in with_symbols:
        names = entry_point(stack, known)
        wanted[max(names, key=lambda n: (shown[n], n))] += 1
    total = [wanted.total(), shown.total()]
    share = {n: (wanted[n] / total[0], shown[n] / total[1]) for n in wanted | shown if n != PYTHON}
    machine = sum(a for a, _ in share.values())
    agree = sum(min(a, b) for a, b in share.values()) / machine
    # Half of the mean absolute difference of two samples of each share
    chance = sum(math.sqrt((a + b) / 2 / math.pi * (1 / total[0] + 1 / total[1]) / 2) for a, b in share.values())
    worst = sorted(share.items(), key=lambda item: -abs(item[1][0] - item[1][1]))[:12]
    return agree, chance / machine, worst


@pytest.mark.parametrize("name", INTERPRETERS)
def test_time_has_the_name_of_the_entry_point(name, scratch, out, oracle, capsys):
    interpreter = need(name)
    if not shutil.which("strip"):
        absent("binutils are not installed")
    symbols, lists = Symbols(interpreter, out), MethodLists(out)
    known = {os.path.basename(path): entry_names(path, symbols.files[path], lists) for path in symbols.files}
    found = [stacks(oracle, *record(interpreter.command(), scratch, out / f"rec-{i}", symbols.prefixes[i],
                                    symbols.environments[i])) for i in range(2)]
    agree, chance, worst = compare(*found, known)
    with capsys.disabled():
        print(f"\n{name}: {len(found[0])} and {len(found[1])} samples; {100 * agree:.1f} % of machine code's time has "
              f"its entry point's name; chance takes {100 * chance:.1f} %")
        for function, (a, b) in worst:
            print(f"  {100 * a:5.1f} % {100 * b:5.1f} %  {function}")
    assert agree + chance >= AGREE, worst
