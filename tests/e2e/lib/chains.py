# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Chains of targets/chains: which are played, and whether a stack is that of its chain.

A chain's functions are known one by one, C's and Python's in one row. Between two of them nothing
may stand but what belongs there: libc between qsort's caller and its callback, the interpreter
between C and Python, nothing between two functions of chains.c that call each other.
"""
import collections
import random
import subprocess
from dataclasses import dataclass

import native_frames
from native_frames import MADE_UP, NATIVE, PYTHON
from paths import TARGETS

SOURCE = TARGETS / "chains" / "chains.c"
C, PY = "C", "Python"
NOTHING, LIBC, INTERPRETER = "nothing", "libc", "interpreter"      # between two functions
FLAGS = ("-O2", "-w", "-shared", "-fPIC", "-nostdlib", "-fno-stack-protector",
         "-fasynchronous-unwind-tables")
# Links that a chain ends with.
BURN, BURN_WITHOUT_GIL, BURN_PYTHON, SLEEP, LOCK = ".,;_l"


def through(link, *functions):
    """A link that calls Python functions, the last of which goes on."""
    return [(C, link, NOTHING), *((PY, name, INTERPRETER) for name in functions),
            (C, "ch_step", INTERPRETER)]


# letter -> (kind, name, what may stand before it) from the outermost on
LINKS = {
    "r": [(C, "ch_plain", NOTHING)],
    "0": [(C, "ch_unoptimized", NOTHING)],
    "f": [(C, "ch_framed", NOTHING)],
    "v": [(C, "ch_saving", NOTHING)],
    "a": [(C, "ch_alloca", NOTHING)],
    "A": [(C, "ch_aligned", NOTHING)],
    "b": [(C, "ch_large", NOTHING)],
    "j": [(C, "ch_setjmp", NOTHING)],
    "q": [(C, "ch_qsort", NOTHING), (C, "ch_compare", LIBC)],
    "s": [(C, "ch_signal", NOTHING), (C, "ch_handler", LIBC)],
    "k": [(C, "ch_other_stack", NOTHING), (C, "ch_handler", LIBC)],
    "x": [(C, "ch_fault", NOTHING), (C, "ch_fault_handler", LIBC)],
    "p": through("ch_python", "callback"),
    "m": through("ch_method", "Method.method"),
    "n": through("ch_nested", "outer", "middle", "innermost"),
    "S": through("ch_sorted", "sorting", "key"),
    "M": through("ch_mapped", "mapping", "callback"),
    "i": through("ch_init", "making", "Made.__init__"),
    "P": through("ch_property", "reading", "Read.value"),
    "I": through("ch_item", "subscribing", "Item.__getitem__"),
    "o": through("ch_loop", "looping", "generator"),
    "g": through("ch_generator", "generator"),
    "w": through("ch_coroutine", "coroutine", "awaited"),
    "d": through("ch_drop", "Dropped.__del__"),
    "Q": [(C, "ch_qsort_python", NOTHING), (C, "ch_compare_python", LIBC),
          (PY, "callback", INTERPRETER), (C, "ch_step", INTERPRETER)],
    "c": through("ch_pointer", "ctypes_callback"),
    "C": [(C, "ch_through", NOTHING), (PY, "through", INTERPRETER),
          (C, "ch_exported", INTERPRETER)],
    "t": [(C, "ch_thread", NOTHING), (C, "ch_started", LIBC)],
    "z": [(C, "ch_assembly", NOTHING), (C, "ch_untold", NOTHING)],
    ".": [(C, "ch_burn", NOTHING)],
    ",": [(C, "ch_burn_without_gil", NOTHING)],
    ";": [(C, "ch_burn_python", NOTHING), (PY, "burning", INTERPRETER)],
    "_": [(C, "ch_sleep", NOTHING)],
    "l": [(C, "ch_lock", NOTHING)],
}
BASE = [(PY, "<module>", INTERPRETER), (PY, "main", INTERPRETER), (PY, "play", INTERPRETER),
        (C, "ch_step", INTERPRETER)]

C_LINKS, SIGNALS = "r0fvaAbjq", "sx"
PYTHON_LINKS = "pmnSMiPIogwdQcC"
# Frames that a link has at most, with the interpreter's between its own (3.6, unoptimized): a
# chain has no more of them than a sample can.
FRAMES, MOST_FRAMES, BASE_FRAMES = collections.defaultdict(lambda: 2), 105, 36
FRAMES.update({"p": 9, "m": 10, "n": 20, "S": 18, "M": 18, "i": 18, "P": 18, "I": 18, "o": 18,
               "g": 9, "w": 18, "d": 12, "Q": 12, "c": 20, "C": 16, ";": 16, "q": 6, "s": 6,
               "x": 4, "k": 6, "t": 4})


def frames(chain):
    return BASE_FRAMES + sum(FRAMES[link] for link in chain)


def one_chain(choose):
    links, chain = C_LINKS + SIGNALS + 2 * PYTHON_LINKS, ""
    for _ in range(choose.randint(1, 12)):
        link = choose.choice(links)
        if frames(chain + link) > MOST_FRAMES:
            break
        chain += link
    if choose.random() < 0.25:
        at = choose.randint(0, len(chain))
        chain = chain[:at] + "t" + chain[at:]
    if choose.random() < 0.15:
        return chain + "k" + BURN       # nothing of Python on that stack
    return chain + choose.choice(BURN + BURN_WITHOUT_GIL + BURN_PYTHON)


def chains(number, seed=19):
    """Each link alone, and others by chance: always the same."""
    choose = random.Random(seed)
    alone = [link + BURN for link in C_LINKS + SIGNALS + PYTHON_LINKS + "tk"]
    return alone + [one_chain(choose) for _ in range(number - len(alone))]


def compile_module(compiler, headers, to, source=SOURCE):
    """compiler: argv; headers: options."""
    subprocess.run([*compiler, *FLAGS, *headers, "-o", to, source], check=True)


def build(interpreter, scratch, source=SOURCE):
    """An extension module of one source for an interpreter: the directory that has it."""
    directory = scratch / f"{source.stem}-{interpreter.name}"
    if not directory.exists():
        directory.mkdir()
        cc = "musl-gcc" if interpreter.libc == "musl" else "gcc"
        headers = [f"-I{i}" for i in dict.fromkeys(interpreter.includes)]
        if interpreter.root:
            headers += ["-idirafter", interpreter.root + "/usr/include"]
        compile_module([cc], headers, directory / f"{source.stem}.so", source)
    return directory


@dataclass(frozen=True)
class Chain:
    """One that was played; times are those in which its leaf worked."""
    chain: str
    tid: int
    start_us: int
    end_us: int

    def of(self, profile):
        """The samples of its leaf at work."""
        return [s for s in profile.between(self.start_us + 1, self.end_us) if s.tid == self.tid]


def played(truth):
    return [Chain(p["chain"], p["tid"], -(-p["start_ns"] // 1000), p["end_ns"] // 1000)
            for p in truth["played"]]


def expected(chain, version, full=True):
    """Its functions from the root on: (C or PY, name, what may stand before it).

    full: all of machine code; else what is outside of a thread's first Python function is not shown.
    """
    row, thread = list(BASE), 0
    for link in chain:
        if link == "t":
            thread = len(row) + 1
        row += LINKS[link]
    row = row[thread:]
    if version < [3, 11]:           # no qualified names
        row = [(kind, name.rpartition(".")[2], before) for kind, name, before in row]
    first = next((i for i, item in enumerate(row) if item[0] == PY), 0)
    return row if full else row[first:]


def is_ours(frame):
    """As a function of a chain: its kind and name; None: it is something between them."""
    kind = native_frames.kind(frame)
    if kind == PYTHON:
        return PY, frame.func
    if kind == NATIVE and frame.func.startswith("ch_"):      # without a name: a stub of the PLT
        return C, frame.func
    return None


def is_unanswered(frame):
    """Code of the chains' module whose name did not come in time: the recorder waits, but not for ever."""
    return native_frames.kind(frame) == NATIVE and frame.func == native_frames.library(frame) == "chains.so"


def may_stand(frame, before):
    """Between two functions of a chain."""
    if before == NOTHING or native_frames.kind(frame) != NATIVE:
        return False
    return before == INTERPRETER or not native_frames.is_interpreter(frame)


RIGHT, WRONG, CUT, UNNAMED = "right", "wrong", "cut", "unnamed"


def judge(stack, row):
    """(verdict, why) of a stack, innermost first. CUT: right as far as the machine code goes.

    UNNAMED: nobody can judge it.
    """
    if any(map(is_unanswered, stack)):
        return UNNAMED, None
    said = [i for i, f in enumerate(stack) if native_frames.cause(f)]
    if said:
        return judge_cut(stack, said[0], row)
    at = 0
    for frame in reversed(stack):
        ours = is_ours(frame)
        if ours and (at == len(row) or ours != row[at][:2]):
            return WRONG, f"{ours} where {row[at:at + 1]} is"
        if ours:
            at += 1
        elif at == len(row):
            continue                        # what a leaf calls: clocks, the kernel
        elif not may_stand(frame, row[at][2]) and not (
                at == 0 and native_frames.kind(frame) == MADE_UP):
            return WRONG, f"{frame.func} before {row[at]}"
    return (RIGHT, None) if at == len(row) else (WRONG, f"{row[at]} is missing")


def judge_cut(stack, mark, row):
    """All of Python is there, in its order; and of C what is inside of the mark."""
    ours = [o for o in map(is_ours, reversed(stack)) if o]
    rest = iter([item[:2] for item in row])
    if not all(o in rest for o in ours):
        return WRONG, "not in a chain's order"
    if [o for o in ours if o[0] == PY] != [i[:2] for i in row if i[0] == PY]:
        return WRONG, "a Python function is missing"
    inside = [o for o in map(is_ours, reversed(stack[:mark])) if o]
    if inside != [i[:2] for i in row][len(row) - len(inside):]:
        return WRONG, "what the mark is below of is not what is innermost"
    return CUT, native_frames.cause(stack[mark])


class Judged:
    """All samples of a profile at leaves' work."""

    def __init__(self, profile, truth, full):
        self.verdicts, self.examples = collections.Counter(), collections.Counter()
        self.cut_by = collections.Counter()
        self.verdict_of = collections.defaultdict(collections.Counter)
        for chain in played(truth):
            row = expected(chain.chain, truth["version"], full)
            for sample in chain.of(profile):
                verdict, why = judge(sample.frames, row)
                self.verdicts[verdict] += 1
                self.verdict_of[chain.chain][verdict] += 1
                if verdict == CUT:
                    self.cut_by[why] += 1
                elif verdict == WRONG:
                    self.examples[chain.chain, why, sample.frames] += 1
        self.points = sum(self.verdicts.values()) - self.verdicts[UNNAMED]
        self.wrong, self.cut = self.verdicts[WRONG], self.verdicts[CUT]
        self.unnamed = self.verdicts[UNNAMED]

    def report(self, number=4):
        lines = [f"{dict(self.verdicts)}, cut by {dict(self.cut_by)}"]
        for (chain, why, stack), n in self.examples.most_common(number):
            lines.append(f"{n} x {chain!r}: {why}")
            lines += [f"    {f.func}  {f.file}" for f in stack]
        return "\n".join(lines)
