# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How a recording begins and ends: signals, exits, commands, full disks, owners, options."""
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

import noise
from captures import GOLDEN
from paths import binary
from processes import kill, use_cpu
from profiles import GC, fraction, inside_python, names, without_gc
from recording import Recording, succeeded, tachbpf
from summary import files, lost, lost_once_known, tach_files
from target import Target

NOBODY = 65534

BURN = "import time\nend = time.process_time() + {}\nwhile time.process_time() < end: pass\n"
FORKS = """
import os, sys
def burn(seconds):
    import time
    end = time.process_time() + seconds
    while time.process_time() < end: pass
def parent(): burn(0.5)
def child(): burn(0.5)
pid = os.fork()
if pid == 0:
    child()
    os._exit(0)
parent()
os.waitpid(pid, 0)
import subprocess
EXECED = "import time\\ndef execed():\\n end = time.process_time() + 0.5\\n"
EXECED += " while time.process_time() < end: pass\\nexeced()"
subprocess.run([sys.executable, "-c", EXECED], check=True)
"""


@pytest.fixture
def busy(scratch, python):
    with Target(python, scratch, "shares=600") as target:
        target.go()
        yield target


ENOUGH = 300
ENOUGH_S = noise.cpu_for(ENOUGH, 999)   # CPU time that gives so many samples


def away(summary):
    """Ticks of which there is no sample: missed, or lost with a cause that is counted."""
    return noise.missed(summary) + summary["lost_total"]


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_finishes_the_files(busy, out, oracle, signum):
    with Recording(["-p", busy.pid, "-o", out / "x.tach", "--json"]) as recording:
        recording.wait_recording()
        use_cpu(busy.pid, ENOUGH_S)
        finished = succeeded(recording.stop(signum))
    profile, = oracle.load(out / "x.tach")
    assert profile.replayed == finished.summary["samples"]
    assert profile.replayed >= ENOUGH - away(finished.summary)


def test_a_signal_finishes_all_files_of_a_directory(busy, out, oracle):
    with Recording(["-a", "-r", "999", "-o", out / "all", "--json"]) as recording:
        recording.wait_recording()
        use_cpu(busy.pid, ENOUGH_S)
        finished = succeeded(recording.stop())
    paths = tach_files(out / "all")
    assert len(paths) == finished.summary["files"] == len(files(finished.summary))
    assert sum(p.replayed for p in oracle.load(*paths)) == finished.summary["samples"]


def test_a_duration_ends_the_recording(busy, out):
    finished = succeeded(tachbpf("-p", busy.pid, "-d", "1.5", "-o", out / "x.tach", "--json"))
    assert finished.summary["duration_s"] >= 1.5


@pytest.mark.truth
def test_a_duration_ends_the_recording_in_time(busy, out):
    start = time.monotonic()
    finished = succeeded(tachbpf("-p", busy.pid, "-d", "1.5", "-o", out / "x.tach", "--json"))
    assert abs(finished.summary["duration_s"] - 1.5) <= 0.1
    assert time.monotonic() - start <= 6


def test_a_target_that_exits_midway_is_kept_and_ends_the_recording(scratch, python, out, oracle):
    with Target(python, scratch, "shares=1") as target:
        with Recording(["-p", target.pid, "-o", out / "x.tach", "--json"]) as recording:
            recording.wait_recording()
            target.go()
            target.wait_done()
            target.leave()
            finished = succeeded(recording.wait())
    profile, = oracle.load(out / "x.tach")
    # a second in its functions, and a little before
    assert profile.replayed == finished.summary["samples"]
    assert profile.replayed >= noise.least(1, 999, away(finished.summary))
    # the rest is before Python begins and after it has ended; threading._shutdown() comes between
    assert {s.frames[-1].func for s in inside_python(profile.samples)} <= {"<module>", "_shutdown"}
    assert len(inside_python(profile.samples)) >= noise.least(1, 999, away(finished.summary))


def test_a_killed_target_is_kept(busy, out, oracle):
    with Recording(["-p", busy.pid, "-o", out / "x.tach", "--json"]) as recording:
        recording.wait_recording()
        use_cpu(busy.pid, ENOUGH_S)
        busy.process.kill()
        finished = succeeded(recording.wait())
    profile, = oracle.load(out / "x.tach")
    assert profile.replayed == finished.summary["samples"] >= ENOUGH - away(finished.summary)
    # how large its part was nobody could say: but it has the largest
    leaves = Counter(without_gc(s)[0].func for s in profile.samples if without_gc(s))
    assert leaves.most_common(1)[0][0] == "burn_sixty"


@pytest.mark.parametrize("status", [0, 3, 255])
def test_the_status_of_the_command_is_passed_on(python, out, status):
    finished = tachbpf("-o", out / "x", "--", *python.command("-c", f"raise SystemExit({status})"))
    assert finished.returncode == status, repr(finished)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_the_signal_that_ended_the_command_is_passed_on(python, out, signum):
    code = f"import os; os.kill(os.getpid(), {int(signum)})"
    finished = tachbpf("-o", out / "x", "--", *python.command("-c", code))
    assert finished.returncode == 128 + signum, repr(finished)


def test_a_command_that_is_not_there(out):
    finished = tachbpf("-o", out / "x", "--", "/no/such/command")
    assert finished.returncode == 127, repr(finished)
    assert "/no/such/command" in finished.stderr
    assert not (out / "x").exists()


def test_a_command_that_cannot_be_executed(out):
    (out / "text").write_text("no program")
    for command in (out / "text", out):
        finished = tachbpf("-o", out / "x", "--", command)
        assert finished.returncode == 126, repr(finished)
        assert str(command) in finished.stderr
    assert not (out / "x").exists()


def test_the_output_of_the_command_is_its_own(python, out):
    code = "import sys; print('to stdout'); print('to stderr', file=sys.stderr)"
    finished = tachbpf("-q", "-o", out / "x", "--", *python.command("-c", code))
    assert finished.stdout == "to stdout\n"
    assert "to stderr\n" in finished.stderr


def test_arguments_after_the_dashes_are_the_commands(python, out):
    finished = tachbpf("-q", "-o", out / "x", "--",
                       *python.command("-c", "import sys; print(sys.argv[1:])", "-p", "--json"))
    assert finished.stdout == "['-p', '--json']\n"


def written(where):
    """The profiles a command left, a file or a directory of them."""
    return [where] if where.is_file() else tach_files(where)


def test_a_command_is_profiled_from_its_first_line(python, out, oracle):
    summary = succeeded(tachbpf("-r", "999", "-o", out / "x", "--json", "--",
                                *python.command("-c", BURN.format(1)))).summary
    profiles = oracle.load(*written(out / "x"))
    # 1 s of work and a little for the interpreter to start
    assert sum(len(p.samples) for p in profiles) >= noise.least(1, 999, away(summary))


@pytest.mark.truth
def test_a_command_has_no_samples_that_it_did_not_earn(python, out, oracle):
    code = BURN.format(1) + f"print(time.process_time(), file=open({str(out / 'cpu')!r}, 'w'))\n"
    succeeded(tachbpf("-r", "999", "-o", out / "x", "--", *python.command("-c", code)))
    # and the end of the interpreter: 0.1 s at the most
    bound = noise.count_bound(float((out / "cpu").read_text()) + 0.1, 999)
    assert sum(len(p.samples) for p in oracle.load(*written(out / "x"))) <= bound.high


def has(profile, function):
    return sum(any(f.func == function for f in s.frames) for s in profile.samples)


def test_children_of_the_command_are_followed(python, out, oracle):
    summary = succeeded(tachbpf("-r", "999", "-o", out / "x", "--json", "--",
                                *python.command("-c", FORKS))).summary
    profiles = oracle.load(*written(out / "x"))
    found = {name: [p for p in profiles if has(p, name)] for name in ("parent", "child", "execed")}
    assert all(len(mine) == 1 for mine in found.values())
    assert all(has(*mine, name) >= noise.least(0.5, 999, away(summary))
               for name, mine in found.items())
    # a process between its fork and its exec may have a file of its own, in Python or already out of it
    others = [p for p in profiles if not any(p in mine for mine in found.values())]
    assert all(has(p, "Popen._execute_child") + has(p, "<no Python frame>") == len(p.samples) for p in others)


def test_ctrl_c_ends_the_command_and_keeps_its_profile(python, out, oracle):
    code = "print('ready', flush=True)\nwhile True: pass"
    with Recording(["-q", "-r", "999", "-o", out / "x", "--", *python.command("-c", code)]) as run:
        assert run.process.stdout.readline() == "ready\n"
        os.killpg(run.process.pid, signal.SIGINT)
        finished = run.wait()
    assert finished.returncode == 128 + signal.SIGINT, repr(finished)
    assert "KeyboardInterrupt" in finished.stderr
    assert sum(len(p.samples) for p in oracle.load(*written(out / "x"))) > 0


def test_several_pids(scratch, python, out, oracle):
    with Target(python, scratch, "shares=600") as a, Target(python, scratch, "shares=600") as b, \
            Target(python, scratch, "shares=600") as unasked:
        for target in (a, b, unasked):
            target.go()
        summary = succeeded(tachbpf("-p", f"{a.pid},{b.pid}", "-d", "1", "-o", out / "x",
                                    "--json")).summary
    assert {f["pid"] for f in files(summary)} == {a.pid, b.pid}
    assert len(tach_files(out / "x")) == 2


def test_the_default_output_is_a_directory_named_after_host_and_time(busy, out):
    succeeded(tachbpf("-a", "-d", "1", cwd=out))
    made, = out.iterdir()
    assert made.name.startswith(f"tachbpf-{os.uname().nodename}-2") and made.is_dir()
    assert (made / "session.json").is_file()


def test_the_default_output_for_one_process_is_a_file(busy, out):
    summary = succeeded(tachbpf("-p", busy.pid, "-d", "1", "--json", cwd=out)).summary
    made, beside, sources = sorted(out.iterdir())
    assert made.suffix == ".tach" and made.is_file()
    assert [beside.name, sources.name] == [made.name + ".json", made.name + ".sources.json"]
    assert Path(out, files(summary)[0]["path"]).samefile(made)


@pytest.mark.parametrize("rate,hz", [("99", 99), ("999", 999), ("10khz", 10000), ("1k", 1000)])
def test_the_rate_is_what_was_asked(busy, out, oracle, rate, hz):
    stolen, outside = noise.stolen_s(), noise.account(busy.pid)
    with Recording(["-p", busy.pid, "-r", rate, "-o", out / "x.tach", "--json"]) as recording:
        recording.wait_recording()
        inside = noise.account(busy.pid)
        use_cpu(busy.pid, 2)
        least = noise.account(busy.pid) - inside
        summary = succeeded(recording.stop()).summary
        most = noise.account(busy.pid) - outside
    assert summary["rate_hz"] == hz
    profile, = oracle.load(out / "x.tach")
    assert abs(profile.info["sample_interval_us"] - 1e6 / hz) <= 1
    missing = away(summary) + hz * (noise.stolen_s() - stolen)
    low = noise.count_bound(least.cpu_s, hz, missing, least.slices).low
    high = noise.count_bound(most.cpu_s, hz, slices=most.slices).high
    assert low <= len(profile.samples) <= high


def test_the_default_rates(busy, out):
    one = tachbpf("-p", busy.pid, "-d", "0.3", "-o", out / "x.tach", "--json")
    everything = tachbpf("-a", "-d", "0.3", "-o", out / "all", "--json")
    assert (one.summary["rate_hz"], everything.summary["rate_hz"]) == (999, 99)


def test_no_gc_leaves_the_marker_out(scratch, python, out, oracle):
    with Target(python, scratch, "garbage=1.5") as target:
        with Recording(["-p", target.pid, "--no-gc", "-o", out / "x.tach"]) as recording:
            recording.wait_recording()
            target.go()
            target.wait_done()
            target.leave()
            succeeded(recording.wait())
    profile, = oracle.load(out / "x.tach")
    assert fraction(profile.samples, lambda s: GC in names(s)) == 0
    assert not profile.info["capture_config"]["gc"]


def test_opcodes_on_request(busy, out, oracle):
    succeeded(tachbpf("-p", busy.pid, "-d", "1", "--opcodes", "-o", out / "x.tach"))
    profile, = oracle.load(out / "x.tach")
    assert profile.info["capture_config"]["opcodes"]
    assert fraction(profile.samples, lambda s: s.frames[0].opcode is not None) >= 0.99


@pytest.mark.parametrize("layout", ["draft1", "draft2"])
def test_the_older_layouts_hold_the_same_samples(busy, out, layout):
    summary = succeeded(tachbpf("-p", busy.pid, "-d", "1", "--layout", layout,
                                "-o", out / "x.tach", "--json")).summary
    text = succeeded(tachbpf("replay", out / "x.tach", "--format", "collapsed")).stdout
    assert sum(int(line.rpartition(" ")[2]) for line in text.splitlines()) == summary["samples"]
    assert "burn_sixty" in text


def test_quiet_says_nothing(busy, out):
    finished = succeeded(tachbpf("-q", "-p", busy.pid, "-d", "0.5", "-o", out / "x.tach"))
    assert finished.stdout == finished.stderr == ""


def test_the_summary_names_files_samples_and_losses(busy, out):
    finished = succeeded(tachbpf("-p", busy.pid, "-d", "0.5", "-o", out / "x.tach"))
    text = (finished.stdout + finished.stderr).lower()
    for word in ("x.tach", "samples", "lost", "cpu"):
        assert word in text, repr(finished)


def test_the_json_summary_has_its_documented_keys(busy, out):
    summary = succeeded(tachbpf("-p", busy.pid, "-d", "0.5", "-o", out / "x.tach",
                                "--json")).summary
    assert {"version", "output", "files", "processes", "samples", "duration_s", "rate_hz", "lost",
            "unresolved", "truncated", "unreadable", "cpu_percent", "consumer_cpu_s", "ticks",
            "refused"} <= set(summary)
    assert {"file", "pid", "comm", "command", "python", "samples"} <= set(summary["processes"][0])
    assert not lost_once_known(summary)
    assert summary["lost_total"] == sum(lost(summary).values())


def test_files_belong_to_the_user_behind_sudo(busy, out):
    os.chown(out, NOBODY, NOBODY)
    user = {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)}
    succeeded(tachbpf("-a", "-d", "1", "-o", out / "all", env=user))
    made = [out / "all", *(out / "all").iterdir()]
    assert len(made) >= 3
    assert {(p.stat().st_uid, p.stat().st_gid) for p in made} == {(NOBODY, NOBODY)}


@pytest.mark.parametrize("link_to", ["file", "nothing", "directory"])
def test_output_is_never_written_through_a_symlink(busy, out, link_to):
    precious, link = out / "precious", out / "link"
    if link_to == "file":
        precious.write_text("root's own")
    elif link_to == "directory":
        precious.mkdir()
    link.symlink_to(precious)
    argv = ["-a"] if link_to == "directory" else ["-p", busy.pid]
    finished = tachbpf(*argv, "-d", "0.5", "-o", link)
    assert finished.returncode == 1 and "link" in finished.stderr, repr(finished)
    if link_to == "file":
        assert precious.read_text() == "root's own"
    elif link_to == "directory":
        assert not list(precious.iterdir())
    else:
        assert not precious.exists()


def test_a_full_disk_is_an_error_and_leaves_what_was_written(scratch, python, out, oracle):
    # the small disk lives in a mount namespace that ends with this shell, which
    # copies what is there before it goes
    disk, kept = out / "disk", out / "kept"
    disk.mkdir()
    shell = ('mount -t tmpfs -o size=256k none "$0" || exit 99; kept=$1; shift; '
             'trap : INT; "$@"; status=$?; cp -r "$0" "$kept"; exit $status')
    with Target(python, scratch, "recycled=600") as target:
        target.go()
        finished = tachbpf("-p", target.pid, "-r", "10khz", "--compression", "none", "-d", "60",
                           "-o", disk / "x.tach",
                           prefix=["unshare", "--mount", "sh", "-c", shell, str(disk), str(kept)])
    assert finished.returncode == 1, repr(finished)
    assert "no space" in finished.stderr.lower(), repr(finished)
    profile, = oracle.load(*tach_files(kept))
    assert profile.replayed >= 100


def test_the_closed_end_of_a_pipe_is_an_error_not_a_crash():
    with subprocess.Popen([binary(), "replay", GOLDEN / "cpu_raw.bin", "--format", "collapsed"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        process.stderr.read()
        assert process.wait(60) != -signal.SIGSEGV
        assert process.returncode in (0, 1, 141, -signal.SIGPIPE)


def test_processes_that_come_later_are_found(scratch, python315, out, oracle):
    with Recording(["-a", "-r", "999", "-o", out / "all", "--json"]) as recording:
        recording.wait_recording()
        with Target(python315, scratch, "shares=1") as target:
            target.go()
            target.wait_done()
            target.leave()
        summary = succeeded(recording.stop()).summary
    # between fork and exec it is the test's own Python, which may have a file, too
    mine, = [f for f in files(summary) if f["pid"] == target.pid and f["python"].startswith("3.15")]
    profile, = oracle.load(mine["path"])
    assert profile.replayed >= noise.least(1, 999, away(summary))


def test_the_target_does_not_notice(scratch, python, out):
    """No ptrace, no signal, no injected memory: /proc says the same before and after."""
    def facts(pid):
        status = Path(f"/proc/{pid}/status").read_text().splitlines()
        return ([line for line in status if line.startswith(("TracerPid", "SigPnd", "Threads"))],
                Path(f"/proc/{pid}/maps").read_text())
    with Target(python, scratch, "shares=600") as target:
        before = facts(target.pid)
        with Recording(["-p", target.pid, "-o", out / "x.tach"]) as recording:
            recording.wait_recording()
            assert facts(target.pid) == before
            succeeded(recording.stop())
        assert facts(target.pid) == before


def test_two_profilers_at_once(busy, out):
    with Recording(["-p", busy.pid, "-d", "1", "-o", out / "a.tach", "--json"]) as a, \
            Recording(["-p", busy.pid, "-d", "1", "-o", out / "b.tach", "--json"]) as b:
        first, second = succeeded(a.wait()).summary, succeeded(b.wait()).summary
    assert first["samples"] > 0 and second["samples"] > 0


def test_an_exec_of_the_only_process_overwrites_nothing(out, python, oracle):
    again = "import time; t = time.process_time()\nwhile time.process_time() - t < 0.5: pass\n"
    code = ("import os, sys, time\nsys.stdin.readline()\nt = time.process_time()\n"
            "while time.process_time() - t < 0.5: pass\n"
            f"os.execv(sys.executable, [sys.executable, '-c', {again!r}])\n")
    target = subprocess.Popen(python.command("-c", code), stdin=subprocess.PIPE, text=True,
                              start_new_session=True)
    try:
        with Recording(["-p", target.pid, "-r", "999", "-o", out / "x.tach",
                        "--json"]) as recording:
            recording.wait_recording()
            target.stdin.write("go\n")
            target.stdin.flush()
            summary = succeeded(recording.wait()).summary
    finally:
        kill(target)
    assert [p["file"] for p in summary["processes"]] == ["x.tach", "x.1.tach"]
    for name in ("x.tach", "x.1.tach"):
        profile, = oracle.load(out / name)
        assert profile.replayed >= noise.least(0.5, 999, away(summary))
