# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packages of distributions: built in a fresh system, looked at, installed, used and removed."""
import re

from systems import BUSY, commit

ONLY = ("debian-12", "debian-13")
RPM_FILES = {
    "/usr/bin/tachbpf", "/usr/share/man/man1/tachbpf.1",
    "/usr/share/bash-completion/completions/tachbpf", "/usr/share/zsh/site-functions/_tachbpf",
    "/usr/share/fish/vendor_completions.d/tachbpf.fish", "/usr/lib/systemd/system/tachbpf.service",
    "/etc/default/tachbpf", "/usr/share/licenses/tachbpf/LICENSE",
    "/usr/share/doc/tachbpf/README.md", "/usr/share/doc/tachbpf/CHANGELOG.md",
}

DEB = """
set -e
cd /src
DEBFULLNAME=Tester DEBEMAIL=tester@debian.org make deb
lintian --version
lintian --fail-on error,warning --allow-root build/tachbpf_*.changes
apt-get install -y -q --no-install-recommends ./build/tachbpf_*-1_*.deb systemd
cd /
command -v tachbpf
""" + BUSY + """
tachbpf -a -r 999 -d 1 -q -o /tmp/first
tachbpf report /tmp/first >/dev/null
for file in /usr/share/man/man1/tachbpf.1.gz /usr/share/bash-completion/completions/tachbpf \
	    /usr/share/zsh/vendor-completions/_tachbpf /etc/default/tachbpf \
	    /usr/share/fish/vendor_completions.d/tachbpf.fish; do
	dpkg -S $file
done
dpkg -L tachbpf | grep -E '^(/usr)?/lib/systemd/system/tachbpf.service$'
systemd-analyze verify tachbpf.service
[ "$(systemctl is-enabled tachbpf)" = disabled ]
systemctl enable tachbpf
[ -e /etc/systemd/system/multi-user.target.wants/tachbpf.service ]
apt-get purge -y -q tachbpf
left=$(find / -xdev -name '*tachbpf*' -not -path '/src/*' -not -path '/proc/*' -not -path '/tmp/*' \
	-not -path '/sys/*' -not -path '/var/cache/man/*' -not -name '.tachbpf-recipe')
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
echo "removed without a trace"
"""

# Not installed: rpm's database and Debian's would know nothing of each other.
RPM = """
set -e
cd /src
make rpm
rpm=$(ls build/tachbpf-*.$(uname -m).rpm)
echo BEGIN
rpm -qlp $rpm
echo END
rpm -qp --scripts $rpm
echo SCRIPTS END
rpm -qp --requires $rpm
apt-get install -y -q --no-install-recommends cpio
mkdir /unpacked && cd /unpacked
rpm2cpio /src/$rpm | cpio -id
usr/bin/tachbpf --version
""" + BUSY + """
usr/bin/tachbpf -a -r 999 -d 1 -q -o /tmp/first
usr/bin/tachbpf report /tmp/first >/dev/null
! grep '@' usr/lib/systemd/system/tachbpf.service || exit 1
echo "the package's binary records"
"""


def build(ready, script):
    with ready.fresh() as run:
        commit(run.path("/src"))
        done = run("sh", "-c", script)
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


def test_deb(ready, keep):
    """lintian has nothing to say; the service is there, disabled; purge leaves nothing."""
    said = build(ready, DEB)
    keep(said)
    assert "removed without a trace" in said


def test_rpm(ready, keep):
    said = build(ready, RPM)
    keep(said)
    assert "the package's binary records" in said
    files = set(said.partition("BEGIN\n")[2].partition("END\n")[0].split())
    # Debian's rpm does not compress man pages; older ones have the version in directories' names.
    ours = {re.sub(r"/tachbpf-[\d.]+", "/tachbpf", f).removesuffix(".gz") for f in files
            if "/.build-id" not in f}
    assert ours - {"/usr/share/licenses/tachbpf", "/usr/share/doc/tachbpf"} == RPM_FILES
    assert "%" not in said.partition("END\n")[2].partition("SCRIPTS END")[0]      # no macro is left
