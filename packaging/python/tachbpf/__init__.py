# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tachbpf from Python: record a program, read profiles, see them where you work."""
from typing import Any

from ._model import Change, Frame, Meta, Row, Sample, Stack, Thread
from ._profile import Profile, ProfileWarning, Samples, read
from ._program import Error
from ._record import Recording, record
from ._region import Regions, Span, region
from ._rows import Node

__all__ = ["Change", "Error", "Frame", "Meta", "Node", "Profile", "ProfileWarning", "Recording", "Regions", "Row", "Sample",
           "Samples", "Span", "Stack", "Thread", "read", "record", "region"]


def load_ipython_extension(shell: Any) -> None:
    """%load_ext tachbpf: the magics %tachbpf and %%tachbpf."""
    from ._notebook import load

    load(shell)
