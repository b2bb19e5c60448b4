# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""bench_cold.py's figures as docs/overhead.md has them: tables in place of what is between two marks."""
from pathlib import Path

BEGIN = "<!-- cold: written by make bench-cold DOCS=1 -->\n"
END = "<!-- end of cold -->\n"


def rate_name(rate):
    return f"{rate} Hz" if rate < 1000 else f"{rate / 1000:g} kHz"


def rounded(ns):
    """Three digits: samples differ by more."""
    return f"{float(f'{ns:.3g}'):,.0f}"


def cell(row):
    """The median and the quartiles; beside another build that one's median, ours, and their ratio."""
    ours, *other = row["programs"]
    if other:
        return (f"{rounded(other[0]['ns'])} to {rounded(ours['ns'])} "
                f"({ours['ns'] / other[0]['ns']:.2f})")
    return f"{rounded(ours['ns'])} ({rounded(ours['low'])} to {rounded(ours['high'])})"


def table(rows, mib):
    mine = [r for r in rows if r["mib"] == mib]
    rates = sorted({r["rate"] for r in mine})
    cells = {(r["python"], r["depth"], r["rate"]): cell(r) for r in mine}
    yield f"| | {' | '.join(map(rate_name, rates))} |"
    yield "| --- |" + " --- |" * len(rates)
    for python, depth in dict.fromkeys((r["python"], r["depth"]) for r in mine):
        yield (f"| CPython {python}, {depth} frames | "
               + " | ".join(cells.get((python, depth, rate), "") for rate in rates) + " |")


def cut(rows, at=0):
    """What share of the stacks the time limit cut, by rate and at most. at: of which program."""
    def share(some):
        its = [r["programs"][at] for r in some]
        return 100 * sum(p["late"] for p in its) / max(1, sum(p["samples"] for p in its))

    worst = max(rows, key=lambda r: share([r]))
    if not share([worst]):
        return "none"
    by_rate = ", ".join(f"{share([r for r in rows if r['rate'] == rate]):.2f} % at {rate_name(rate)}"
                        for rate in sorted({r["rate"] for r in rows}))
    return (f"{by_rate}; at most {share([worst]):.1f} % (CPython {worst['python']}, {worst['depth']} frames, "
            f"{rate_name(worst['rate'])})")


def samples_section(said):
    rows = said["samples"]
    how = ("the build before to this one (ratio), medians" if len(said["programs"]) > 1
           else "the median (and the quartiles)")
    walked = max(r["mib"] for r in rows)
    yield f"{said['date']}, {said['machine']}; ns a sample, {how}."
    for mib in sorted({r["mib"] for r in rows}, reverse=True):
        yield ""
        yield ("A target that walks through %d MiB:" % mib if mib == walked and mib
               else "One that counts in a loop:")
        yield ""
        yield from table(rows, mib)
    yield ""
    before = f". In the build before: {cut(rows, 1)}" if len(said["programs"]) > 1 else ""
    yield f"Stacks that the time limit cut: {cut(rows)}{before}."


def tools_section(said):
    tools = said["tools"]
    rates = sorted({t["rate"] for t in tools})
    yield "Whole profilers, CPython 3.11, 20 frames, 64 MiB; all record everything on the target's CPU:"
    yield ""
    yield "| | " + " | ".join(map(rate_name, rates)) + " | RSS, MiB |"
    yield "| --- |" + " --- |" * (len(rates) + 1)
    for name in dict.fromkeys(t["tool"] for t in tools):
        mine = {t["rate"]: t for t in tools if t["tool"] == name}
        yield (f"| {name} | " + " | ".join(
            f"{rounded(mine[r]['ns'])} ns, {mine[r]['kernel']:.2f} + {mine[r]['user']:.2f} %"
            if r in mine else "" for r in rates)
            + f" | {max(t['rss_mib'] for t in mine.values()):.0f} |")
    yield ""
    yield ("A run in the kernel (median), and % of a CPU in the kernel + in the profiler's process (of "
           "tachbpf without its workers).")


def text(said):
    lines = []
    if said.get("samples"):
        lines += samples_section(said)
    if said.get("tools"):
        lines += [""] * bool(lines) + [*tools_section(said)]
    return "\n".join(lines) + "\n"


def write(page, said):
    """Puts the tables into the page."""
    before, begin, rest = Path(page).read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page}: no line {BEGIN.strip()}, or none {END.strip()} below it")
    Path(page).write_text(before + BEGIN + text(said) + END + after, encoding="utf-8")
