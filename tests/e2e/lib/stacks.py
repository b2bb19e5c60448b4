# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Is this stack one that the process can have had?

Judges samples by what targets/rehearse.py noted. Right is: each frame is called from where
the rehearsal saw that call, and the innermost one is at a place of its function. Nothing
else is known here, neither the profiler nor CPython's versions.
"""
import collections

from profiles import GC, MAX_FRAMES, SYNTHETIC, TRUNCATED, inside_python

RIGHT, WRONG, CUT, UNREADABLE = "right", "wrong", "cut", "unreadable"
STRING_MAX = 4096       # bytes of a name that a profile holds


def stored(name):
    """A name as a profile can hold it: UTF-8, not too long."""
    text = "".join("\ufffd" if 0xd800 <= ord(c) <= 0xdfff else c for c in name)
    return text.encode()[:STRING_MAX].decode(errors="ignore")


class Known:
    """The stacks of one behaviour, from the root: what can stand on what."""

    def __init__(self, known, columns):
        self.columns = columns
        self.codes = [(stored(file), stored(func)) for file, func, *_ in known["codes"]]
        self.places = collections.defaultdict(set)      # (file, func) -> places
        self.creates = collections.defaultdict(set)     # (file, func) -> generators' (file, func)
        for name, (_, _, first, places, created) in zip(self.codes, known["codes"]):
            self.places[name] |= {self.place(p) for p in places}
            self.places[name].add(self.place((first, first, -1, -1)))
            self.creates[name] |= {self.codes[n] for n in created}
        self.under = {}         # (node, place in it, (file, func)) -> node
        self.guests = {}        # (file, func) -> node
        self.roots = {}
        self.nodes = collections.defaultdict(set)       # (file, func) -> nodes
        merged = {}
        for number, parent, at, code in sorted(known["nodes"]):
            merged[number] = self.add(merged.get(parent, parent), at, self.codes[code], number)

    def add(self, parent, at, name, number):
        if parent < 0:
            table, key = (self.roots if parent == -1 else self.guests), name
        else:
            table, key = self.under, (parent, self.place(at), name)
        node = table.setdefault(key, number)
        self.nodes[name].add(node)
        return node

    def place(self, position):
        return tuple(position) if self.columns else position[0]

    def place_of(self, frame):
        return self.place((frame.line, frame.end_line, frame.col, frame.end_col))

    def step(self, node, frame, callee):
        """The node that callee is when frame, at node, called it."""
        name = (callee.file, callee.func)
        place = self.place_of(frame)
        found = self.under.get((node, place, name))
        if found is None and name in self.guests and place in self.places[frame.file, frame.func]:
            return self.guests[name]
        return found

    def is_created(self, frame, callee):
        """callee is a generator function's frame before it starts: it makes the generator."""
        return ((callee.file, callee.func) in self.creates[frame.file, frame.func] and
                self.place_of(frame) in self.places[frame.file, frame.func])

    def walk(self, frames, nodes):
        """From the outermost frame on. Why the stack is wrong, or None."""
        if not nodes:
            return f"{frames[0].func} is unknown"
        for depth, (frame, callee) in enumerate(zip(frames, frames[1:])):
            after = {self.step(node, frame, callee) for node in nodes} - {None}
            if not after and depth == len(frames) - 2 and self.is_created(frame, callee):
                return None
            if not after:
                return f"{callee.func} is not called by {frame.func} at {self.place_of(frame)}"
            nodes = after
        top = frames[-1]
        if self.place_of(top) not in self.places[top.file, top.func]:
            return f"{top.func} has no place {self.place_of(top)}"
        return None

    def judge(self, stack):
        """(verdict, why) of a stack, innermost frame first.

        RIGHT, too: a stack that is as deep as one can be and says that there is more. CUT:
        one that is not, and right as far as it goes. UNREADABLE: it says so.
        """
        frames = [f for f in reversed(stack) if (f.file, f.func) != GC]
        if any(f.file == SYNTHETIC for f in frames[1:]):
            return UNREADABLE, "frames without names"
        if not frames:
            return WRONG, "no frames"
        if frames[0].file == SYNTHETIC:
            return self.judge_rest(frames[0].func, frames[1:])
        name = (frames[0].file, frames[0].func)
        root = self.roots.get(name, self.guests.get(name))
        if root is None:
            return WRONG, f"{name} is not a root"
        why = self.walk(frames, {root})
        return (WRONG, why) if why else (RIGHT, None)

    def judge_rest(self, marker, frames):
        """What there is without the root must be right, too."""
        if not frames:
            return UNREADABLE, marker
        why = self.walk(frames, self.nodes[frames[0].file, frames[0].func])
        if why:
            return WRONG, why
        if marker != TRUNCATED:
            return UNREADABLE, marker
        return (RIGHT, None) if len(frames) == MAX_FRAMES - 1 else (CUT, marker)


class Verdict:
    """Of one behaviour: how many points, how many of them wrong, and why. CPU time outside Python
    has no stack to be judged."""

    def __init__(self, samples, known):
        samples = inside_python(samples)
        self.points, self.verdicts = len(samples), collections.Counter()
        self.examples, self.leaves = collections.Counter(), collections.Counter()
        cache = {}
        for sample in samples:
            if id(sample.frames) not in cache:      # a stack is one object in a Profile
                cache[id(sample.frames)] = known.judge(sample.frames)
            verdict, why = cache[id(sample.frames)]
            self.verdicts[verdict] += 1
            if why:
                self.examples[verdict != WRONG, why, sample.frames] += 1
            self.leaves.update(f.func for f in sample.frames[:1])
        self.wrong, self.cut = self.verdicts[WRONG], self.verdicts[CUT]
        self.unreadable = self.verdicts[UNREADABLE]

    def report(self, count=5):
        """The wrong ones first, then what is most common."""
        lines = []
        ordered = sorted(self.examples.items(), key=lambda item: (item[0][0], -item[1]))
        for (_, why, stack), n in ordered[:count]:
            lines.append(f"{n} x {why}")
            lines += [f"    {f.file}:{f.line}:{f.col}-{f.end_line}:{f.end_col} {f.func}"
                      for f in stack[:12]]
        return "\n".join(lines)
