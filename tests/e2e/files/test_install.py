# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make install and make uninstall: what is put where, and that it is nowhere else."""
import os
import re
import shutil
import subprocess

import pytest

from paths import REPO, binary
from processes import TIMEOUT

CONFIG = "etc/default/tachbpf"
AGENT_CONFIG = "etc/tachbpf/agent.yaml"
UNIT = "etc/systemd/system/tachbpf.service"
AGENT_UNIT = "etc/systemd/system/tachbpf-agent.service"
PARQUET_UNIT = "etc/systemd/system/tachbpf-parquet.service"
AGENT_FILES = {
    "usr/local/bin/tachbpf-agent": 0o755,
    "usr/local/share/man/man8/tachbpf-agent.8": 0o644,
    AGENT_UNIT: 0o644,
    PARQUET_UNIT: 0o644,
    "etc/systemd/system/tachbpf-parquet.timer": 0o644,
    "usr/local/libexec/tachbpf/parquet-hourly": 0o755,
    AGENT_CONFIG: 0o644,
}
FILES = {
    "usr/local/bin/tachbpf": 0o755,
    "usr/local/libexec/tachbpf/tachbpf-elf": 0o755,
    "usr/local/share/man/man1/tachbpf.1": 0o644,
    "usr/local/share/bash-completion/completions/tachbpf": 0o644,
    "usr/local/share/zsh/site-functions/_tachbpf": 0o644,
    "usr/local/share/fish/vendor_completions.d/tachbpf.fish": 0o644,
    UNIT: 0o644,
    CONFIG: 0o644,
    **{f"usr/local/share/doc/tachbpf/{path.relative_to(REPO)}": 0o644 for path in
       (*(REPO / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
        *(p for end in ("md", "svg", "png") for p in REPO.glob(f"docs/*.{end}")))},
}
# Everything but DESTDIR ($0) can only be read.
READ_ONLY = """
set -e
mount --bind "$0" "$0"
for where in $(findmnt -rno TARGET -t nosysfs,noproc,nodevtmpfs,nodevpts,nocgroup,nocgroup2); do
	[ "$where" = "$0" ] || mount -o remount,bind,ro "$where" 2>/dev/null || true
done
! touch "$1/written" 2>/dev/null || exit 1
shift
exec "$@"
"""


@pytest.fixture
def make(tmp_path):
    """Calls make with a DESTDIR; nothing else can be written to."""
    destdir = tmp_path / "destdir"
    destdir.mkdir()
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}

    def call(*argv):
        # -o: the binary under test is installed as it is
        return subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", READ_ONLY, destdir,
             tmp_path, "make", "-C", REPO, f"O={os.path.relpath(binary().parent, REPO)}", "-o", "all",
             f"DESTDIR={destdir}", *argv], capture_output=True, text=True, timeout=TIMEOUT, env=env,
            umask=0o022)

    def good(*argv):
        done = call(*argv)
        assert done.returncode == 0, done.stdout + done.stderr
        return destdir

    return good


def installed(destdir):
    """Each file, its mode; links, too."""
    return {os.path.relpath(os.path.join(top, name), destdir):
            os.lstat(os.path.join(top, name)).st_mode & 0o7777
            for top, _, names in os.walk(destdir) for name in names}


def test_install(make):
    """These files and no others: no link enables the service."""
    destdir = make("install")
    assert installed(destdir) == FILES | AGENT_FILES
    assert (destdir / "usr/local/bin/tachbpf").read_bytes() == binary().read_bytes()
    assert "ExecStart=/usr/local/bin/tachbpf record" in (destdir / UNIT).read_text()
    assert "ExecStart=/usr/local/bin/tachbpf-agent --config /etc/tachbpf/agent.yaml\n" in \
        (destdir / AGENT_UNIT).read_text()
    for path in FILES | AGENT_FILES:
        assert (destdir / path).stat().st_size, path


def test_without_the_agent(make):
    assert installed(make("install", "AGENT=0")) == FILES


def test_without_native(make):
    """NATIVE=0: the helper is not installed."""
    files = installed(make("install", "NATIVE=0"))
    assert files == {path: mode for path, mode in (FILES | AGENT_FILES).items() if "tachbpf-elf" not in path}


def test_the_prefix_of_packages(make):
    destdir = make("install", "PREFIX=/usr", "ZSH_DIR=/usr/share/zsh/vendor-completions")
    files = installed(destdir)
    assert {"usr/bin/tachbpf", "usr/libexec/tachbpf/tachbpf-elf", "usr/lib/systemd/system/tachbpf.service", CONFIG,
            "usr/share/zsh/vendor-completions/_tachbpf"} <= set(files)
    assert not [path for path in files if path.startswith("usr/local") or path == UNIT]


def test_settings_survive(make):
    """A second installation and the removal leave what is in /etc as it was changed."""
    destdir = make("install")
    (destdir / AGENT_CONFIG).write_text("rate: 99\n")
    (destdir / CONFIG).write_text('TACHBPF_OPTIONS="--all"\n')
    (destdir / "usr/local/bin/tachbpf").write_text("an old version")
    make("install")
    assert (destdir / CONFIG).read_text() == 'TACHBPF_OPTIONS="--all"\n'
    assert (destdir / "usr/local/bin/tachbpf").read_bytes() == binary().read_bytes()
    make("uninstall")
    assert set(installed(destdir)) == {CONFIG, AGENT_CONFIG}
    assert (destdir / AGENT_CONFIG).read_text() == "rate: 99\n"
    assert (destdir / CONFIG).read_text() == 'TACHBPF_OPTIONS="--all"\n'


@pytest.mark.parametrize("name", [UNIT, AGENT_UNIT, PARQUET_UNIT])
def test_systemd_accepts_the_unit(make, name):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    destdir = make("install")
    unit = destdir / name
    # systemd looks for the program and its man page.
    text = unit.read_text().replace("/usr/local/", f"{destdir}/usr/local/")
    unit.write_text(re.sub("(?m)^Documentation=.*\n", "", text))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True,
                          timeout=TIMEOUT)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
