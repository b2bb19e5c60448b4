# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packages of any Debian suite and architecture, fetched and verified by apt, never installed.

apt runs on a configuration of its own, with an empty dpkg status, so it neither sees nor
changes what this machine has; where packages come from is what this machine's apt says.
"""
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e" / "lib"))

from interp.cache import mirror  # noqa: E402

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
CONFIG = """Dir::State::Lists "{0}/lists";
Dir::State::status "{0}/status";
Dir::Cache "{0}/cache";
Dir::Cache::Archives "{0}/archives";
Dir::Etc::SourceList "{0}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Log "{0}";
APT::Architecture "{1}";
APT::Architectures {{ "{1}"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
"""


class Failed(Exception):
    """Says what could not be had, in one line."""


class Suite:
    """A suite as apt sees it from a scratch directory."""

    def __init__(self, directory, suite, architecture):
        self.directory = Path(directory)
        self.name = f"{suite}/{architecture}"
        for name in ("lists/partial", "archives/partial", "cache"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        (self.directory / "status").touch()
        (self.directory / "sources.list").write_text(
            f"deb [signed-by={KEYRING}] {mirror()} {suite} main\n")
        config = self.directory / "apt.conf"
        config.write_text(CONFIG.format(self.directory, architecture))
        self.env = dict(os.environ, APT_CONFIG=str(config), DEBIAN_FRONTEND="noninteractive",
                        LC_ALL="C.UTF-8")
        self._run("apt-get", "update", "-q")

    def _run(self, *argv):
        done = subprocess.run(argv, env=self.env, cwd=self.directory / "archives", text=True,
                              capture_output=True, timeout=900)
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise Failed(f"{' '.join(argv)} ({self.name}): {lines[-1] if lines else 'failed'}")
        return done.stdout

    def depends(self, package):
        lines = self._run("apt-cache", "depends", "--important", package).splitlines()
        return [l.split()[-1] for l in lines if l.strip().startswith(("Depends:", "PreDepends:"))]

    def download(self, packages):
        """Exactly these; paths of the .debs."""
        self._run("apt-get", "download", *packages)
        return self._archives()

    def closure(self, packages):
        """These and all they depend on."""
        self._run("apt-get", "install", "-y", "-q", "--download-only", *packages)
        return self._archives()

    def _archives(self):
        return sorted((self.directory / "archives").glob("*.deb"))


def unpack(debs, root):
    """Into one tree whose /lib, /bin are links into /usr, as every suite of today has it."""
    root = Path(root)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        if not (root / name).is_symlink():
            (root / name).symlink_to("usr/" + name)
    for deb in debs:
        tar = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE)
        done = subprocess.run(["tar", "--keep-directory-symlink", "-xpf", "-", "-C", root],
                              stdin=tar.stdout, capture_output=True, text=True, timeout=300)
        tar.stdout.close()
        if tar.wait() or done.returncode:
            raise Failed(f"cannot unpack {Path(deb).name}: {done.stderr.strip()[-200:]}")
