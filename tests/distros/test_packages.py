# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packages: they are built in a fresh system, installed, used and removed."""
import pytest

DEB = """
set -e
cd /src
git config --global --add safe.directory /src
git init -q . && git add -A && git -c user.name=t -c user.email=t@example.org commit -qm t
DEBFULLNAME=Tester DEBEMAIL=tester@debian.org make deb
lintian --fail-on error,warning --allow-root build/tachbpf_*.changes
apt-get install -y -q --no-install-recommends ./build/tachbpf_*-1_*.deb
cd /
command -v tachbpf
tachbpf -a -d 0.5 -q -o /tmp/first
tachbpf report /tmp/first >/dev/null
man -w tachbpf 2>/dev/null || ls /usr/share/man/man1/tachbpf.1.gz
[ ! -e /etc/systemd/system/multi-user.target.wants/tachbpf.service ]
apt-get purge -y -q tachbpf
! command -v tachbpf
left=$(find / -xdev -name '*tachbpf*' -not -path '/src/*' -not -path '/proc/*' -not -path '/tmp/*' -not -path '/sys/*')
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
echo "removed without a trace"
"""


@pytest.fixture
def debian(ready):
    if ready.name not in ("debian-12", "debian-13"):
        pytest.skip(f"packages are built on Debian 12 and 13, this is {ready.name}")
    return ready


def test_deb(debian):
    with debian.fresh() as run:
        tools = run("sh", "-c", "apt-get update -q && apt-get install -y -q --no-install-recommends "
                    "git build-essential debhelper dpkg-dev lintian xz-utils")
        assert tools.returncode == 0, tools.stdout[-2000:]
        done = run("sh", "-c", DEB)
    assert done.returncode == 0, done.stdout[-6000:]
    assert "removed without a trace" in done.stdout
