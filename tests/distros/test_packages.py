# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packages of distributions: built in a fresh system, looked at, installed, used and removed."""
import re

from systems import BUSY, commit, sources

ONLY = ("debian-12", "debian-13")
RPM_FILES = {
    "/usr/bin/tachbpf", "/usr/libexec/tachbpf", "/usr/libexec/tachbpf/tachbpf-elf",
    "/usr/share/man/man1/tachbpf.1",
    "/usr/share/bash-completion/completions/tachbpf", "/usr/share/zsh/site-functions/_tachbpf",
    "/usr/share/fish/vendor_completions.d/tachbpf.fish", "/usr/lib/systemd/system/tachbpf.service",
    "/etc/default/tachbpf", "/usr/share/licenses/tachbpf/LICENSE",
    *(f"/usr/share/doc/tachbpf/{file}" for file in sources()
      if re.fullmatch(r"(README|CHANGELOG|CONTRIBUTING)\.md|docs/[^/]*\.(md|svg|png)", file)),
    "/usr/share/doc/tachbpf/docs",
}
AGENT_RPM_FILES = {
    "/usr/bin/tachbpf-agent", "/usr/share/man/man8/tachbpf-agent.8",
    "/usr/libexec/tachbpf/parquet-hourly", "/usr/lib/systemd/system/tachbpf-parquet.service",
    "/usr/lib/systemd/system/tachbpf-parquet.timer",
    "/usr/lib/systemd/system/tachbpf-agent.service", "/etc/tachbpf", "/etc/tachbpf/agent.yaml",
    "/usr/share/licenses/tachbpf-agent/LICENSE",
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
# One without the other.
! dpkg -s tachbpf | grep -E '^Depends:.*(curl|yaml|microhttpd)' || exit 1
tachbpf agent --version && exit 1 || [ $? = 127 ]
apt-get install -y -q --no-install-recommends /src/build/tachbpf-agent_*-1_*.deb
tachbpf agent --config /etc/tachbpf/agent.yaml --check
tachbpf agent --version
""" + BUSY + """
tachbpf -a -r 999 -d 1 -q -o /tmp/first
tachbpf report /tmp/first >/dev/null
for file in /usr/share/man/man1/tachbpf.1.gz /usr/share/bash-completion/completions/tachbpf \
	    /usr/share/zsh/vendor-completions/_tachbpf /etc/default/tachbpf /usr/libexec/tachbpf/tachbpf-elf \
	    /usr/share/fish/vendor_completions.d/tachbpf.fish \
	    /usr/share/doc/tachbpf/README.md /usr/share/doc/tachbpf/docs/modes.md \
	    /usr/bin/tachbpf-agent /usr/share/man/man8/tachbpf-agent.8.gz; do
	dpkg -S $file
done
dpkg-query --show --showformat '${Conffiles}' tachbpf-agent | grep /etc/tachbpf/agent.yaml
for name in tachbpf tachbpf-agent; do
	dpkg -L $name | grep -E "^(/usr)?/lib/systemd/system/$name[.]service"'$'
	systemd-analyze verify $name.service
	[ "$(systemctl is-enabled $name)" = disabled ]
	systemctl enable $name
	[ -e /etc/systemd/system/multi-user.target.wants/$name.service ]
done
dpkg -S /usr/libexec/tachbpf/parquet-hourly
systemd-analyze verify tachbpf-parquet.timer tachbpf-parquet.service
[ "$(systemctl is-enabled tachbpf-parquet.timer)" = disabled ]
systemctl enable tachbpf-parquet.timer
[ -e /etc/systemd/system/timers.target.wants/tachbpf-parquet.timer ]
apt-get purge -y -q tachbpf tachbpf-agent
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
rpm=$(ls build/tachbpf-[0-9]*.$(uname -m).rpm)
agent=$(ls build/tachbpf-agent-[0-9]*.$(uname -m).rpm)
echo BEGIN
rpm -qlp $rpm
echo END
rpm -qp --scripts $rpm $agent
echo SCRIPTS END
rpm -qlp $agent
echo AGENT END
rpm -qp --requires $rpm
! rpm -qp --requires $rpm | grep -E 'curl|yaml|microhttpd' || exit 1
rpm -qp --requires $agent | grep "^tachbpf.* = $(rpm -qp --queryformat '%{VERSION}-%{RELEASE}' $rpm)"
rpm -qp --configfiles $agent | grep /etc/tachbpf/agent.yaml
apt-get install -y -q --no-install-recommends cpio
mkdir /unpacked && cd /unpacked
rpm2cpio /src/$rpm | cpio -id
rpm2cpio /src/$agent | cpio -id
usr/bin/tachbpf --version
usr/bin/tachbpf agent --config etc/tachbpf/agent.yaml --check
""" + BUSY + """
usr/bin/tachbpf -a -r 999 -d 1 -q -o /tmp/first
usr/bin/tachbpf report /tmp/first >/dev/null
! grep '@PREFIX' usr/lib/systemd/system/tachbpf*.service || exit 1
echo "the package's binary records"
"""


def build(ready, script):
    with ready.fresh() as run:
        commit(run.path("/src"))
        done = run("sh", "-c", script)
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


def files_between(said, begin, end):
    """Of a package, as rpm lists them; without its own directories."""
    files = said.partition(begin)[2].partition(end)[0].split()
    # Debian's rpm does not compress man pages; older ones have the version in directories' names.
    ours = {re.sub(r"/(tachbpf(-agent)?)-\d[\d.]*", r"/\1", f).removesuffix(".gz") for f in files
            if "/.build-id" not in f}
    return {f for f in ours if not re.fullmatch("/usr/share/(licenses|doc)/tachbpf(-agent)?", f)}


def test_deb(ready, keep):
    """lintian has nothing to say; the service is there, disabled; purge leaves nothing."""
    said = build(ready, DEB)
    keep(said)
    assert "removed without a trace" in said


def test_rpm(ready, keep):
    said = build(ready, RPM)
    keep(said)
    assert "the package's binary records" in said
    assert files_between(said, "BEGIN\n", "END\n") == RPM_FILES
    assert files_between(said, "SCRIPTS END\n", "AGENT END\n") == AGENT_RPM_FILES
    assert "%" not in said.partition("END\n")[2].partition("SCRIPTS END")[0]      # no macro is left
