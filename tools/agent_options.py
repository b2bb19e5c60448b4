#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""agent_options.py PROGRAM [PAGE]: what tachbpf-agent's --help says of options, as mdoc(7).

With PAGE, a man page, its lines between two marks are replaced by that. tests/unit/agent compares.
"""
import re
import subprocess
import sys
from pathlib import Path

BEGIN, END = '.\\" options: made by tools/agent_options.py\n', '.\\" end of options\n'
OPTION = re.compile(r"^ +(?:-(\w), )?--([a-z-]+)(?: (\S+))?(?:  +(.*))?$")


def sections(text):
    """(heading, [(letter, name, argument, help), ...]) of each group of options."""
    found = []
    for line in text.splitlines():
        heading = re.match(r"(\S.*):$", line)
        option = OPTION.match(line)
        if heading:
            found.append((heading[1], []))
        elif found and option:
            found[-1][1].append([*option.groups()[:3], option[4] or ""])
        elif found and found[-1][1] and line.startswith(" " * 20):
            row = found[-1][1][-1]
            row[3] = f"{row[3]} {line.strip()}".strip()
    return [(heading, rows) for heading, rows in found if rows]


def escaped(text):
    """A dot or apostrophe that begins a line, and a backslash, are the formatter's."""
    text = text.replace("\\", "\\e")
    return "\\&" + text if text[:1] in (".", "'") else text


def mdoc(text):
    out = []
    for heading, rows in sections(text):
        out += [f".Ss {heading}", ".Bl -tag -width Ds"]
        for letter, name, argument, what in rows:
            forms = ([f"{letter} ,"] if letter else []) + [f"-{name}"]
            out.append(".It " + " ".join(f"Fl {form}" for form in forms)
                       + (f" Ar {argument}" if argument else ""))
            what = what[:1].upper() + what[1:]
            out += [escaped(part) for part in re.split(r"(?<=;) ", what)]
            out[-1] = out[-1].rstrip(".") + "."
        out.append(".El")
    return "\n".join(out) + "\n"


def put(page, options):
    """The page with these options between the marks."""
    before, _, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit("agent_options: the page has not both marks")
    return before + BEGIN + options + END + after


def main():
    helped = subprocess.run([sys.argv[1], "--help"], check=True, capture_output=True, text=True).stdout
    if len(sys.argv) < 3:
        sys.stdout.write(mdoc(helped))
        return
    page = Path(sys.argv[2])
    page.write_text(put(page.read_text(), mdoc(helped)))


if __name__ == "__main__":
    main()
