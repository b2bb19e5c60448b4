# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make wheel: what auditwheel asks of a wheel, and pip in a virtual environment of its own."""
import base64
import csv
import hashlib
import io
import os
import shutil
import stat
import zipfile

import pytest

import elf
import musl
import systems
from here import BUILD, make
from interp import cache
from paths import REPO

ONLY = ("debian-12", "debian-13")
# glibc's and musl's tags: the oldest that pip of today's Pythons knows, and what PyPI accepts.
TAGS = {"py3-none-manylinux_2_17_{}", "py3-none-manylinux2014_{}", "py3-none-musllinux_1_1_{}"}
GOLDEN = REPO / "tests/golden/tach"
PIP = """
set -e
apt-get update -q
apt-get install -y -q --no-install-recommends python3-venv sudo
python3 -m venv /venv
. /venv/bin/activate
pip install --no-index /wheel/*.whl
pip check
[ "$(command -v tachbpf)" = /venv/bin/tachbpf ]
tachbpf --version
cd /tmp
""" + systems.BUSY + """
sudo "$(command -v tachbpf)" -a -r 999 -d 1 -o /tmp/first
tachbpf report /tmp/first >/dev/null
python -c 'import tachbpf; p = tachbpf.read("/tmp/first"); assert p.functions() and p.samples[0].stack, p'
tachbpf agent --check
[ "$(command -v tachbpf-agent)" = /venv/bin/tachbpf-agent ]
pip uninstall -y tachbpf
[ -z "$(ls /venv/bin | grep tachbpf)" ]
echo "pip is content"
"""
# Tags that pip takes on musl, as its library says: pip itself needs zlib, which that Python lacks.
MUSL_TAGS = """
import sys
sys.path.insert(0, "/pip")
from pip._vendor.packaging import tags
print(*tags.sys_tags(), sep="\\n")
"""


def made(*variables, build):
    for old in build.glob("tachbpf-*.whl"):
        old.unlink()
    done = make("wheel", *variables)
    assert done.returncode == 0, done.stdout[-4000:]
    wheel, = build.glob("tachbpf-*.whl")
    return wheel


@pytest.fixture(scope="session")
def wheel(static):
    return made(build=BUILD)


@pytest.fixture(scope="session")
def arm64_wheel(static):
    """Cross-built; the binary in it."""
    if os.uname().machine != "x86_64":
        pytest.skip("cross-builds are tried on x86-64")
    if not shutil.which("aarch64-linux-gnu-gcc"):
        pytest.skip("no gcc-aarch64-linux-gnu: run make check-deps")
    return made("ARCH=arm64", build=BUILD / "arm64")


def content(path):
    with zipfile.ZipFile(path) as z:
        assert z.testzip() is None
        return {entry.filename: (entry, z.read(entry)) for entry in z.infolist()}


def command_in(path, to):
    """One of the programs of a wheel, by the name of the file that it is unpacked into."""
    (entry, data), = [v for name, v in content(path).items() if name.endswith(f"/scripts/{to.name}")]
    assert stat.S_IMODE(entry.external_attr >> 16) == 0o755
    to.write_bytes(data)
    to.chmod(0o755)
    return to


def as_auditwheel(path, program):
    """It needs no library and no version of one, so that any tag of its machine is right."""
    assert not elf.needs(program)
    files = content(path)
    tags = {line[5:] for name, (_, data) in files.items() if name.endswith(".dist-info/WHEEL")
            for line in data.decode().splitlines() if line.startswith("Tag: ")}
    assert tags == {tag.format(elf.machine(program)) for tag in TAGS}
    assert {n.split("/")[-2] for n, (_, data) in files.items() if data[:4] == b"\x7fELF"} == {"scripts"}
    return tags


def test_contents(wheel, tmp_path):
    """RECORD names each file with its hash; name, tags and metadata say the same."""
    files = content(wheel)
    info, = {name.split("/")[0] for name in files if name.endswith("/METADATA")}
    rows = list(csv.reader(io.StringIO(files[f"{info}/RECORD"][1].decode())))
    assert {r[0] for r in rows} == set(files)
    for name, digest, size in rows:
        data = files[name][1]
        expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert name == f"{info}/RECORD" or (digest, size) == (f"sha256={expected}", str(len(data)))
    tags = as_auditwheel(wheel, command_in(wheel, tmp_path / "tachbpf"))
    as_auditwheel(wheel, command_in(wheel, tmp_path / "tachbpf-agent"))
    name, version, python, abi, platforms = wheel.stem.split("-")
    assert {f"{python}-{abi}-{p}" for p in platforms.split(".")} == tags
    metadata = files[f"{info}/METADATA"][1].decode()
    assert f"\nName: {name}\nVersion: {version}\n" in metadata
    assert 'sudo "$(command -v tachbpf)"' in metadata
    assert {"tachbpf/__init__.py", "tachbpf/py.typed"} <= set(files)
    assert ("tachbpf/_pytest.py" in files) == (f"{info}/entry_points.txt" in files)


def test_the_same_bytes_again(wheel):
    before = wheel.read_bytes()
    assert made(build=BUILD).read_bytes() == before


def test_pip(wheel, ready, keep):
    """In a virtual environment of Debian's Python, without a network; run by sudo as it says."""
    with ready.fresh_bare() as run:
        run.path("/wheel").mkdir()
        shutil.copy(wheel, run.path("/wheel"))
        done = run("sh", "-c", PIP)
        keep(done.stdout)
        assert done.returncode == 0, done.stdout[-4000:]
        assert "pip is content" in done.stdout


def test_tags_on_musl(wheel, ready, tmp_path):
    """pip of a musl Python accepts it, as far as tags say."""
    if ready.name != "debian-12" or os.uname().machine != "x86_64":
        pytest.skip("once is enough: pip's library comes from Debian 12")
    try:
        python = musl.prepare()
    except cache.Failed as error:
        pytest.skip(str(error))
    with ready.fresh_bare() as run:
        done = run("sh", "-c", systems.INSTALL + "python3-pip-whl python3-venv && "
                   "python3 -m zipfile -e /usr/share/python-wheels/pip-*.whl /pip")
        assert done.returncode == 0, done.stdout[-2000:]
        with systems.fresh(python) as root:
            musl.furnish(root)
            shutil.copytree(run.path("/pip"), root.path("/pip"))
            done = root(musl.PYTHON, "-S", "-c", MUSL_TAGS)
    accepted = set(done.stdout.split())
    ours = {f"py3-none-{platform}" for platform in wheel.stem.split("-")[4].split(".")}
    assert ours & accepted, done.stdout[-2000:]


def test_arm64(arm64_wheel, ready, tmp_path):
    """The cross-built one, and its program in qemu: what needs no bpf(2)."""
    program = command_in(arm64_wheel, tmp_path / "tachbpf")
    assert elf.machine(program) == "aarch64"
    as_auditwheel(arm64_wheel, program)
    if ready.name != "debian-12":
        pytest.skip("once is enough: qemu comes from Debian 12")
    with ready.fresh_bare() as run:
        shutil.copy(program, run.path("/tachbpf"))
        command_in(arm64_wheel, run.path("/tachbpf-agent"))
        shutil.copytree(GOLDEN, run.path("/golden"))
        done = run("sh", "-c", systems.INSTALL + "qemu-user")
        assert done.returncode == 0, done.stdout[-2000:]
        done = run("qemu-aarch64", "/tachbpf", "--version")
        assert done.returncode == 0 and done.stdout.startswith("tachbpf "), done.stdout
        done = run("qemu-aarch64", "/tachbpf-agent", "--check")
        assert done.returncode == 0, done.stdout
        done = run("qemu-aarch64", "/tachbpf", "replay", "/golden/cpu_raw.bin", "--format",
                   "collapsed")
    assert done.returncode == 0, done.stdout[-2000:]
    expected = (GOLDEN / "cpu_raw.collapsed").read_text()
    assert sorted(done.stdout.splitlines()) == sorted(expected.splitlines())
