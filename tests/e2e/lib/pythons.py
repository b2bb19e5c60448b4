# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The interpreters that have their headers with them, and a compiler for what reads those.
Which there are is interpreters.py's business; of layouts it knows nothing."""
import subprocess

import interpreters
from paths import E2E, REPO


def found():
    """Supported interpreters, each once; one may not have headers, see .includes."""
    return interpreters.discover()


def cc(out, source, *flags):
    subprocess.run(["cc", "-O1", "-w", "-std=gnu11", "-D_GNU_SOURCE", "-o", str(out),
                    *map(str, flags), str(E2E / "cpython" / source)], check=True)
    return out


def cc_with_cpython(out, source, *more):
    """Compile source together with user/cpython, what reads ELF files, what these need of user/base, and more files
    of user."""
    sources = [c for files in ("elf/elf*.c", "cpython/*.c") for c in sorted((REPO / "user").glob(files))]
    sources += [REPO / "user" / "base" / name for name in ("util.c", "colour.c", "time.c")]
    sources += [REPO / "user" / name for name in more]
    return cc(out, source, "-I%s" % REPO, "-I%s" % (REPO / "user"), *sources)
