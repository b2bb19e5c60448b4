# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A profiler whose messages are read while it runs, so that a test waits for what it says."""
import threading
import time

from processes import TIMEOUT
from recording import Finished, Recording


class Speaking(Recording):
    """As Recording; `said` has the lines of stderr so far."""

    def __init__(self, argv, **kwargs):
        super().__init__(argv, **kwargs)
        self.said = []
        self.seen = 0
        self.more = threading.Condition()
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()

    def listen(self):
        for line in self.process.stderr:
            with self.more:
                self.said.append(line.rstrip("\n"))
                self.more.notify_all()

    def expect(self, *words, timeout=TIMEOUT):
        """The next line, after those that were expected before, that has one of these words."""
        end = time.monotonic() + timeout
        with self.more:
            while True:
                while self.seen < len(self.said):
                    self.seen += 1
                    if any(word in self.said[self.seen - 1] for word in words):
                        return self.said[self.seen - 1]
                alive = self.listener.is_alive()
                self.more.wait(min(0.2, max(0, end - time.monotonic())))
                assert alive and time.monotonic() < end, f"no {words} in {self.said}"

    def wait(self, timeout=TIMEOUT):
        self.process.wait(timeout)
        self.listener.join(timeout)
        return Finished(self.argv, self.process.returncode, self.process.stdout.read(),
                        "\n".join(self.said) + "\n")
