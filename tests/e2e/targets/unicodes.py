# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Names in Latin-1, UCS-2 and UCS-4, and a source file whose name needs UTF-8 and has spaces."""
import importlib.util
import os

from truth import until

PATH = os.path.join(os.environ["TARGET_SCRATCH"], "größe 名前 \U0001f40d %d.py" % os.getpid())
SOURCE = """
from truth import leaf


def naïve_größe():
    leaf()
    for i in range(20000):
        i & 3


class Überklasse:
    def 名前_функция(self):
        leaf()
        é = "ß" * 3; [len(é) for i in range(4000)]
        for i in range(20000):
            i & 3


class \U0002000b:
    @classmethod
    def \U0002123d\U00020089(cls):
        leaf()
        for i in range(20000):
            i & 3


def all_of_them():
    naïve_größe()
    Überklasse().名前_функция()
    \U0002000b.\U0002123d\U00020089()
"""

with open(PATH, "w", encoding="utf-8") as f:
    f.write(SOURCE)
FILES = [PATH]
spec = importlib.util.spec_from_file_location("unusual", PATH)
unusual = importlib.util.module_from_spec(spec)
spec.loader.exec_module(unusual)


def run(seconds):
    for _ in until(seconds):
        unusual.all_of_them()
