# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a profile consists of: frames, threads, samples, and what is known of its processes."""
from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Optional, Union

# Bits of a sample's status, and their names as in `tachbpf report --status` and in CSV.
STATUS = ((1, "gil"), (2, "on-cpu"), (4, "cpu-unknown"), (8, "gil-requested"), (16, "exception"), (32, "main"),
          (128, "held"))
FEATURES = ((1, "all_threads"), (2, "native"), (4, "gc"), (8, "opcodes"), (16, "blocking"))


def place(file: Optional[str], line: Optional[int]) -> str:
    """`file:line`, as much of it as is known."""
    return "" if file is None else file if line is None else f"{file}:{line}"


class Frame(NamedTuple):
    """One position in one function."""
    function: str
    file: Optional[str]         #: None: it is no function of a file, such as <GC>
    line: Optional[int]         #: from 1; None: unknown
    kind: str                   #: "python", "native", "kernel" or "synthetic"
    end_line: Optional[int]
    column: Optional[int]       #: from 0, in bytes of UTF-8
    end_column: Optional[int]
    first_line: Optional[int]   #: of the function

    def __str__(self) -> str:
        where = place(self.file, self.line)
        return f"{self.function} ({where})" if where else self.function


@dataclass(frozen=True)
class Meta:
    """What is known of a process, or of all of them together. None: not known, or not the same in all processes."""
    pid: Optional[int] = None
    comm: Optional[str] = None              #: the kernel's name of the process
    program: Optional[str] = None           #: its script or module
    container: Optional[str] = None
    image: Optional[str] = None             #: of the container
    platform: Optional[str] = None          #: "Linux 6.1.0"
    python: Optional[str] = None            #: "3.12.1"
    mode: Optional[str] = None              #: "cpu", "wall", "gil", ... or "unknown"
    unit: Optional[str] = None              #: of weights: "samples", "bytes", "nanoseconds"
    event: Optional[str] = None             #: the sampled event of `-e`
    type: Optional[str] = None              #: in pprof and OTLP: the type of value that was read
    type_unit: Optional[str] = None
    interval: Optional[float] = None        #: seconds between two samples of a clock
    start: Optional[datetime] = None        #: UTC
    start_us: Optional[int] = None          #: the same in microseconds of CLOCK_MONOTONIC
    duration: Optional[float] = None        #: seconds; of several processes, the longest
    sample_rate: Optional[float] = None     #: samples per second
    error_pct: Optional[float] = None       #: of the samples: unreadable or not written, 0 to 100
    missed_pct: Optional[float] = None      #: of the due samples: not taken, 0 to 100
    lost: Optional[int] = None              #: samples that were taken but are not in the profile
    losses: dict[str, int] = field(default_factory=dict, hash=False)   #: samples by the cause of their loss
    service: dict[str, str] = field(default_factory=dict, hash=False)  #: "service.name", "service.version", ...
    features: Optional[frozenset[str]] = None   #: "native", "gc", "opcodes", ...
    timed: Optional[bool] = None            #: samples have times; otherwise they have only an order
    of_container: Optional[bool] = None     #: the profile adds up all processes of a container


@dataclass(frozen=True)
class Thread:
    id: int                 #: the kernel's, in the host's PID namespace
    name: Optional[str]
    main: bool              #: it was seen as the main thread of an interpreter
    process: Meta = field(repr=False)


class Sample(NamedTuple):
    """One sample of one thread."""
    time: Optional[float]       #: seconds since the profile's start; None: it has only an order
    thread: Thread
    status: frozenset[str]      #: "gil", "on-cpu", "cpu-unknown", "gil-requested", "exception", "main", "held"
    weight: int                 #: in the profile's unit; 1 for a sample of a clock
    stack: tuple[Frame, ...]    #: innermost first; empty: no Python frame


class Stack(NamedTuple):
    """A distinct stack, and the sum of its samples' weights."""
    frames: tuple[Frame, ...]   #: innermost first
    weight: int


class Row(NamedTuple):
    """A function or a line, and the samples in it."""
    function: str
    file: Optional[str]
    line: Optional[int]     #: of a function: its first line or, if that is unknown, the lowest sampled one
    kind: str
    own: int                #: weight of the samples that were in it, and in no function that it called
    total: int              #: weight of the samples with it on their stack; each counts once
    own_pct: float          #: of all samples, 0 to 100
    total_pct: float

    @property
    def place(self) -> str:
        return place(self.file, self.line)


class Change(NamedTuple):
    """A function in two profiles, before and after. Shares and changes are in percentage points."""
    function: str
    file: Optional[str]
    line: Optional[int]
    kind: str
    before: Optional[Row]   #: None: it is not in this profile
    after: Optional[Row]
    own_delta: float        #: of own_pct
    total_delta: float      #: of total_pct
    own_noise: float        #: how far chance alone moves own_delta: larger changes are significant

    @property
    def significant(self) -> bool:
        return abs(self.own_delta) > self.own_noise


Selection = Union[int, str]
