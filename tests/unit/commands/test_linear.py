#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_linear.py - what a command does for n processes in one file grows as n does. It is counted,
not timed: build/work/tachbpf says how many branches it took and how many words it touched."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
PROGRAM = Path(__file__).resolve().parents[3] / "work" / "tachbpf"
sys.path.insert(0, str(Path("tests/e2e/lib").resolve()))

import make_tach  # noqa: E402
from many_processes import OF_PROFILES, OF_SHARED, collapsed, shared  # noqa: E402

COUNTS = (1000, 2000, 4000)
# Twice as much to do may cost so many times as much. Sorting n log n things costs 2.2 times;
# what visits all that is there for each process costs 4 times, soon more than all else.
GROWTH = 2.35


class Linear(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.top = Path(scratch.name)

    def work(self, command, path):
        counted = self.top / "count"
        counted.unlink(missing_ok=True)
        env = {**os.environ, "WORK_COUNT": str(counted), "TMPDIR": str(self.top)}
        with tempfile.TemporaryDirectory(dir=self.top) as cwd:
            argv = [str(path) if word == "{}" else word for word in command.split()]
            done = subprocess.run([PROGRAM, *argv], cwd=cwd, env=env, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stderr}")
        return int(counted.read_text())

    def test_files_that_are_merged(self):
        """Of n files with a thread each."""
        counted = []
        for count in (200, 400, 800):
            top = self.top / str(count)
            top.mkdir()
            for i in range(count):
                writer = make_tach.Writer()
                writer.add(writer.stack([("app.py", "main", 1)]), tid=i + 1, time_us=1000 * (i + 1))
                writer.write(top / f"x{i}.tach")
            counted.append(self.work("merge {} -o out", top))
        self.assertLess((counted[2] - counted[1]) / (counted[1] - counted[0]), GROWTH)

    def check(self, write, commands):
        for count in COUNTS:
            write(self.top / str(count), count)
        for command in commands:
            with self.subTest(command=command):
                one, two, four = (self.work(command, self.top / str(n)) for n in COUNTS)
                # Differences: what does not depend on the number is in all three.
                growth = (four - two) / (two - one)
                self.assertLess(growth, GROWTH, f"{command}: {one}, {two}, {four}")

    def test_processes_that_are_profiles(self):
        self.check(collapsed, OF_PROFILES)

    def test_processes_that_share_a_profile(self):
        self.check(shared, OF_SHARED)


if __name__ == "__main__":
    unittest.main()
