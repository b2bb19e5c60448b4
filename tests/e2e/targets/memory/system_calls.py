# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What system calls write: bytes from a socket, of a file and of a device. The kernel touches the pages."""
import os
import socket
import tempfile
import threading

from book import CHUNK, MIB, PATTERN, kept, pace, private, took


def sends(sock, mib):
    for _ in range(mib * MIB // CHUNK):
        sock.sendall(PATTERN)


def receives(sock, mib):
    for _ in range(mib):
        kept.append(sock.recv(MIB, socket.MSG_WAITALL))
        assert len(kept[-1]) == MIB
        took(MIB)
        pace()


def receives_into(sock, mib):
    buffer = private(mib * MIB)
    with memoryview(buffer) as view:
        for at in range(0, mib * MIB, MIB):
            assert sock.recv_into(view[at:at + MIB], MIB, socket.MSG_WAITALL) == MIB
            pace()
    kept.append(buffer)
    took(mib * MIB)


def reads_device(mib):
    fd = os.open("/dev/zero", os.O_RDONLY)
    for _ in range(mib):
        kept.append(os.read(fd, MIB))
        took(MIB)
        pace()
    os.close(fd)


def reads_file(mib):
    with tempfile.TemporaryFile(buffering=0) as f:
        for _ in range(mib * MIB // CHUNK):
            f.write(PATTERN)
        f.seek(0)
        buffer = private(mib * MIB)
        with memoryview(buffer) as view:
            for at in range(0, mib * MIB, MIB):
                assert f.readinto(view[at:at + MIB]) == MIB
                pace()
        kept.append(buffer)
        took(mib * MIB)


def run(mib=8):
    for receiver in (receives, receives_into):
        ours, theirs = socket.socketpair()
        sender = threading.Thread(target=sends, args=(theirs, mib))
        sender.start()
        receiver(ours, mib)
        sender.join()
        ours.close()
        theirs.close()
    reads_device(mib)
    reads_file(mib)
