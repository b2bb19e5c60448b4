# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a recording says of itself: its files, its losses, and whose samples are whose."""
import re
from pathlib import Path

import noise
from profiles import SYNTHETIC


def lost(summary):
    """Losses by cause, only those that happened."""
    return {cause: n for cause, n in summary["lost"].items() if n}


def lost_once_known(summary):
    """Losses but for ticks of processes that have just begun: of the loader, before there is
    a Python, and until user space has looked at a program for the first time."""
    return {cause: n for cause, n in lost(summary).items() if cause != "late_discovery"}


def lost_of_short_lives(summary, others=()):
    """Those, but for ticks in the copying of a page at its first write after a fork, when
    nobody can read it: of processes of 8 ms that were forked 0.03 % on average, 0.13 % at
    worst; chance makes more of few samples. others: rows of processes that may lose what they do."""
    losses = lost_once_known(summary)
    for cause in losses:
        losses[cause] -= sum(row["lost"].get(cause, 0) for row in others)
    if losses.get("thread_state_unreadable", 0) <= noise.few_bound(summary["samples"], 0.0013):
        losses.pop("thread_state_unreadable", None)
    return {cause: cnt for cause, cnt in losses.items() if cnt}


def files(summary):
    """The processes of a summary (or of session.json) that have a file, with its path."""
    output = Path(summary["output"])
    # a directory, or a file: then the others' files are beside it
    where = output if output.is_dir() else output.parent
    return [dict(p, path=where / p["file"]) for p in summary["processes"] if p["file"]]


def tach_files(directory):
    return sorted(Path(directory).glob("*.tach"))


ROOT_FRAME = re.compile(r"<process (\d+) (.*)>")


def owners(summary, oracle):
    """(pid, sample) of all files; whose a sample of a merged file is, its root frame says."""
    with_files = files(summary)
    for process, profile in zip(with_files, oracle.load(*(p["path"] for p in with_files))):
        for sample in profile.samples:
            if process["pid"] is not None:
                yield process["pid"], sample
                continue
            match = ROOT_FRAME.fullmatch(sample.frames[-1].func)
            assert match and sample.frames[-1].file == SYNTHETIC, sample
            yield int(match[1]), sample
