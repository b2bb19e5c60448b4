# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Frames of machine code in a profile: how they are told from Python's, and what a stack says of them.

A profile has no field for it: a frame of machine code has its library in brackets as its file
(docs/native.md); those of the kernel and made-up ones have the file ~.
"""
import re

from profiles import SYNTHETIC

NO_FURTHER = "<unwound no further"
# Not yet, which the first moments of a recording have; all others are for good.
NOT_YET = ("table not ready", "mapping not read yet")
PYTHON, NATIVE, KERNEL, MADE_UP = "python", "native", "kernel", "made up"


def kind(frame):
    if frame.file == SYNTHETIC:
        return KERNEL if frame.func.startswith("<kernel ") else MADE_UP
    return NATIVE if frame.file.startswith("[") else PYTHON


def is_python(frame):
    return kind(frame) == PYTHON


def library(frame):
    """libfoo.so.1 of "[libfoo.so.1] src/foo.c"."""
    return re.match(r"\[(.*?)\]", frame.file)[1]


def is_interpreter(frame):
    return kind(frame) == NATIVE and bool(re.match(r"(lib)?python", library(frame)))


def cause(frame):
    """Why the machine code's part ends here; None: this frame says nothing of it."""
    if frame.file != SYNTHETIC or not frame.func.startswith(NO_FURTHER):
        return None
    return frame.func[len(NO_FURTHER):].strip(": >")


def causes(sample):
    return [c for c in map(cause, sample.frames) if c]


def natives(sample):
    """Names of its frames of machine code, innermost first."""
    return [f.func for f in sample.frames if kind(f) == NATIVE]
