#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""imports.py [TREE]: no test of tests/ imports another test; what they share is in a lib/.

Each line of output is one import that breaks the rule. conftest.py is pytest's, and counts as a
test: nobody imports it.
"""
import ast
import sys
from pathlib import Path


def is_test(module):
    return module.startswith("test_") or module == "conftest"


def imported(node):
    """The names of modules that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""] + [alias.name for alias in node.names]
    return []


def complaints(tree):
    for path in sorted((Path(tree) / "tests").rglob("*.py")):
        name = path.relative_to(tree).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for module in imported(node):
                last = module.rpartition(".")[2]
                if is_test(last):
                    yield f"{name}:{node.lineno}: imports {last}, which is a test"


def main():
    found = list(complaints(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(found) or "no test imports another test")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
