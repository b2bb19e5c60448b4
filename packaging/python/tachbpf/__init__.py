# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tachbpf from Python: record a program, read profiles, see them where you work.

Names are imported when they are first used: pytest imports this package in each of its sessions.
"""
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._model import Change, Frame, Meta, Row, Sample, Stack, Thread
    from ._profile import Profile, ProfileWarning, Samples, read
    from ._program import Error
    from ._record import Recording, record
    from ._region import Regions, Span, region
    from ._rows import Node

__all__ = ["Change", "Error", "Frame", "Meta", "Node", "Profile", "ProfileWarning", "Recording", "Regions", "Row", "Sample",
           "Samples", "Span", "Stack", "Thread", "read", "record", "region"]

_PLACES = {
    "_model": ("Change", "Frame", "Meta", "Row", "Sample", "Stack", "Thread"),
    "_profile": ("Profile", "ProfileWarning", "Samples", "read"),
    "_program": ("Error",),
    "_record": ("Recording", "record"),
    "_region": ("Regions", "Span", "region"),
    "_rows": ("Node",),
}


def __getattr__(name: str) -> Any:
    for module, names in _PLACES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f".{module}", __name__), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """%load_ext tachbpf: the magics %tachbpf and %%tachbpf."""
    from ._notebook import load

    load(shell)
