#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make_native.py - writes native/: profiles with machine code, as seeds for fuzzing.

    tests/golden/make_native.py            # in the top directory
"""
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, "tests/e2e/lib")
import make_tach  # noqa: E402

OUT = Path("tests/golden/native")
MAIN = ("/srv/app.py", "main", 3)
STACKS = ((("[libz.so.1]", "crc32_z", -1), MAIN),
          (("~", "<kernel read>", -1), ("[libfoo.so] src/foo.c", "foo", 7), MAIN),
          (("[x]", "compiled", 5), MAIN))
LIBRARIES = ("[libz.so.1] - /lib/libz.so.1", "[libz.so.1] c0de /lib/libz.so.1",
             "[libfoo.so] " + "ab" * 20 + " ", "[x] 00", "[odd")
FOLDED = """\
tid:1;app.py:main:3;crc32_z ([libz.so.1]) 4
tid:1;app.py:main:3;foo(int) ([libfoo.so] foo.c:7);<kernel read> 2
tid:1;[x]:f:5;odd ([]) 1
"""


def main():
    OUT.mkdir(exist_ok=True)
    w = make_tach.Writer()
    for library in LIBRARIES:
        w.string("tachbpf: library: " + library)
    for stack in STACKS:
        w.add(w.stack(stack))
    w.write(OUT / "native.bin")
    (OUT / "native.folded").write_text(FOLDED)


main()
