# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes initrds: cpio archives as the kernel's

Documentation/driver-api/early-userspace/buffer-format.rst has them ("newc").
"""
import stat


def _entry(inode, name, mode, data, rdev=(0, 0)):
    raw = name.encode() + b"\0"
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, *rdev, len(raw), 0)
    head = b"070701" + b"".join(b"%08x" % f for f in fields) + raw
    return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)


class Archive:
    """Directories, files and device nodes in the order given; parents first."""

    def __init__(self):
        self.parts = []

    def _add(self, *args):
        self.parts.append(_entry(len(self.parts) + 1, *args))

    def directory(self, name, mode=0o755):
        self._add(name, stat.S_IFDIR | mode, b"")

    def file(self, name, data, mode=0o644):
        self._add(name, stat.S_IFREG | mode, data)

    def device(self, name, major, minor):
        self._add(name, stat.S_IFCHR | 0o600, b"", (major, minor))

    def bytes(self):
        """Padded, so that another archive can be appended."""
        out = b"".join(self.parts) + _entry(0, "TRAILER!!!", 0, b"")
        return out + b"\0" * (-len(out) % 512)
