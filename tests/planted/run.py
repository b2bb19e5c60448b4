#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""make check-planted: plants bugs; make check must find each.

run.py [NAME...]: first all tests in PLANTED must pass in a copy of the tree. Then each patch beside
this file is applied to the copy, the copy is built, and the bug's tests are run. If none fails, the
bug was not found. Exit status 1: a bug was not found.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
SMALL = "tests/e2e/capture/test_small_truth.py"
ACCOUNTS = "tests/e2e/capture/test_accounting.py"
LEAKS = "tests/e2e/capture/test_leaks.py"
UNIT, HOSTBPF = "tests/unit", "tests/hostbpf"
# bug -> tests of make check, one of which must fail: nodes of pytest, or sources of C programs
PLANTED = {
    "share": [f"{SMALL}::test_shares"],
    "name": [f"{SMALL}::test_stacks_have_the_right_names"],
    "lost": [f"{ACCOUNTS}::test_every_tick_and_every_sample_is_accounted_for"],
    "uncounted": [f"{ACCOUNTS}::test_the_kernel_counts_as_many_ticks"],
    "line": [f"{SMALL}::test_lines_and_columns"],
    "leak": [f"{UNIT}/resolve/test_process.c"],
    "leak_of_samples": [f"{LEAKS}::test_samples_leave_nothing"],
    "foreign": [f"{HOSTBPF}/test_proc_filter.c"],
    "thread_name": [f"{UNIT}/formats/test_pprof.c"],
    "wakeup": [f"{HOSTBPF}/test_lifecycle.c"],
    "line39": [f"{UNIT}/cpython/test_cpython_lines.c"],
    "window_twice": [f"{UNIT}/agent/test_agent_exports.c"],
}


def run(argv, tree, **env):
    return subprocess.run(argv, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=dict(os.environ, **env))


def must(argv, tree):
    done = run(argv, tree)
    if done.returncode:
        raise SystemExit(f"planted: {' '.join(map(str, argv))} failed:\n{done.stdout[-3000:]}")


def copy_to(tree):
    """Copies all files that git tracks or could add, and build/."""
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=REPO, check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (REPO / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPO / name, tree / name)
    if (REPO / "build").is_dir():
        shutil.copytree(REPO / "build", tree / "build", symlinks=True, dirs_exist_ok=True)


def program(test):
    """The command that runs the tests of a C source: those of its directory are one program."""
    source = Path("build/san", test)
    return [str(source.parent / "tests"), source.stem]


def make(tree, test):
    jobs = f"-j{os.cpu_count()}"
    must(["make", jobs, "SAN=1", program(test)[0]] if test.endswith(".c") else ["make", jobs, "all"], tree)


def fails(tree, test):
    """The test's output if it fails; None: it passes."""
    if test.endswith(".c"):
        name, *args = program(test)
        done = run([tree / name, *args], tree)
    else:
        done = run(["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m",
                    "gate and not truth", test], tree, TACHBPF=str(tree / "build" / "tachbpf"),
                   PYTHONDONTWRITEBYTECODE="1", CI="true")
        if done.returncode not in (0, 1):
            raise SystemExit(f"planted: {test} cannot be run:\n{done.stdout[-3000:]}")
    return done.stdout if done.returncode else None


def why(text):
    """The line of a test's output that says why it failed."""
    lines = [line for line in text.splitlines()
             if line.startswith(("FAILED", "SUMMARY", "ERROR")) or "ERROR: LeakSanitizer" in line]
    return (lines or text.strip().splitlines()[-1:])[-1][:160]


def look_for(bug, tree):
    """Plants the bug and runs its tests. Returns whether one of them fails."""
    must(["git", "apply", "--unsafe-paths", "--directory", str(tree), str(HERE / f"{bug}.patch")], "/")
    try:
        for test in PLANTED[bug]:
            make(tree, test)
            said = fails(tree, test)
            if said:
                print(f"planted: {bug}: found by {test}: {why(said)}", flush=True)
                return True
        print(f"planted: {bug}: NOT FOUND by {', '.join(PLANTED[bug])}", flush=True)
        return False
    finally:
        must(["git", "apply", "-R", "--unsafe-paths", "--directory", str(tree),
              str(HERE / f"{bug}.patch")], "/")


def main(names):
    assert {p.stem for p in HERE.glob("*.patch")} == set(PLANTED), "a patch without tests, or without a patch"
    bugs = names or list(PLANTED)
    with tempfile.TemporaryDirectory(prefix="tachbpf-planted-") as directory:
        tree = Path(directory)
        tree.chmod(0o755)
        copy_to(tree)
        for test in dict.fromkeys(t for bug in bugs for t in PLANTED[bug]):
            make(tree, test)
            said = fails(tree, test)
            if said:
                raise SystemExit(f"planted: {test} fails without a bug:\n{said[-3000:]}")
        missed = [bug for bug in bugs if not look_for(bug, tree)]
    print(f"check-planted: {len(bugs) - len(missed)} of {len(bugs)} bugs found"
          + (", not found: " + ", ".join(missed) if missed else ""))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
