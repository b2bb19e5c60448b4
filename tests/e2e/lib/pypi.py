# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""PyPI's packages for one interpreter, in $TACHBPF_CACHE: made once, and again when their list changes.

For the zoo, and for tests that want a program's libraries. Knows nothing of what is run there.
"""
import os
import re
from dataclasses import dataclass
from pathlib import Path

from interp import cache


@dataclass(frozen=True)
class PyPI:
    """Packages for one interpreter, in a directory of their own."""
    program: str
    interpreter: object
    packages: tuple
    pip: object = None      # the interpreter whose pip fetches wheels, if this one has none

    @property
    def name(self):
        return f"zoo-{re.sub('[^a-z0-9]+', '-', self.program.lower())}-{self.interpreter.name}"

    what = "PyPI's packages"

    def recipe(self):
        return " ".join([*map(str, self.interpreter.version), *self.packages])

    def for_another(self):
        """The options with which a foreign pip fetches wheels for this interpreter."""
        if not self.pip:
            return ()
        return ("--python-version", "%d.%d" % self.interpreter.minor, "--only-binary", ":all:",
                "--platform", "manylinux2014_" + os.uname().machine,
                "--platform", "manylinux_2_28_" + os.uname().machine)

    def make(self, workshop):
        done = workshop.path("done")
        workshop.run(*(self.pip or self.interpreter).command(
            "-m", "pip", "install", "--quiet", "--prefer-binary", "--disable-pip-version-check",
            "--target", done, *self.for_another(), *self.packages), cwd="/")
        return done


def path_of(thing):
    """The directory of a thing, made now if it is missing. cache.Failed."""
    cache.prepare(thing, cache.Jobs(1))
    return Path(cache.path_of(thing.name))
