# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Debian roots with what programs need, in $TACHBPF_CACHE (PyPI's packages: lib/pypi.py).

Each is made once, and again when its packages change. Knows nothing of what is run there.
"""
import os
from dataclasses import dataclass
from pathlib import Path

from interp import cache
from interp.roots import DPKG, LEFTOVERS, in_root

# No service is started while its package is configured.
POLICY = "#!/bin/sh\nexit 101\n"


@dataclass(frozen=True)
class Debian:
    """A suite's root with packages."""
    suite: str
    packages: tuple

    @property
    def name(self):
        return f"zoo-{self.suite}"

    what = "Debian packages, some minutes"

    def recipe(self):
        return " ".join([self.suite, *self.packages]) + "\n" + DPKG

    def make(self, workshop):
        root = workshop.path("root")
        workshop.run("debootstrap", "--variant=minbase", self.suite, root, cache.mirror())
        os.chmod(root, 0o755)
        Path(root, "etc/dpkg/dpkg.cfg.d/tachbpf").write_text(DPKG)
        Path(root, "usr/sbin/policy-rc.d").write_text(POLICY)
        os.chmod(f"{root}/usr/sbin/policy-rc.d", 0o755)
        workshop.run(*in_root(root, "apt-get", "install", "-y", "--no-install-recommends",
                              *self.packages), env={"DEBIAN_FRONTEND": "noninteractive"})
        for leftover in LEFTOVERS:
            workshop.run("rm", "-rf", "--one-file-system", f"{root}/{leftover}")
        return root
