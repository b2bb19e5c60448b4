# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""run.py TRUTH BEHAVIOUR=SECONDS...: one process that behaves so, one after the other.

The seconds are CPU time. SIGTERM ends the work early and still writes the truth.
"""
import importlib
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import truth  # noqa: E402


def main():
    path, plan = sys.argv[1], [arg.split("=") for arg in sys.argv[2:]]
    os.environ["TARGET_SCRATCH"] = os.path.dirname(path)
    truth.run(path, [(importlib.import_module(name), float(seconds)) for name, seconds in plan])


main()
