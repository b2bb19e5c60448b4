# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pytest plugin: what there is to look at when a test failed, kept in build/failed/TEST.

The report, every command that notes.py knows of for the test and for the fixtures it uses, the
files they wrote, and the machine's counters before and after.
"""
import os
import re
import shutil
from pathlib import Path

import pytest

import machine
import notes
from grouping import plain_name
from paths import REPO

MAX_BYTES = 64 << 20            # of files, for one test
MAX_TEXT = 256 << 10            # of what a command printed
STARTED = pytest.StashKey()
of_fixtures = {}                # fixture's definition -> what ran while it was made
copies = {}                     # a file that several tests would keep -> where it is kept


def directory():
    return Path(os.environ.get("TACHBPF_FAILED", REPO / "build" / "failed"))


def place_of(nodeid):
    """The directory of a test's evidence."""
    name = re.sub(r"[^\w.=-]+", "_", plain_name(nodeid)).strip("_")
    return directory() / name[:200]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    item.stash[STARTED] = (machine.counters(), len(notes.ran))
    yield
    notes.ran.clear()


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef):
    start = len(notes.ran)
    yield
    if fixturedef.scope != "function":
        of_fixtures[fixturedef] = notes.ran[start:]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if not report.failed:
        return
    place = place_of(item.nodeid)
    try:
        keep(item, report, place)
    except OSError as error:
        report.sections.append(("evidence", f"could not be kept in {place}: {error}"))
        return
    report.user_properties.append(("evidence", str(place)))
    report.sections.append(("evidence", str(place)))


def keep(item, report, place):
    place.mkdir(parents=True, exist_ok=True)
    before, start = item.stash[STARTED]
    (place / f"{report.when}.txt").write_text(report.longreprtext + "\n\n" + "\n\n".join(
        f"{title}:\n{text}" for title, text in report.sections))
    (place / "machine.txt").write_text(machine.difference(before, machine.counters()))
    commands = ran_for(item, start)
    (place / "commands.txt").write_text("\n\n".join(map(told, commands)) + "\n")
    keep_files(written(item, commands), place / "files")


def ran_for(item, start):
    """Commands of the test, and of the fixtures it shares; each once, oldest first."""
    definitions = {d for found in item._fixtureinfo.name2fixturedefs.values() for d in found}
    kept = [c for d in definitions for c in of_fixtures.get(d, ())] + notes.ran[start:]
    return sorted({id(c): c for c in kept}.values(), key=lambda c: c["began"])


def told(command):
    lines = ["$ " + " ".join(command["argv"])]
    lines += [f"{key}: {command[key]}" for key in ("pid", "cwd", "exit") if key in command]
    if "ended" in command:
        lines.append(f"took: {command['ended'] - command['began']:.2f} s")
    for key in ("stdout", "stderr"):
        if command.get(key):
            lines.append(f"{key}:\n{command[key][-MAX_TEXT:]}")
    return "\n".join(lines)


def written(item, commands):
    """What the test's directories hold, and what its commands were told to write."""
    paths = [item.funcargs[name] for name in ("out", "tmp_path") if name in item.funcargs]
    for command in commands:
        paths += command.get("files", ())
        argv = command["argv"]
        paths += [Path(command.get("cwd", "."), value) for option, value in zip(argv, argv[1:])
                  if option in ("-o", "--output")]
    return list(dict.fromkeys(map(Path, paths)))


def regular_files(path):
    """(file, its name below the place) of a file, or of all in a directory."""
    if path.is_file():
        yield path, Path(path.name)
    for top, _, names in os.walk(path):
        for name in names:
            file = Path(top, name)
            if file.is_file() and not file.is_symlink():
                yield file, Path(path.name) / file.relative_to(path)


def keep_files(paths, place):
    """Small ones first, as many as there is room for; the rest by name."""
    found = sorted({pair for path in paths for pair in regular_files(path)},
                   key=lambda pair: pair[0].stat().st_size)
    left, left_out = MAX_BYTES, []
    for file, name in found:
        left -= file.stat().st_size
        if left < 0:
            left_out.append(f"{file}: {file.stat().st_size} bytes")
            continue
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        keep_file(file, place / name)
    if left_out:
        place.mkdir(parents=True, exist_ok=True)
        (place / "LEFT-OUT").write_text("\n".join(left_out) + "\n")


def keep_file(file, target):
    """A file that another failed test kept, too, is there once."""
    s = file.stat()
    key = (str(file), s.st_size, s.st_mtime_ns)
    target.unlink(missing_ok=True)
    if key in copies and copies[key].exists():
        os.link(copies[key], target)
    else:
        copies[key] = Path(shutil.copy(file, target))
