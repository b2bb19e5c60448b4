# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Names: ASCII, Latin-1, UCS-2, UCS-4, lone surrogates, ten thousand characters long."""
from rehearse import Play

PLAIN = """
def {0}(n):
    for i in range(n):
        i & 3

class {1}:
    def {0}(self, n):
        return sum(map(self.{2}, range(n)))

    def {2}(self, i):
        return i & 3

    def make(self):
        def {0}(n):
            for i in range(n):
                i & 3
        return {0}

def turn():
    {0}(200)
    thing = {1}()
    thing.{0}(20)
    thing.make()(200)
"""
KINDS = [
    ("ascii", "Ascii", "step", "/made/ascii.py"),
    ("na\u00efve", "\u00dcber", "\u00e9tape", "/made/gr\u00f6\u00dfe.py"),
    ("\u540d\u524d", "\u041a\u043b\u0430\u0441\u0441", "\u0448\u0430\u0433",
     "/made/\u540d\u524d.py"),
    ("\U0002123d\U00020089", "\U0002000b", "\U00020021", "/made/\U0001f40d \U0001f600.py"),
    ("surrogate_file", "SurrogateFile", "step", "/made/\udcff\ud800x\udc80.py"),
    ("long_" + "x" * 12000, "Long" + "y" * 11000, "short", "/made/" + "z" * 11000 + ".py"),
    ("long_" + "\u00e9" * 12000, "Long" + "\u540d" * 11000, "short",
     "/made/" + "\U0001f40d" * 3000 + ".py"),
    ("spaces", "Spaces", "step", "  a file; with, odd\tcharacters\n\x1b[31m\x7f\"\\ and a NUL"),
    ("empty", "Empty", "step", ""),
]


def surrogate_names(code):
    """The same code with lone surrogates in its names, as only types.CodeType can make it."""
    if not hasattr(code, "replace"):
        return code
    changes = {"co_name": code.co_name + "\ud8ff"}
    if hasattr(code, "co_qualname"):
        changes["co_qualname"] = code.co_qualname + "\udfff\U0001f40d"
    return code.replace(**changes)


def make(function, cls, method, file):
    scope = {"__name__": "made"}
    exec(compile(PLAIN.format(function, cls, method), file, "exec"), scope)
    return scope["turn"]


def odd_names(i):
    for k in range(200):
        k & 3
    return i


odd_names.__code__ = surrogate_names(odd_names.__code__)
TURNS = [make(*kind) for kind in KINDS]


def act():
    for turn in TURNS:
        turn()
    sum(map(odd_names, range(5)))


run = Play(act, ["ascii", "na\u00efve", "\u540d\u524d", "\U0002123d\U00020089"]).run
