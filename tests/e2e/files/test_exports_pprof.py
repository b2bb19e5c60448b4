# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The exports that Go's pprof and google-pprof read, against CPython's answers."""
import collections
import json
import os
import re
import shutil
import struct
import subprocess

import pytest

from captures import (GOLDEN, RELEASE, call_statistics, drop, drop_line, said, samples_of,
                      status_text, word)
from command import good, refused, run
from go_pprof import go_pprof
from pprof_decode import Pprof, module_of
from processes import TIMEOUT


# ---- pprof ----

def pprof_stacks(profile, index=0):
    out = collections.Counter()
    for stack, values, labels in profile.samples:
        words = tuple(word(file or "~", system or name, line)
                      for name, system, file, line in reversed(stack))
        out[labels.get("tid"), words] += values[index]
    return out


@pytest.mark.parametrize("name", RELEASE)
def test_pprof_has_the_samples(export, name):
    profile = Pprof(export(name, "pprof"))
    info = json.loads((GOLDEN / name.replace(".bin", ".info.json")).read_text())
    clock = "cpu" if info["mode"] == 1 else "wall"
    period = info["sample_interval_us"] * 1000
    assert profile.types == [("samples", "count"), (clock, "nanoseconds")]
    assert profile.default_type == clock and profile.period_type == (clock, "nanoseconds")
    assert profile.period == period
    assert profile.duration_ns == int(info["duration_sec"] * 1e9)
    assert pprof_stacks(profile) == said(name)
    assert all(values[1] == values[0] * period for _, values, _ in profile.samples)
    version = ".".join(map(str, info["python_version"]))
    assert any(f"python {version}" in c for c in profile.comments)


def test_pprof_has_the_status(export):
    want = collections.Counter()
    for tid, _, status, frames in samples_of("cpu_raw.lines.txt"):
        if frames:
            want[tid, status_text(status)] += 1
    got = collections.Counter()
    for _, values, labels in Pprof(export("cpu_raw.bin", "pprof")).samples:
        got[labels["tid"], labels["status"]] += values[0]
    assert got == want


def test_pprof_by_process_without_lines(export):
    profile = Pprof(export("cpu_raw.bin", "pprof", "--by", "process", "--no-lines"))
    assert all("tid" not in labels for _, _, labels in profile.samples)
    want = drop(said("cpu_raw.bin"), lambda tid, words: tuple(map(drop_line, words)))
    got = drop(pprof_stacks(profile), lambda tid, words: tuple(map(drop_line, words)))
    assert got == want


@pytest.mark.parametrize("name", RELEASE)
def test_pprof_names_are_modules(export, name):
    for func, system, file, _ in Pprof(export(name, "pprof")).locations.values():
        assert func == (f"{module_of(file)}.{system}" if file else func)
        assert bool(file) == bool(system)


def test_pprof_names_tell_modules_apart(export):
    names = collections.defaultdict(set)
    for name, _, file, _ in Pprof(export("wall_zstd.bin", "pprof")).locations.values():
        names[name].add(file)
    assert all(len(files) == 1 for files in names.values())
    assert len([n for n in names if n.endswith(".<module>")]) > 1


# What is in angle brackets is C++ to both programs: some names have square ones for them.
SQUARE = str.maketrans("<>()", "[][]")


def go_raw(path):
    """{(stack of (name, file, line) root first): samples} of pprof -raw."""
    text = go_pprof("-raw", path)
    locations = {}
    for m in re.finditer(r"^ +(\d+): 0x\w+ (?:M=\d+ )?(.*)$", text.partition("Locations")[2],
                         re.M):
        place = re.fullmatch(r"(.*?) (<.*>|\S*?):(-?\d+)(?::\d+)? s=\d+(?:\(.*\))?", m[2])
        assert place, m[0]
        locations[int(m[1])] = (place[1], place[2], int(place[3]))
    out = collections.Counter()
    for m in re.finditer(r"^ +(\d+) +\d+: ([\d ]+)$", text.partition("Samples:")[2], re.M):
        out[tuple(locations[int(i)] for i in reversed(m[2].split()))] += int(m[1])
    return out


@pytest.mark.parametrize("name", RELEASE)
def test_go_reads_pprof_and_gperftools_alike(export, name):
    want = drop(said(name), lambda tid, words: tuple(w.translate(SQUARE) for w in words))
    for fmt in ("pprof", "gperftools"):
        got = collections.Counter()
        for stack, count in go_raw(export(name, fmt)).items():
            # "pkg.mod.func" and "/x/pkg/mod.py" are the word "mod.py:func:line".
            words = []
            for func, file, line in stack:
                func, base = func.translate(SQUARE), os.path.basename(file).translate(SQUARE)
                module = module_of(file).translate(SQUARE) + "." if file else ""
                assert func.startswith(module), (func, file)
                plain = func.removeprefix(module)
                words.append(f"{base}:{plain}:{line}" if file else func)
            got[tuple(words)] += count
        assert got == want, fmt


def totals(name):
    """{function: (own, cumulative samples)} by the words without lines."""
    own, cumulative = collections.Counter(), collections.Counter()
    for (_, words), count in said(name).items():
        own[drop_line(words[-1])] += count
        for w in {drop_line(w) for w in words}:
            cumulative[w] += count
    return {w: (own[w], cumulative[w]) for w in cumulative}


def test_go_top_has_cpythons_numbers(export):
    want = totals("cpu_raw.bin")
    for fmt in ("pprof", "gperftools"):
        text = go_pprof("-top", "-sample_index=0", "-nodecount=0", "-nodefraction=0",
                        export("cpu_raw.bin", fmt))
        rows = {r[5]: (int(r[0]), int(r[3])) for r in
                (line.split(None, 5) for line in text.splitlines()) if len(r) == 6 and
                r[0].isdigit()}
        assert rows["fx.mix.garbage"] == want["mix.py:garbage"]
        assert rows["<GC>" if fmt == "pprof" else "[GC]"] == want["<GC>"]
        assert sum(own for own, _ in rows.values()) == sum(said("cpu_raw.bin").values())


# ---- gperftools, the Perl program ----

def perl_rows(path):
    if not shutil.which("google-pprof"):
        pytest.skip("google-pprof is not installed (Debian 12: google-perftools)")
    done = subprocess.run(["google-pprof", "--text", "--nodecount=100000", "--nodefraction=0",
                           "--edgefraction=0", path], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    rows = {}
    for line in done.stdout.splitlines():
        m = re.fullmatch(r" *(\d+) +[\d.]+% +[\d.]+% +(\d+) +[\d.]+% (.*)", line)
        if m:
            rows[m[3]] = (int(m[1]), int(m[2]))
    return rows


@pytest.mark.parametrize("name", RELEASE)
def test_google_pprof_has_cpythons_numbers(export, name):
    rows = perl_rows(export(name, "gperftools-perl"))
    want = collections.Counter()
    for w, numbers in totals(name).items():
        func = w.partition(":")[2] or w
        want[func.translate(SQUARE)] += numbers[0]
    got = collections.Counter()
    for w, numbers in rows.items():
        func = next((f for f in want if w == f or w.endswith("." + f)), w)
        got[func] += numbers[0]
    assert +got == +want
    assert sum(got.values()) == sum(said(name).values())


def test_google_pprof_with_lines(export):
    rows = perl_rows(export("cpu_raw.bin", "gperftools-perl", "--lines"))
    want = {frame for _, _, _, frames in samples_of("cpu_raw.lines.txt") for frame in frames}
    assert rows["fx.mix.garbage:23"][0] == call_statistics()["/w/fx/mix.py", 23, "garbage"][0]
    assert len(rows) == len(want)


def test_native_addresses_are_not_made_up(tmp_path):
    out = tmp_path / "x.prof"
    done = run("replay", GOLDEN / "cpu_raw.bin", "--format", "gperftools-native", "-o", out)
    refused(done, "machine address", "--format gperftools")
    assert not os.listdir(tmp_path)


def test_native_addresses_go_through(tmp_path):
    """A version 0 profile of two mapped files and one stray address, read and written again."""
    words = [0, 3, 0, 10000, 0, 5, 3, 0x5555000100, 0x7f0000002001, 0xa0000, 2, 1, 0x7f0000002000,
             0, 1, 0]
    first, second, third = tmp_path / "1.prof", tmp_path / "2.prof", tmp_path / "3.prof"
    first.write_bytes(struct.pack("16Q", *words) + b"""\
5555000000-5555001000 r-xp 00000000 08:01 1 /bin/app
7f0000000000-7f0000004000 r-xp 00003000 08:01 2 /lib/libc.so.6
""")
    good("replay", first, "--format", "gperftools-native", "-o", second)
    good("replay", second, "--format", "gperftools-native", "-o", third)
    want = good("replay", first)
    assert "app+0x100" in want and "libc.so.6+0x5001" in want and "0xa0000" in want
    assert good("replay", second) == good("replay", third) == want
    assert second.read_bytes() == third.read_bytes()
    raw = go_pprof("-raw", second)
    assert "/bin/app" in raw and "/lib/libc.so.6" in raw


def test_pprof_of_a_recording(two_processes, tmp_path):
    out = tmp_path / "x.pb.gz"
    good("replay", two_processes, "--format", "pprof", "-o", out)
    profile = Pprof(out)
    sums = collections.Counter()
    for _, values, labels in profile.samples:
        sums[labels["pid"], labels["comm"]] += values[0]
    assert sums == {(12, "first"): sum(said("cpu_raw").values()),
                    (34, "sec;ond"): sum(said("native_opcodes").values())}
    # 2026-01-02T03:04:06.5Z
    assert profile.time_ns == 1767323046500000000
    text = "\n".join(profile.comments)
    assert "lost 7 samples" in text and "platform Linux 6.1.0-x" in text


def test_gperftools_of_a_recording_has_a_root_for_each(two_processes, tmp_path):
    out = tmp_path / "x.prof"
    good("replay", two_processes, "--format", "gperftools", "-o", out)
    roots = collections.Counter()
    for stack, count in go_raw(out).items():
        roots[stack[0][0]] += count
    assert roots == {"process 12 first": sum(said("cpu_raw").values()),
                     "process 34 sec;ond": sum(said("native_opcodes").values())}
