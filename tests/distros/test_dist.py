# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make dist: a tarball that builds with a C compiler and the libraries, and the same bytes of a
commit in any directory."""
import hashlib
import os
import subprocess

import pytest

import systems
from here import BUILD, make
from paths import REPO

DEBIANS = ("debian-12", "debian-13", "debian-sid")
ONLY = DEBIANS
# What the build needs is fetched, then there is no network.
BUILD_IT = """
set -e
cd /from/tachbpf-*
make deps
for tool in clang bpftool git; do
	! command -v $tool || exit 1
done
unshare --net make -j2 all
build/tachbpf --version
""" + systems.BUSY + """
build/tachbpf -a -r 999 -d 1 -q -o /tmp/first
build/tachbpf report /tmp/first >/dev/null
echo "built from the tarball"
"""


@pytest.fixture(scope="session")
def tarball():
    done = make("dist")
    assert done.returncode == 0, done.stdout[-4000:]
    path, = BUILD.glob("tachbpf-*.tar.xz")
    return path


def test_two_builds_are_the_same(tmp_path):
    """The program and the tarball, of this directory and of a copy elsewhere."""
    copy = tmp_path / "a-directory-with-a-longer-name" / "tree"
    systems.copy_tree(copy, systems.sources("-c"))
    systems.commit(copy)
    if (REPO / "vendor").is_dir():
        subprocess.run(["cp", "-r", REPO / "vendor", copy], check=True)
    subprocess.run(["chmod", "-R", "g+w,o-rx", copy], check=True)       # another umask
    made = {}
    for tree in (REPO, copy):
        done = make("all", "dist", tree=tree)
        assert done.returncode == 0, done.stdout[-4000:]
        out = tree / BUILD.relative_to(REPO)
        made[tree] = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                      for path in (out / "tachbpf", *out.glob("tachbpf-*.tar.xz"))}
    assert len(made[REPO]) == 2 and made[copy] == made[REPO]


def test_tarball_needs_no_generators_and_no_network(tarball, ready, keep):
    with ready.fresh_bare() as run:
        run.path("/from").mkdir()
        subprocess.run(["tar", "-C", run.path("/from"), "-xf", tarball], check=True)
        done = run("sh", "-c", BUILD_IT)
    keep(done.stdout)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "built from the tarball" in done.stdout


def test_tarball_of_the_tarball(tarball, tmp_path):
    """It says in one line that it cannot be made."""
    subprocess.run(["tar", "-C", tmp_path, "-xf", tarball], check=True)
    tree, = tmp_path.iterdir()
    done = make("dist", tree=tree, GIT_CEILING_DIRECTORIES=str(tmp_path))
    assert done.returncode and "this tree is a tarball's" in done.stdout, done.stdout
    assert not os.path.exists(tree / "build" / tarball.name)
