# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Nothing but work: for programs that have Python in them, and for ways to pack a program."""
import work

work.run()
