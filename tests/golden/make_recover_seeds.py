#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make_recover_seeds.py FILE JOURNAL OUT: a seed for fuzz_recover of a killed recording.

OUT has checksums that are put right; without a journal (-) FILE is a damaged profile.
"""
import struct
import sys

file, journal, out = sys.argv[1:]
data = b"" if journal == "-" else open(journal, "rb").read()
with open(out, "wb") as f:
    f.write(struct.pack("<I", len(data) | 1 << 31) + data + open(file, "rb").read())
