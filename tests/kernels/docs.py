# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""recorded.json, what was measured last and is compared with, and its tables in docs/kernels.md.

Run by itself it writes the tables anew from recorded.json.
"""
import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "recorded.json"
PAGE = HERE.parent.parent / "docs" / "kernels.md"
BEGIN = "<!-- written by make check-kernels ALL=1 DOCS=1 -->\n"
END = "<!-- end -->\n"
STEPS = {"doctor": "`doctor`", "command": "`--`", "one_pid": "`-p`", "everything": "`-a`",
         "chosen": "`--cgroup` ...", "waiting": "`-m offcpu --kernel`", "native": "`--native`",
         "memory": "`-m mem`"}
RESULTS = {True: "works", False: "**fails**", None: "not run"}


def read():
    return json.loads(RECORDED.read_text()) if RECORDED.exists() else {}


def record(recorded, arch, facts):
    keep = ("release", "package", "root", "pythons", "depth", "instructions", "features",
            "results")
    rows = recorded.setdefault(arch.name, {})
    for name, row in facts.items():
        rows[name] = {k: row[k] for k in keep}
    RECORDED.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(page(PAGE.read_text(), recorded))
    print(f"check-kernels: wrote {RECORDED.name} and {PAGE.name}")


def lines_of(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join("---" for _ in head) + " |"
    for row in rows:
        yield "| " + " | ".join(map(str, row)) + " |"


def order(name):
    """5.10 before 6.1 before 6.12 before sid."""
    return [int(n) if n.isdigit() else 999 for n in name.split(".")]


def columns(recorded):
    return [(arch, name, recorded[arch][name]) for arch in sorted(recorded, reverse=True)
            for name in sorted(recorded[arch], key=order)]


def found(value):
    return {True: "yes", False: "no", None: "?"}[value]


def tables(recorded):
    cols = columns(recorded)
    programs = sorted({p for _, _, r in cols for p in r["instructions"]})
    names = sorted({f for _, _, r in cols for f in r["features"]})
    heads = [f"{arch} {name}" for arch, name, _ in cols]
    yield "What was run, with what result, and how deep a stack was walked:\n"
    yield from lines_of(
        ["kernel", "release", "Pythons", *STEPS.values(), "`-e cycles`", "depth"],
        [[h, r["release"], ", ".join(r["pythons"]),
          *(RESULTS[r["results"].get(s)] for s in STEPS),
          RESULTS[r["results"]["cycles"]] if "cycles" in r["results"] else "no counter", r["depth"]]
         for h, (_, _, r) in zip(heads, cols)])
    yield "\nInstructions that the verifier looks at (its limit is 1,000,000 a program):\n"
    yield from lines_of(["program", *heads],
                        [["`%s`" % p, *(f"{r['instructions'].get(p, 0):,}" for _, _, r in cols)]
                         for p in programs])
    yield "\nWhat the kernels have:\n"
    yield from lines_of(["feature", *heads],
                        [[f, *(found(r["features"].get(f)) for _, _, r in cols)] for f in names])


def page(text, recorded):
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    return head + BEGIN + "\n" + "\n".join(tables(recorded)) + "\n\n" + END + tail


def check(recorded):
    if page(PAGE.read_text(), recorded) != PAGE.read_text():
        raise SystemExit(f"check-kernels: the tables of {PAGE.name} are not those of "
                         f"{RECORDED.name}: run {Path(__file__).name}, or with DOCS=1")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(), read()))
