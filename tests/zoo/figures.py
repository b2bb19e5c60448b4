# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The zoo's table: printed after a run, and with DOCS=1 written into docs/zoo.md.

There a row of a program that was not run stays as it is.
"""
import os

from paths import REPO

PAGE = REPO / "docs" / "zoo.md"
BEGIN = "<!-- written by make check-zoo DOCS=1 -->\n"
END = "<!-- end -->\n"
HEAD = ("program", "versions", "CPU time and shares: true", "said by tachbpf", "difference")
rows = {}


def keep(name, versions, found, complaints):
    """The figures of a program that was run, and what is wrong with them: a list, empty if nothing."""
    def words(cpu_s, which):
        return ", ".join([f"{cpu_s:.2f} s", *(f"{name} {pair[which]:.1f} %"
                                              for name, pair in found.shares.items())])
    difference = f"{found.difference:.1f}"
    if complaints:
        difference = f"**{difference}**: " + "; ".join(complaints)
    rows[name] = (name, versions, words(found.cpu_s, 0), words(found.samples / found.rate_hz, 1),
                  difference)


def line(cells):
    return "| " + " | ".join(cells) + " |\n"


def table(lines):
    return line(HEAD) + line(["---"] * len(HEAD)) + "".join(lines)


def write(order):
    """Into the page; order: the names of all programs."""
    head, rest = PAGE.read_text().split(BEGIN)
    old, tail = rest.split(END)
    lines = {row.split(" | ")[0][2:]: row for row in old.splitlines(True) if row.startswith("| ")}
    lines.update({name: line(row) for name, row in rows.items()})
    PAGE.write_text(head + BEGIN + "\n" + table(lines[n] for n in order if n in lines) + "\n" + END
                    + tail)


def finish(order, say):
    """At the end of a run."""
    if rows:
        say(table(map(line, rows.values())))
    if rows and os.environ.get("DOCS"):
        write(order)
        say(f"check-zoo: wrote {PAGE.name}")
