# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pytest --tachbpf: sessions of its own, also of a real package and with workers."""
import importlib.metadata
import importlib.util
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tachbpf
from recorded import SAMPLES, TIMEOUT, needs_root
from tachbpf import Error, _tests, _tests_show, read
from tachbpf._tests import Measured

SUITE = """
import sys, threading, time
import pytest
sys.path.insert(0, {here!r})
from work import burn

@pytest.mark.parametrize("n", [1, 2])
def test_busy(n):
    burn(0.1 * n * {factor})

def test_sleeps():
    time.sleep(0.05)

@pytest.fixture
def costly():
    setup()

def setup():
    burn(0.1)

def test_costly_setup(costly):
    pass

def test_other_thread():
    thread = threading.Thread(target=burn, args=(0.1,))
    thread.start()
    thread.join()

def test_fails():
    assert {fails} == 0
"""
HERE = str(Path(__file__).resolve().parent)


def entry_point():
    """What pytest needs to know the plugin, if the package was not installed by pip."""
    found = importlib.metadata.entry_points()
    plugins = found.select(group="pytest11") if hasattr(found, "select") else found.get("pytest11", [])
    return [] if any(plugin.name == "tachbpf" for plugin in plugins) else ["-p", "tachbpf._pytest"]


def session(directory, *options, **env):
    """Runs pytest there on a terminal of 80 columns; returns (status, output)."""
    (directory / "pytest.ini").touch()          # makes it the root
    done = subprocess.run([sys.executable, "-m", "pytest", *entry_point(), "-p", "no:cacheprovider", *map(str, options)], cwd=directory, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT, check=False,
                          env={**os.environ, "COLUMNS": "80", "PYTEST_ADDOPTS": "", **env})
    return done.returncode, done.stdout


@pytest.fixture
def suite(tmp_path):
    """Writes the suite; returns its directory."""
    directory = tmp_path / "suite"
    directory.mkdir()

    def write(factor=1, fails=0):
        (directory / "test_suite.py").write_text(SUITE.format(here=HERE, factor=factor, fails=fails))
        return directory
    return write


ROW = re.compile(r"^ *(\d+(?:\.\d+)?) s +(\d+)  (\S+)\n {19}(.*)$", re.M)


def table(output):
    """The rows: test to (seconds, samples, hottest line)."""
    return {name.partition("::")[2]: (float(s), int(samples), hot) for s, samples, name, hot in ROW.findall(output)}


# ---- the table ----


@needs_root
def test_the_slowest_tests(suite):
    status, output = session(suite(fails=1), "--tachbpf")
    assert status == 1 and "tachbpf: 6 tests, mode cpu" in output
    rows = table(output)
    assert set(rows) == {"test_busy[1]", "test_busy[2]", "test_sleeps", "test_costly_setup", "test_other_thread", "test_fails"}
    assert list(rows) == sorted(rows, key=lambda name: -rows[name][0])
    for name in ("test_busy[2]", "test_costly_setup", "test_other_thread"):
        assert rows[name][1] > SAMPLES and "work.py" in rows[name][2] and ("burn" in rows[name][2] or "<genexpr>" in rows[name][2])
    assert rows["test_busy[2]"][1] > 1.4 * rows["test_busy[1]"][1]
    assert rows["test_sleeps"][1] < SAMPLES
    assert max(map(len, output.partition("tachbpf: ")[2].splitlines())) <= 80


@needs_root
def test_waiting(suite):
    status, output = session(suite(), "--tachbpf", "--tachbpf-mode", "wall", "--tachbpf-rate", "499")
    assert status == 0, output
    _, samples, hot = table(output)["test_sleeps"]
    assert samples > SAMPLES / 2 and "test_sleeps" in hot and "test_suite.py:12" in hot


@needs_root
def test_the_recording_is_kept(suite, tmp_path):
    """Its regions are the tests."""
    status, output = session(suite(), f"--tachbpf-output={tmp_path}/kept", "-k", "busy", "--tachbpf-top=1")
    assert status == 0 and "1 more tests: --tachbpf-top=0" in output
    profile = read(tmp_path / "kept" / "main.tach")
    assert {s.attributes["pytest"] for s in profile.regions} == {"setup", "call", "teardown"}
    busy = profile.in_region("test_suite.py::test_busy[2]")
    assert SAMPLES < len(busy.samples) < len(profile.samples)
    assert all(any(frame.function == "test_busy" or "pytest" in (frame.file or "") for frame in sample.stack)
               for sample in busy.samples)
    status, output = session(suite(), f"--tachbpf-output={tmp_path}/kept")
    assert status == 4 and "exists already" in output


def test_without_the_option_nothing_is_imported(tmp_path):
    """Every session where the package is installed imports the plugin."""
    (tmp_path / "test_light.py").write_text(
        "import sys\ndef test():\n    loaded = {m for m in sys.modules if m.startswith('tachbpf')}\n"
        "    assert loaded == {'tachbpf', 'tachbpf._pytest'}\n")
    status, output = session(tmp_path)
    assert status == 0 and "tachbpf:" not in output, output


def test_names_of_the_package():
    """They are imported when they are used, and all are there."""
    assert all(getattr(tachbpf, name) is not None for name in tachbpf.__all__) and set(tachbpf.__all__) <= set(dir(tachbpf))
    assert sorted(name for names in tachbpf._PLACES.values() for name in names) == tachbpf.__all__
    with pytest.raises(AttributeError):
        print(tachbpf.nothing)


@pytest.mark.parametrize("more", [(), ("-n", "1")])
def test_without_rights_it_is_one_line(suite, more):
    if more and not importlib.util.find_spec("xdist"):
        pytest.skip("there is no pytest-xdist")
    status, output = session(suite(), "--tachbpf", *more, TACHBPF="/nonexistent/tachbpf")
    assert status == 4
    errors = [line for line in output.splitlines() if line]
    assert errors == ["ERROR: --tachbpf: cannot start /nonexistent/tachbpf: No such file or directory"]


def test_collecting_records_nothing(suite):
    status, output = session(suite(), "--tachbpf", "--collect-only", TACHBPF="/nonexistent/tachbpf")
    assert status == 0 and "test_busy" in output, output


# ---- pages ----


@needs_root
def test_pages(suite, tmp_path):
    status, output = session(suite(), f"--tachbpf-html={tmp_path}/pages")
    assert status == 0 and "index.html" in output
    index = (tmp_path / "pages" / "index.html").read_text()
    links = re.findall(r'href="([^"]+)">([^<]+)<', index)
    assert "test_suite.py::test_busy[2]" in [name for _, name in links]
    assert {link for link, _ in links} == {p.name for p in (tmp_path / "pages").iterdir()} - {"index.html"}
    for link, _ in links:
        assert (tmp_path / "pages" / link).read_text().startswith("<!DOCTYPE html>")


def measured(name, samples, seconds=0.0):
    return Measured(name, seconds, samples, samples / 1000, ("/a.py", 1, "f") if samples else None, samples, 0, 1, "x.tach")


def test_names_of_pages():
    """Readable, safe, and another one for each test."""
    names = ["t.py::test[../../etc/passwd]", "t.py::test[a]", "t.py::test[\u00e4]", "t.py::test[\u00f6]", "x" * 500, "\udc80"]
    pages = [_tests_show.page_name(name) for name in names]
    assert len(set(pages)) == len(names)
    assert all(re.fullmatch(r"[\w.-]{1,120}\.html", page, re.ASCII) and not page.startswith(".") for page in pages)


def test_pages_have_a_limit_and_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr(_tests_show, "PAGES_MAX", 1)
    monkeypatch.setattr(_tests_show._program, "output", lambda words: Path(words[words.index("-o") + 1]).touch())
    tests = [measured("<slow>", 9, 3.0), measured("quick", 9, 1.0), measured("none", 0)]
    assert _tests_show.write_pages(tests, tmp_path) == 1
    index = (tmp_path / "index.html").read_text()
    assert "1 faster tests have no flame graph" in index and "&lt;slow&gt;" in index and "<slow>" not in index


# ---- baselines ----


@needs_root
def test_a_slower_test_fails_the_session(suite, tmp_path):
    baseline = tmp_path / "baseline.json"
    status, output = session(suite(fails=1), f"--tachbpf-write-baseline={baseline}")
    assert status == 1 and "baseline of 5 tests" in output
    assert "test_suite.py::test_fails" not in json.loads(baseline.read_text())["tests"]
    compare = (f"--tachbpf-baseline={baseline}", "--tachbpf-fail-over=10%")
    status, output = session(suite(), *compare)
    assert status == 0 and "Nothing is over the baseline by more than 10 %" in output, output
    assert "Compared: 5 tests; 1 have no baseline." in output
    status, output = session(suite(factor=4), *compare)
    assert status == 1 and "over the baseline by more than 10 % and the sampling error:" in output
    grown = re.findall(r"^\+ *\d+ % \(sampling error \d+ %\).*$|^ *\+\d+ % \(sampling error \d+ %\).*$", output, re.M)
    assert any("test_busy[2]" in line for line in grown) and not any("test_costly_setup" in line for line in grown)
    status, output = session(suite(), *compare, "test_suite.py::test_fails")
    assert status == 1 and "error: none of these tests is in" in output
    status, output = session(suite(), *compare, "--tachbpf-mode=wall")
    assert status == 4 and "is of mode cpu, this session of mode wall" in output


@pytest.mark.parametrize("options, why", [
    (("--tachbpf-fail-over", "5"), "need each other"), (("--tachbpf", "--tachbpf-baseline", "x"), "need each other"),
    (("--tachbpf-fail-over", "x", "--tachbpf-baseline", "x"), "invalid"),
    (("--tachbpf-fail-over", "5", "--tachbpf-baseline", "none.json"), "cannot read the baseline none.json"),
])
def test_wrong_options(suite, options, why):
    status, output = session(suite(), *options)
    assert status == 4 and why in output


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2}', "[" * 100_000, '{"version": 1, "mode": "cpu", "tests": 1}',
                                  '{"version": 1, "mode": "cpu", "tests": {"a": [1]}}',
                                  '{"version": 1, "mode": "cpu", "tests": {"a": [-1, 2]}}',
                                  '{"version": 1, "mode": "cpu", "tests": {"a": [1, NaN]}}'])
def test_damaged_baselines(tmp_path, text):
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(Error, match="baseline"):
        _tests.read_baseline(path, "cpu")


def test_a_baseline_is_read_as_written(tmp_path):
    tests = [measured("b", 20), measured("a", 0)]
    (tmp_path / "b.json").write_text(_tests.baseline(tests, "gil"))
    assert _tests.read_baseline(tmp_path / "b.json", "gil") == {"a": (0, 0.0), "b": (20, 0.02)}


def counts(rng, mean):
    """A count as chance makes it of independent samples: about Poisson's."""
    return max(0, round(rng.gauss(mean, mean ** 0.5)))


def test_chance_alone_fails_no_session():
    """At most 1 of 100 sessions without any change, and 500 sessions can tell."""
    rng, failed = random.Random(1), 0
    for _ in range(500):
        means = [rng.choice((1, 10, 100, 1000)) for _ in range(30)]
        known = {str(i): (n := counts(rng, mean), n / 1000) for i, mean in enumerate(means)}
        found = _tests.compare([measured(str(i), counts(rng, mean)) for i, mean in enumerate(means)], known, 0.0)
        failed += bool(found.grown)
    assert failed <= 10


def test_what_is_noticed():
    known = {"long": (1000, 1.0), "short": (10, 0.01), "gone": (5, 0.005)}
    found = _tests.compare([measured("long", 2000), measured("short", 12), measured("new", 5)], known, 0.1)
    assert [growth.name for growth in found.grown] == ["all of these tests", "long"] or \
        [growth.name for growth in found.grown] == ["long", "all of these tests"]
    assert (found.compared, found.new, found.unsure) == (2, 1, 2)
    long = next(growth for growth in found.grown if growth.name == "long")
    assert long.percent == pytest.approx(100) and 10 < long.error < 25
    # Another rate: the time counts, not the number of samples.
    assert not _tests.compare([measured("long", 1000)], {"long": (100, 1.0)}, 0.1).grown


# ---- workers, and a real package ----


@needs_root
def test_workers(suite, tmp_path):
    """Each records itself; the table is of all. What a crashed one had is missing, which is told."""
    pytest.importorskip("xdist")
    status, output = session(suite(), "--tachbpf", "-n", "2", f"--tachbpf-output={tmp_path}/kept")
    assert status == 0 and len(table(output)) == 6, output
    assert table(output)["test_busy[2]"][1] > SAMPLES
    assert {p.name for p in (tmp_path / "kept").glob("*.tach")} == {"gw0.tach", "gw1.tach"}
    directory = suite()
    (directory / "test_suite.py").write_text("import os\ndef test_crash(): os._exit(1)\n")
    status, output = session(directory, "--tachbpf", "-n", "1", "--max-worker-restart=0")
    assert status != 0 and "the tests of worker gw0 are missing: it ended early" in output, output


@needs_root
def test_a_real_package(tmp_path):
    """The tests that networkx has in its package, pure Python."""
    networkx = pytest.importorskip("networkx")
    status, output = session(tmp_path, "--tachbpf", "--pyargs", "networkx.algorithms.isomorphism.tests.test_isomorphism",
                             "networkx.algorithms.tests.test_cycles", "-q", "--tachbpf-top=0", "-k", "not MinimumCycleBasis",
                             f"--rootdir={Path(networkx.__file__).parent.parent}")
    assert status == 0, output
    rows = ROW.findall(output)
    assert len(rows) > 50 and f"tachbpf: {len(rows)} tests" in output
    assert any("networkx/" in hot for _, samples, _, hot in rows if int(samples) > SAMPLES), output
