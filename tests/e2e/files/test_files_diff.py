# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""diff as a judge: what it refuses to compare, and when a function's share has grown."""
import json

import pytest

import make_tach
from captures import GOLDEN
from command import good, refused, run

GROWN = 4
MEMORY = GOLDEN.parent / "mlyze" / "basic.mlyze"


def profile(path, counts, **more):
    """A file in which each function was innermost in so many samples."""
    w = make_tach.Writer()
    for name, cnt in counts.items():
        stack = w.stack([("/srv/app.py", name, 3), ("/srv/app.py", "main", 1)])
        for _ in range(cnt):
            w.add(stack)
    w.write(path, **more)
    return path


def test_modes_are_not_compared_unless_it_is_forced(tmp_path):
    cpu, wall = GOLDEN / "cpu_raw.bin", GOLDEN / "wall_zstd.bin"
    refused(run("diff", cpu, wall), "mode cpu", "mode wall", "--force")
    refused(run("diff", cpu, wall, "--format", "flamegraph", "-o", tmp_path / "x.html"), "--force")
    assert not (tmp_path / "x.html").exists()
    lines = good("diff", "--force", cpu, wall).splitlines()
    assert "467 samples (100 %), 0.85 s, cpu mode" in lines[0] and "wall mode" in lines[1]
    found = json.loads(good("diff", "--force", "--json", cpu, wall))
    assert (found["a"]["mode"], found["b"]["mode"]) == ("cpu", "wall")
    # Two recordings of several modes each are alike; a file that does not say its mode goes with any.
    good("diff", cpu, cpu)
    good("replay", cpu, "-o", tmp_path / "x.folded")
    good("diff", tmp_path / "x.folded", wall)


def test_units_are_not_compared_unless_it_is_forced():
    refused(run("diff", GOLDEN / "cpu_raw.bin", MEMORY), "samples", "bytes", "--force")
    found = json.loads(good("diff", "--force", "--json", "--limit", 0, GOLDEN / "cpu_raw.bin", MEMORY))
    assert (found["a"]["unit"], found["b"]["unit"]) == ("samples", "bytes")


def test_time_is_in_seconds(tmp_path):
    """As in report: of a file whose weights are times."""
    path = tmp_path / "x.speedscope.json"
    path.write_text(json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "f", "file": "a.py"}]},
        "profiles": [{"type": "sampled", "name": "thread 7", "unit": "milliseconds", "startValue": 0, "endValue": 2375,
                      "samples": [[0], [0]], "weights": [375, 2000]}]}))
    assert "2.375 s sampled (100 %)" in good("diff", path, path).splitlines()[0]
    assert "2.375 s sampled, " in good("diff", "--format", "markdown", path, path)
    assert "2.375 s sampled in 2 events" in good("info", path)


def test_lengths_do_not_matter(tmp_path):
    """Shares are compared: a recording that is ten times as long is no difference."""
    a = profile(tmp_path / "a.tach", {"f": 60, "g": 40})
    b = profile(tmp_path / "b.tach", {"f": 600, "g": 400})
    rows = json.loads(good("diff", "--json", a, b))["rows"]
    assert all(r["self_delta"] == r["total_delta"] == 0 for r in rows)
    good("diff", "--fail-over", 0, a, b)


def test_a_side_without_samples_is_said(tmp_path):
    a = profile(tmp_path / "a.tach", {"f": 60})
    b = profile(tmp_path / "b.tach", {"f": 60, "g": 40})
    done = run("diff", "--focus", "^g$", a, b)
    assert done.returncode == 0 and "A has no samples that meet the conditions" in done.stderr
    done = run("diff", b, profile(tmp_path / "empty.tach", {}))
    assert done.returncode == 0 and "B has no samples:" in done.stderr
    assert "has no samples" not in run("diff", a, b).stderr
    done = run("diff", "--focus", "^g$", a, b, "--format", "flamegraph", "-o", tmp_path / "x.html")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("points,status", [(5, GROWN), (12, 0), (20, 0)])
def test_fail_over(tmp_path, points, status):
    """f has 30 % of 10,000 samples, then 45 %; its noise is some 2 points."""
    a = profile(tmp_path / "a.tach", {"f": 3000, "g": 7000})
    b = profile(tmp_path / "b.tach", {"f": 4500, "g": 5500})
    done = run("diff", "--fail-over", points, a, b)
    if points == 12:        # 15 points, less the noise
        status = GROWN
    assert done.returncode == status and not done.stderr
    last = done.stdout.splitlines()[-1]
    if status:
        assert "1 function grew by more than" in done.stdout and last.endswith("f  /srv/app.py:3")
        assert "+15.00, noise " in last
    else:
        assert last.startswith("0 functions grew")
    found = run("diff", "--json", "--fail-over", points, a, b)
    assert found.returncode == status and json.loads(found.stdout)["grown"] == (status == GROWN)
    row, = [r for r in json.loads(found.stdout)["rows"] if r["function"] == "f"]
    assert 1 < row["self_noise"] < 3 and row["self_delta"] == pytest.approx(15)
    # It judges all functions, not those that are shown; and growth only.
    assert run("diff", "--fail-over", points, "--limit", 1, "--sort", "name", a, b).returncode == status
    assert run("diff", "--json", a, b).returncode == 0
    assert json.loads(run("diff", "--json", a, b).stdout)["grown"] is None


def test_few_samples_prove_nothing(tmp_path):
    """The same shares of 20 samples: chance alone may do that."""
    a = profile(tmp_path / "a.tach", {"f": 6, "g": 14})
    b = profile(tmp_path / "b.tach", {"f": 9, "g": 11})
    good("diff", "--fail-over", 1, a, b)
    # A function that is new, by one sample.
    c = profile(tmp_path / "c.tach", {"f": 6, "g": 13, "h": 1})
    good("diff", "--fail-over", 0, a, c)


def test_fail_over_refuses_what_it_cannot_judge(tmp_path):
    a = profile(tmp_path / "a.tach", {"f": 6})
    empty = profile(tmp_path / "empty.tach", {})
    refused(run("diff", "--fail-over", 1, empty, a), "A has none")
    refused(run("diff", "--fail-over", 1, a, empty), "B has none")
    refused(run("diff", "--fail-over", 1, MEMORY, MEMORY), "A has bytes")
    refused(run("diff", "--fail-over", "x", a, a), "percentage points", status=2)
    refused(run("diff", "--fail-over", 1, a, a, "--format", "flamegraph", "-o", tmp_path / "x.html"),
            "--fail-over", status=2)
    # An error is an error, whatever grew.
    (tmp_path / "bad.tach").write_bytes(a.read_bytes()[:-40])
    assert run("diff", "--fail-over", 1, a, tmp_path / "bad.tach").returncode == 1
