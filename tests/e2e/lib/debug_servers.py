# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""debuginfod servers on this host: elfutils' own, and none that answers. One that says what a test wants is a Sink (http_sink).
And a library whose debug file they can have."""
import contextlib
import os
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

from agent import free_port
from present import absent
from processes import kill, wait_until

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
WORK_LINES = range(5, 10)     # of hidden_work


def need_client():
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


@contextlib.contextmanager
def debuginfod(directory, build_id):
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


@contextlib.contextmanager
def silent():
    """One that accepts connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        yield f"http://127.0.0.1:{s.getsockname()[1]}"


@contextlib.contextmanager
def nobody():
    """Where no server is."""
    yield f"http://127.0.0.1:{free_port()}"
