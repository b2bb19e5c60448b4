# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""docs/python.md: each Python example runs, in the order of the page, where the files that it names are.

A comment `<!-- not run: WHY -->` before a block leaves it out. A block that needs a library that this Python does not
have ends with the Error that names it, and is counted as skipped.
"""
import re
import shutil
from pathlib import Path

import pytest
import tachbpf
from recorded import CANNOT

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
PAGE = (ROOT / "docs" / "python.md").read_text()
BLOCK = re.compile(r"(<!-- not run: [^>]*-->\n+)?```python\n(.*?)^```", re.S | re.M)
BLOCKS = [(PAGE[:m.start()].count("\n") + 2, m[1], m[2]) for m in BLOCK.finditer(PAGE)]
FILES = {"app.tach": "tach/native_opcodes.bin", "before.tach": "tach/cpu_raw.bin", "after.tach": "tach/cpu_raw.bin",
         "app.mlyze": "mlyze/basic.mlyze", "recording/12-worker-1.tach": "tach/cpu_raw.bin", "recording/13-web.tach": "tach/cpu_raw.bin"}


@pytest.fixture(scope="module")
def names():
    """The variables of the page's blocks."""
    return {}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    directory = tmp_path_factory.mktemp("docs")
    for name, golden in FILES.items():
        (directory / name).parent.mkdir(exist_ok=True)
        shutil.copy(GOLDEN / golden, directory / name)
    return directory


@pytest.mark.parametrize("line, left_out, code", BLOCKS, ids=[f"line {line}" for line, *_ in BLOCKS])
def test_example(line, left_out, code, names, place, monkeypatch):
    if left_out:
        pytest.skip(left_out.strip("<!- >\n"))
    if "tachbpf.record(" in code and CANNOT:
        pytest.skip(CANNOT)
    monkeypatch.chdir(place)
    try:
        exec(compile("\n" * (line - 1) + code, "docs/python.md", "exec"), names)
    except tachbpf.Error as error:
        if "pip install" not in str(error):
            raise
        pytest.skip(str(error))


def test_there_are_examples():
    assert len([code for _, left_out, code in BLOCKS if not left_out]) >= 8


def test_columns_are_documented():
    """The table of columns names each, in their order."""
    from tachbpf._export import NAMES
    table = PAGE[PAGE.index("### Data frames"):PAGE.index("### Samples")]
    first = [cell for row in re.findall(r"^\| (`.*?) \|", table, re.M) for cell in re.findall(r"`(\w+)`", row)]
    assert first == list(NAMES)


def test_format_page_names_every_column():
    from tachbpf._columns import SAMPLES, TABLES
    page = (ROOT / "docs" / "format-columns.md").read_text()
    for name in [*SAMPLES, *(n for table in TABLES.values() for n in table if ".service." not in n)]:
        table, member = name.split(".", 1)
        assert f"`{name}`" in page or f"`.{member}`" in page or member in ("deployment.environment.name", "host.name", "team"), name
        assert table in page
