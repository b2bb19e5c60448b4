# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What interpreters answered when they were asked, kept until their program's file changes.

Each pytest process needs the answers of all interpreters; a start of each costs seconds.
"""
import contextlib
import hashlib
import json
import os
import tempfile

from .cache import path_of


class Answers:
    """A file in the cache: program's path -> what the file is, and the answer."""

    def __init__(self, question):
        self.question = hashlib.sha256(question.encode()).hexdigest()
        self.path = path_of("probes.json")
        self.known, self.changed = {}, False
        with contextlib.suppress(OSError, ValueError):
            with open(self.path) as f:
                self.known = json.load(f)

    def identity(self, program):
        s = os.stat(program)
        return [self.question, s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns]

    def get(self, program, ask):
        """The kept answer, or what ask() says; what is None is asked again next time."""
        try:
            identity = self.identity(program)
        except OSError:
            return ask()
        kept = self.known.get(program)
        if kept and kept[0] == identity:
            return kept[1]
        answer = ask()
        if answer is not None:
            self.known[program] = [identity, answer]
            self.changed = True
        return answer

    def save(self):
        """Whoever may not write there asks again each time."""
        if not self.changed:
            return
        with contextlib.suppress(OSError):
            handle, fresh = tempfile.mkstemp(prefix="probes.", dir=os.path.dirname(self.path))
            with open(handle, "w") as f:
                json.dump(self.known, f)
            os.chmod(fresh, 0o644)
            os.rename(fresh, self.path)
