# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Each program of the zoo is recorded as a user would, and the report is held against its truth."""
import pytest

import figures
from programs import PROGRAMS
from zoo import run


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_what_is_said_of_a_program_is_true(program, place, out):
    """Shares of the whole CPU time of its processes by function, that time itself, and under which
    function of the program its own work is."""
    there = place(program)
    found = run(program, there, out)
    complaints = list(found.complaints())
    figures.keep(program.name, there.versions, found, complaints)
    assert not complaints, found
