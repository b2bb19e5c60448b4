#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_metadata_memory.py - whatever session.json and FILE.json have in them, commands that read them
need less than 32 MiB in all; the session.json of 100,000 processes is read."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
PROGRAM = Path(__file__).resolve().parents[3] / "tachbpf"
sys.path.insert(0, str(Path("tests/e2e/lib").resolve()))

import make_tach  # noqa: E402

LIMIT_KIB = 32 << 10
MIB = 1 << 20
FILE = '"file":"12-app.tach","pid":12'


def times(text, size):
    return text * (size // len(text))


def numbered(form, count, close):
    return ",".join(form % i for i in range(count)) + close


# What the file is made of, in pieces. The size is the one of the report that led to this.
SIZE = int(9.4 * 1e6)
KINDS = {
    "objects in processes": lambda: ['{"processes":[', times("{},", SIZE), "{}]}"],
    "objects elsewhere": lambda: ['{"x":[', times("{},", SIZE), '{}],"processes":[{', FILE, "}]}"],
    "nesting": lambda: ['{"x":', "[" * SIZE, "]" * SIZE, "}"],
    "nesting that is allowed": lambda: ['{"x":[', times("[" * 60 + "]" * 60 + ",", SIZE), "0]}"],
    "a long string that is skipped": lambda: ['{"x":"', "a" * 200 * MIB, '","processes":[{', FILE, "}]}"],
    "space": lambda: ['{"processes":[{', FILE, "}]", " " * 200 * MIB, "}"],
    "a number": lambda: ['{"x":', "1" * 200 * MIB, ',"processes":[{', FILE, "}]}"],
    "a long comm": lambda: ['{"processes":[{', FILE, ',"comm":"', "a" * SIZE, '"}]}'],
    "a long kernel": lambda: ['{"kernel":"', "a" * SIZE, '","processes":[{', FILE, "}]}"],
    "a long key": lambda: ['{"', "a" * SIZE, '":1}'],
    "a long key of a loss": lambda: ['{"processes":[{', FILE, ',"lost":{"', "a" * SIZE, '":1}}]}'],
    "a command of many words": lambda: ['{"processes":[{', FILE, ',"command":[', times('"word",', SIZE), "1]}]}"],
    "many keys": lambda: ["{", numbered('"k%d":1', 700000, ""), "}"],
    "many losses": lambda: ['{"lost":{', numbered('"cause%d":1', 600000, ""), '},"processes":[{', FILE,
                    ',"lost":{', numbered('"cause%d":1', 600000, "}}]}")],
    "many files": lambda: ['{"processes":[', numbered('{"file":"%d.tach"}', 260000, "]}")],
    "too many files": lambda: ['{"processes":[', numbered('{"file":"%d"}', 2000000, "]}")],
    "the same file": lambda: ['{"processes":[', times('{%s},' % FILE, SIZE), "{%s}]}" % FILE],
    "many threads": lambda: ['{"processes":[{', FILE, ',"thread_names":{', numbered('"%d":"a"', 700000, "}}]}")],
    "many waits": lambda: ['{"processes":[{', FILE, ',"gil":{"wait_ns":1,"threads":[',
                   numbered('{"thread":%d,"name":"a","wait_ns":1}', 200000, "]}}]}")],
    "long waits": lambda: ['{"processes":[{', FILE, ',"gil":{"wait_ns":1,"threads":[',
                   numbered('{"thread":%d,"name":"' + "a" * 9000 + '","wait_ns":1}', 9000, "]}}]}")],
}


def process(i):
    """About what a process has in a real session.json."""
    return {"file": f"{i}-python3.tach", "pid": i, "ns_pid": i, "uid": 1000, "comm": "python3",
            "command": f"/usr/bin/python3 /srv/jobs/worker.py --queue batch --id {i}",
            "container": {"runtime": "docker", "id": "ab" * 32, "label": "web", "image": "shop/web:1",
                          "pod": None, "pod_namespace": None, "pod_uid": None, "qos": None, "user": None},
            "unit": "docker.service", "python": "3.13", "free_threaded": False, "begin_s": 1.25,
            "end_s": 30.5, "samples": 12, "threads": 4, "thread_names": {str(i): "MainThread"},
            "code_objects": 120, "code_without_lines": 0, "process_reads": 3, "truncated": 0,
            "unreadable": 0, "unresolved": 0, "lost": {"late_discovery": 1, "write": 0}}


def write(kind, path):
    """In a process of its own: what starts the program must be small, because that counts, too."""
    with open(path, "w") as f:
        if kind == "real":
            f.write('{"processes": [')
            for i in range(1, 100001):
                f.write(("," if i > 1 else "") + json.dumps(process(i), indent=2))
            f.write("]}")
        else:
            f.writelines(KINDS[kind]())


class Memory(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.top = Path(scratch.name)
        writer = make_tach.Writer()
        for i in range(100):
            writer.add(writer.stack([("app.py", "main", 1)]), tid=12 + i % 3)
        writer.write(self.top / "12-app.tach")

    def write(self, kind, name):
        subprocess.run([sys.executable, __file__, "--write", kind, str(self.top / name)], check=True)

    def peak(self, *argv):
        """In KiB; it includes what we had ourselves when the program was started."""
        child = subprocess.Popen([PROGRAM, *map(str, argv)], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL)
        output = child.stdout.read()
        child.stdout.close()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertIn(child.returncode, (0, 1), argv)
        return usage.ru_maxrss, output

    def test_whatever_is_in_session_json(self):
        for name in KINDS:
            self.write(name, "session.json")
            for command in ("info", "report", "gil"):
                with self.subTest(kind=name, command=command):
                    kib, _ = self.peak(command, self.top)
                    self.assertLess(kib, LIMIT_KIB)

    def test_whatever_is_in_the_json_beside_a_file(self):
        for name in KINDS:
            self.write(name, "12-app.tach.json")
            with self.subTest(kind=name):
                kib, _ = self.peak("info", self.top / "12-app.tach")
                self.assertLess(kib, LIMIT_KIB)

    def test_a_session_of_100000_processes(self):
        self.write("real", "session.json")
        size = (self.top / "session.json").stat().st_size
        self.assertGreater(size, 64 * MIB)
        for i in (1, 50000, 100000):
            os.link(self.top / "12-app.tach", self.top / f"{i}-python3.tach")
        kib, output = self.peak("info", "--json", self.top)
        self.assertLess(kib, LIMIT_KIB)
        files = {Path(f["path"]).name: f for f in json.loads(output)["files"]}
        for i in (1, 50000, 100000):
            its = files[f"{i}-python3.tach"]
            self.assertEqual((its["pid"], its["container"], its["lost"]),
                             (i, "web", {"late_discovery": 1, "write": 0}))
            self.assertTrue(its["command"].endswith(f"--id {i}"))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(*sys.argv[2:])
        sys.exit()
    unittest.main()
