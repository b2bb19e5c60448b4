# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Plays a behaviour again and again, and knows every stack that it can have.

The first turns are a rehearsal: under sys.setprofile each stack that occurs is noted,
frame by frame, with the place of every call. The turns after it are for the profiler: a
stack that it sees then must be one of those. What makes code where it is not looked for
(signal handlers, tracers) is named as a guest: it may stand on any known stack.

A behaviour is a module with `run = Play(act, ...).run`. Standard library only, CPython 3.6
and later. tests/e2e/lib/stacks.py judges profiles by what is written here.
"""
import _thread
import dis
import itertools
import os
import sys
import threading
import time

REHEARSALS = 3
CREATED = 0x20 | 0x80 | 0x200       # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR
ROOT, GUEST = -1, -2                # in place of a parent's number

recording = False       # is this turn a rehearsal?


def qualname(code):
    return getattr(code, "co_qualname", code.co_name)


def positions(code):
    """[line, end line, column, end column] of each code unit; without columns up to 3.10.

    An instruction without a location is at the line before, without columns.
    """
    last = code.co_firstlineno
    found = []
    for line, end_line, column, end_column in raw_positions(code):
        if line is None or line < 1:
            found.append((last, last, -1, -1))
            continue
        last = line
        columns = (-1, -1) if column is None or end_column is None else (column, end_column)
        found.append((line, line if end_line is None else end_line) + columns)
    return found


def raw_positions(code):
    if hasattr(code, "co_positions"):
        return list(code.co_positions())
    units = [(code.co_firstlineno,) * 2 + (None, None)] * (len(code.co_code) // 2)
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            units[start // 2:end // 2] = [(line, line, None, None)] * (end // 2 - start // 2)
        return units
    for start, line in dis.findlinestarts(code):
        units[start // 2:] = [(line, line, None, None)] * (len(units) - start // 2)
    return units


def names_in(code):
    return set(code.co_names + code.co_varnames + code.co_freevars + code.co_cellvars)


def can_create(code, created):
    """May a call of the generator function `created` stand in code?

    Its frame is there, not yet traceable, while the generator object is made.
    """
    name = created.co_name
    if os.path.basename(code.co_filename) == "contextlib.py" and "func" in names_in(code):
        return True         # of @contextmanager
    return name in names_in(code) or created in code.co_consts or name.startswith("__a")


class Recorder:
    """Every stack that the profile function sees, as a tree from the root."""

    def __init__(self, guests):
        self.guests = {id(g.__code__): g for g in guests}
        self.nodes = {}         # (parent, f_lasti in it, code number) -> number
        self.codes = {}         # id -> (number, code): kept, so that no id comes twice
        self.numbers = itertools.count()
        self.code_numbers = itertools.count()
        self.starters = {}

    def note(self, frame, event, arg):
        if event[0] == "c" and event != "call":
            return
        chain = []
        while frame:
            chain.append(frame)
            frame = frame.f_back
        node, lasti = ROOT, -1
        for frame in reversed(chain):
            code = frame.f_code
            if code is self.thread_main_code:
                continue
            if id(code) in self.guests:
                node, lasti = GUEST, -1
            key = (node, lasti, self.code_number(code))
            node = self.nodes.get(key)
            if node is None:
                node = self.nodes.setdefault(key, next(self.numbers))
            lasti = frame.f_lasti

    def code_number(self, code):
        known = self.codes.get(id(code))
        if known is None:
            known = self.codes.setdefault(id(code), (next(self.code_numbers), code))
        return known[0]

    def thread_main(self, function):
        """The outermost function of a thread during a rehearsal; it is not noted."""
        def main(*args, **kwargs):
            sys.setprofile(self.note)
            return function(*args, **kwargs)
        self.thread_main_code = main.__code__
        return main

    thread_main_code = None

    def wrap_starter(self, start):
        return lambda function, *args, **kwargs: start(self.thread_main(function), *args, **kwargs)

    def start(self):
        global recording
        recording = True
        for module, name in ((threading, "_start_new_thread"),
                             (threading, "_start_joinable_thread"),
                             (_thread, "start_new_thread")):
            if hasattr(module, name):
                self.starters[module, name] = getattr(module, name)
                setattr(module, name, self.wrap_starter(getattr(module, name)))
        threading.setprofile(self.note)
        sys.setprofile(self.note)

    def stop(self):
        global recording
        sys.setprofile(None)
        threading.setprofile(None)
        for (module, name), start in self.starters.items():
            setattr(module, name, start)
        recording = False

    def known(self):
        codes = [code for _, code in sorted(self.codes.values(), key=lambda item: item[0])]
        tables = [positions(code) for code in codes]
        created = [n for n, code in enumerate(codes) if code.co_flags & CREATED]

        def place(parent_code, lasti):
            if lasti < 0:
                first = codes[parent_code].co_firstlineno
                return (first, first, -1, -1)
            return tables[parent_code][lasti // 2]

        code_of = {number: key[2] for key, number in self.nodes.items()}
        nodes = []
        for (parent, lasti, code), number in self.nodes.items():
            at = None if parent < 0 else place(code_of[parent], lasti)
            nodes.append([number, parent, at, code])
        return {
            "codes": [[code.co_filename, qualname(code), code.co_firstlineno,
                       sorted(set(table)),
                       [n for n in created if can_create(code, codes[n])]]
                      for code, table in zip(codes, tables)],
            "created": created,
            "nodes": nodes,
        }


class Play:
    """A behaviour: act() is one turn of some milliseconds, always the same.

    leaves: functions that must be seen at work. guests: functions that something else than
    the code calls. needs: why it cannot be played here, or None.
    """

    def __init__(self, act, leaves, guests=(), before=None, after=None):
        self.act, self.leaves, self.guests = act, leaves, guests
        self.before, self.after = before, after

    def run(self, seconds):
        recorder = Recorder(self.guests)
        if self.before:
            self.before()
        start = end = 0
        recorder.start()
        for turn in itertools.count():
            if turn == REHEARSALS:
                recorder.stop()
                end = time.process_time() + seconds
                start = time.monotonic()        # no Python function: none was rehearsed
            elif turn > REHEARSALS and time.process_time() >= end:
                break
            self.act()
        stop = time.monotonic()
        if self.after:
            self.after()
        return {"window_us": [int(start * 1e6) + 1, int(stop * 1e6)], "turns": turn - REHEARSALS, "leaves": self.leaves,
                "known": recorder.known()}


def skipped(reason):
    """In place of a Play: what it needs is not here."""
    return lambda seconds: {"skip": reason}
