#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""documents.py [TREE]: files and tests that a document names are there, and README.md is narrow.

Documents are README.md, CONTRIBUTING.md, docs/*.md and the README.md of each room. Each line of
output is one name that nothing has, or one line of README.md that is too long.
"""
import re
import sys
from pathlib import Path

# A path from the top of the tree, or how one begins; NAME and the like stand for any.
PATH = re.compile(r"(?<![\w/.])(?:user|bpf|tests|docs|tools|packaging|vmlinux)/[\w./*-]*[\w*/]")
ANY = re.compile("NAME|FORMAT|ROOM|TEST|LAYOUT")
TEST = re.compile(r"(?<![\w/])(test_\w+)")
README_COLUMNS = 120
DEFINED = re.compile(r"(?:def|void|static int) (test_\w+)\(")


def documents(tree):
    yield from (tree / name for name in ("README.md", "CONTRIBUTING.md") if (tree / name).exists())
    for pattern in ("docs/*.md", "user/*/README.md", "tests/e2e/*/README.md"):
        yield from sorted(tree.glob(pattern))


def tests(tree):
    """The names of all tests, and of the files that have them."""
    found = set()
    for path in (p for end in ("*.py", "*.c") for p in (tree / "tests").rglob(end)):
        found |= {path.stem, *DEFINED.findall(path.read_text(encoding="utf-8"))}
    return found


def complaints(tree):
    tree = Path(tree)
    known = tests(tree)
    for path in documents(tree):
        name = path.relative_to(tree).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if name == "README.md" and len(line) > README_COLUMNS:
                yield f"{name}:{number}: {len(line)} columns, at most {README_COLUMNS} are allowed"
            for word in PATH.findall(line):
                if not any(tree.glob(ANY.sub("*", word).rstrip("/.*") + "*")):
                    yield f"{name}:{number}: there is no {word}"
            for test in TEST.findall(line):
                if not ANY.search(test) and not any(k.startswith(test) for k in known):
                    yield f"{name}:{number}: no test is called {test}"


def main():
    found = list(complaints(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(found) or "documents name nothing that is not there, and README.md is narrow")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
