# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compiled programs that stop, and say at which lines: `tachbpf dump` says the same."""
import json
import os
import subprocess

import pytest

from command import good
from processes import kill
from programs import Program
from zoo import prepare

NUITKA = ("python -m nuitka --quiet --assume-yes-for-downloads --output-filename=lines.bin "
          "lines.py")
# setuptools first: it has the distutils that 3.12 no longer has.
CYTHON = "python -c 'import setuptools, Cython.Build.Cythonize as c; c.main()' -i -3 lines_part.pyx"
PROGRAMS = [Program(f"Nuitka on {minor}", minor, "nuitka==2.8.4", "./lines.bin", before=NUITKA)
            for minor in ("3.10", "3.11", "3.12", "3.13")]
PROGRAMS += [Program(f"Cython on {minor}", minor, "cython==3.2.1 setuptools==80.9.0",
                     "python lines_cython.py", env=(("CFLAGS", "-DCYTHON_TRACE=1"),),
                     before=CYTHON)
             for minor in ("3.10", "3.12")]


def dumped(pid):
    process, = json.loads(good("dump", "--json", pid))["processes"]
    thread, = process["threads"]
    return [[f["function"].rpartition(".")[2], f["line"]] for f in thread["frames"]]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_lines_are_those_of_the_program(program, place, out):
    there = place(program)
    env = prepare(program, there, out)
    process = subprocess.Popen(there.command(program.command), cwd=out, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, env=dict(os.environ, **env),
                               start_new_session=True)
    try:
        seen = []
        for _ in range(2):
            seen.append(json.loads(process.stdout.readline()))
            assert dumped(process.pid)[-len(seen[-1]):] == seen[-1]
            process.stdin.write("\n")
            process.stdin.flush()
        # Compiled by Nuitka, the function is on CPython's stack; by Cython, it is not.
        assert (seen[0] != seen[1]) == program.name.startswith("Nuitka")
    finally:
        kill(process)
