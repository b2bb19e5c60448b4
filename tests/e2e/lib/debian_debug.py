# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An interpreter's files with machine code, and Debian's separate debug files of them."""
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from interp import cache
from present import absent
from processes import TIMEOUT
from pypi import path_of

DYNLOAD = "import json, sys; print(json.dumps(next(p for p in sys.path if p.endswith('lib-dynload'))))"
# apt, with what it knows of a suite in this directory
OF_SUITE = ("Dir::Etc::sourcelist=%s/sources", "Dir::Etc::sourceparts=/dev/null", "Dir::State::lists=%s/lists",
            "Dir::Cache=%s/cache", "Dir::State::status=%s/status")


@dataclass(frozen=True)
class DebugFiles:
    """Debian's separate debug files of one of its interpreters."""
    interpreter: object

    what = "Debian's debug files"

    @property
    def name(self):
        return f"debug-{self.interpreter.name}"

    def recipe(self):
        return build_id(images(self.interpreter)[0])

    def make(self, workshop):
        done, apt = workshop.path("done"), []
        if self.interpreter.root:
            where = Path(workshop.path("apt"))
            for directory in ("lists/partial", "cache/archives/partial"):
                (where / directory).mkdir(parents=True)
            suite = self.interpreter.name.split("-")[0]
            (where / "sources").write_text(f"deb [trusted=yes] {cache.mirror()} {suite} main\n")
            (where / "status").write_text("")
            apt = [word for option in OF_SUITE for word in ("-o", option.replace("%s", str(where)))]
            workshop.run("apt-get", *apt, "update")
        version = "%d.%d" % self.interpreter.minor
        Path(done).mkdir()
        workshop.run("apt-get", *apt, "download", f"python{version}-dbg", f"libpython{version}-dbg", cwd=done)
        for package in Path(done).glob("*.deb"):
            workshop.run("dpkg", "-x", package, done)
            package.unlink()
        return done


def build_id(path):
    said = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True, timeout=TIMEOUT).stdout
    return re.search(r"Build ID: (\w+)", said)[1]


def images(interpreter):
    """The file with the interpreter, and its extensions."""
    image = next(p for p in interpreter.images if (".so" in p) == (interpreter.kind == "shared"))
    dynload = Path(interpreter.root + interpreter.ask(DYNLOAD))
    minor = "cpython-%d%d-" % interpreter.minor
    return [os.path.realpath(image), *(str(p) for p in sorted(dynload.glob("*.so")) if minor in p.name)]


def debug_directory(interpreter):
    return path_of(DebugFiles(interpreter)) / "usr" / "lib" / "debug"


def debug_files(debug, paths):
    """Path -> its debug file, of images() that have one: some extensions are in packages of their own."""
    numbers = {path: build_id(path) for path in paths}
    found = {path: debug / ".build-id" / number[:2] / f"{number[2:]}.debug" for path, number in numbers.items()}
    if not found[paths[0]].exists():
        absent("Debian has debug files of another version of the interpreter")
    return {path: file for path, file in found.items() if file.exists()}
