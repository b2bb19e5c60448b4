# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""trio, from PyPI, for an interpreter."""
import shutil
import subprocess

import pytest

import pypi
from interp import cache
from present import FOUND

# The last release for each: later ones want a newer Python.
RELEASES = {(3, 8): "0.27.0", (3, 9): "0.31.0"}
RELEASE = "0.33.0"
# The oldest that is supported.
OLDEST = "0.22.0"


def packages(interpreter, scratch, release=None):
    """trio under a path that the interpreter's root has, too. It is Python, so any pip will do."""
    if not (3, 8) <= interpreter.minor:
        pytest.skip(f"trio is not to be had for {interpreter}")
    try:
        interpreter.ask("import ctypes; print(1)")
    except subprocess.CalledProcessError:
        pytest.skip(f"{interpreter} has no ctypes, which trio wants")
    release = release or RELEASES.get(interpreter.minor, RELEASE)
    pip = next((i for i in FOUND if i.name.startswith("pyenv-") and i.minor >= (3, 10)), None)
    try:
        found = pypi.path_of(pypi.PyPI(f"trio-{release}", interpreter,
                                       (f"trio=={release}", "exceptiongroup==1.3.0"), pip))
    except cache.Failed as why:
        pytest.skip(f"trio is not to be had for {interpreter}: {why}")
    place = scratch / f"trio-{release}-{interpreter.name}"
    shutil.copytree(found, place, dirs_exist_ok=True)
    return {"PYTHONPATH": str(place)}
