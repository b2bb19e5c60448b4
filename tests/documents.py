#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""documents.py [TREE]: what documents name is there, and they are as narrow and short as they should be.

Documents are README.md, CONTRIBUTING.md, docs/*.md, tests/shown.md and the README.md of each room.
Files that they name exist; so do the functions that the pages on the design name. Only documents
for developers name tests, which exist: README.md and docs/*.md leave that to tests/shown.md, whose
rows name the tests of a claim. Links lead to files and headings that are there, and docs/README.md
has one to each page. Messages of the program name no page: packages have them elsewhere. The bugs of
tests/planted can still be planted. Each line of output is one complaint.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

# A path from the top of the tree, or how one begins; NAME and the like stand for any.
PATH = re.compile(r"(?<![\w/.])(?:user|bpf|tests|docs|tools|packaging|vmlinux)/[\w./*-]*[\w*/]")
ANY = re.compile("NAME|FORMAT|ROOM|TEST|LAYOUT")
TEST = re.compile(r"(?<![\w/])(test_\w+)")
TEST_IN_PATH = re.compile(r"(?<!\w)(test_\w+)")
SHOWN_TEST = re.compile(r"(?<!\w)((?:test|fuzz)_\w+)")
COMMENT = re.compile(r"<!--.*?-->")
README_COLUMNS = 120
DEFINED = re.compile(r"(?:def|void|static int) (test_\w+)\(")
SHOWN = "tests/shown.md"
DESIGN = "docs/design.md"
DESIGN_WORDS = 2500
# Functions are checked on these pages, and in the rooms' README.md.
ON_FUNCTIONS = (DESIGN, "docs/decisions.md", "docs/limits.md", "docs/glossary.md")
FUNCTION = re.compile(r"`(?:\w+ > )*([a-z]\w*_\w+)\(\)")
WORD = re.compile(r"[A-Za-z_]\w*")
MESSAGE = re.compile(r'"[^"]*\bdocs/[\w-]+\.md[^"]*"')
INDEX = "docs/README.md"
LINK = re.compile(r"\]\((?!\w+:)([\w./-]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"(?m)^#+ (.*)$")
CODE = re.compile(r"(?ms)^```.*?^```|`[^`\n]*`")


def documents(tree):
    yield from (tree / name for name in ("README.md", "CONTRIBUTING.md", SHOWN)
                if (tree / name).exists())
    for pattern in ("docs/*.md", "user/*/README.md", "tests/e2e/*/README.md"):
        yield from sorted(tree.glob(pattern))


def tests(tree):
    """The names of all tests, and of the files that have them."""
    found = set()
    for path in (p for end in ("*.py", "*.c") for p in (tree / "tests").rglob(end)):
        found |= {path.stem, *DEFINED.findall(path.read_text(encoding="utf-8"))}
    return found


def words(tree):
    """All words of the program, its functions among them."""
    found = set()
    for path in (p for top in ("user", "bpf") for p in (tree / top).rglob("*.[ch]")):
        found |= set(WORD.findall(path.read_text(encoding="utf-8")))
    return found


def wrong_in_row(line, known):
    """What is wrong with a line of tests/shown.md, if it is a row of a table."""
    cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
    if not cells or cells[-1] in ("tests", "---"):
        return
    named = SHOWN_TEST.findall(cells[-1])
    if not named:
        yield "the row names no test"
    yield from (f"no test is called {test}" for test in named if test not in known)


def wrong_tests(name, line, known):
    """What is wrong with the tests that a line of a document names."""
    if name == SHOWN:
        yield from wrong_in_row(line, known)
    elif name.startswith("docs/") or name == "README.md":
        for test in TEST_IN_PATH.findall(COMMENT.sub("", line)):
            # Pages may have examples of users' tests.
            if not ANY.search(test) and (name == "README.md" or test in known):
                yield f"names {test}: tests are named in {SHOWN}"
    else:
        for test in TEST.findall(line):
            if not ANY.search(test) and not any(k.startswith(test) for k in known):
                yield f"no test is called {test}"


def wrong_in_line(tree, name, line, known, functions):
    if name == "README.md" and len(line) > README_COLUMNS:
        yield f"{len(line)} columns, at most {README_COLUMNS} are allowed"
    for word in PATH.findall(line):
        if not any(tree.glob(ANY.sub("*", word).rstrip("/.*") + "*")):
            yield f"there is no {word}"
    yield from wrong_tests(name, line, known)
    if name in ON_FUNCTIONS or name.startswith("user/"):
        yield from (f"there is no {f}()" for f in FUNCTION.findall(line) if f not in functions)


def anchors(text):
    """The names that links to headings of a page have."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}


def wrong_links(path, text):
    """Links of a page to files or headings that are not there."""
    for name, heading in LINK.findall(CODE.sub("", text)):
        target = path.parent / name if name else path
        if not target.exists():
            yield f"there is no {name} that it links to"
        elif heading and target.suffix == ".md" and heading not in anchors(target.read_text(encoding="utf-8")):
            yield f"{name or 'it'} has no heading #{heading}"


def wrong_messages(tree):
    """Strings of the program that name a page where it is in the source tree only."""
    for path in sorted((tree / "user").rglob("*.c")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if MESSAGE.search(line):
                yield f"{path.relative_to(tree)}:{number}: name tachbpf(1): docs/ is not there when it is installed"


def not_in_index(tree):
    """Pages that docs/README.md does not link to."""
    if (tree / INDEX).exists():
        text = (tree / INDEX).read_text(encoding="utf-8")
        yield from (f"{INDEX}:1: it does not link to {path.name}" for path in sorted(tree.glob("docs/*.md"))
                    if path.name != "README.md" and f"]({path.name}" not in text)


def stale_patches(tree):
    """Planted bugs whose place has changed: make check-planted could not show that they are found."""
    for path in sorted(tree.glob("tests/planted/*.patch")) if shutil.which("git") else ():
        done = subprocess.run(["git", "apply", "--check", path.resolve()], cwd=tree, check=False,
                              capture_output=True, text=True)
        if done.returncode:
            yield f"{path.relative_to(tree)}:1: it does not apply: {done.stderr.strip().splitlines()[-1]}"


def complaints(tree):
    tree = Path(tree)
    yield from stale_patches(tree)
    yield from wrong_messages(tree)
    yield from not_in_index(tree)
    known, functions = tests(tree), words(tree)
    for path in documents(tree):
        name = path.relative_to(tree).as_posix()
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            for wrong in wrong_in_line(tree, name, line, known, functions):
                yield f"{name}:{number}: {wrong}"
        yield from (f"{name}:1: {wrong}" for wrong in wrong_links(path, text))
        if name == DESIGN and len(text.split()) > DESIGN_WORDS:
            yield f"{name}:1: {len(text.split())} words, at most {DESIGN_WORDS} are allowed"


def main():
    found = list(complaints(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(found) or "documents name nothing that is not there, README.md is narrow and design.md short")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
