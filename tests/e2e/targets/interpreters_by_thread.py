# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Threads that run sub-interpreters, each its own, and one that switches between two.

Says which interpreter burned when: a line of JSON per function, the interpreter's id and
the thread. Which module makes interpreters differs from version to version.
"""
import json
import sys
import threading
import time

