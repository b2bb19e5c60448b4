#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""rooms.py [TREE]: no file of user/ includes a file of a higher room, or names what its room refuses to know.

A room is a folder of user/. Each line of output is one include, name or file that breaks a rule.
"""
import re
import sys
from pathlib import Path

# From the lowest room to the highest. main.c, agent_main.c and elf_main.c are above all of them.
ROOMS = ("base", "model", "worker", "elf", "elf_helper", "cpython", "asyncio", "host", "memory", "heap", "native", "formats", "target",
         "probe", "resolve", "telemetry", "delivery", "live", "recording", "capture", "look", "analysis", "doctor",
         "config", "agent", "commands")
# What a room refuses to know, as its README.md says: names that may not occur in its code, besides what the order forbids.
LIBBPF = r"\bbpf_(map|object|program|link|prog|obj)_\w+|\bring_buffer__\w+"
PROC = r'"/proc\b'
REFUSED = {
    "model": f"{LIBBPF}|{PROC}",
    "elf": f"{LIBBPF}|{PROC}|\\bpython_\\w+|\\bproc_\\w+",
    "elf_helper": f"{LIBBPF}|\\bpython_\\w+",
    "cpython": f"{LIBBPF}|{PROC}|\\bproc_\\w+",
    "asyncio": f"{LIBBPF}|{PROC}|\\bproc_\\w+",
    "host": f"{LIBBPF}|(?i:python)|\\btstate",
    "memory": LIBBPF,
    "heap": LIBBPF,
    "native": f'{LIBBPF}|"elf/elf[._]|\\bpython_\\w+',
    "formats": f'{LIBBPF}|"(native|memory)/|{PROC}(?!/self)',
    "probe": LIBBPF,
    "resolve": f'{LIBBPF}|"formats/',
    "telemetry": f"{LIBBPF}|\\bcurl_\\w+",
    "delivery": f'{LIBBPF}|"(telemetry|formats)/',
    "live": f'{LIBBPF}|"(formats|target|host)/',
    "recording": f"{LIBBPF}|\\bisatty\\b|\\btcgetattr\\b",
    "capture": r'"(formats|live)/',
    "look": f'{LIBBPF}|"(formats|recording|live)/',
    "analysis": f'{LIBBPF}|"(capture|resolve|target)/',
    "config": f'{LIBBPF}|"(capture|delivery|recording)/',
    "agent": LIBBPF,
    "commands": LIBBPF,
}
SKELETONS = ("tachbpf.skel.h", "scan.skel.h")
# Files that make generates: they are in no room.
GENERATED = re.compile(r"(tachbpf|scan)\.skel\.h|syscall_names\.inc")
# Who loads BPF programs: all that is in one room, and one more file.
LOADERS = ("capture/", "doctor/doctor_trial.c")
# Headers inside of which only these files may look.
PRIVATE = {
    "resolve/process_internal.h": [f"resolve/process{part}.c" for part in (
        "", "_async", "_blocks", "_event", "_gc", "_memory", "_stack", "_threads")],
}
INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]*)"')


def wrong_include(user, name, included):
    """What is wrong with an include in the file user/NAME; None: nothing."""
    room, target = name.split("/")[0], included.split("/")[0]
    if included in SKELETONS and not name.startswith(LOADERS):
        return f"{room} includes {included}: only {', '.join(LOADERS)} may load BPF programs"
    if included in PRIVATE and name not in PRIVATE[included]:
        return f"{included} is for {', '.join(PRIVATE[included])}"
    if GENERATED.fullmatch(included) or included.startswith("bpf/"):
        return None
    if target not in ROOMS or not (user / included).is_file():
        return f'"{included}" is not written as "room/file.h"'
    if room in ROOMS and ROOMS.index(target) > ROOMS.index(room):
        return f"{room} includes {included}: {target} is a higher room than {room}"
    return None


def without_comments(text):
    """C code with its comments' characters gone and its lines kept."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)


def refused_names(room, name, text):
    """A complaint for each name in the file user/NAME that its room refuses to know."""
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        for found in re.finditer(REFUSED[room], line) if room in REFUSED else ():
            yield f"user/{name}:{number}: {room} refuses to know {found[0]}"


def complaints(tree):
    user = Path(tree) / "user"
    for path in sorted([*user.rglob("*.c"), *user.rglob("*.h")]):
        name = path.relative_to(user).as_posix()
        if name not in ("main.c", "agent_main.c", "elf_main.c") and name.split("/")[0] not in ROOMS:
            yield f"user/{name}:1: in no room: {', '.join(ROOMS)}"
        text = path.read_text(encoding="utf-8")
        yield from refused_names(name.split("/")[0], name, text)
        for number, line in enumerate(text.splitlines(), 1):
            include = INCLUDE.match(line)
            wrong = include and wrong_include(user, name, include[1])
            if wrong:
                yield f"user/{name}:{number}: {wrong}"


def main():
    found = list(complaints(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(found) or "every include points to the same room or to a lower one, and no room names what it refuses to know")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
