#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""test_otlp.py - what other programs read in an encoded window: write_windows made the files.

Requests are decoded here from the format's description, and by the package opentelemetry-proto
where it is installed (pip install --target DIR opentelemetry-proto; PYTHONPATH=DIR).
"""
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
WRITER = Path(__file__).resolve().parent / "write_windows"
sys.path.insert(0, str(Path("tests/e2e/lib").resolve()))

from otlp_decode import (ExportProfilesServiceRequest, Published, Request,  # noqa: E402
                         stacks_of, totals_of)
from pprof_decode import Pprof, message, one  # noqa: E402

BEGIN_NS, SECOND = 1700000000 * 10**9, 10**9
REQUEST_MIN = 64 * 1024
COUNT_TYPE = ("samples", "count")
CPU_TYPE, OFF_CPU_TYPE = ("cpu", "nanoseconds"), ("off_cpu", "nanoseconds")


class Windows(unittest.TestCase):
    decoded = {}

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.top = Path(scratch.name)
        subprocess.run([WRITER, cls.top], check=True)

    def bytes_of(self, name):
        files = sorted(self.top.glob(f"{name}-*.otlp"), key=lambda p: int(p.stem.split("-")[1]))
        return [path.read_bytes() for path in files]

    def requests(self, name):
        if name not in self.decoded:
            self.decoded[name] = [Request(data) for data in self.bytes_of(name)]
        return self.decoded[name]

    def totals(self, name, pprof=False):
        """(service, sample type) -> what the window says. In OTLP, time on a CPU is samples of a
        period, which is 1 ns here; pprof has the time, and how many samples were taken."""
        totals = {}
        for line in (self.top / f"{name}.totals").read_text().splitlines():
            service, kind, value, samples = line.split()
            if pprof or kind != "cpu":
                unit = "bytes" if kind.endswith("_space") else "count" if kind == "heap_objects" else "nanoseconds"
                totals[f"service-{service}", (kind, unit)] = int(value)
            if kind == "cpu":
                totals[f"service-{service}", COUNT_TYPE] = int(samples if pprof else value)
        return totals

    def assert_totals(self, name, requests):
        self.assertEqual(dict(totals_of(requests)), self.totals(name))

    def test_a_small_window(self):
        request, = self.requests("small")
        views = ("View.get", "/usr/lib/python3/dist-packages/web/views.py", 42, "cpython")
        main = ("<module>", "/srv/shop/main.py", 7, "cpython")
        deep = (("<GC>", "", 0, None), ("<kernel schedule>", "", 0, "kernel"),
                ("<native>", "", 0, "native"), views, main)
        links = [(bytes(range(1, 17)), bytes([1, 2, 3, 4, 0, 0, 0, 0])),
                 (b"\xff" + bytes(15), b"\xee" + bytes(7), ("http.route", "/a/{id}"),
                  ("tenant", "t1")),
                 (b"\xff" + bytes(15), b"\xee" + bytes(7), ("tenant", "t1"), ("http.route", "/b")),
                 (None, None, ("thread.name", "pool-1"))]
        self.assertEqual([(a["service.name"], [(p["type"], p["samples"]) for p in profiles])
                          for a, profiles in request.resources], [
            ("service-0", [
                (COUNT_TYPE, [(deep, 3000, None), ((views, main), 1000, None)]),
                (("off_cpu", "nanoseconds"), [(deep, 8, links[0]), (deep, 16, links[1]),
                                              (deep, 32, links[2]), (deep, 64, links[3])]),
                (("gil_wait", "nanoseconds"), [((views, main), 500, None)])]),
            ("service-2", [(("exception", "nanoseconds"), [((main,), 1, None)])])])
        self.assertEqual(len(request.tables[4]), 1 + 2, "two spans")
        self.assertEqual(request.strings.count("http.route"), 1)
        attributes, profiles = request.resources[0]
        self.assertEqual(attributes, {"service.name": "service-0", "process.count": -1,
                                      "odd": "\\xff\\x01", "long": "v" * 4096, "list": ["item"]})
        self.assertEqual({(p["time"], p["duration"], p["period"]) for p in profiles
                          if p["type"] != OFF_CPU_TYPE}, {(BEGIN_NS, 15 * SECOND, 1)})

    def test_libraries(self):
        """Machine code is in mappings of its library's path and build id, and has its address in it if it has
        no other name. A library without a build id must not be a mapping: it is the functions' file."""
        request, = self.requests("native")
        (_, profiles), = request.resources
        stack, = {s for p in profiles for s, _, _ in p["samples"]}
        self.assertEqual(stack, (("crc32_z", "src/crc32.c", 7, "native"), ("libz.so.1+0x12ab", "", 0, "native"),
                                 ("foo", "[libfoo.so]", 0, "native"), ("<module>", "/srv/shop/main.py", 7, "cpython")))
        libz = "/lib/libz.so.1", {"process.executable.build_id.gnu": "c0de"}
        self.assertEqual(request.mappings, {"crc32_z": libz, "libz.so.1+0x12ab": libz})
        self.assertEqual(request.addresses, {"crc32_z": 0, "libz.so.1+0x12ab": 0x12ab})
        p = Pprof(self.top / "native-0-cpu.pprof")
        self.assertEqual(p.samples, [([("crc32_z", "", "src/crc32.c", 7),
                                       ("libz.so.1+0x12ab", "", "[libz.so.1]", 0),
                                       ("foo", "", "[libfoo.so]", 0),
                                       ("shop.main.<module>", "<module>", "/srv/shop/main.py", 7)],
                                      [1, 1000], {})])
        self.assertEqual(p.mappings, {1: "python", 2: "/lib/libz.so.1", 3: "libfoo.so"})
        self.assertEqual(p.build_ids, {1: "", 2: "c0de", 3: ""})

    def test_totals(self):
        for name in ("small", "whole", "requests", "pieces", "small_cut", "bounded"):
            with self.subTest(name):
                self.assert_totals(name, self.requests(name))

    def test_parts_are_the_whole(self):
        for whole, parts in (("whole", "requests"), ("whole", "pieces"), ("small", "small_cut")):
            with self.subTest(parts):
                requests = self.requests(parts)
                self.assertGreater(len(requests), 5)
                self.assertEqual(stacks_of(requests), stacks_of(self.requests(whole)))

    def test_as_the_specification_asks(self):
        """Requests of every window, also cut ones: no orphans, no duplicates, zero values, schema URLs."""
        names = {path.stem.rpartition("-")[0] for path in self.top.glob("*.otlp")}
        self.assertGreater(names, {"small", "small_cut", "twins", "twins_cut", "pieces", "hostile"})
        for name in names:
            self.assertTrue(self.requests(name))        # which asks otlp_check

    def test_equal_texts(self):
        """Functions, files and attributes whose names are the format's, or each other's."""
        request, = self.requests("twins")
        stacks = {s for _, profiles in request.resources for p in profiles for s, _, _ in p["samples"]}
        self.assertEqual(stacks, {
            (("cpu", "samples", 1, "cpython"), ("same", "[liba.so]", 0, "native"), ("same", "[libb.so]", 0, "native")),
            (("nanoseconds", "profile.frame.type", 2, "cpython"), ("", "", 0, "kernel"), ("same", "", 0, "native"),
             ("same", "", 0, None))})
        cut = self.requests("twins_cut")
        self.assertEqual(len(cut), 2)
        self.assertEqual(stacks_of(cut), stacks_of([request]))

    def test_sizes(self):
        for name in ("requests", "hostile"):
            for data in self.bytes_of(name):
                self.assertLessEqual(len(data), REQUEST_MIN)
        data = self.bytes_of("requests")
        self.assertGreater(sum(map(len, data)) / len(data), REQUEST_MIN * 0.8)

    def test_profile_ids_are_unique(self):
        for name in ("whole", "requests", "pieces", "small_cut"):
            with self.subTest(name):
                ids = [p["id"] for r in self.requests(name) for _, ps in r.resources for p in ps]
                self.assertEqual(len(ids), len(set(ids)))

    def test_hostile_names(self):
        """A stack that is larger than a request is at <other>; a value that does not fit, at most."""
        requests = self.requests("hostile")
        sums = stacks_of(requests)
        names = {stack[0][0] for _, _, stack, _ in sums}
        self.assertIn("<other>", names)
        self.assertEqual({v for (s, t, _, _), v in sums.items() if (s, t) == ("service-0", COUNT_TYPE)},
                         {100})
        self.assertEqual({v for (s, t, _, _), v in sums.items() if (s, t) == ("service-1", COUNT_TYPE)},
                         {2**63 - 1})

    def test_nothing_of_an_empty_window(self):
        self.assertEqual(list(self.top.glob("empty-*")), [])

    def test_bounds(self):
        stacks = {stack for _, _, stack, _ in stacks_of(self.requests("bounded"))}
        self.assertIn((("<other>", "", 0, None),), stacks)
        self.assertEqual({s for s, _ in self.totals("bounded")}, {f"service-{i}" for i in range(10)})

    def test_functions_have_the_names_of_pprof(self):
        request, = self.requests("small")
        stacks_of([request])
        self.assertEqual(request.qualified, {
            ("View.get", "/usr/lib/python3/dist-packages/web/views.py"): "web.views.View.get",
            ("<module>", "/srv/shop/main.py"): "shop.main.<module>",
        })

    def test_by_the_published_package(self):
        if not ExportProfilesServiceRequest:
            print("SKIP: opentelemetry-proto is not installed: only the decoder of this test was used")
            return
        for name in ("small", "small_cut", "requests", "hostile", "bounded"):
            with self.subTest(name):
                for data, request in zip(self.bytes_of(name), self.requests(name), strict=True):
                    self.assertEqual(Published(data).resources, request.resources)

    def test_pprof(self):
        for name in ("small", "whole", "hostile", "bounded"):
            sums, totals = Counter(), self.totals(name, pprof=True)
            for path in self.top.glob(f"{name}-*.pprof"):
                _, service, kind = path.stem.split("-")
                p = Pprof(path)
                self.assertEqual(p.default_type, kind)
                periods = {"alloc_space": ("space", "bytes"), "inuse_space": ("space", "bytes"),
                           "heap_space": ("heap", "bytes"), "heap_objects": ("heap", "count")}
                self.assertEqual((p.period_type, p.period), (periods[kind], 1) if kind in periods else
                                 (CPU_TYPE, 52631579))
                for stack, values, labels in p.samples:
                    self.assertEqual(labels, {})
                    self.assertTrue(stack)
                    for kind_of_value, value in zip(p.types, values, strict=True):
                        sums[f"service-{service}", kind_of_value] += value
            if name != "hostile":
                self.assertEqual(dict(sums), totals)

    def test_a_small_pprof(self):
        p = Pprof(self.top / "small-0-cpu.pprof")
        self.assertEqual(p.types, [("samples", "count"), CPU_TYPE])
        self.assertEqual((p.time_ns, p.duration_ns), (BEGIN_NS, 15 * SECOND))
        views = ("web.views.View.get", "View.get", "/usr/lib/python3/dist-packages/web/views.py", 42)
        main = ("shop.main.<module>", "<module>", "/srv/shop/main.py", 7)
        self.assertEqual(p.samples, [
            ([("<GC>", "", "", 0), ("<kernel schedule>", "", "", 0), ("<native>", "", "", 0),
              views, main], [3, 3000], {}),
            ([views, main], [1, 1000], {})])

    def test_first_lines(self):
        """A Python function has its first line; others have none."""
        p = Pprof(self.top / "small-0-cpu.pprof")
        self.assertEqual({f[2] != "": p.first_lines[i] for i, f in p.functions.items()}, {True: 1, False: 0})
        for data in self.bytes_of("small"):
            dictionary = message(one(message(data), 2))
            functions = [message(f) for f in dictionary[3]][1:]
            self.assertEqual({(one(f, 3) != 0, one(f, 4)) for f in functions}, {(True, 1), (False, 0)})


if __name__ == "__main__":
    unittest.main()
