# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The program tachbpf: where it is, and what it says."""
from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Sequence


class Error(Exception):
    """tachbpf could not do what was asked; the text says why, and what to do."""


def _scripts() -> list[Path]:
    """Where pip puts commands: of this environment, and of this user."""
    schemes = [None, f"{os.name}_user"]
    return [Path(sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts"))
            for scheme in schemes]


def find(name: str = "tachbpf") -> str:
    """The path of a program of the package.

    `TACHBPF` in the environment names another tachbpf. Otherwise it is the one that pip installed
    with this package, then one in `PATH`. Raises Error if there is none.
    """
    chosen = os.environ.get("TACHBPF")
    if chosen:
        return chosen if name == "tachbpf" else str(Path(chosen).with_name(name))
    for directory in _scripts():
        if os.access(directory / name, os.X_OK):
            return str(directory / name)
    found = shutil.which(name)
    if found:
        return found
    raise Error(f"there is no {name} in {_scripts()[0]} or PATH: pip install tachbpf, or set TACHBPF to its path")


def complaint(stderr: bytes) -> str:
    """What tachbpf said, without its name before each line."""
    lines = stderr.decode(errors="replace").strip().splitlines()
    return "\n".join(line.removeprefix("tachbpf: ").removeprefix("error: ") for line in lines)


def output(arguments: Sequence[str]) -> bytes:
    """Runs tachbpf without rights and returns what it prints. Raises Error with its message if it fails."""
    done = subprocess.run([find(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise Error(complaint(done.stderr) or f"tachbpf {arguments[0]} ended with status {done.returncode}")
    return done.stdout
