# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""collapsed/*.folded and what is in them. Lines and answers are written side by side, not parsed."""
from pathlib import Path

from expect import NOMINAL_US, place, write

HERE = Path(__file__).parent / "collapsed"


def make(name, head, lines, newline=b"\n", last=b"\n", unit="samples", step_us=NOMINAL_US):
    """lines: (text, process, comm, thread, weight, frames root first)."""
    profiles, clocks = {}, {}
    for _, pid, comm, thread, weight, frames in lines:
        events = profiles.setdefault((pid, comm), [])
        if not weight:
            continue
        now = clocks.get((pid, comm, thread), 0)
        clocks[pid, comm, thread] = now + int(weight * step_us)
        events.append((thread, now, weight, frames[::-1]))
    text = newline.join([head] + [line[0].encode() for line in lines]) + last
    (HERE / f"{name}.folded").write_bytes(text)
    write(HERE / f"{name}.txt", [(unit, pid, comm, events)
                                 for (pid, comm), events in profiles.items()])


def main():
    a, b, c = place("a"), place("b"), place("c")
    make("generic", b"# a comment\n\n   ".strip(b" "), [
        ("a;b;c 12", 0, None, 0, 12, [a, b, c]),
        ("a;b\t3", 0, None, 0, 3, [a, b]),
        ("a;;b; 1", 0, None, 0, 1, [a, b]),
        ("main (app.py:12);foo (x y.py:3) 4", 0, None, 0, 4,
         [place("main", "app.py", 12), place("foo", "x y.py", 3)]),
        ("vtable for X<int (*)(char)>::f;[kernel.kallsyms]_[k];ns::f;a:b:c:9 5", 0, None, 0, 5,
         [place("vtable for X<int (*)(char)>::f"), place("[kernel.kallsyms]_[k]"), place("ns::f"),
          place("c", "a:b", 9)]),
        ("wörk;日本 (/tmp/ü.py:1) 18446744", 0, None, 0, 18446744,
         [place("wörk"), place("日本", "/tmp/ü.py", 1)]),
        ("f (x.py:007);f (x.py:);f (:3);(x.py:3) 1", 0, None, 0, 1,
         [place("f (x.py:007)"), place("f (x.py:)"), place("f (:3)"), place("(x.py:3)")]),
        ("a 0", 0, None, 0, 0, [a]),
        ("thread (77): MainThread;a 2", 0, None, 77, 2, [a]),
        ("a.py:f:2147483648;a.py:f:2147483647 1", 0, None, 0, 1,
         [place("a.py:f:2147483648"), place("f", "a.py", 2147483647)]),
    ], newline=b"\r\n", last=b"")
    f, gc = place("f", "a.py", 3), place("<GC>")
    make("processes", b"", [
        ("process:12 app;tid:3;a.py:f:3;<GC> 5", 12, "app", 3, 5, [f, gc]),
        ("process:13;tid:4;a.py:g:0 7", 13, None, 4, 7, [place("g", "a.py")]),
        ("process:12 app;tid:9;a.py:f:3 1", 12, "app", 9, 1, [f]),
        ("process:12 app;tid:3;a.py:f:3 2", 12, "app", 3, 2, [f]),
        ("tid:18446744073709551615;<frozen runpy>:_run_code:87 1", 0, None, 2**64 - 1, 1,
         [place("_run_code", "<frozen runpy>", 87)]),
        ("process:x;tid:y;a.py:f:3 1", 0, None, 0, 1, [place("process:x"), place("tid:y"), f]),
        ("process:12 app;tid:3 4", 12, "app", 3, 4, []),
    ])
    # austin's own form of threads and processes, and its microseconds and bytes.
    make("austin", b"# austin: 3.6.0\n# interval: 100\n# mode: wall\n# x: 1\n", [
        ("P12;T0:34;a.py:f:3 110", 12, None, 34, 110000, [f]),
        ("P12;T0:34 5", 12, None, 34, 5000, []),
        ("P13;T7;a.py:f:3;T8 99", 13, None, 7, 99000, [f, place("T8")]),
        ("P12;T0:34;a.py:f:3 40", 12, None, 34, 40000, [f]),
        ("Px;Ty;a.py:f:3 1", 0, None, 0, 1000, [place("Px"), place("Ty"), f]),
    ], unit="nanoseconds", step_us=1e-3, last=b"\n\n# duration: 1304866\n")
    make("austin_memory", b"# austin: 3.6.0\n# mode: memory\n", [
        ("P12;T0:34;a.py:f:3 4096", 12, None, 34, 4096, [f])], unit="bytes")
    make("deep", b"", [
        (f"{';'.join(f'd.py:f{i}:{i + 1}' for i in range(n))} {n}", 0, None, 0, n,
         [place(f"f{i}", "d.py", i + 1) for i in range(n)]) for n in (255, 256, 257, 400)])


if __name__ == "__main__":
    main()
