# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""For programs that CPython 3.15 runs: what its reader calls for each sample of a profile."""

# A collector that keeps all samples with their times, in the file's order.
KEEP = """
class Keep:
    aggregating = False
    def __init__(self):
        self.all = []
    def collect(self, interpreters, timestamps_us=None):
        for us in timestamps_us if isinstance(timestamps_us, list) else [timestamps_us]:
            self.all.append((interpreters, us or 0))
    def collect_failed_sample(self):
        pass
"""
