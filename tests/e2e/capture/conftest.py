# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What tests of choosing processes share: cgroups of their own making, recordings under way."""
import contextlib

import pytest

import cgroups
from present import absent
from recording import Recording
from selecting import RATE


@pytest.fixture(params=list(cgroups.HIERARCHIES))
def tree(request):
    """Cgroups in v2, and in v1 where this host has it."""
    mount = cgroups.HIERARCHIES[request.param]()
    if not mount:
        pytest.skip(f"no {request.param} hierarchy is mounted here")    # most hosts have one only
    with cgroups.Tree(mount) as made:
        yield made


@pytest.fixture
def v2():
    mount = cgroups.v2()
    if not mount:
        absent("no cgroup v2 is mounted")
    with cgroups.Tree(mount) as made:
        yield made


@pytest.fixture
def recording(out):
    """Starts one with conditions; it is under way when this returns."""
    with contextlib.ExitStack() as stack:
        def start(*argv):
            args = [*argv, "-r", RATE, "-o", out / "x", "--json", "--split", "all"]
            return stack.enter_context(Recording(args)).wait_recording()
        yield start
