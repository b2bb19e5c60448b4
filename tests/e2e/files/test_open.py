# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`tachbpf open`: a page of profiles in a private file, shown in the browser."""
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from command import good, refused, run
from desktop import ENV, NOBODY, desktop, opened  # noqa: F401 (a fixture)
from paths import REPO, binary
from processes import TIMEOUT

CAPTURE = REPO / "tests" / "golden" / "tach" / "cpu_raw.bin"
NO_USER = {"SUDO_UID": "", "SUDO_GID": ""}


@pytest.fixture
def page():
    """The page whose path was printed; its directory is removed afterwards."""
    made = []

    def of(done):
        path = Path(done.stdout.strip())
        made.append(path.parent)
        assert path.is_file(), done
        return path

    yield of
    for directory in made:
        assert directory.name.startswith("tachbpf-open-")
        shutil.rmtree(directory)


def opening(*argv, prefix=(), **env):
    return subprocess.run([*prefix, binary(), "open", *map(str, argv)], capture_output=True, text=True,
                          timeout=TIMEOUT, env={**os.environ, **env})


@pytest.fixture
def as_nobody(out):
    """Run it as a user without rights, whose pages are below the directory `out`."""
    out.chmod(0o777)

    def opening_as_nobody(*argv):
        return opening(*argv, prefix=["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"],
                       TMPDIR=str(out), DISPLAY="", WAYLAND_DISPLAY="")

    return opening_as_nobody


@pytest.mark.parametrize("report", ["flamegraph", "heatmap"])
def test_the_page_is_what_replay_writes_and_others_cannot_read_it(tmp_path, page, report):
    done = opening("--format", report, CAPTURE, **NO_USER)
    made = page(done)
    good("replay", CAPTURE, "--format", report, "-o", tmp_path / "same.html")
    assert made.read_bytes() == (tmp_path / "same.html").read_bytes()
    assert made.name == f"{report}.html" and made.parent.parent == Path("/tmp")
    assert stat.S_IMODE(made.parent.stat().st_mode) == 0o700


def test_a_page_that_cannot_be_shown_is_an_error_that_leaves_the_page(page):
    done = opening(CAPTURE, **NO_USER)
    assert done.returncode == 1 and page(done).stat().st_size
    assert "cannot open" in done.stderr and "root has no desktop" in done.stderr


def test_it_is_shown_as_the_user_behind_sudo(out, desktop, page):  # noqa: F811
    done = opening(CAPTURE, prefix=desktop, **ENV)
    assert done.returncode == 0 and not done.stderr, done
    uid, gid, groups, where, path, begin, *_ = opened(out)
    made = page(done)
    assert (uid, gid, groups, where) == (str(NOBODY), str(NOBODY), str(NOBODY), "/")
    assert path == str(made) and begin == "<!DOCTYPE html>"
    assert {made.stat().st_uid, made.parent.stat().st_uid} == {NOBODY}
    assert stat.S_IMODE(made.parent.stat().st_mode) == 0o700


def test_output_names_the_page(tmp_path):
    done = opening(CAPTURE, "-o", tmp_path / "x.html", **NO_USER)
    assert done.stdout == f"{tmp_path / 'x.html'}\n" and (tmp_path / "x.html").stat().st_size


def test_a_users_page_is_below_tmpdir(out, as_nobody, page):
    done = as_nobody(CAPTURE)
    assert done.returncode == 1 and "no display" in done.stderr
    assert page(done).parent.parent == out


def test_output_makes_no_directory(out, as_nobody):
    done = as_nobody(CAPTURE, "-o", out / "x.html")
    assert done.stdout == f"{out / 'x.html'}\n"
    assert [p.name for p in out.iterdir()] == ["x.html"]


def test_roots_page_is_in_no_directory_that_a_variable_names(tmp_path, page):
    assert page(opening(CAPTURE, TMPDIR=str(tmp_path), **NO_USER)).parent.parent == Path("/tmp")


def test_samples_are_chosen_as_by_replay(tmp_path, page):
    made = page(opening(CAPTURE, "--status", "gil", **NO_USER))
    good("replay", CAPTURE, "--status", "gil", "--format", "flamegraph", "-o", tmp_path / "same.html")
    assert made.read_bytes() == (tmp_path / "same.html").read_bytes()


def test_a_file_that_cannot_be_read_leaves_nothing(out, as_nobody):
    refused(as_nobody(out / "none.tach"), "none.tach")
    assert not list(out.iterdir())


def test_the_others_are_shown_if_one_cannot_be_read(tmp_path, page):
    (tmp_path / "bad.tach").write_bytes(b"nonsense")
    done = opening(CAPTURE, tmp_path / "bad.tach", **NO_USER)
    assert done.returncode == 1 and "bad.tach" in done.stderr and page(done).stat().st_size


def test_wrong_usage_is_refused():
    refused(run("open"), status=2)
    refused(run("open", "--format", "pprof", CAPTURE), "flamegraph", status=2)
