# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What threads are called: recorded as the kernel has it, shown wherever threads are."""
import json

import pytest

from command import good, on_terminal
from make_tach import HOLDS, WAITS, Writer
from present import need
from recording import Recording, succeeded

RATE = 499
SECONDS = 1.6
# As JSON has the hostile one: what is no UTF-8 is replaced.
HOSTILE = 'a"\x1b[31m\ufffd<b>\\'
NAMES = {"worker": "worker-1", "hostile": HOSTILE, "twice": "second name", "late": "late name"}


class Named:
    def __init__(self, path, tids):
        self.path, self.tids = path, tids
        self.session = json.loads((path / "session.json").read_text())
        self.process, = [p for p in self.session["processes"] if p["file"]]


@pytest.fixture(scope="module", params=("system-3.11", "sid-3.14", "sid-3.15", "pyenv-3.6.15"))
def named(request, scratch):
    """3.14 and later tell the kernel what Python calls a thread; before, some programs do."""
    interpreter = need(request.param)
    truth, path = (scratch / f"named-{interpreter.name}{end}" for end in (".json", ""))
    command = interpreter.command(scratch / "targets" / "named.py", truth, SECONDS)
    with Recording(["-r", RATE, "-o", path, "--", *command]) as recording:
        succeeded(recording.wait())
    return Named(path, json.loads(truth.read_text()))


def test_names_are_recorded(named):
    expected = {str(named.tids[role]): name for role, name in NAMES.items()}
    assert named.process["thread_names"] == expected
    assert named.process["threads"] > len(expected), "some have the process' own name"


def test_names_are_shown(named):
    tids, path = named.tids, named.path
    rows = json.loads(good("report", "--by", "thread", "--json", "--limit", 0, path))["rows"]
    shown = {row["thread"]: row["thread_name"] for row in rows}
    assert {role: shown[tids[role]] for role in NAMES} == NAMES
    assert shown[tids["bare"]] is None
    text = good("report", "--by", "thread", path)
    assert f"worker-1 (tid {tids['worker']})" in text and f"  {tids['bare']}  " in text
    assert 'a"\\x1b[31m' in text and "\x1b" not in text

    info = json.loads(good("info", "--json", path))["files"][0]["threads"]
    assert {t["thread"]: t["name"] for t in info} == shown
    assert "  worker-1\n" in good("info", path)

    profiles = json.loads(good("convert", path, "--format", "speedscope", "-o", "-"))["profiles"]
    labels = {p["name"].split(" ", 3)[-1] for p in profiles}
    assert {f"late name (tid {tids['late']})", f"thread {tids['bare']}"} <= labels, labels
    gecko = json.loads(good("convert", path, "--format", "gecko", "-o", "-"))["threads"]
    labels = {t["tid"]: t["name"] for t in gecko}
    assert labels[tids["twice"]] == f"second name (tid {tids['twice']})"
    assert labels[tids["bare"]] == f"Thread-{tids['bare']}"
    assert not [n for n in labels.values() if "\x1b" in n]


def test_a_split_keeps_them_and_a_lone_file_has_none(named, tmp_path):
    good("split", named.path, "-o", tmp_path / "parts", "--by", "thread")
    written = json.loads((tmp_path / "parts" / "session.json").read_text())["processes"]
    assert written
    assert all(p["thread_names"] == named.process["thread_names"] for p in written)
    lone = tmp_path / "lone.tach"
    lone.write_bytes((named.path / named.process["file"]).read_bytes())
    for fmt in ("speedscope", "gecko", "collapsed"):
        text = good("convert", lone, "--format", fmt, "-o", "-")
        # a thread that has no Python state yet, or no more, has its name in a frame
        assert "worker-1" not in text.replace("<native thread worker-1>", "")
    # What CPython writes likewise is the same with names and without.
    assert sorted(good("replay", lone).splitlines()) == sorted(
        line.split(";", 1)[1] if line.startswith("process:") else line
        for line in good("replay", named.path).splitlines())


LIVES = """
import os, time
def burn(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(300))
burn(0.3)
if not os.fork():
    burn(0.6)
    with open("/proc/self/comm", "w") as f:
        f.write("the child")
    burn(0.6)
    os._exit(0)
os.wait()
os.execv("/bin/sleep", ["sleep", "0.1"])
"""


def test_the_first_thread(python, out):
    """It is called as its process is until it is renamed; what exec calls it is the next program's."""
    argv = ["-r", RATE, "-o", out / "rec", "--json", "--", *python.command("-c", LIVES)]
    with Recording(argv) as recording:
        summary = succeeded(recording.wait()).summary
    first, child = [p for p in summary["processes"] if p["file"]]
    assert "thread_names" not in first
    assert child["thread_names"] == {str(child["pid"]): "the child"}


@pytest.fixture
def made(tmp_path):
    """A directory whose session.json calls threads names, some of them hostile or no names:
    21 has the GIL, then 23, and 22 waits."""
    writer = Writer()
    for i in range(100):
        writer.add(writer.stack([("a.py", "f", 1)]), 21 if i < 50 else 23, HOLDS, 1000 * (i + 1))
        writer.add(writer.stack([("a.py", "g", 2)]), 22, WAITS, 1000 * (i + 1))
    where = tmp_path / "rec"
    where.mkdir()
    writer.write(where / "20-app.tach", "gil")
    (where / "session.json").write_text(json.dumps({"processes": [
        {"file": "20-app.tach", "pid": 20, "comm": "app",
         "thread_names": {"21": "</script>\n\x1b[31m", "22": "fetcher", "23": 5, "x": "no",
                          "-1": "no", "": "no", "99999999999999999999999": "no", "24": "y" * 999}}]}))
    return where


def test_gil_and_html(made, show):
    process, = json.loads(good("gil", "--json", made))["processes"]
    names = {t["thread"]: t["name"] for t in process["threads"]}
    assert names == {21: "</script>\n\x1b[31m", 22: "fetcher", 23: None}
    assert "  fetcher" in good("gil", made)
    page = show(made)
    page.click("#threads-button")
    items = page.run("[...document.querySelectorAll('#thread-list li')].map(l => l.textContent)")
    assert any("fetcher (tid 22)" in i for i in items), items
    assert any("</script>\\x0a\\x1b[31m (tid 21)" in i for i in items), items
    assert any("thread 23" in i for i in items), items


@pytest.mark.parametrize("columns", (60, 80, 200))
def test_report_fits_the_terminal(made, columns):
    lines = on_terminal(columns, "report", "--by", "thread", made)
    lines = lines[lines.index("") + 1:]
    assert max(map(len, lines)) <= columns, lines
    assert len({line.index("app") for line in lines[1:]}) == 1, lines
    assert all(any(f"{end}  app" in line for line in lines) for end in ("tid 21)", "tid 22)", "23"))
    assert any("fetcher (tid 22)" in line for line in lines) == (columns > 60), lines


@pytest.mark.parametrize("names", ([], "x", 5, {"21": {}}, {"21": None}, {}, {"21": ""}))
def test_names_that_are_none(made, names):
    session = json.loads((made / "session.json").read_text())
    session["processes"][0]["thread_names"] = names
    (made / "session.json").write_text(json.dumps(session))
    rows = json.loads(good("report", "--by", "thread", "--json", made))["rows"]
    assert {row["thread"]: row["thread_name"] for row in rows} == {21: None, 22: None, 23: None}
