# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What pip installed: the package, the programs beside it, and what metadata say of them."""
import importlib.metadata
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import tachbpf
from tachbpf import _program

EXTRAS = {"arrow", "pandas", "polars", "jupyter", "pytest", "mcp"}


def test_the_installed_one():
    """It comes from the virtual environment, not from the tree, and is typed."""
    package = Path(tachbpf.__file__).parent
    assert package.is_relative_to(sys.prefix)
    assert (package / "py.typed").exists()


def test_version(program):
    said = subprocess.run([program, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode().split()
    assert said[:2] == ["tachbpf", importlib.metadata.version("tachbpf")]
    assert Path(program).parent == Path(sys.prefix) / "bin"


def test_no_dependencies():
    """Whatever is required is required by an extra."""
    metadata = importlib.metadata.metadata("tachbpf")
    assert set(metadata.get_all("Provides-Extra")) == EXTRAS
    assert metadata["Requires-Python"] == ">=3.9"
    for requirement in metadata.get_all("Requires-Dist"):
        assert "extra ==" in requirement


def test_stripped(program):
    """Programs have neither symbols nor debug information, which are sections of type 2 and of these names."""
    data = Path(program).read_bytes()
    offset, (size, count, names) = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<HHH", data, 58)
    sections = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    table = sections[names][4]
    found = [data[table + s[0]:].split(b"\0", 1)[0] for s in sections]
    assert b".text" in found and 2 not in {s[1] for s in sections}
    assert not [name for name in found if name.startswith(b".debug")]


def test_doctor(program):
    """It says whether this machine can record; status 1: it cannot, with the reason."""
    done = subprocess.run([program, "doctor"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode in (0, 1) and done.stdout


def test_another_program(monkeypatch, tmp_path):
    monkeypatch.setenv("TACHBPF", str(tmp_path / "other"))
    assert _program.find() == str(tmp_path / "other")
    assert _program.find("tachbpf-elf") == str(tmp_path / "tachbpf-elf")


def test_errors_have_the_program_s_words(tmp_path):
    with pytest.raises(tachbpf.Error, match="cannot open .*none.tach"):
        _program.output(["info", str(tmp_path / "none.tach")])
