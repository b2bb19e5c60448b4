# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compiles stdlib modules and says what it knows about the code objects, for test_positions.py.

    codes.py ADDRESSES ANSWERS

ADDRESSES: "address length" lines. ANSWERS: what read_codes.c must print. Then "ready" on
stdout, and waits for stdin to close. rehearse.py, which is beside it, says the places.
"""
import dis
import importlib
import sys
import types

from rehearse import positions, qualname

MODULES = """argparse ast asyncio.base_events calendar collections concurrent.futures.thread csv
    dataclasses datetime difflib dis email.message enum fractions functools http.client inspect
    json.decoder logging mailbox optparse os pathlib pickle platform pprint random re shutil
    smtplib socket statistics string subprocess tarfile tempfile textwrap threading tokenize
    traceback typing unittest.mock urllib.request uuid weakref xml.dom.minidom zipfile _pydecimal
    _strptime""".split()
ODD = [("def f(a):\n  \u043f\u0440\u0438=a\n  return \u043f\u0440\u0438\n"
        "class \u00dcber:\n  def \u00e9t\u00e9(self): return 1\n"
        "class \u6f22\u5b57:\n def \u5b57(self): pass\n", "/tmp/\U0001f600/\udcff.py"),
       ("x = 1", ""), ("x = 1", "/x" * 3000)]


def walk(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from walk(const)


def codes():
    for name in MODULES:
        try:
            path = importlib.import_module(name).__file__
            with open(path, encoding="utf-8") as f:
                yield from walk(compile(f.read(), path, "exec"))
        except (ImportError, AttributeError, FileNotFoundError):
            pass  # not in this version or build
    for source, path in ODD:
        yield from walk(compile(source, path, "exec"))


def opcodes(code):
    """Of each unit; a cache's is that of the instruction it belongs to, up to 3.12."""
    units = getattr(code, "_co_code_adaptive", code.co_code)      # 3.11: specialised
    owner = 0
    if not (3, 11) <= sys.version_info < (3, 13):
        yield from units[::2]
        return
    for instruction in dis.get_instructions(code, show_caches=True):
        if instruction.opname != "CACHE":
            owner = instruction.offset
        yield units[owner]


def text(s):
    s = "".join("\ufffd" if 0xd800 <= ord(c) <= 0xdfff else c for c in s)
    return s.encode()[:4096].hex()


def main(addresses, answers):
    keep = list(codes())
    with open(addresses, "w") as out:
        out.writelines("%d %d\n" % (id(c), len(c.co_code)) for c in keep)
    with open(answers, "w") as out:
        for code in keep:
            units = ("%d,%d,%d,%d,%d " % (*p, op) for p, op in zip(positions(code), opcodes(code)))
            print(code.co_firstlineno, text(qualname(code)), text(code.co_filename),
                  "".join(units), file=out)
    print("ready", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
