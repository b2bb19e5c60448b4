# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A report reads samples in runs, but where a filter chooses some of them: it says the same of what was chosen as of a file that has only that."""
import json

import pytest

from captures import CAPTURES, GOLDEN
from command import good

CHOICES = ((), ("--from", "200ms"), ("--to", "400ms"), ("--from", "150ms", "--to", "333ms"), ("--status", "gil"), ("--status", "!on-cpu"),
           ("--ignore", "work|sleep"))


def rows(path, by, *options):
    """What a report says of a file: the number of samples, and each row but for its label."""
    report = json.loads(good("report", "--by", by, "--json", "--limit", 0, *options, path))
    keys = ("function", "file", "line", "self", "total") if by != "thread" else ("thread", "self", "total")
    return report["samples"], sorted([row.get(key) or 0 for key in keys] for row in report["rows"])


@pytest.mark.parametrize("choice", CHOICES, ids=" ".join)
def test_a_choice_is_what_is_left(tmp_path, choice):
    for name in CAPTURES:
        left = tmp_path / f"{name}.tach"
        good("convert", "--format", "tach", *choice, GOLDEN / name, "-o", left)
        for by in ("function", "line", "thread"):
            assert rows(GOLDEN / name, by, *choice) == rows(left, by), (name, by)
