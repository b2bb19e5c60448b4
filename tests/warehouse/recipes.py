# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A Python with the engines, as PyPI has them: made once, kept in $TACHBPF_CACHE."""
import os
import sys

from interp import cache

PACKAGES = ("pyarrow==26.0.1", "duckdb==2.0.1", "chdb==4.4.0", "pyspark==4.3.0")


class Engines:
    """Of this Python's version. `python -I` finds them, too, as tachbpf calls it."""
    name, what = "warehouse-engines", f"PyPI's {', '.join(PACKAGES)}, 1.5 GB"

    def recipe(self):
        return f"{PACKAGES} {sys.version_info[:2]}"

    def make(self, workshop):
        done = workshop.path("done")
        workshop.run(sys.executable, "-m", "venv", "--without-pip", done)
        workshop.run(sys.executable, "-m", "pip", "install", "--quiet", "--target", packages(done), *PACKAGES)
        return done


def packages(place):
    return os.path.join(place, "lib", "python%d.%d" % sys.version_info[:2], "site-packages")


def path_of(thing):
    """The directory of a thing, made now if it is missing. cache.Failed."""
    cache.prepare(thing, cache.Jobs(1))
    return cache.path_of(thing.name)


if __name__ == "__main__":
    print(path_of(Engines()))
