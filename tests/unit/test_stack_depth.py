#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_stack_depth.py - tests/stack_depth.py adds up what the kernel does."""
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import stack_depth  # noqa: E402

LISTING = """
0000000000000000 <on_tick>:
       0:\tr6 = r1
       1:\t*(u64 *)(r10 - 40) = r6
       2:\tcall -1
\t\t0000000000000010:  R_BPF_64_32\twalk
0000000000000018 <LBB0_2>:
       3:\tr2 = r10
       4:\tr2 += -72
       5:\tr6 += -4096
       6:\tcall -1
\t\t0000000000000030:  R_BPF_64_32\tsend
       7:\tcall -1
\t\t0000000000000038:  R_BPF_64_32\tbpf_of_the_kernel
0000000000000040 <walk>:
       8:\t*(u32 *)(r10 - 0x81) = r1
       9:\tcall 28
      10:\tcall -1
\t\t0000000000000050:  R_BPF_64_32\tsend
0000000000000060 <send>:
      12:\texit
"""


class StackDepth(unittest.TestCase):
    def setUp(self):
        self.table = stack_depth.functions(LISTING.splitlines())

    def test_each_functions_own(self):
        self.assertEqual(self.table["on_tick"], (72, {"walk", "send", "bpf_of_the_kernel"}))
        self.assertEqual(self.table["walk"], (0x81, {"send"}))

    def test_calls_are_added_up_and_rounded(self):
        size, names = stack_depth.deepest(self.table)["on_tick"]
        self.assertEqual((size, names), (96 + 160 + 32, ("on_tick", "walk", "send")))


if __name__ == "__main__":
    unittest.main()
