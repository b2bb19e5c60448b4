# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`make check-zoo`: real programs, recorded as a user would."""
import subprocess

import pytest

import figures
import install
from interp import cache
from interp.roots import in_root
from programs import DEBIAN, PROGRAMS
from pypi import PyPI, path_of
from zoo import Place

# A root is entered at its top.
THERE = ("sh", "-c", 'cd "$ZOO_OUT" && exec "$@"', "sh")

pytest_plugins = ("grouping", "present", "shared_fixtures", "evidence", "counting")


def debian(program):
    root = path_of(install.Debian(program.python, DEBIAN[program.python]))
    show = ["dpkg-query", "--show", "--showformat", "${Package} ${Version}, "]
    versions = subprocess.run(in_root(str(root), *show, *program.packages.split(), "python3"),
                              capture_output=True, text=True, check=True).stdout
    return Place(lambda *words: in_root(str(root), *THERE, *words), None, versions.rstrip(", "))


def pypi(program, interpreter):
    packages = tuple(program.packages.split())
    target = packages and path_of(PyPI(program.name, interpreter, packages))

    def command(*words):
        if words[0] != "python":
            return words
        *enter, python = interpreter.command()
        return [*enter, *(THERE if enter else ()), python, *words[1:]]
    versions = ", ".join([*(p.replace("==", " ") for p in packages),
                          "CPython " + ".".join(map(str, interpreter.version))])
    return Place(command, target or None, versions)


@pytest.fixture
def place(root):
    """A function that says where a program runs; it skips if that cannot be had, and says why."""
    import present

    def find(program):
        try:
            if program.python in DEBIAN:
                return debian(program)
            names = (program.python, f"system-{program.python}", f"pyenv-{program.python}.")
            for name, interpreter in present.BY_NAME.items():
                if name in names[:2] or name.startswith(names[2]):
                    return pypi(program, interpreter)
        except (cache.Failed, OSError, subprocess.SubprocessError) as error:
            present.absent(f"{program.name}: {error}")
        return present.absent(f"there is no CPython {program.python}: run make interpreters")
    return find


def pytest_terminal_summary(terminalreporter):
    figures.finish([p.name for p in PROGRAMS], terminalreporter.write_line)
