#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""unused.py [BUILD [TREE]]: the program has no function that only tests call.

What a file of the library exports, another file of it or a program needs; object files say that, as
the linker sees them. What only its own file needs is static: a test that looks into a file includes
it. Inline functions of headers are looked for in the sources.
"""
import re
import subprocess
import sys
from pathlib import Path

BUILD = Path(__file__).resolve().parents[1]
PROGRAMS = ("user/main.o", "user/agent_main.o", "user/elf_main.o")
# Members and symbols, and why.
EXCEPTIONS = {
    "offcpu_scan_walk.o": "bpf/ compiled for user space, where all functions are in one file",
    "profile.pb-c.o": "generated",
    "agent_config_parse": "fuzz_agent_config: any bytes, and no file",
    "agent_options_help": "test_config_docs compares it with the table",
    "asyncio_section_parse": "fuzz_asyncio_section: any bytes",
    "config_print_keys": "test_config_docs print makes the tables of docs/agent-config.md",
    "exe_cache_take": "tests of capture fill the cache with it",
    "landlock_limit": "sanitized programs have no jail",
    "mapped_files_read_text": "fuzz_maps: any bytes, and no process",
    "native_libraries": "tests of formats read what a file has",
    "opener_maps": "test_opener_files: of the test itself, without a socket",
    "page_book_held": "fuzz_page_book compares it with what it was told",
    "process_ctx_parse": "fuzz_process_ctx: any bytes, and no process",
    "session_json_parse": "fuzz_session: any bytes, and no file",
    "window_pprof_name": "test_otlp_calls: hostile names",
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


def complaints(unneeded):
    return [f"{member}: only {member.removesuffix('.o')}.c or tests need {symbol}"
            for member, symbol in unneeded
            if member not in EXCEPTIONS and symbol not in EXCEPTIONS]


def unused_inlines(texts):
    """texts: path -> a source without comments."""
    inlines = {name: path for path, text in texts.items() if path.endswith(".h")
               for name in INLINE.findall(text)}
    uses = dict.fromkeys(inlines, 0)
    for text in texts.values():
        for word in WORD.findall(text):
            if word in uses:
                uses[word] += 1
    return [f"{inlines[name]}: nothing needs {name}" for name in sorted(uses) if uses[name] < 2]


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
    found = complaints(exported(listed.stdout.splitlines()))
    found += unused_inlines(read_all(tree, ("user", "bpf")))
    print("\n".join(found) or "all that the library exports is needed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
