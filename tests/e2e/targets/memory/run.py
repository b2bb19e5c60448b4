# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""run.py TRUTH PART[=MIB]...: one process that plays these parts, and writes its books.

It says "ready", waits for a line, plays, writes the truth, says "done" and waits for the end of its
input: what it holds stays as it is until then.
"""
import importlib
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import book  # noqa: E402


def play(plan):
    """(anonymous memory before, after)"""
    before = book.anonymous()
    for module, sizes in plan:
        module.run(*sizes)
    return before, book.anonymous()


def write(path, before, after):
    with open(path + ".new", "w") as out:
        json.dump({"pid": os.getpid(), "version": list(sys.version_info[:3]),
                   "functions": book.functions, "children": book.children,
                   "collections": book.collections, "skipped": book.skipped,
                   "anonymous": [before, after]}, out)
    os.rename(path + ".new", path)


def main():
    path, words = sys.argv[1], [word.split("=") for word in sys.argv[2:]]
    os.environ["TARGET_SCRATCH"] = os.path.dirname(os.path.abspath(path))
    plan = [(importlib.import_module(name), [int(size) for size in sizes]) for name, *sizes in words]
    book.anonymous()
    print("ready", flush=True)
    if not sys.stdin.readline():
        sys.exit("the test went away")
    write(path, *play(plan))
    print("done", flush=True)
    sys.stdin.readline()


main()
