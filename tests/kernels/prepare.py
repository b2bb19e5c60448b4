# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Kernels with their initrds, and root images, in the cache: complete or absent.

What is made depends on a row of table.py and on this file's RECIPE; a change of either makes
it anew, under a lock. REFRESH=1 asks the mirror for newer packages.
"""
import contextlib
import fcntl
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import cpio
import packages
from packages import Failed, Suite

from interp.cache import cache_dir

RECIPE = 1              # of everything below
# Until the root image is mounted; those that a kernel has built in are left out.
MODULES = ("virtio_pci", "virtio_blk", "crc32c_generic", "ext4")
UNUSED_S = 7 * 86400
IMAGE_SLACK = 1.3       # what a file system needs besides the files

INIT = r"""#!/bin/busybox sh
# First process of a guest: the modules, the root image, the job, power off.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for m in /modules/*; do insmod $m; done
mount -o ro /dev/vda /root || { echo "guest: no root image"; poweroff -f; }
for d in proc sys dev; do mount -o bind /$d /root/$d; done
mount -t tmpfs tmp /root/tmp
for r in /root/beside/*; do
	[ -d $r ] && for d in proc dev tmp; do mount -o bind /root/$d $r/$d; done
done
mount -t tracefs tracefs /sys/kernel/tracing
cp -a /job /root/tmp/job
cp /bin/busybox /root/tmp/busybox
ip link set lo up
echo "guest: job begins"
chroot /root /usr/bin/env - PATH=/usr/bin:/bin:/tmp/bin HOME=/tmp LC_ALL=C.UTF-8 \
	sh /tmp/job/start
echo "guest: job ended with $?"
sync
poweroff -f
"""


@dataclass(frozen=True)
class Boot:
    release: str        # uname -r, as the files say it
    package: str        # with its version
    vmlinuz: Path
    initrd: Path


def kernels_dir():
    return Path(cache_dir()) / "kernels"


def key_of(row):
    return hashlib.sha256(f"{RECIPE} {row!r}".encode()).hexdigest()[:12]


@contextlib.contextmanager
def lock():
    kernels_dir().mkdir(parents=True, exist_ok=True)
    with open(kernels_dir() / "lock", "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def remove_old(name, target):
    """What it takes the place of, and what nobody has used for long; other trees use theirs."""
    for old in kernels_dir().glob(f"{name}-????????????"):
        if old == target or time.time() - old.stat().st_mtime > UNUSED_S:
            shutil.rmtree(old)


def complete(name, row, build):
    """The directory NAME-KEY, built by build(scratch, fresh) if it is not there."""
    target = kernels_dir() / f"{name}-{key_of(row)}"
    with lock():
        if target.exists() and not os.environ.get("REFRESH"):
            os.utime(target)
            return target
        start = time.monotonic()
        print(f"kernels: preparing {name}", flush=True)
        with tempfile.TemporaryDirectory(prefix="new.", dir=kernels_dir()) as scratch:
            fresh = Path(scratch) / "fresh"
            fresh.mkdir()
            build(Path(scratch), fresh)
            remove_old(name, target)
            fresh.rename(target)
        print(f"kernels: {name} took {time.monotonic() - start:.0f} s", flush=True)
    return target


# --- kernels ------------------------------------------------------------------------------------

def kernel_packages(suite, package):
    """What the meta package stands for: the image and, where they are apart, its parts."""
    found, todo = [], [package]
    while todo:
        for name in suite.depends(todo.pop()):
            if re.match(r"linux-(image|binary|modules)-\d", name) and name not in found:
                found.append(name)
                todo.append(name)
    if not found:
        raise Failed(f"{package} of {suite.name} names no kernel")
    return found


def read_module(path):
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def module_order(tree, names):
    """(file name, content) of the modules and of what they need, in the order to load."""
    files = {re.sub(r"\.ko(\.xz)?$", "", p.name).replace("-", "_"): p
             for p in Path(tree).rglob("*.ko*")}
    done = {}

    def add(name):
        if name in done or name not in files:
            return
        data = read_module(files[name])
        needs = re.search(rb"\0depends=([^\0]*)\0", b"\0" + data)
        done[name] = None
        for need in needs.group(1).decode().split(",") if needs else ():
            add(need.replace("-", "_"))
        del done[name]
        done[name] = data

    for name in names:
        add(name)
    return [(f"{i:02d}-{name}.ko", data) for i, (name, data) in enumerate(done.items())]


def make_initrd(busybox, modules):
    archive = cpio.Archive()
    for name in ("bin", "dev", "proc", "sys", "root", "modules", "job"):
        archive.directory(name)
    archive.device("dev/console", 5, 1)
    archive.file("bin/busybox", busybox, 0o755)
    archive.file("init", INIT.encode(), 0o755)
    for name, data in modules:
        archive.file("modules/" + name, data)
    return archive.bytes()


def find_image(tree):
    """The one kernel in the tree, and its release; newer packages keep it with its modules."""
    found = [(p, p.name.split("-", 1)[1]) for p in (tree / "boot").glob("vmlinu[xz]-*")]
    found += [(p, p.parent.name) for p in (tree / "usr/lib/modules").glob("*/vmlinu[xz]")]
    if len(found) != 1:
        raise Failed(f"one kernel was expected in the packages, not {len(found)}")
    return found[0]


def build_kernel(arch, kernel, scratch, fresh):
    suite = Suite(scratch / "apt", kernel.suite, arch.debian)
    names = kernel_packages(suite, arch.kernel)
    debs = suite.download([*names, "busybox-static"])
    tree = scratch / "tree"
    packages.unpack(debs, tree)
    image, release = find_image(tree)
    shutil.copy(image, fresh / "vmlinuz")
    busybox = (tree / "usr/bin/busybox").read_bytes()
    modules = module_order(tree / "lib/modules", MODULES)
    (fresh / "initrd").write_bytes(make_initrd(busybox, modules))
    (fresh / "release").write_text(release + "\n")
    deb = next(d.name for d in debs if d.name.startswith("linux-image-"))
    (fresh / "package").write_text("_".join(deb.split("_")[:2]) + "\n")


def kernel(arch, row):
    path = complete(f"{arch.name}-kernel-{row.name}", (arch, row.suite, MODULES, INIT),
                    lambda scratch, fresh: build_kernel(arch, row, scratch, fresh))
    return Boot((path / "release").read_text().strip(), (path / "package").read_text().strip(),
                path / "vmlinuz", path / "initrd")


# --- root images --------------------------------------------------------------------------------

def build_tree(arch, suite_name, wanted, scratch, tree):
    suite = Suite(scratch / ("apt-" + suite_name), suite_name, arch.debian)
    packages.unpack(suite.closure([*wanted, "libc6"]), tree)
    for name in ("proc", "sys", "dev", "tmp", "root"):
        (tree / name).mkdir(exist_ok=True)
    for doc in ("usr/share/doc", "usr/share/locale", "usr/share/man"):
        shutil.rmtree(tree / doc, ignore_errors=True)


def build_root(arch, row, scratch, fresh):
    tree = scratch / "tree"
    build_tree(arch, row.suite, [*row.pythons, *row.helper, "coreutils", "dash"], scratch, tree)
    for suite_name, python in row.beside:
        build_tree(arch, suite_name, [python], scratch, tree / "beside" / suite_name)
    kib = int(subprocess.run(["du", "-sk", tree], capture_output=True, text=True, timeout=60,
                             check=True).stdout.split()[0])
    image = fresh / "root.img"
    done = subprocess.run(["/usr/sbin/mke2fs", "-q", "-t", "ext2", "-d", tree, image,
                           f"{int(kib * IMAGE_SLACK) + 8192}k"],
                          capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise Failed(f"mke2fs: {done.stderr.strip()[-200:]}")


def root(arch, row):
    return complete(f"{arch.name}-root-{row.suite}", (arch, row),
                    lambda scratch, fresh: build_root(arch, row, scratch, fresh)) / "root.img"
