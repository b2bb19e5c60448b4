#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_rooms.py - tests/rooms.py finds what is planted in a copy of user/."""
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rooms  # noqa: E402


class Planted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.tree = Path(directory.name)
        shutil.copytree("user", cls.tree / "user")

    def plant(self, name, line):
        """What is found while this is the only line of user/NAME."""
        path = self.tree / "user" / name
        path.write_text(line + "\n")
        found = list(rooms.complaints(self.tree))
        path.unlink()
        return found

    def test_nothing_is_found_where_nothing_is_planted(self):
        self.assertEqual(list(rooms.complaints(self.tree)), [])

    def test_an_include_that_points_up(self):
        self.assertEqual(self.plant("model/planted.h", '#include "formats/sinks.h"'),
                         ["user/model/planted.h:1: model includes formats/sinks.h: "
                          "formats is a higher room than model"])
        self.assertEqual(self.plant("model/planted.h", '#include "base/util.h"'), [])

    def test_a_file_in_no_room(self):
        for name in "planted.c", "planted/planted.h":
            (self.tree / "user" / name).parent.mkdir(exist_ok=True)
            self.assertIn(f"user/{name}:1: in no room", "\n".join(self.plant(name, "")))

    def test_a_file_that_is_named_without_its_room(self):
        for include in "util.h", "../base/util.h", "user/base/util.h", "base/missing.h":
            self.assertEqual(self.plant("model/planted.h", f'#include "{include}"'),
                             [f'user/model/planted.h:1: "{include}" is not written as "room/file.h"'])

    def test_a_name_that_a_room_refuses_to_know(self):
        for name, line, refused in (("host", "int python_version;", "python"), ("elf", 'read("/proc/1/maps");', '"/proc'),
                                    ("look", '#include "formats/sinks.h"', '"formats/'),
                                    ("telemetry", "curl_easy_init();", "curl_easy_init")):
            self.assertEqual(self.plant(f"{name}/planted.h", line), [f"user/{name}/planted.h:1: {name} refuses to know {refused}"])
        self.assertEqual(self.plant("host/planted.h", "/* Python is not known here. */"), [])

    def test_every_refusal_is_a_rooms(self):
        self.assertEqual(set(rooms.REFUSED) - set(rooms.ROOMS), set())

    def test_the_skeleton_outside_of_its_room(self):
        for name, cnt in ("capture/planted.c", 0), ("recording/planted.c", 1):
            self.assertEqual(len(self.plant(name, '#include "tachbpf.skel.h"')), cnt)

    def test_a_header_that_only_some_may_include(self):
        include = '#include "resolve/process_internal.h"'
        self.assertEqual(self.plant("resolve/process_planted.c", include),
                         ["user/resolve/process_planted.c:1: resolve/process_internal.h is for "
                          + ", ".join(rooms.PRIVATE["resolve/process_internal.h"])])
        for header, files in rooms.PRIVATE.items():
            for name in files:
                text = Path("user", name).read_text(encoding="utf-8")
                self.assertIn(f'#include "{header}"', text)


if __name__ == "__main__":
    unittest.main()
