# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The static agent where there is nothing but it: a root with its program, and what names and
certificates are looked up in. It sends to a server with TLS on this host, by name."""
import re
import shutil
import socket
import ssl
import struct
import subprocess
import threading

import pytest

import elf
from here import BUILD
from http_sink import Sink
from processes import kill

AGENT = BUILD / "static/tachbpf-agent"
NAME = "profiles.example"
NAME_SERVER = "127.77.0.1"
# Libraries of the host's that are not to be asked: none is there, so nothing would be found.
SWITCH = "hosts: mdns4_minimal [NOTFOUND=return] resolve [!UNAVAIL=return]\n"
# What this root has of a machine: processes, the kernel's facts, and what any container has.
ENTER = """
set -e
for d in proc sys dev/null; do mount --rbind /$d "$0/$d"; done
exec chroot "$0" /tachbpf-agent "$@"
"""


@pytest.fixture(scope="session")
def agent(static):
    """The program, and what is given to it only here."""
    return AGENT


def test_it_needs_nothing(agent):
    assert not elf.needs(agent)
    assert not elf.needs(AGENT.with_name("tachbpf-elf"))


def test_the_linkers_warnings_are_known(static):
    """OpenSSL does not load its configuration, the only thing that makes it call these; and which
    name services getaddrinfo() takes is said before it is called."""
    functions = {re.search("Using '(.*?)'", line)[1] for line in static.warnings}
    assert functions == {"getaddrinfo", "gethostbyname", "dlopen"}


class NameServer(threading.Thread):
    """Answers each question of DNS for NAME: 127.0.0.1 for A, nothing for others."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket, self.asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), []
        self.socket.bind((NAME_SERVER, 53))

    def run(self):
        while True:
            data, peer = self.socket.recvfrom(512)
            question = data[12:data.index(0, 12) + 5]
            kind, = struct.unpack_from(">H", question, len(question) - 4)
            self.asked.append(kind)
            found = [b"\xc0\x0c" + struct.pack(">HHIH4s", 1, 1, 60, 4, socket.inet_aton("127.0.0.1"))] if kind == 1 else []
            self.socket.sendto(data[:2] + struct.pack(">HHHHH", 0x8180, 1, len(found), 0, 0) + question + b"".join(found), peer)


@pytest.fixture
def server(tmp_path):
    """A Sink with TLS, whose certificate is for NAME."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "9", "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}",
                    "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    sink = Sink()
    sink.server.socket = context.wrap_socket(sink.server.socket, server_side=True)
    with sink:
        yield sink


@pytest.fixture
def root(agent, server, tmp_path):
    top = tmp_path / "root"
    for directory in ("proc", "sys", "etc", "dev"):
        (top / directory).mkdir(parents=True)
    (top / "dev/null").touch()
    shutil.copy(agent, top)
    (top / "etc/nsswitch.conf").write_text(SWITCH)
    (top / "etc/ca.pem").write_bytes((tmp_path / "cert.pem").read_bytes())
    return top


def sent(root, server, tmp_path):
    """It takes a window with a Python of this host's to the server, and ends as it is told."""
    script, log = tmp_path / "named.py", tmp_path / "log"
    script.write_text("while True: pass")
    busy = subprocess.Popen(["/usr/bin/python3", "-S", script], start_new_session=True)
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, root, "--window", "1s",
            "--rate", "199", "--otlp-endpoint", f"https://{NAME}:{server.port}", "--otlp-ca-file", "/etc/ca.pem",
            "--spool-dir", "/spool", "--ctl-socket", "", "--metrics-listen", ""]
    with open(log, "w") as out:
        agent = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
    try:
        server.wait(lambda s: any(b"named.py" in p.body for p in s.taken()), 120)
        agent.terminate()
        assert agent.wait(60) == 0
    except AssertionError as error:
        raise AssertionError(log.read_text()) from error
    finally:
        kill(agent)
        kill(busy)


def test_the_server_is_in_etc_hosts(root, server, tmp_path):
    (root / "etc/hosts").write_text(f"127.0.0.1 {NAME}\n")
    sent(root, server, tmp_path)


def test_the_server_is_in_dns(root, server, tmp_path):
    (root / "etc/resolv.conf").write_text(f"nameserver {NAME_SERVER}\n")
    names = NameServer()
    names.start()
    sent(root, server, tmp_path)
    assert 1 in names.asked
