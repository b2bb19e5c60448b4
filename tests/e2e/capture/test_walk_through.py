# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The first screen is the answer: each row of the tables of symptoms is executed, on a program that has these faults.

The commands are read from README.md and docs/modes.md, so a row that is changed there is executed as it is now, and one
that is new fails here until somebody says what it shows.
"""
import json
import re
import shlex
import subprocess

import pytest

from paths import REPO, binary
from processes import TIMEOUT, use_cpu, wait_until
from recording import Recording, succeeded, tachbpf
from target import Target

SCREEN = 25     # lines
COLUMNS = 80
BURN, ASK = "total += i * i", "sock.recv(10)"
# A row's command -> what is on the screen. None: not executed here, and why.
SHOWN = {
    "-p PID": ("CPU: ", "Hottest lines", BURN, "tachbpf report --annotate X", "tachbpf open X"),
    "-m wall -p PID": (" % running", "Where threads wait", ASK, " idle threads (in queue.get)",
                       "tachbpf report --detail X"),
    "-m offcpu -p PID": ("Waited: ", "recvfrom", "ask", ASK, " idle threads (in queue.get)",
                         "tachbpf report --detail X"),
    "-m gil -p PID": ("Waited for the GIL: ", "Who waits for whom", "  for faults.py:", "held it",
                      "tachbpf gil X"),
    "-m exception -p PID": ("Exceptions: ", "ValueError  faults.py:", " parse ", "tachbpf report --detail X"),
    "-m mem -p PID": ("Memory: ", "iB held at the end", "Memory grew while these functions ran", "keep", "tachbpf mem X"),
    "--native -p PID": ("Hottest C functions", "  [", "Hottest lines", "faults.py:", "tachbpf report --native X"),
    "-p PID --async": ("CPU: ", "Hottest lines", BURN),
    "-a": ("CPU: ", "Busiest processes", "Hottest lines", "tachbpf open X"),
    "-o X.tach -- python3 app.py": ("Hottest lines", BURN, "Hottest functions", "burn", "tachbpf open X"),
    "dump PID": ("Deadlock: ", "lock_both"),
    "diff OLD NEW": ("burn",),
    "--unit NAME -r 999": None,     # no service here: test_selecting
    "-e syscalls:sys_enter_openat -a": None,    # of all processes: test_events
    "-a --keep 60s --when 'cpu>90% for 5s'": None,  # goes on for ever: test_flight
    "heap PID --since 1m": None,    # takes a minute: test_heap
    "heap PID --since 5m": None,
    "top": None,                    # a screen: test_top
    "top --async": None,            # test_loops
}


def rows(page, heading):
    """The commands of the table below a heading of a page; none if the page has no such heading."""
    _, _, rest = (REPO / page).read_text().partition(f"\n## {heading}\n")
    for line in rest.partition("\n## ")[0].splitlines():
        cells = line.split(" | ")
        command = re.match(r"`tachbpf ([^`]+)`", cells[1]) if line.startswith("| ") and len(cells) > 2 else None
        if command:
            yield command[1]


def normal(command):
    """Without a duration or a name for the recording of a process: they are ours. Options come before -p."""
    words = re.sub(r" -d \S+", "", command)
    words = re.sub(r"^(-m \w+ -p PID) -o X.tach$", r"\1", words)
    return re.sub(r"^(-p PID) (--native)$", r"\2 \1", words)


COMMANDS = [*rows("README.md", "Choosing a mode"), *rows("docs/modes.md", "More symptoms")]


def screen(*argv, cwd):
    """The first lines of what a user sees."""
    done = subprocess.run([binary(), *map(str, argv)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=TIMEOUT, cwd=cwd)
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()[:SCREEN]


def argv_of(command, pid, python, scratch, name):
    words = shlex.split(command)
    if "--" in words:
        program = python.command(scratch / "targets" / "faults.py", "-", 0.3)
        return ["-o", name, "--", *program]
    words = [str(pid) if word == "PID" else word for word in words]
    if words[0] in ("dump", "diff"):
        return words
    return [*words, "-o", name]


def is_deadlocked(pid):
    """Only a look tells: its threads run for a while after the program said "ready"."""
    process, = json.loads(succeeded(tachbpf("dump", "--json", pid)).stdout)["processes"]
    return process["deadlocks"]


def seen(command, target, python, scratch, cwd, name="X"):
    """The first screen of a row's command. A recording ends when the program has had the CPU time that shows its faults."""
    argv = argv_of(command, target.pid, python, scratch, name)
    if argv[0] == "dump":
        wait_until(lambda: is_deadlocked(target.pid), "two threads of faults.py block each other")
    if "--" in argv or argv[0] in ("dump", "diff"):
        return screen(*argv, cwd=cwd)
    with Recording(argv, cwd=cwd) as recording:
        recording.wait_recording()
        use_cpu(target.pid, 1 if "mem" in argv else 0.4)
        said = succeeded(recording.stop()).stderr.splitlines()
    # Other tests have processes that cannot be profiled; -a says so of each program
    return [line for line in said if not line.startswith("tachbpf: warning: process ")][:SCREEN]


def check(lines, words, command):
    text = "\n".join(lines)
    for word in words:
        assert word in text, f"{command}: {word!r} is not in the first {SCREEN} lines:\n{text}"
    if "Next" in text:      # a recording; paths are never cut in a pipe
        before = text.partition("Hottest functions")[0].splitlines()
        before = [line for line in before if not line.startswith("tachbpf: ")]     # messages are not cut
        assert not [line for line in before if len(line) > COLUMNS and "/" not in line], text


@pytest.mark.parametrize("command", sorted({normal(c) for c in COMMANDS}))
def test_each_row_says_what_it_promises(python, scratch, out, command):
    assert command in SHOWN, "a new row: what does its first screen show?"
    if SHOWN[command] is None:
        return
    with Target(python, scratch, program="faults.py") as target:
        if command == "diff OLD NEW":
            for name in "OLD", "NEW":
                seen("-p PID", target, python, scratch, out, name)
        check(seen(command, target, python, scratch, out), SHOWN[command], command)


def test_the_tables_are_read():
    assert "-p PID" in map(normal, COMMANDS) and len(COMMANDS) > 6
