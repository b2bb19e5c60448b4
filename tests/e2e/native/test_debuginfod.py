# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--debuginfod: names and lines from servers: elfutils' own, on this host; some that lie, fail or say nothing."""
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

import native_frames
from debug_servers import WORK_LINES, debuginfod, make, need_client, nobody, silent
from http_sink import Answer, Sink
from paths import TARGETS
from processes import family, kill, use_cpu, wait_until
from recording import Recording, succeeded, tachbpf
from summary import files

NOBODY = "65534"


@pytest.fixture(autouse=True)
def client():
    need_client()


def record(python, out, oracle, library, *options, during=lambda recording: None, after=lambda recording: None):
    """(names of the library's frames, summary, standard error); after: when it was told to end"""
    process = subprocess.Popen(python.command("-B", TARGETS / "calls.py", 0, 1000, library), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout.readline() == "ready\n"
        with Recording(["-p", process.pid, "-r", 499, "-o", out / f"{os.urandom(3).hex()}.tach", "--json",
                        *options]) as recording:
            recording.wait_recording()
            process.stdin.write("go\n")
            process.stdin.flush()
            use_cpu(process.pid, 0.5)
            during(recording)
            recording.process.send_signal(signal.SIGINT)
            after(recording)
            done = succeeded(recording.wait())
    finally:
        kill(process)
    row, = files(done.summary)
    profile, = oracle.load(row["path"])
    frames = [f for s in profile.samples for f in s.frames
              if native_frames.kind(f) == native_frames.NATIVE and native_frames.library(f) == library.name]
    assert frames
    return frames, done.summary["native"], done.stderr


def names(frames):
    return {f.func for f in frames}


def test_names_and_lines(python, out, oracle):
    """From the server, then from what was kept of it, and not without being asked for."""
    library, _, build_id = make(out)
    plain, native, _ = record(python, out, oracle, library, "--native=lines")
    assert "hidden_work" not in names(plain) and native["debug_asked"] == 0
    with debuginfod(out / "served", build_id) as url:
        got, native, said = record(python, out, oracle, library, "--native=lines", f"--debuginfod={url}")
    assert names(got) == {"hidden_work", "hot"}, names(got)
    assert {f.line for f in got if f.func == "hidden_work"} <= {*WORK_LINES}, got
    assert native["debug_found"] == 1 <= native["debug_asked"], native
    assert url in said and "build IDs" in said
    kept, native, _ = record(python, out, oracle, library, "--native", f"--debuginfod={url}")
    assert names(kept) == {"hidden_work", "hot"} and native["debug_found"] == 1


def test_what_is_sent(python, out, oracle):
    """Build ids, and what the library says of itself and the system; the asker has no rights, and is there only with the option."""
    library, _, build_id = make(out)
    status = {}

    def during(recording):
        def asker():
            found = [int(pid) for pid in family(recording.process.pid)
                     if Path(f"/proc/{pid}/comm").read_text() == "tachbpf-asker\n"]
            return found and found[0]
        wait_until(asker, "a worker asks")
        text = Path(f"/proc/{asker()}/status").read_text()
        status.update(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        status["cwd"] = os.readlink(f"/proc/{asker()}/cwd")
        server.wait(lambda s: any(build_id in asked.path for asked in s.seen))

    with Sink(lambda asked: Answer(404)) as server:
        _, native, _ = record(python, out, oracle, library, "--native", f"--debuginfod={server.url}", during=during)
    assert native["debug_asked"] >= 1 and native["debug_found"] == 0
    for asked in server.seen:
        assert re.fullmatch(r"/buildid/[0-9a-f]+/debuginfo", asked.path) and not asked.query, asked.path
        assert set(asked.headers) <= {"Host", "User-Agent", "Accept", "Accept-Encoding",
                                      "X-DEBUGINFOD-MAXSIZE"}, asked.headers
    assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    assert status["Uid"].split()[3] == status["Gid"].split()[3] == NOBODY
    assert status["cwd"] == "/var/cache/tachbpf/debug/files"


def test_a_server_that_lies(python, out, oracle):
    """Another library's debug file, and one that is none: checked by their build id, in the helper."""
    (out / "other").mkdir()
    other = make(out / "other")[1].read_bytes()
    for number, answer in enumerate((other, b"\x7fELF" + bytes(100), b"no ELF file")):
        place = out / str(number)
        place.mkdir()
        library = make(place)[0]
        with Sink(lambda asked, body=answer: Answer(body=body)) as server:
            got, native, _ = record(python, out, oracle, library, "--native=lines", f"--debuginfod={server.url}")
        assert "hidden_work" not in names(got) and "hot" in names(got), names(got)
        assert native["helper_restarts"] == 0, native


def test_no_server(python, out, oracle):
    library = make(out)[0]
    with nobody() as url:
        got, native, said = record(python, out, oracle, library, "--native", f"--debuginfod={url}")
    assert "hot" in names(got) and native["debug_found"] == 0
    assert "not come" not in said


def test_a_server_that_never_answers(python, out, oracle):
    """The library gives it up; the recording ends, with the names that there are."""
    library = make(out)[0]
    with silent() as url:
        got, native, said = record(python, out, oracle, library, "--native", f"--debuginfod={url}")
    assert "hot" in names(got) and native["debug_found"] == 0
    assert "waiting for" in said


def test_a_second_signal_ends_the_wait(python, out, oracle):
    def after(recording):
        while "waiting for" not in recording.process.stderr.readline():
            assert recording.process.poll() is None, "it does not wait"
        recording.process.send_signal(signal.SIGINT)
    library = make(out)[0]
    with silent() as url:
        got, _, said = record(python, out, oracle, library, "--native", f"--debuginfod={url}", after=after)
    assert "hot" in names(got) and "not waited for" in said


def test_refused():
    for argv, word in ((["--debuginfod=http://x"], "requires --native"),
                       (["--native", "--debuginfod=file:///x"], "http://"),
                       (["--native", "--debuginfod"], "needs a server")):
        done = tachbpf("-a", "-d", "1", *argv, env={"DEBUGINFOD_URLS": ""})
        assert done.returncode != 0 and word in done.stderr, done
