# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs that map thousands of files with data (memmap, Arrow) are Python all the same."""
import json
import subprocess

import pytest

from command import good
from present import FOUND
from processes import kill, use_cpu
from recording import Recording, succeeded

FILES = 5000
MAP = """
import ctypes, os, sys
mmap, where = ctypes.CDLL(None).mmap, sys.argv[1]
mmap.restype = ctypes.c_void_p
mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
for i in range(int(sys.argv[2])):       # the module mmap would keep a descriptor of each
    fd = os.open(os.path.join(where, f"part-{i}"), os.O_RDWR | os.O_CREAT, 0o600)
    assert mmap(None, 4096, 1, 2, fd, 0) != 2 ** 64 - 1
    os.close(fd)
print("ready", flush=True)
while True:
    pass
"""


@pytest.fixture
def mapper(out, python):
    """Runs with libpython as a library, if there is such a one: data is mapped below it."""
    interpreter = next((i for i in FOUND if i.kind == "shared"), python)
    (out / "data").mkdir()
    (out / "data").chmod(0o777)
    process = subprocess.Popen(interpreter.command("-c", MAP, out / "data", FILES), text=True,
                               stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        kill(process)


def test_a_program_with_thousands_of_mapped_files_is_recorded(mapper, out, oracle):
    with open(f"/proc/{mapper.pid}/maps") as maps:
        assert sum("/part-" in line for line in maps) == FILES
    shown = json.loads(good("ps", "--json"))
    rows = [row for row in shown["pythons"] if row["pid"] == mapper.pid]
    assert len(rows) == 1 and rows[0]["profilable"], rows
    with Recording(["-p", mapper.pid, "-o", out / "x.tach"]) as recording:
        recording.wait_recording()
        use_cpu(mapper.pid, 0.3)
        succeeded(recording.stop())
    profile, = oracle.load(out / "x.tach")
    assert profile.replayed
