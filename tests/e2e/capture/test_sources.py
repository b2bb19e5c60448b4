# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The source text that a recording keeps: of what ran, as the process saw it, and of nothing else."""
import base64
import contextlib
import json
import os
import re
import subprocess
import zlib

import pytest

from processes import kill
from recording import succeeded, tachbpf

APP = """
import sys, time
def spin(n):
    return sum(i * i for i in range(n))  # {mark}
print("ready", flush=True)
end = time.process_time() + {seconds}
while time.process_time() < end:
    spin(2000)
"""
# In this mount namespace, or in the root $3, the file $1 is another one: $2.
WORLDS = {
    "mount namespace": 'mount --bind "$2" "$1" && shift 3 && exec "$@"',
    "chroot": 'mkdir "$3" && mount --rbind / "$3" && mount --bind "$2" "$3$1" && '
              'root=$3 && shift 3 && exec chroot "$root" "$@"',
}


def write_app(path, mark, seconds=100):
    path.write_text(APP.format(mark=mark, seconds=seconds))
    return path


@contextlib.contextmanager
def running(argv):
    process = subprocess.Popen([*map(str, argv)], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        kill(process)


def kept(recording):
    """What is next to a recording: path -> entry."""
    where = recording / "sources.json" if recording.is_dir() else recording.with_name(recording.name + ".sources.json")
    return {s["path"]: s for s in json.loads(where.read_text())["sources"]} if where.exists() else {}


def page_of(recording, out, report, *more):
    """The bytes that a page of the recording has."""
    page = out / "page.html"
    succeeded(tachbpf("replay", recording, "--format", report, "-o", page, *more))
    data = re.search(r'id="data">([^<]*)<', page.read_text()).group(1)
    return zlib.decompress(base64.b64decode(data))


@pytest.mark.parametrize("world", WORLDS)
def test_a_process_with_other_files(out, python, world):
    app, other = write_app(out / "app.py", "ours"), write_app(out / "other.py", "theirs")
    with running(["unshare", "--mount", "sh", "-c", WORLDS[world], "sh", app, other, out / "root",
                  *python.command(app)]) as process:
        succeeded(tachbpf("-p", process.pid, "-d", "0.5", "-o", out / "x.tach"))
        succeeded(tachbpf("-p", process.pid, "-d", "0.5", "--no-source", "-o", out / "none.tach"))
    source = kept(out / "x.tach")[str(app)]
    assert source == {"path": str(app), "changed": False, "pids": [process.pid], "text": other.read_text()}
    for report in ("heatmap", "flamegraph"):
        assert b"# theirs" in page_of(out / "x.tach", out, report)
        # Without it there is no text: this machine's file is another one.
        assert not kept(out / "none.tach")
        assert b"# theirs" not in page_of(out / "none.tach", out, report)
        for recording in "x.tach", "none.tach":
            assert b"# ours" not in page_of(out / recording, out, report)


def test_a_command_that_has_ended(out, python):
    """And what became of its file later."""
    app = write_app(out / "app.py", "as it ran", seconds=0.4)
    succeeded(tachbpf("-o", out / "x.tach", "--", *python.command(app)))
    source = kept(out / "x.tach")[str(app)]
    assert source == {"path": str(app), "changed": False, "text": app.read_text()}
    write_app(app, "edited")
    for report in ("heatmap", "flamegraph"):
        page = page_of(out / "x.tach", out, report)
        assert b"# as it ran" in page and b"# edited" not in page
        page = page_of(out / "x.tach", out, report, "--no-source")
        assert b"# as it ran" not in page and b"# edited" not in page
    # A shell pattern names it, too; and what is made of the recording keeps it.
    succeeded(tachbpf("info", *out.glob("x.tach*")))
    succeeded(tachbpf("merge", out / "x.tach", out / "x.tach", "-o", out / "merged.tach"))
    succeeded(tachbpf("split", out / "x.tach", "--by", "thread", "-o", out / "split"))
    succeeded(tachbpf("convert", out / "x.tach", "-o", out / "again.tach"))
    for made in "merged.tach", "split", "again.tach":
        assert kept(out / made)[str(app)]["text"] == source["text"], made


FORGED = """
import sys, time
def burn(path):
    code = compile("def burn(end):\\n while time.process_time() < end: pass\\n", path, "exec")
    names = dict(time=time)
    exec(code, names)
    names["burn"](time.process_time() + 0.05)
here = sys.argv[1]
for path in ("/etc/shadow", "/proc/self/environ", "/dev/zero", "relative.py", *(
        f"{here}/{name}" for name in ("link.py", "fifo.py", "huge.py", "private.py", "closed/open.py"))):
    burn(path)
"""


def test_paths_that_a_program_forges(out, python):
    out.chmod(0o755)
    app = out / "app.py"
    app.write_text(FORGED)
    (out / "link.py").symlink_to("/etc/shadow")
    os.mkfifo(out / "fifo.py", 0o666)
    with open(out / "huge.py", "w") as huge:
        huge.truncate(1 << 30)
    (out / "closed").mkdir(mode=0o700)
    for name, mode in (("private.py", 0o600), ("closed/open.py", 0o644)):
        (out / name).write_text("secret = 1\n")
        (out / name).chmod(mode)
    done = succeeded(tachbpf("--json", "-o", out / "x.tach", "--", "setpriv", "--reuid=65534",
                             "--regid=65534", "--clear-groups", *python.command(app, out)))
    assert done.summary["processes"][0]["samples"] > 0
    assert set(kept(out / "x.tach")) == {str(app)}
