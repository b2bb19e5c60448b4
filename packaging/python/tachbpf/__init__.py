# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tachbpf from Python: record a program, read profiles, see them where you work."""
from ._model import Change, Frame, Meta, Row, Sample, Stack, Thread
from ._profile import Profile, ProfileWarning, Samples, read
from ._program import Error
from ._rows import Node

__all__ = ["Change", "Error", "Frame", "Meta", "Node", "Profile", "ProfileWarning", "Row", "Sample", "Samples", "Stack",
           "Thread", "read"]
