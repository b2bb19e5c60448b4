# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every file written is read by CPython 3.15's own tools, and by ours with the same result."""
import collections
import concurrent.futures
import json
import re

import pytest

from processes import online_cpus
from profiles import leaf_is
from recording import Recording, succeeded, tachbpf
from summary import files
from target import Target

FORMATS = ("collapsed", "jsonl", "gecko", "flamegraph", "pstats")

# 3.15's pstats files say that they are sampled in a way that only its own pstats knows;
# they have a row for each line
PSTATS = """
import collections, pstats, sys
rows = collections.Counter()
for (file, line, name), (samples, *_) in pstats.Stats(sys.argv[1]).stats.items():
    rows[name] += samples
for name in ("burn_sixty", "burn_thirty", "burn_ten"):
    print(name, rows[name])
"""


@pytest.fixture
def path(matrix, interpreter):
    return matrix.file_of(interpreter.name)


@pytest.fixture(scope="session")
def replays(matrix, oracle):
    """What CPython's CLI makes of every profile, as many at a time as there are CPUs.

    All is done before the first test goes on: none is measured beside it.
    """
    with concurrent.futures.ThreadPoolExecutor(online_cpus()) as pool:
        return {(name, fmt): pool.submit(oracle.replay, fmt, matrix.file_of(name))
                for name in matrix.truths for fmt in FORMATS}


@pytest.fixture
def cpythons(replays, interpreter):
    """The file that CPython's CLI wrote in a format."""
    return lambda fmt: replays[interpreter.name, fmt].result()


def collapsed(text):
    """Collapsed stacks with their counts; the order of lines carries no meaning."""
    counts = collections.Counter()
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        counts[stack] += int(count)
    return counts


def gecko_samples(gecko):
    return sum(len(thread["samples"]["stack"]) for thread in gecko["threads"])


def test_cpython_decodes_as_many_samples_as_were_recorded(matrix, recorded, interpreter):
    profile, truth = recorded
    said, = [f["samples"] for f in files(matrix.summary) if f["pid"] == truth["pid"]]
    assert said == profile.info["sample_count"] == profile.replayed == len(profile.samples)


def test_the_header_says_what_was_recorded(recorded):
    profile, truth = recorded
    info = profile.info
    assert list(info["python_version"]) == truth["version"]
    assert info["mode"] == 1 and info["capture_config"]["all_threads"]
    assert info["capture_config"]["gc"] and not info["capture_config"]["opcodes"]
    assert info["sample_interval_us"] in (1000, 1001, 1002)
    assert info["start_time_us"] <= profile.samples[0].time_us


def test_collapsed_is_the_same_from_both(path, cpythons):
    theirs = collapsed(cpythons("collapsed").read_text())
    ours = collapsed(succeeded(tachbpf("replay", path, "--format", "collapsed")).stdout)
    assert sum(theirs.values()) > 1000
    assert ours == theirs


def test_jsonl_counts_every_sample(cpythons, recorded):
    profile, _ = recorded
    lines = [json.loads(line) for line in cpythons("jsonl").read_text().splitlines()]
    assert lines[-1]["type"] == "end"
    assert lines[-1]["samples_total"] == profile.replayed


def test_gecko_counts_every_sample(cpythons, recorded):
    profile, _ = recorded
    assert gecko_samples(json.loads(cpythons("gecko").read_text())) == profile.replayed


def test_flamegraph_counts_every_sample(cpythons, recorded):
    profile, _ = recorded
    html = cpythons("flamegraph").read_text()
    assert "</html>" in html
    assert re.search(rf'"value": ?{profile.replayed}\b', html)


def test_pstats_counts_the_samples_of_each_function(oracle, cpythons, recorded):
    profile, truth = recorded
    listing = oracle.run("-c", PSTATS, cpythons("pstats"))
    rows = dict(line.split() for line in listing.splitlines())
    for name in ("burn_sixty", "burn_thirty", "burn_ten"):
        assert int(rows[name]) == sum(leaf_is(s, name) for s in profile.samples)


def test_info_agrees_with_cpython(path, recorded):
    profile, truth = recorded
    info = json.loads(succeeded(tachbpf("info", path, "--json")).stdout)
    flat = json.dumps(info)
    assert str(profile.info["sample_count"]) in flat
    assert ".".join(map(str, truth["version"])) in flat


def test_report_puts_the_busiest_function_first(path):
    text = succeeded(tachbpf("report", path, "--limit", "3")).stdout
    first = next(line for line in text.splitlines() if "shares.py" in line)
    assert "burn_sixty" in first


def test_a_profile_without_compression_reads_the_same(scratch, out, python, oracle):
    with Target(python, scratch, "shares=1", "recursion=0.5") as target:
        with Recording(["-p", target.pid, "-o", out / "plain.tach", "--compression", "none",
                        "--json"]) as recording:
            recording.wait_recording()
            target.go()
            target.wait_done()
            target.leave()
            summary = succeeded(recording.wait()).summary
    profile, = oracle.load(out / "plain.tach")
    assert profile.info["compression_type"] == 0
    assert profile.replayed == summary["samples"] > 0
