# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Parts of functions in files without symbols, against the symbols of the same files: foo.cold is a part of foo."""
import collections
import re
import subprocess

import pytest

from debian_debug import debug_directory, debug_files, images
from method_lists import PartLists
from present import need
from processes import TIMEOUT

pytestmark = pytest.mark.truth

COVERED = 0.8
FEW = 1000              # an interpreter that was built with a profile has more
COLD = re.compile(r"(\.cold)(\.\d+)?$")


def addresses(path):
    """Symbol -> where functions of that name begin."""
    lines = subprocess.run(["nm", "--defined-only", path], capture_output=True, text=True, timeout=TIMEOUT,
                           check=True).stdout.splitlines()
    found = collections.defaultdict(set)
    for words in map(str.split, lines):
        if words[1] in "TtWwi":
            found[words[2]].add(int(words[0], 16))
    return found


def judge(found, known):
    """([wrong ones], parts that belong to a function of that name, parts by the symbols)"""
    cold = collections.defaultdict(set)
    for name in filter(COLD.search, known):
        for start in known[name]:
            cold[start] |= known[COLD.sub("", name)]
    wrong = [(hex(part), hex(function)) for part, function in found.items() if function not in cold[part]]
    return wrong, len(found) - len(wrong), sum(map(bool, cold.values()))


@pytest.mark.parametrize("name", ("system-3.11", "pyenv-3.12.1", "sid-3.13", "sid-3.15"))
def test_a_part_has_its_functions_name(name, scratch, capsys):
    interpreter = need(name)
    files = {path: path for path in images(interpreter)}
    if not name.startswith("pyenv"):
        files = debug_files(debug_directory(interpreter), images(interpreter))
    lists, right, all_parts = PartLists(scratch), 0, 0
    for path, symbols in files.items():
        wrong, few, of = judge(lists.of(path), addresses(symbols))
        assert not wrong, (path, wrong)
        right, all_parts = right + few, all_parts + of
    with capsys.disabled():
        print(f"\n{name}: {right} of {all_parts} parts in {len(files)} files have the name of their function")
    if not name.startswith("pyenv"):
        assert all_parts > FEW and right >= COVERED * all_parts
