# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Under sudo, what root makes is given to the user. In the user's own directory he could put
something else in its place before that."""
import os
import subprocess

import pytest

from recording import tachbpf

NOBODY = 65534


@pytest.fixture
def swapped(scratch, out):
    """Record with the library that swaps. Returns how it ended."""
    library = out / "swap.so"
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library,
                    scratch / "targets" / "swap_mkdir.c", "-ldl"], check=True)
    home = out / "home"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)

    def run(other):
        return tachbpf("-a", "-d", "0.1", "-o", home / "recording", env={
            "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "LD_PRELOAD": str(library),
            "SWAP_WITH": str(other), "SWAP_TO": str(home / "recording")})
    return run


def old_directory(path, mode):
    path.mkdir()
    path.chmod(mode)
    os.utime(path, (1e9, 1e9))
    return path


@pytest.mark.parametrize("mode", [0o700, 0o755])
@pytest.mark.parametrize("content", [True, False], ids=["full", "empty"])
def test_a_directory_of_roots_is_not_given_away(swapped, out, mode, content):
    precious = old_directory(out / "precious", mode)
    if content:
        (precious / "secret").write_text("root's own")
    finished = swapped(precious)
    assert finished.returncode == 1, repr(finished)
    assert "it was replaced by another one" in finished.stderr, repr(finished)
    taken = out / "home" / "recording"
    assert taken.stat().st_uid == 0
    assert os.listdir(taken) == (["secret"] if content else [])
