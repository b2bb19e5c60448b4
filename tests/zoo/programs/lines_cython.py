# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""lines.py, with a compiled function between its own."""
import lines
import lines_part


def outer():
    lines_part.work(lines.stop)


outer()
