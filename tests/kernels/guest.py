# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Boots a kernel in qemu with a job and brings its files back.

The job goes in as a second cpio behind the initrd; what it leaves comes out as a tar on a
disk of its own, so nothing depends on what else the console shows. A guest that powers off
without having begun its job died while booting, which emulation does now and then: it is
started again. Once a job has begun, what happens is the result.
"""
import os
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

import cpio

BOOTS = 3               # tries to get to the job; the last with one CPU
OUTPUT_BYTES = 64 << 20
TIMEOUT_S = 420
BEGUN = "guest: job begins"


class Guest:
    """How one boot went: its console, its files by name, what it took."""

    def __init__(self, console, files, seconds, timed_out, boots):
        self.console, self.files, self.seconds = console, files, seconds
        self.timed_out, self.boots = timed_out, boots

    @property
    def begun(self):
        return BEGUN in self.console

    def last_words(self, lines=15):
        return "\n".join(self.console.strip().splitlines()[-lines:])


def job_cpio(files):
    """{name: (bytes, mode)} below /job."""
    archive = cpio.Archive()
    made = set()
    for name, (data, mode) in sorted(files.items()):
        for parent in reversed(Path("job", name).parents[:-1]):
            if parent not in made:
                archive.directory(str(parent))
                made.add(parent)
        archive.file("job/" + name, data, mode)
    return archive.bytes()


def cpu(arch, kernel):
    levels = {"x86": ",la57=" + ("on" if kernel.five_levels else "off")}
    return arch.cpu + levels.get(arch.name, "")


def command(arch, kernel, boot, image, initrd, disk, cpus):
    return ["setpriv", "--pdeathsig", "KILL", *arch.qemu, "-cpu", cpu(arch, kernel), "-smp", cpus, "-m", "1024", "-nodefaults", "-no-user-config",
            "-display", "none", "-serial", "stdio", "-no-reboot",
            "-kernel", str(boot.vmlinuz), "-initrd", str(initrd),
            "-append", f"console={arch.console} quiet loglevel=4 panic=-1 oops=panic "
                       "mitigations=off random.trust_cpu=on",
            "-drive", f"if=none,id=root,format=raw,readonly=on,file={image}",
            "-device", "virtio-blk-pci,drive=root",
            "-drive", f"if=none,id=out,format=raw,file={disk}",
            "-device", "virtio-blk-pci,drive=out"]


def untar(disk):
    """The job's files; {} if there is no whole tar."""
    found = {}
    try:
        with tarfile.open(disk) as tar:
            for member in tar:
                if member.isfile():
                    found[member.name] = tar.extractfile(member).read()
    except tarfile.TarError:
        return {}
    return found if "end" in found else {}


def run_once(argv, console):
    """True: it had to be killed."""
    with open(console, "wb") as log:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=subprocess.STDOUT)
        try:
            process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return True
        finally:
            process.kill()
            process.wait()
    return False


def run(arch, kernel, boot, image, job, cpus="2"):
    """A Guest, having powered off or been stopped. cpus: as of qemu's -smp."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tachbpf-guest-") as scratch:
        initrd, disk, console = (os.path.join(scratch, n) for n in ("initrd", "out", "console"))
        with open(initrd, "wb") as f:
            f.write(boot.initrd.read_bytes() + job_cpio(job))
        for n in range(1, BOOTS + 1):
            with open(disk, "wb") as f:
                f.truncate(OUTPUT_BYTES)
            argv = command(arch, kernel, boot, image, initrd, disk,
                           "1" if n == BOOTS and cpus == "2" else cpus)
            timed_out = run_once(argv, console)
            text = Path(console).read_text(errors="replace")
            guest = Guest(text, untar(disk), time.monotonic() - start, timed_out, n)
            if guest.begun:
                break
    return guest
