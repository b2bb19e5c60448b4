# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes TACH files (docs/tach.md) that no recording would give us: any names, any number of stacks.

A frame is (file, function, line, end line, column, end column, opcode) or shorter;
a stack has the innermost first. Nothing is compressed, every record is whole.
"""
import random
import struct

MAGIC = 0x54414348
# Statuses: has the GIL and a CPU; wants the GIL; neither.
HOLDS, WAITS, ASLEEP = 3, 8, 0
MODES = {"wall": 0, "cpu": 1, "gil": 2, "all": 3, "exception": 4}


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def svarint(n):
    return varint(n << 1 if n >= 0 else (-n << 1) - 1)


class Writer:
    def __init__(self):
        self.strings, self.frames, self.last = {}, {}, {}
        self.samples, self.cnt, self.threads = bytearray(), 0, set()

    def string(self, text):
        data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
        return self.strings.setdefault(data, len(self.strings))

    def frame(self, frame):
        file, func, line, end, column, end_column = (*frame, -1, -1, -1, -1)[:6]
        opcode = frame[6] if len(frame) > 6 else 255
        if line != -1 and end == -1:
            end = line
        key = (self.string(file), self.string(func), line, end, column, end_column, opcode)
        return self.frames.setdefault(key, len(self.frames))

    def stack(self, frames):
        """What add() takes: made once, used often."""
        ids = [varint(self.frame(f)) for f in frames]
        return varint(len(ids)) + b"".join(ids)

    def add(self, stack, tid=1, status=3, time_us=None, interp=0):
        last = self.last.get((tid, interp), 0)
        time_us = last + 1000 if time_us is None else time_us
        self.last[tid, interp] = time_us
        self.samples += struct.pack("=QIB", tid, interp, 1)
        self.samples += varint(time_us - last) + bytes([status]) + stack
        self.cnt += 1

    def write(self, path, mode="cpu", interval_us=1000, version=(3, 15, 2), start_us=0):
        """start_us: 0 is that of a file without times."""
        strings = b"".join(varint(len(s)) + s for s in self.strings)
        frames = b"".join(
            varint(file) + varint(func) + svarint(line) + svarint(end - line) + svarint(column) +
            svarint(end_column - column) + bytes([opcode])
            for file, func, line, end, column, end_column, opcode in self.frames)
        at = 64 + len(self.samples)
        size = at + len(strings) + len(frames) + 32
        with open(path, "wb") as f:
            f.write(struct.pack("=II4BQQQIQQII", MAGIC, 1, *version, 0, start_us, interval_us, self.cnt,
                                len(self.last), at, at + len(strings), 0, MODES[mode] + 1))
            f.write(self.samples + strings + frames)
            f.write(struct.pack("=IIQ16x", len(self.strings), len(self.frames), size))


def repeats(path, count):
    """A small file of so many samples that look the same: 3 us and status 3 are one byte each, and
    zstd has a block for equal bytes."""
    block_max = 128 << 10
    strings, frames = (b"app.py", b"work"), [(0, 1)]
    head = (struct.pack("=QIB", 7, 0, 1) + varint(3) + b"\3" + varint(1) + varint(0) +
            struct.pack("=QIB", 7, 0, 0) + varint(count - 1))

    def block(size, kind, data, last=False):
        return struct.pack("<I", size << 3 | kind << 1 | last)[:3] + data

    samples = b"\x28\xb5\x2f\xfd" + b"\x00\x50" + block(len(head), 0, head)
    left = 2 * (count - 1)
    while left:
        size = min(left, block_max)
        left -= size
        samples += block(size, 1, b"\3", not left)
    strings = b"".join(varint(len(s)) + s for s in strings)
    frames = b"".join(varint(file) + varint(func) + svarint(1) + svarint(0) + svarint(-1) + svarint(0) +
                      b"\xff" for file, func in frames)
    at = 64 + len(samples)
    with open(path, "wb") as f:
        f.write(struct.pack("=II4BQQQIQQII", MAGIC, 1, 3, 15, 2, 0, 0, 1000, count, 1, at,
                            at + len(strings), 1, MODES["cpu"] + 1))
        f.write(samples + strings + frames)
        f.write(struct.pack("=IIQ16x", 2, 1, at + len(strings) + len(frames) + 32))


def synthetic(path, stacks, samples, depth, seed=1, threads=8, jobs=False, start_us=0):
    """A file of about so many distinct stacks, as a large application's look. Without jobs, each
    sample is at a stack of its own choice; with them, threads stay for a while. start_us: of a file with times."""
    rnd = random.Random(seed)
    writer = Writer()
    files = [f"/srv/app/{'pkg%d' % (i // 12)}/module_{i}.py" for i in range(200)]
    files += [f"/usr/lib/python3.15/lib_{i}.py" for i in range(60)]
    functions = [(rnd.choice(files), f"Class{i % 97}.method_{i}", 10 + i % 900)
                 for i in range(6000)]
    made = []

    def grow(prefix, left):
        """Stacks of a subtree: most branch late, as real ones do."""
        if left <= 1 or len(prefix) >= depth:
            made.append(prefix)
            return
        parts = min(left, rnd.choice((1, 1, 1, 2, 2, 3, 4)))
        rest = left
        for i in range(parts):
            share = rest if i == parts - 1 else max(1, int(rest * rnd.random()))
            file, func, line = rnd.choice(functions)
            grow(prefix + [(file, func, line + rnd.randrange(30))], share)
            rest -= share
            if rest <= 0:
                break

    root = [("/srv/app/main.py", "<module>", 3), ("/srv/app/main.py", "main", 40)]
    while len(made) < stacks:
        # what comes out at the depth limit is not told apart any further
        grow(root + [("/srv/app/main.py", f"handler_{len(made) % 50}", 50 + len(made) % 50)],
             min(stacks - len(made), 2000))
    made = [s + [(*rnd.choice(functions)[:2], i % 5000)] * (len(s) < depth)
            for i, s in enumerate(made[:stacks])]
    packed = [writer.stack(s[::-1]) for s in made]
    if jobs:
        add_jobs(writer, packed, samples, threads, rnd)
        writer.write(path, mode="wall", start_us=start_us)
        return len(packed)
    rnd.shuffle(packed)
    for i in range(samples):
        which = packed[i] if i < len(packed) else packed[int(len(packed) * rnd.random() ** 3)]
        writer.add(which, tid=100 + i % threads, status=rnd.choice((3, 3, 3, 2, 0, 8)))
    writer.write(path, start_us=start_us)
    return len(packed)


def add_jobs(writer, packed, samples, threads, rnd):
    """Each thread works at stacks that are near each other, for some 200 samples, then at others. What
    a stack does (run, wait) is its own; now and then a thread that runs wants the GIL or has lost it."""
    usual = [rnd.choice((HOLDS, HOLDS, 2, ASLEEP)) for _ in packed]
    at, left = [0] * threads, [0] * threads
    for i in range(samples):
        t = i % threads
        if not left[t]:
            at[t], left[t] = int(len(packed) * rnd.random() ** 2), rnd.randrange(1, 400)
        left[t] -= 1
        if rnd.random() < 0.3:
            at[t] = min(len(packed) - 1, max(0, at[t] + rnd.randrange(-3, 4)))
        status = usual[at[t]]
        if status == HOLDS and rnd.random() < 0.05:
            status = WAITS
        writer.add(packed[at[t]], tid=100 + t, status=status)
