# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""spinning.py TRUTH: computes in spin() for ever, after it has said "ready"."""


def spin(step):
    total = 0
    print("ready", flush=True)
    while True:
        total += step


spin(3)
