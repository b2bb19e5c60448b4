# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The greenlet module for interpreters that have none: where it is kept, how it gets there.

Debian's interpreters have python3-greenlet. For pyenv's, set-up (interpreters.py) asks PyPI,
by way of their own pip; where that cannot be reached the tests of greenlets skip.
"""
import os
import shutil
import subprocess
import sys

import interpreters
from interp.cache import path_of
from processes import TIMEOUT

# The last release that has a wheel for it.
RELEASES = {(3, 6): "1.1.3.post0", (3, 7): "3.1.1", (3, 8): "3.1.1"}
RELEASE = "3.2.4"


def directory(minor):
    return os.path.join(path_of("greenlet"), "%d.%d" % minor)


def fetch(interpreter):
    """Into directory(); an interrupted run leaves nothing that looks complete."""
    target = directory(interpreter.minor)
    fresh = target + ".new"
    shutil.rmtree(fresh, ignore_errors=True)
    release = RELEASES.get(interpreter.minor, RELEASE)
    done = subprocess.run(
        interpreter.command("-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:",
                            "--disable-pip-version-check", "--target", fresh,
                            "greenlet==" + release),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT)
    if done.returncode:
        shutil.rmtree(fresh, ignore_errors=True)
        print(f"greenlets: none for {interpreter.name}: {done.stdout.strip()[-200:]}")
        return
    os.rename(fresh, target)


def prepare(found):
    """For each of pyenv's interpreters; what is there stays."""
    for interpreter in found:
        if interpreter.name.startswith("pyenv-") and not os.path.exists(
                directory(interpreter.minor)):
            os.makedirs(os.path.dirname(directory(interpreter.minor)), exist_ok=True)
            try:
                fetch(interpreter)
            except (OSError, subprocess.SubprocessError) as error:
                print(f"greenlets: none for {interpreter.name}: {error}")


def provide(scratch):
    """Copy what there is to where targets look for it: SCRATCH/greenlet-3.X."""
    kept = path_of("greenlet")
    for name in os.listdir(kept) if os.path.isdir(kept) else ():
        if not name.endswith(".new"):
            shutil.copytree(os.path.join(kept, name), scratch / ("greenlet-" + name),
                            dirs_exist_ok=True)


if __name__ == "__main__":
    sys.exit(prepare(interpreters.discover(supported_only=False)))
