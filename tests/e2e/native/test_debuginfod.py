# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--debuginfod: names and lines from servers: elfutils' own, on this host; some that lie, fail or say nothing."""
import contextlib
import http.server
import os
import re
import shutil
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import native_frames
from paths import TARGETS
from present import absent
from processes import family, kill, use_cpu, wait_until
from recording import Recording, succeeded, tachbpf
from summary import files

NOBODY = "65534"
SOURCE = """
static const char *unique = "%s";
static __attribute__((noinline)) long hidden_work(long n)
{
	volatile long sum = *unique;
	for (long i = 0; i < n; i++)
		sum += i;
	return sum;
}
void hot(void)
{
	hidden_work(1000000);
}
"""
WORK_LINES = range(5, 10)


@pytest.fixture(autouse=True)
def client():
    if not list(Path("/usr/lib").glob("**/libdebuginfod.so.1")):
        absent("no libdebuginfod")


def make(out):
    """A stripped library with a build id that no other run has; its debug file, in a directory of its own; the id."""
    path, served = out / "secretive.so", out / "served"
    served.mkdir()
    path.with_suffix(".c").write_text(SOURCE % os.urandom(8).hex())
    subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", "-Wl,--build-id=sha1", "-o", path, path.with_suffix(".c")],
                   check=True)
    subprocess.run(["objcopy", "--only-keep-debug", path, served / "secretive.debug"], check=True)
    subprocess.run(["strip", path], check=True)
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return path, served / "secretive.debug", re.search(r"Build ID: (\w+)", notes)[1]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


@contextlib.contextmanager
def server(directory, build_id):
    """Debian's debuginfod, once it knows the file."""
    if not shutil.which("debuginfod"):
        absent("no debuginfod")
    url = f"http://127.0.0.1:{free_port()}"
    process = subprocess.Popen(["debuginfod", "-p", url.rpartition(":")[2], "-d", ":memory:", "-F", directory],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)

    def knows():
        with contextlib.suppress(urllib.error.URLError, OSError), \
                urllib.request.urlopen(f"{url}/buildid/{build_id}/debuginfo") as answer:
            return answer.status == 200

    try:
        wait_until(knows, "debuginfod has found the file")
        yield url
    finally:
        kill(process)


class Said(http.server.BaseHTTPRequestHandler):
    """Notes what it is asked and told; answers with the server's `answer`, or 404."""

    def do_GET(self):
        self.server.asked.append((self.path, dict(self.headers)))
        if self.server.answer is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.answer)))
        self.end_headers()
        self.wfile.write(self.server.answer)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def noting(answer=None):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Said) as s:
        s.asked, s.answer = [], answer
        thread = threading.Thread(target=s.serve_forever)
        thread.start()
        try:
            yield s, f"http://127.0.0.1:{s.server_address[1]}"
        finally:
            s.shutdown()
            thread.join()


def record(python, out, oracle, library, *options, during=lambda recording: None):
    """(names of the library's frames, profile, summary, standard error)"""
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
            done = succeeded(recording.stop())
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
    with server(out / "served", build_id) as url:
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
        wait_until(lambda: any(build_id in path for path, _ in s.asked), "the server is asked")

    with noting() as (s, url):
        _, native, _ = record(python, out, oracle, library, "--native", f"--debuginfod={url}", during=during)
    assert native["debug_asked"] >= 1 and native["debug_found"] == 0
    for path, headers in s.asked:
        assert re.fullmatch(r"/buildid/[0-9a-f]+/debuginfo", path), path
        assert set(headers) <= {"Host", "User-Agent", "Accept", "Accept-Encoding", "X-DEBUGINFOD-MAXSIZE"}, headers
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
        with noting(answer) as (_, url):
            got, native, _ = record(python, out, oracle, library, "--native=lines", f"--debuginfod={url}")
        assert "hidden_work" not in names(got) and "hot" in names(got), names(got)
        assert native["helper_restarts"] == 0, native


def test_no_server(python, out, oracle):
    library = make(out)[0]
    got, native, said = record(python, out, oracle, library, "--native",
                               f"--debuginfod=http://127.0.0.1:{free_port()}")
    assert "hot" in names(got) and native["debug_found"] == 0
    assert "not come" not in said


def test_a_server_that_never_answers(python, out, oracle):
    """The library gives it up; the recording ends, with the names that there are."""
    library = make(out)[0]
    with socket.create_server(("127.0.0.1", 0)) as s:
        got, native, said = record(python, out, oracle, library, "--native",
                                   f"--debuginfod=http://127.0.0.1:{s.getsockname()[1]}")
    assert "hot" in names(got) and native["debug_found"] == 0
    assert "waiting for" in said


def test_refused():
    for argv, word in ((["--debuginfod=http://x"], "requires --native"),
                       (["--native", "--debuginfod=file:///x"], "http://"),
                       (["--native", "--debuginfod"], "needs a server")):
        done = tachbpf("-a", "-d", "1", *argv, env={"DEBUGINFOD_URLS": ""})
        assert done.returncode != 0 and word in done.stderr, done
