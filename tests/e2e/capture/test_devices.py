# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Paths that others choose may lead to a device, whose opening alone has an effect: none is opened."""
import os
import re
import shutil
import subprocess

import pytest

from paths import binary
from present import absent
from processes import TIMEOUT, kill

LIBRARY = "libpython3.11.so.1.0"


@pytest.fixture
def lured(out):
    """A process and an executable that need a libpython, in place of which is a link to /dev/ptmx."""
    for tool in ("gcc", "strace"):
        if not shutil.which(tool):
            absent(f"{tool} is not installed: run make check-deps")
    directory = out / "bin"
    directory.mkdir()
    (out / "lib.c").write_text("void Py_BytesMain(void) {}\n")
    (out / "main.c").write_text("#include <stdio.h>\n#include <unistd.h>\nvoid Py_BytesMain(void);\n"
                                "int main(void) { Py_BytesMain(); puts(\"ready\"); fflush(stdout); pause(); }\n")
    program = directory / "python3.11"
    for argv in (["-shared", "-fPIC", f"-Wl,-soname,{LIBRARY}", "-o", directory / LIBRARY, out / "lib.c"],
                 ["-o", program, out / "main.c", directory / LIBRARY, f"-Wl,-rpath,{directory}"]):
        subprocess.run(["gcc", *map(str, argv)], check=True, timeout=TIMEOUT)
    process = subprocess.Popen([program], stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert process.stdout.readline() == b"ready\n"
        (directory / LIBRARY).unlink()
        (directory / LIBRARY).symlink_to("/dev/ptmx")
        yield directory
    finally:
        kill(process)


@pytest.mark.parametrize("command", [["-a", "-d", "0.5", "-o", "x"], ["ps"], ["doctor"]], ids=lambda c: c[-1])
def test_no_device_is_opened(lured, out, command):
    log = out / "calls"
    subprocess.run(["strace", "-f", "-y", "-qq", "-s", "4096", "-e", "trace=open,openat,openat2", "-o", log,
                    binary(), *command], cwd=out, stdout=subprocess.DEVNULL, timeout=TIMEOUT,
                   env=dict(os.environ, PATH=f"{lured}:{os.environ['PATH']}"))
    calls = log.read_text().splitlines()
    met = [c for c in calls if "/dev/ptmx" in c or re.search(rf"{LIBRARY}\"", c)]
    assert [c for c in met if "O_PATH" not in c] == []
    if command[0] == "-a":
        assert met, "nobody has come near it"


@pytest.mark.parametrize("command", ["report", "info", "recover", "replay"])
def test_no_device_in_a_recordings_place_is_opened(root, out, command):
    if not shutil.which("strace"):
        absent("strace is not installed: run make check-deps")
    made = out / "x"
    made.mkdir()
    for name in ("1-python.tach", "1-python.tach.json", "1-python.folded", "session.json"):
        (made / name).symlink_to("/dev/ptmx")
    met = []
    log, more = out / "calls", ["--format", "collapsed", "-o", out / "y"] if command == "replay" else []
    for place in (made, made / "1-python.tach", made / "1-python.folded"):
        subprocess.run(["strace", "-f", "-y", "-qq", "-e", "trace=open,openat,openat2", "-o", log,
                        binary(), command, *more, place], capture_output=True, timeout=TIMEOUT)
        met += [c for c in log.read_text().splitlines() if "ptmx" in c and "= -1" not in c]
    assert met, "nobody has come near it"
    assert [c for c in met if "O_PATH" not in c] == []
