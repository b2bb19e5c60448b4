# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Libraries in C, C++ and Rust that call Python."""
import sys

import work


def with_lxml():
    from lxml import etree
    tree = etree.fromstring("<all>" + "<one/>" * 120 + "</all>")
    etree.FunctionNamespace(None)["handle"] = work.handle
    tree.xpath("//one[handle() = 'done']")


def with_pydantic():
    from pydantic import BaseModel, field_validator

    class Model(BaseModel):
        value: int

        @field_validator("value")
        @classmethod
        def checked(cls, value):
            work.handle()
            return value

    for i in range(120):
        Model.model_validate({"value": i})


def with_polars():
    import polars
    polars.DataFrame({"a": range(120)}).lazy().select(
        polars.col("a").map_elements(lambda _: work.handle(), return_dtype=polars.String)).collect()


def with_duckdb():
    import duckdb
    with duckdb.connect() as db:
        db.create_function("handle", lambda i: work.handle(), ["BIGINT"], "VARCHAR")
        db.sql("select count(handle(range)) from range(120)").fetchall()


def with_sqlalchemy():
    import sqlalchemy
    engine = sqlalchemy.create_engine("sqlite://")
    sqlalchemy.event.listen(engine, "connect",
                            lambda db, _: db.create_function("handle", 0, work.handle))
    with engine.connect() as db:
        for _ in range(120):
            assert db.execute(sqlalchemy.text("select handle()")).scalar() == "done"


def with_cffi():
    import cffi
    ffi = cffi.FFI()
    ffi.cdef("void qsort(void *, size_t, size_t, int (*)(const void *, const void *));")

    @ffi.callback("int(const void *, const void *)")
    def compare(left, right):
        work.handle()
        return ffi.cast("int *", left)[0] - ffi.cast("int *", right)[0]

    ffi.dlopen(None).qsort(ffi.new("int[]", list(range(40, 0, -1))), 40, 4, compare)


def with_jinja2():
    import jinja2
    template = jinja2.Environment()
    template.filters["handle"] = work.handle
    template.from_string("{% for i in range(120) %}{{ i | handle }}{% endfor %}").render()


def with_grpc():
    import concurrent.futures

    import grpc
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    method = grpc.unary_unary_rpc_method_handler(lambda request, _: work.handle().encode())
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("Zoo", {"Do": method})])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel("127.0.0.1:%d" % port) as channel:
        calls = [channel.unary_unary("/Zoo/Do").future(b"") for _ in range(120)]
        assert {call.result() for call in calls} == {b"done"}
    server.stop(None)


def with_requests():
    import http.server
    import threading

    import requests

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = work.handle().encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for _ in range(120):
            requests.get("http://127.0.0.1:%d/" % server.server_port, timeout=60)
        server.shutdown()


def with_sympy():
    import sympy

    from truth import counted
    x, y = sympy.symbols("x y")

    @counted
    def expand(power):
        sympy.expand((x + y + 1) ** power)

    @counted
    def simplify(power):
        sympy.simplify((sympy.sin(x) ** 2 + sympy.cos(x) ** 2) ** power + power * y)

    for i in range(25):
        expand(10 + i)
        simplify(2 + i)


def with_matplotlib():
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import figure

    from truth import counted
    shown = figure.Figure()
    axes = shown.add_subplot()

    @counted
    def plot(i):
        axes.clear()
        axes.plot([(k * i) % 17 for k in range(500)])

    @counted
    def draw():
        shown.canvas.draw()

    for i in range(60):
        plot(i)
        draw()


globals()["with_" + sys.argv[1]]()
