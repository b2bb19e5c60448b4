# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""keepsake.py TRUTH DIRECTORY COUNT: COUNT objects of two classes, kept by the extension module in DIRECTORY alone.

Says "ready" when all are kept, and leaves at the end of its input.
"""
import json
import sys

sys.path.insert(0, sys.argv[2])
import keepsake     # noqa: E402

COUNT = int(sys.argv[3])


class InStatic:
    pass


class InBlock:
    pass


for _ in range(COUNT):
    keepsake.keep_static(InStatic())
    keepsake.keep_block(InBlock())
with open(sys.argv[1], "w") as f:
    json.dump({"__main__.InStatic": COUNT, "__main__.InBlock": COUNT}, f)
print("ready", flush=True)
sys.stdin.read()
