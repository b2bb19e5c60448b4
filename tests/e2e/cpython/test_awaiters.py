# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Who awaits a task in CPython 3.8 to 3.13: read from outside of a program that knows it.

targets/awaited.py has tasks that await one another in every way; read_awaiters.c reads their
callbacks, and the chains, out of its memory. Every answer must be equal.
"""
import shutil
import subprocess
from dataclasses import dataclass

import pytest

from paths import REPO, TARGETS
from pythons import cc

pytestmark = pytest.mark.interpreters("few")      # the others in check-all

MINORS = ((3, 8), (3, 13))
WHOLE, SHAPE = 0, 8                 # enum async_end
READS = {"": 45, "pure": 95}        # for each coroutine of a chain, and the task itself
SOURCES = ("elf/elf*.c", "cpython/*.c", "asyncio/*.c")


@pytest.fixture(scope="module")
def read_awaiters(tmp_path_factory):
    sources = [c for files in SOURCES for c in sorted((REPO / "user").glob(files))]
    sources += [REPO / "user" / "base" / name for name in ("util.c", "colour.c", "time.c")]
    return cc(tmp_path_factory.mktemp("awaiters") / "read_awaiters", "read_awaiters.c", "-I%s" % REPO,
              "-I%s" % (REPO / "user"), *sources)


@dataclass
class Answer:
    """Of one task: what the program knows, and what was read."""
    way: str
    by: list
    codes: list
    end: int
    reads: int
    read_by: list
    read_codes: list
    other: str


def numbers(text):
    return [int(word) for word in text.split()]


def answer(known, read):
    told, codes = known.split(":")
    way, _, *by = told.split(" ")
    numbers_read, read_codes, other = read.split(" : ") if " : : " not in read else \
        (read.split(" : : ")[0], "", read.split(" : : ")[1])
    end, reads, *read_by = numbers(numbers_read)
    return Answer(way, sorted(map(int, filter(None, by))), numbers(codes), end, reads, sorted(read_by),
                  numbers(read_codes), other)


def lines_until_ready(target):
    lines = []
    for line in target.stdout:
        if line == "ready\n":
            return lines
        lines.append(line.rstrip("\n"))
    raise AssertionError(f"the program ended after {lines}")


def ask(read_awaiters, python, target):
    """The answers of a target that stands still."""
    types, *tasks = lines_until_ready(target)
    addresses = "\n".join(line.split(" ")[1] for line in tasks)
    for image in python.images:
        run = subprocess.run([str(read_awaiters), str(target.pid), image, *types.split()], input=addresses,
                             stdout=subprocess.PIPE, text=True)
        if run.returncode != 1:
            break
    assert run.returncode == 0, (run.returncode, run.stdout)
    return [answer(*both) for both in zip(tasks, run.stdout.splitlines(), strict=True)]


@pytest.mark.parametrize("how", ("", "pure"), ids=lambda how: how or "c")
def test_every_way(interpreter, how, read_awaiters, out):
    if not MINORS[0] <= interpreter.minor <= MINORS[1]:
        pytest.skip("%s has no such tasks, or they say who awaits them" % interpreter)
    shutil.copy(str(TARGETS / "awaited.py"), str(out))
    with subprocess.Popen(interpreter.command(out / "awaited.py", *how.split()), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as target:
        answers = ask(read_awaiters, interpreter, target)
        target.stdin.close()
    assert len(answers) > 30
    for a in answers:
        way, _, other = a.way.partition("\t")
        assert (way, a.read_by, a.other) == (way, a.by, other or "-")
        assert (way, a.end, a.read_codes) == (way, SHAPE if other else WHOLE, a.codes), a
        assert a.reads <= READS[how] * (len(a.codes) + 1), a
