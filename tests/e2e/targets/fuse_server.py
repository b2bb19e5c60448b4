# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""fuse_server.py DEVICE DIRECTORY NAME PLACE [PROGRAM [ARGUMENT ...]]: a file system whose file stops to answer.

Mounts a FUSE file system in a mount namespace of its own (and, unless it is root, a user namespace),
with one file NAME in it. PLACE "plain": at DIRECTORY/fuse; "overlay": below an overlay at
DIRECTORY/overlay; "reads": as overlay, but only reads have no answer, so that the file can be
opened. A child maps the file as code and then uses the CPU for ever, itself or in PROGRAM
(map_and_burn.c; conmon.py only names it). Once the file is mapped, the server prints "ready" and the child's pid, and answers nothing any more: not even the end of the
recording that waits for it, only its own end, which releases all who wait.
"""
import ctypes
import errno
import mmap
import os
import struct
import sys
import threading

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 15, 17, 18, 25, 26
ACCESS, OPENDIR, READDIR, RELEASEDIR, BATCH_FORGET, GETXATTR = 37 - 3, 27, 28, 29, 42, 22
ROOT, FILE = 1, 2
SIZE = 65536
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 2, 4, 0x4000, 1 << 18
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000

libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def mount(source, target, kind, flags=0, data=""):
    check(libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags),
                     data.encode()))


def isolate():
    """A mount namespace; if we are not root, a user namespace in which we are."""
    uid, gid = os.geteuid(), os.getegid()
    check(libc.unshare(CLONE_NEWNS | (CLONE_NEWUSER if uid else 0)))
    if uid:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"),
                           ("gid_map", f"0 {gid} 1")):
            with open(f"/proc/self/{name}", "w") as f:
                f.write(text)
    mount("none", "/", "none", MS_REC | MS_PRIVATE)


def attr(node):
    mode, size = (0o40755, 0) if node == ROOT else (0o100755, SIZE)
    return struct.pack("<QQQQQQIIIIIIIIII", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0,
                       0, 0, 4096, 0)


class Server:
    def __init__(self, fd, name):
        self.fd, self.name, self.silent, self.only = fd, name.encode(), False, None

    def answer(self, unique, data=b"", error=0):
        os.write(self.fd, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, 1 << 20)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                    continue
                return
            _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
            is_silent = self.silent and self.only in (None, opcode)
            if not is_silent and opcode not in (FORGET, BATCH_FORGET):
                self.handle(opcode, unique, node, request[40:])

    def handle(self, opcode, unique, node, body):
        # attributes and names are valid for no time: each look asks again
        if opcode == INIT:
            self.answer(unique, struct.pack("<IIIIHHIIHHI28x", 7, 31, 0, 0, 12, 10, 65536, 1, 16, 0,
                                            0))
        elif opcode == LOOKUP and body.rstrip(b"\0") == self.name:
            self.answer(unique, struct.pack("<QQQQII", FILE, 0, 0, 0, 0, 0) + attr(FILE))
        elif opcode == GETATTR:
            self.answer(unique, struct.pack("<QII", 0, 0, 0) + attr(node))
        elif opcode in (OPEN, OPENDIR):
            self.answer(unique, struct.pack("<QII", 1, 0, 0))
        elif opcode == READ:
            offset, size = struct.unpack_from("<QQI", body)[1:]
            self.answer(unique, b"\0" * max(0, min(size, SIZE - offset)))
        elif opcode == READDIR:
            self.answer(unique)
        elif opcode in (FLUSH, RELEASE, RELEASEDIR, ACCESS):
            self.answer(unique)
        elif opcode == STATFS:
            self.answer(unique, struct.pack("<QQQQQIIII24x", 0, 0, 0, 0, 0, 4096, 255, 4096, 0))
        else:
            self.answer(unique, error=errno.ENOENT if opcode == LOOKUP else errno.ENOSYS)


def map_and_burn(path, ready):
    fd = os.open(path, os.O_RDONLY)
    mapped = mmap.mmap(fd, SIZE, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
    os.close(fd)
    os.write(ready, b"r")
    while mapped:
        pass


def main():
    device, directory, name, place, *program = sys.argv[1:]
    isolate()
    fuse, overlay = f"{directory}/fuse", f"{directory}/overlay"
    os.makedirs(fuse, exist_ok=True)
    fd = os.open(device, os.O_RDWR)
    mount("hostile", fuse, "fuse", MS_NOSUID | MS_NODEV,
          f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other")
    server = Server(fd, name)
    threading.Thread(target=server.serve, daemon=True).start()
    if place == "reads":
        server.only = READ
    if place != "plain":
        for part in (overlay, f"{directory}/tmp"):
            os.makedirs(part, exist_ok=True)
        mount("tmpfs", f"{directory}/tmp", "tmpfs")
        for part in ("upper", "work"):
            os.mkdir(f"{directory}/tmp/{part}")
        mount("overlay", overlay, "overlay", 0, f"lowerdir={fuse},"
              f"upperdir={directory}/tmp/upper,workdir={directory}/tmp/work")
    came, ready = os.pipe()
    child = os.fork()
    if not child:
        os.close(fd)
        path = f"{fuse if place == 'plain' else overlay}/{name}"
        if program:
            os.set_inheritable(ready, True)
            os.execv(program[0], [*program, path, str(ready)])
        map_and_burn(path, ready)
    os.read(came, 1)
    server.silent = True
    print("ready", child, flush=True)
    os.waitpid(child, 0)


if __name__ == "__main__":
    main()
