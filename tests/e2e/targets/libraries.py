# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""libraries.py NAME [PACKAGES]: calls a library over and over, in C most of the time, for ever.

PACKAGES is a directory of PyPI's packages. It says "ready" when it has begun, on stdout.
"""
import sys

sys.path[:0] = sys.argv[2:]
TEXT = '{"name": "abc \\u00e4 def", "list": [1, 2.5, null, true, "x\\n' + "y" * 300 + '"]}'


def use_json():
    import json
    many = "[%s]" % ",".join(400 * [TEXT])
    return lambda: json.loads(many)


def use_re():
    import re
    pattern, text = re.compile(r"(a|b)*?c.{3,9}[^x]d$"), 40 * "abababcxxxxxx"
    return lambda: pattern.search(text)


def use_zlib():
    import zlib
    data = bytes(range(256)) * 4000
    return lambda: zlib.decompress(zlib.compress(data, 9))


def use_hashlib():
    import hashlib
    return lambda: hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 20000)


def use_ssl():
    import glob
    import ssl
    pem = "".join(open(p).read() for p in sorted(glob.glob("/etc/ssl/certs/*.pem"))[:40])

    def load():
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=pem)
        context.get_ca_certs()
    return load


def use_sqlite3():
    import sqlite3
    db = sqlite3.connect(":memory:")
    db.create_function("plus", 2, lambda a, b: a + b)
    db.create_collation("backwards", lambda a, b: (a < b) - (a > b))
    db.execute("create table t(a integer, b text)")
    db.executemany("insert into t values(?, ?)", [(i, str(i * 7919 % 1009)) for i in range(500)])
    return lambda: db.execute("select plus(a, 1), b from t where b like '%7%' "
                              "order by b collate backwards").fetchall()


def use_numpy():
    import numpy
    a = numpy.random.rand(300, 300)
    return lambda: (a @ a, numpy.sort(a.ravel()), numpy.linalg.svd(a[:60, :60]),
                    numpy.fft.fft(a), numpy.apply_along_axis(lambda row: row.sum(), 0, a))


def use_pandas():
    import pandas
    frame = pandas.DataFrame({"key": [i * 7919 % 101 for i in range(20000)],
                              "text": [str(i % 97) for i in range(20000)], "x": range(20000)})
    return lambda: (frame.groupby("key").agg({"x": "median"}), frame.sort_values("text"),
                    frame.merge(frame[:500], on="key"), frame["x"].rolling(9).mean(),
                    frame["x"][:300].apply(lambda x: x + 1))


def use_lxml():
    from lxml import etree
    text = b"<a>%s</a>" % (b"<b x='1'>text<c/>tail &amp; more</b>" * 500)
    return lambda: (etree.fromstring(text).xpath("//b[@x='1' and contains(., 'ext')]"),
                    etree.tostring(etree.fromstring(text)))


def use_pydantic():
    import typing

    import pydantic

    class Row(pydantic.BaseModel):
        name: str
        values: typing.List[float]

        @pydantic.field_validator("name")
        def check(cls, value):
            return value.strip()
    rows = pydantic.TypeAdapter(typing.List[Row])
    data = [{"name": " row ", "values": list(range(20))}] * 50
    return lambda: rows.dump_json(rows.validate_python(data))


def use_orjson():
    import orjson
    many = orjson.loads(b"[%s]" % b",".join(400 * [TEXT.encode()]))
    return lambda: orjson.loads(orjson.dumps(many, default=str, option=orjson.OPT_SORT_KEYS))


def use_pyarrow():
    import io

    import pyarrow
    import pyarrow.compute
    import pyarrow.csv
    pyarrow.set_cpu_count(1)
    csv = b"a,b,c\n" + b"".join(b"%d,%d.5,text%d\n" % (i, i, i % 100) for i in range(5000))

    def work():
        table = pyarrow.csv.read_csv(io.BytesIO(csv))
        table.sort_by("b").group_by("c").aggregate([("a", "sum")])
        pyarrow.compute.match_substring_regex(table["c"], "x(t|u)[1-5]")
    return work


def use_numba():
    import numba

    @numba.njit
    def compiled(n):
        x = 0
        for i in range(n):
            x = x * 31 + i % 7
        return x
    compiled(10)
    return lambda: compiled(1000000)


def loop(work):
    while True:
        work()


def main():
    work = globals()["use_" + sys.argv[1]]()
    work()
    print("ready", flush=True)
    loop(work)


main()
