#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""unused.py [BUILD [TREE]]: the program has no function that only tests call.

What a file of the library exports, another file of it or a program needs; object files say that,
as the linker sees them. What only its own file needs is static, unless a test calls it: a part that
has tests of its own. Inline functions of headers are looked for in the sources.
"""
import re
import subprocess
import sys
from pathlib import Path

BUILD = Path(__file__).resolve().parents[1]
PROGRAMS = ("user/main.o", "user/agent_main.o", "user/elf_main.o")
EXCEPTIONS = {
    "offcpu_scan_walk.o": "bpf/ compiled for user space, where all functions are in one file",
    "profile.pb-c.o": "generated",
    "agent_config_parse": "fuzz_agent_config: any bytes, and no file",
    "config_print_keys": "test_config_docs print makes the tables of docs/agent-config.md",
    "mapped_files_read_text": "fuzz_maps: any bytes, and no process",
    "page_book_held": "fuzz_page_book compares it with what it was told",
    "session_json_parse": "fuzz_session: any bytes, and no file",
}
NO_CODE = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', re.S)
WORD = re.compile(r"\w+")
INLINE = re.compile(r"^static (?:inline|__always_inline) [^;{=]*?\b(\w+)\(", re.M)


def exported(lines):
    """[(member, symbol)]: what members of an archive define and no other file needs. lines: of
    nm -A, of the archive and of programs' own objects."""
    home, needed = {}, set()
    for line in lines:
        *_, kind, symbol = ("", "", *line.split())
        if kind == "U":
            needed.add(symbol)
        elif kind in set("TDBRCVW") and ".a:" in line and not symbol.startswith("__"):
            home[symbol] = line.split(":")[1]
    return sorted((member, symbol) for symbol, member in home.items() if symbol not in needed)


def complaints(unneeded, sources, tests):
    """unneeded: as exported() returns it. sources: path -> its words, with repetitions. tests: the
    words of all tests."""
    own = {Path(path).stem: words for path, words in sources.items() if path.endswith(".c")}
    for member, symbol in unneeded:
        if member in EXCEPTIONS or symbol in EXCEPTIONS:
            continue
        if own.get(Path(member).stem, []).count(symbol) < 2:
            yield f"{member}: no program needs {symbol}"
        elif symbol not in tests:
            yield f"{member}: {symbol} is needed by this file only, and is not static"


def unused_inlines(texts):
    """texts: path -> a source without comments."""
    inlines = {name: path for path, text in texts.items() if path.endswith(".h")
               for name in INLINE.findall(text)}
    uses = dict.fromkeys(inlines, 0)
    for text in texts.values():
        for word in WORD.findall(text):
            if word in uses:
                uses[word] += 1
    return [f"{inlines[name]}: no program needs {name}" for name in sorted(uses) if uses[name] < 2]


def read_all(tree, folders):
    return {str(path): NO_CODE.sub(" ", path.read_text(errors="replace"))
            for folder in folders for path in sorted((Path(tree) / folder).rglob("*.[chS]"))}


def main():
    build = Path(sys.argv[1]) if len(sys.argv) > 1 else BUILD
    tree = sys.argv[2] if len(sys.argv) > 2 else "."
    mains = [build / name for name in PROGRAMS]
    if not all(path.exists() for path in mains):
        print("not all programs are built here: the library is not only theirs")
        return 0
    listed = subprocess.run(["nm", "-A", build / "libtachbpf.a", *mains], capture_output=True,
                            text=True, check=True)
    texts = read_all(tree, ("user", "bpf"))
    tests = set(WORD.findall(" ".join(read_all(tree, ("tests",)).values())))
    found = list(complaints(exported(listed.stdout.splitlines()),
                            {path: WORD.findall(text) for path, text in texts.items()}, tests))
    found += unused_inlines(texts)
    print("\n".join(found) or "all that the library exports is needed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
