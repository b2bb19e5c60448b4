# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""C functions of the standard library at work, one after another.

Usage: c_functions.py ROUNDS [NAME...]: of those below, without which all that there are. ROUNDS 0: for ever.
"""
import csv
import hashlib
import io
import itertools
import json
import pickle
import re
import sqlite3
import ssl
import struct
import sys
import zlib

DOCUMENT = {"a": [{"k%d" % i: i * 1.5, "s": "x" * 20, "n": None} for i in range(2000)]}
TEXT = json.dumps(DOCUMENT)
PATTERN = re.compile(r'"k(\d+)": ([0-9.]+)')
BYTES = bytes(range(256)) * 800
ROWS = [[str(i), "abc", "d,e"] for i in range(3000)]
NUMBERS = [(i * 7919) % 10007 for i in range(20000)]
STRINGS = [str(i) for i in range(5000)]
DATABASE = sqlite3.connect(":memory:")
DATABASE.execute("create table t(a, b)")
DATABASE.executemany("insert into t values(?, ?)", enumerate(STRINGS))


def do_json():
    json.dumps(DOCUMENT)
    json.loads(TEXT)


def do_re():
    PATTERN.findall(2 * TEXT)
    PATTERN.sub("x", TEXT)


def do_zlib():
    zlib.decompress(zlib.compress(BYTES, 6))


def do_hashlib():
    for _ in range(10):
        hashlib.sha256(BYTES).digest()
    hashlib.blake2b(BYTES).digest()


def do_sqlite3():
    DATABASE.execute("select sum(a), b from t group by b order by 1").fetchall()


def side(server):
    """One end of TLS without certificates, in memory."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("AECDH:@SECLEVEL=0")
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    return context.wrap_bio(incoming, outgoing, server_side=server), incoming, outgoing


def do_ssl():
    (client, to_client, from_client), (server, to_server, from_server) = side(False), side(True)
    for _ in range(3):
        for end in (client, server):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                pass
            to_server.write(from_client.read())
            to_client.write(from_server.read())
    for at in range(0, len(BYTES), 4096):
        client.write(BYTES[at:at + 4096])
        to_server.write(from_client.read())
        server.read(4096)


def do_csv():
    f = io.StringIO()
    csv.writer(f).writerows(ROWS)
    f.seek(0)
    list(csv.reader(f))


def do_pickle():
    pickle.loads(pickle.dumps(DOCUMENT))


def do_struct():
    packed = [struct.pack("<IdQ", i, i * 2.0, i) for i in range(3000)]
    [struct.unpack("<IdQ", p) for p in packed]


def do_sort():
    sorted(NUMBERS)
    sorted(STRINGS)


def do_str():
    TEXT.replace("a", "bb")
    TEXT.upper()
    TEXT.find("zzz")
    ",".join(TEXT.split(","))
    TEXT.encode()


def do_dict():
    d = {}
    for i in range(20):
        d.update(dict.fromkeys(range(2000), i))
        d.copy()
        list(d.items())


def main(rounds, *names):
    work = [do for name, do in sorted(globals().items()) if name.startswith("do_")
            and (not names or name[3:] in names)]
    print("ready", flush=True)
    for _ in range(int(rounds)) if int(rounds) else itertools.count():
        for do in work:
            do()


if __name__ == "__main__":
    main(*sys.argv[1:])
