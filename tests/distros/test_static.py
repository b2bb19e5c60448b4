# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make static: one file, built here, that runs wherever there is Linux."""
import json
import os
import re
import shutil

import pytest

import elf
import musl
import systems
from interp import cache, roots

ROOTS = {r.name: r for r in roots.ROOTS if r.name in ("bullseye", "bookworm", "trixie")}
# It records everything while a Python of this root computes.
DRIVER = """
import json, subprocess, sys
busy = subprocess.Popen([sys.executable, "-S", "-c", "print(1, flush=True)\\nwhile True: pass"],
                        stdout=subprocess.PIPE)
try:
    busy.stdout.readline()
    print(subprocess.check_output(["/tachbpf", "--version"]).decode(), end="")
    out = subprocess.check_output(["/tachbpf", "-a", "-d", "1", "-r", "999", "-o", "/recorded",
                                   "--json"])
    print(subprocess.check_output(["/tachbpf", "report", "/recorded"]).decode(), end="")
    print(json.dumps({"pid": busy.pid, "summary": json.loads(out.decode())}))
finally:
    busy.kill()
"""


def test_it_needs_nothing(static):
    # Those of the agent's libraries: test_static_agent.py.
    assert not [w for w in static.warnings if not re.search(r"/lib(curl|crypto)\.a\(", w)]
    assert not elf.needs(static.binary)
    assert elf.machine(static.binary) == os.uname().machine


def records_in(root, python, binary):
    shutil.copy(binary, root.path("/tachbpf"))
    done = root(python, "-S", "-c", DRIVER)
    assert done.returncode == 0, done.stdout[-3000:]
    lines = done.stdout.splitlines()
    # What other processes of the host are is said before or after the version.
    assert any(line.startswith("tachbpf ") for line in lines), done.stdout[-3000:]
    said = json.loads(lines[-1])
    row, = [p for p in said["summary"]["processes"] if p["pid"] == said["pid"]]
    assert row["samples"] > 0, done.stdout[-3000:]


@pytest.mark.parametrize("name", ROOTS)
def test_in_debian(static, name):
    """Debian 11, 12 and 13, whose C libraries are older and newer than the build's."""
    try:
        cache.prepare(ROOTS[name], cache.Jobs(1))
    except cache.Failed as error:
        pytest.skip(f"{name}: {error}")
    _, python = next(iter(ROOTS[name].interpreters()))
    with systems.fresh(ROOTS[name].path()) as root:
        records_in(root, python, static.binary)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the musl root is x86-64's")
def test_where_musl_is_the_c_library(static):
    try:
        python = musl.prepare()
    except cache.Failed as error:
        pytest.skip(str(error))
    with systems.fresh(python) as root:
        musl.furnish(root)
        glibc = root(musl.PYTHON, "-S", "-c", "import os; print([d for top in ('/bin', '/lib') "
                     "for d, _, files in os.walk(top) if 'libc.so.6' in files])")
        assert glibc.stdout == "[]\n", glibc.stdout
        records_in(root, musl.PYTHON, static.binary)
