# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
sessions.py TRUTH FIRST LAST: objects that stay beside text that does not, in memory that both use in turn.

It makes FIRST sessions, says "half", and goes on to LAST of them. The truth is how many there are.
"""
import json
import sys

CACHE = {}


class Session:
    def __init__(self, i):
        self.i = i
        self.data = bytearray(20000)
        self.history = [str(j) for j in range(50)]


def render(session):
    return json.dumps({"rows": list(range(2000)), "session": session.i})


def handle(i):
    session = Session(i)
    CACHE[i] = session
    return render(session)


def say(word):
    print(word)
    sys.stdout.flush()


def main(truth, first, last):
    say("ready")
    sys.stdin.readline()
    for i in range(first):
        handle(i)
    say("half")
    sys.stdin.readline()
    for i in range(first, last):
        handle(i)
    with open(truth, "w") as f:
        json.dump({"sessions": len(CACHE)}, f)
    say("done")
    sys.stdin.readline()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
