#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_screens.py - tests/bench/screens.py draws a terminal's text, colours and marked rows, and keeps
what a PNG shows."""
import struct
import sys
import unittest
import zlib
from pathlib import Path
from xml.etree import ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path("tests/bench").resolve()))

import screens  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def png(kind, rows):
    """A PNG of 8 bits a channel, of rows that have their filters."""
    depth = {2: 3, 6: 4}[kind]
    head = struct.pack(">IIBBBBB", (len(rows[0]) - 1) // depth, len(rows), 8, kind, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(b"".join(rows))), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(d)) + n + d + bytes(4) for n, d in parts)


class Screens(unittest.TestCase):
    def test_a_screen(self):
        drawn = ElementTree.fromstring(screens.draw("\x1b[1mbold\x1b[0m a<b\n\x1b[7m1 row\x1b[0m\n\x1b[31mred\n", 20))
        spans = [(s.text, s.get("x"), s.get("font-weight"), s.get("fill")) for s in drawn.iter(f"{SVG}tspan")]
        self.assertEqual(spans, [("bold", "14", "bold", screens.TEXT), (" a<b", "46", None, screens.TEXT),
                                 ("1 row", "14", None, screens.PAPER), ("red", "14", None, screens.COLOURS[1])])
        boxes = [(r.get("y"), r.get("width")) for r in drawn.iter(f"{SVG}rect")]
        self.assertEqual(boxes, [(None, "188"), ("32", "40")])

    def test_a_picture_with_every_filter(self):
        """Rows that are all the same grey, as each filter writes them."""
        for depth, kind in ((3, 2), (4, 6)):
            first, again = bytes([90] * depth * 2), bytes(depth * 2)
            half = bytes([45] * depth + [0] * depth)        # of what is left and above, half is there
            rows = [b"\0" + first, b"\1" + bytes([90] * depth) + bytes(depth), b"\2" + again, b"\3" + half, b"\4" + again]
            reduced = screens.reduced(png(kind, rows))
            parts = dict(screens.chunks(reduced))
            self.assertEqual(parts[b"PLTE"], bytes([90] * 3))
            self.assertEqual(zlib.decompress(parts[b"IDAT"]), (b"\0" + bytes(2)) * 5)
            self.assertEqual(struct.unpack(">IIBBBBB", parts[b"IHDR"]), (2, 5, 8, 3, 0, 0, 0))


if __name__ == "__main__":
    unittest.main()
