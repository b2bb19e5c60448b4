# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A fleet's files: pprof of several services, types and windows, and recordings whose processes have services."""
import collections
import json
import shutil
import sys

import pytest

from command import good, refused, run
from go_pprof import go_pprof
from paths import TESTS

GOLDEN = TESTS / "golden"
sys.path.append(str(GOLDEN))
from make_pprof import Profile  # noqa: E402

# service, version, namespace: weight (ns) of each function in each of two windows
FLEET = {("checkout", "1.2", "shop"): {"pay": 300, "add": 100}, ("checkout", "1.3", "shop"): {"pay": 500},
         ("cart", "7", None): {"add": 60}, (None, None, None): {"other": 40}}


def write_profile(path, service, kind, weights):
    name, version, namespace = service
    profile = Profile((kind, "nanoseconds"), period=(kind, "nanoseconds", 10**7))
    for key, value in (("service.name", name), ("service.version", version), ("service.namespace", namespace)):
        if value:
            profile.comment(f"{key}={value}")
    for function, weight in weights.items():
        at = profile.location((profile.function(function, "/srv/app.py", first=3), 5))
        profile.sample([at], [weight])
    path.write_bytes(profile.encoded())


@pytest.fixture
def fleet(tmp_path):
    """The agent's names of files; off-CPU time sorts after it in no name."""
    for number, (service, weights) in enumerate(FLEET.items()):
        for window in "0015", "0030":
            name = service[0] or "other"
            write_profile(tmp_path / f"{name}~{number}-cpu-20261122T20{window}Z.pb.gz", service, "cpu", weights)
            write_profile(tmp_path / f"{name}~{number}-a_wait-20261122T20{window}Z.pb.gz", service, "a_wait",
                          {"waits": 10**6})
    return tmp_path


def rows(*argv, key="function", value="self"):
    report = json.loads(good("report", "-q", *argv, "--json", "--limit", 0))
    return {row[key]: row[value] for row in report["rows"]}


def test_a_directory_of_windows(fleet):
    """CPU time counts unless another type is named, and one type at a time."""
    assert rows(fleet) == {"pay": 1600, "add": 320, "other": 80}
    assert rows(*sorted(fleet.glob("checkout*-cpu-*"))) == {"pay": 1600, "add": 200}
    assert "8 files have other sample types than cpu" in run("report", fleet).stderr
    assert rows(fleet, "--value", "a_wait") == {"waits": 8 * 10**6}
    refused(run("report", "--value", "cpus", fleet), "no file has the sample type 'cpus'")


def test_by_service(fleet):
    by = rows(fleet, "--by", "service", key="service.name")
    assert by == {"checkout": 1800, "cart": 120, None: 80}
    versions = json.loads(good("report", "-q", fleet, "--by", "version", "--json"))["rows"]
    assert [(r["service.namespace"], r["service.name"], r["service.version"], r["self"], r["profiles"])
            for r in versions] == [("shop", "checkout", "1.3", 1000, 2), ("shop", "checkout", "1.2", 800, 2),
                                   (None, "cart", "7", 120, 2), (None, None, None, 80, 2)]
    text = good("report", "-q", fleet, "--by", "version")
    assert "shop/checkout 1.3" in text and "(none)" in text


def test_a_directory_of_otlp(tmp_path):
    """The first one's type counts, as of pprof's; of a stream that is cut, what is complete."""
    for name, source in (("ours", "ours"), ("stream", "stream"), ("wide", "memory")):
        shutil.copy(GOLDEN / "otlp" / f"{source}.otlp", tmp_path / f"{name}.otlp")
    by = "--by", "service"
    assert rows(tmp_path, *by, key="service.name") == {"cart": 4 * 10**7, "pay": 2 * 10**7, "shop": 9 * 10**7}
    assert "1 file has other sample types than cpu" in run("report", tmp_path).stderr
    assert rows(tmp_path, *by, "--value", "off_cpu", key="service.name") == {"cart": 5 * 10**8}
    assert rows(tmp_path, "--service", "shop") == {"f": 6 * 10**7, "g": 3 * 10**7}
    cut = tmp_path / "cut.otlp"
    cut.write_bytes((tmp_path / "stream.otlp").read_bytes()[:-1])
    done = run("convert", cut, "-o", tmp_path / "cut.pb.gz")
    assert done.returncode == 1 and "cut.otlp': damaged at byte " in done.stderr
    assert rows(tmp_path / "cut.pb.gz") == {"f": 2 * 10**7, "g": 3 * 10**7}


@pytest.mark.parametrize("name,want", [("checkout 1.2", {"pay": 600, "add": 200}), ("c*", {"pay": 1600, "add": 320}),
                                       ("shop/checkout", {"pay": 1600, "add": 200})])
def test_of_a_service(fleet, name, want):
    assert rows(fleet, "--service", name) == want


def test_an_unknown_service(fleet):
    refused(run("report", "-q", fleet, "--service", "checkout 9"), "matches --service")


def test_two_versions_compared(fleet):
    sides = []
    for version in "1.2", "1.3":
        sides.append(fleet / f"only-{version}")
        sides[-1].mkdir()
        good("convert", "-q", fleet, "--service", f"checkout {version}", "-o", sides[-1] / "x.pb.gz")
    text = good("diff", *sides)
    assert "75.00 100.00  +25.00" in text and "25.00   0.00  -25.00" in text


def test_go_says_the_same(fleet):
    files = sorted(fleet.glob("checkout*-cpu-*"))
    top = collections.Counter()
    for line in go_pprof("-top", "-unit=ns", "-nodecount=99", *files).splitlines():
        words = line.split()
        if len(words) == 6 and words[0].endswith("ns"):
            top[words[5].rsplit(".", 1)[-1]] += int(words[0][:-2])
    assert top == rows(*files)


def table(*argv):
    """Without CPython's own profiler, whose frames exports leave out."""
    report = json.loads(good("report", *argv, "--json", "--limit", 0))
    found = {tuple(r[k] for k in ("function", "file", "line", "self", "total")) for r in report["rows"]
             if (r["file"] or "").startswith("/w/fx/")}
    assert len(found) > 5
    return report["samples"], found


@pytest.mark.parametrize("name", ["cpu_raw.bin", "wall_zstd.bin"])
def test_there_and_back(tmp_path, name):
    """TACH to pprof: the same table, function by function and line by line."""
    tach, pprof = tmp_path / "x.tach", tmp_path / "x.pb.gz"
    shutil.copy(GOLDEN / "tach" / name, tach)
    good("convert", tach, "-o", pprof)
    for by in "function", "line":
        assert table("--by", by, "--value", "samples", pprof) == table("--by", by, tach)


def test_services_of_a_recording(tmp_path):
    """session.json says which service a process is of."""
    for pid in 12, 13:
        shutil.copy(GOLDEN / "tach" / "cpu_raw.bin", tmp_path / f"{pid}-app.tach")
    service = {"service.name": "web", "service.version": "2"}
    (tmp_path / "session.json").write_text(json.dumps({"processes": [
        {"file": "12-app.tach", "pid": 12, "comm": "app", "service": service},
        {"file": "13-app.tach", "pid": 13, "comm": "app"}]}))
    by = rows(tmp_path, "--by", "service", key="service.name")
    assert set(by) == {"web", None} and by["web"] == by[None] > 0
    assert rows(tmp_path, "--service", "web 2", "--by", "service", key="service.name") == {"web": by["web"]}


def test_services_that_share_a_file(tmp_path):
    """The processes of a merged file are told apart by their frames; its members say whose they are."""
    folded = tmp_path / "x.folded"
    folded.write_text("<process 12 app>;f (/a.py:1) 3\n<process 13 app>;g (/a.py:2) 5\n<process 14 app>;g (/a.py:2) 7\n")
    merged = tmp_path / "merged"
    merged.mkdir()
    good("convert", folded, "-o", merged / "merged-app.tach")
    (merged / "session.json").write_text(json.dumps({"processes": [{"file": "merged-app.tach", "pid": None, "members": [
        {"pid": 12, "service": {"service.name": "web"}}, {"pid": 13, "service": {"service.name": "cart"}},
        {"pid": 14}]}]}))
    by = rows(merged, "--by", "service", key="service.name")
    assert by == {"web": 3, "cart": 5, None: 7}
    assert rows(merged, "--service", "web") == {"f": 3}
    assert rows(merged, "--service", "cart", "--by", "service", key="service.name") == {"cart": 5}
