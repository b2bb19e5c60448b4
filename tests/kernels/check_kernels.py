#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`make check-kernels`: one binary on many kernels, each in qemu, and what the verifier says.

Prepares what is not in the cache, boots two guests at a time, judges, prints. In the
environment: TACHBPF (the binary), ARCH, ALL=1 (every kernel), KERNELS="5.10 6.1" (these),
DOCS=1 (record the figures in recorded.json and docs/kernels.md), REFRESH=1 (newer packages),
CI=true (what set-up promises must be there).
"""
import json
import os
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
LIB = TESTS / "e2e" / "lib"
sys.path[:0] = [str(HERE), str(LIB)]

import docs  # noqa: E402
import extension  # noqa: E402
import guest  # noqa: E402
import interpreters  # noqa: E402
import noise  # noqa: E402
import prepare  # noqa: E402
import table  # noqa: E402
import tally  # noqa: E402
from judge import judge, starved  # noqa: E402
from packages import Failed  # noqa: E402
from paths import binary  # noqa: E402
from profiles import Oracle  # noqa: E402

# Of tests/e2e/lib, what the job imports.
SHARED = ("chains.py", "native_frames.py", "notes.py", "paths.py", "processes.py", "profiles.py",
          "recording.py", "target.py")
AT_ONCE = 2             # guests, of two CPUs each
START = "cd /tmp/job && TACHBPF=/tmp/job/tachbpf exec {0} -B job.py /dev/vdb {1}\n"


def on(name):
    return os.environ.get(name, "") not in ("", "0")


def tier():
    return os.environ.get("TACHBPF_TIER", "kernels")


def give_up(reason):
    """Not a failure of what is tested: SKIP, but where set-up promises that it works."""
    if os.environ.get("CI") == "true":
        raise SystemExit(f"check-kernels: FAILED: {reason}")
    print(f"SKIP check-kernels: {reason}")
    tally.add(tier(), skipped=1)
    raise SystemExit(0)


def chosen():
    names = os.environ.get("KERNELS", "").split()
    unknown = set(names) - {k.name for k in table.KERNELS}
    if unknown:
        raise SystemExit(f"check-kernels: no such kernel: {', '.join(sorted(unknown))}; there are "
                         + ", ".join(k.name for k in table.KERNELS))
    return [k for k in table.KERNELS
            if (k.name in names if names else k.always or on("ALL"))]


def job(arch, row, scratch):
    """What goes into a guest below /job."""
    pythons = [*row.pythons, *(":".join(b) for b in row.beside)]
    files = {"tachbpf": (binary().read_bytes(), 0o755),
             "tachbpf-elf": (binary().with_name("tachbpf-elf").read_bytes(), 0o755),
             "start": (START.format(pythons[0], " ".join(pythons)).encode(), 0o755),
             "job.py": ((HERE / "job.py").read_bytes(), 0o644),
             **{name: ((LIB / name).read_bytes(), 0o644) for name in SHARED}}
    for directory in (TESTS / "e2e", HERE):
        for path in (directory / "targets").glob("*.py"):
            files["targets/" + path.name] = (path.read_bytes(), 0o644)
    play = TESTS / "e2e" / "targets" / "chains" / "play_chains.py"
    files["targets/chains/play_chains.py"] = (play.read_bytes(), 0o644)
    for directory, module in extension.modules(arch, row, scratch).items():
        files[directory + "/chains.so"] = (module, 0o755)
    return files


class Loader:
    """TACH files of guests, decoded by the Python 3.15 of this machine."""

    def __init__(self, scratch):
        by_name = {i.name: i for i in interpreters.discover()}
        if "sid-3.15" not in by_name:
            give_up("no Python 3.15 to read profiles with: run make interpreters")
        shutil.copy(LIB / "oracle.py", scratch)
        self.scratch, self.oracle = Path(scratch), Oracle(by_name["sid-3.15"], scratch)

    def load(self, files):
        """{name: bytes} to {name: Profile}."""
        directory = Path(tempfile.mkdtemp(dir=self.scratch))
        paths = {}
        for n, (name, data) in enumerate(sorted(files.items())):
            paths[name] = directory / f"{n}.tach"
            paths[name].write_bytes(data)
        profiles = self.oracle.load(*paths.values()) if paths else []
        return dict(zip(paths, profiles))


def run(arch, kernel, recorded, loader):
    boot = prepare.kernel(arch, kernel)
    row = table.ROOTS[kernel.root]
    image = prepare.root(arch, row)
    files = job(arch, row, loader.scratch)
    done = guest.run(arch, kernel, boot, image, files)
    if starved(done):
        noise.note_retry(f"check-kernels {kernel.name}", starved(done))
        done = guest.run(arch, kernel, boot, image, files)
    verdicts = judge(done, {} if on("DOCS") else recorded.get(kernel.name, {}), loader.load)
    verdicts.facts.update(package=boot.package, root=kernel.root)
    keep_logs(arch, kernel, done)
    return done, verdicts


def keep_logs(arch, kernel, done):
    """Beside the binary: the console, the facts, what the doctor said there."""
    logs = binary().parent / "kernels"
    logs.mkdir(exist_ok=True)
    stem = stem_of(arch, kernel)
    (logs / f"{stem}.console").write_text(done.console)
    if "result.json" in done.files:
        result = json.loads(done.files["result.json"])
        (logs / f"{stem}.json").write_text(json.dumps(result, indent=1))
        (logs / f"{stem}.doctor").write_text(result["doctor"].get("text", ""))


def stem_of(arch, kernel):
    return f"{arch.name}-{kernel.name}"


def keep_evidence(arch, kernel, done):
    """The logs and the guest's files, of a kernel with a failed check; where they are."""
    place = Path(os.environ.get("TACHBPF_FAILED", binary().parent / "failed"))
    place /= "kernels-" + stem_of(arch, kernel)
    place.mkdir(parents=True, exist_ok=True)
    for log in (binary().parent / "kernels").glob(stem_of(arch, kernel) + ".*"):
        shutil.copy(log, place)
    for name, data in done.files.items():
        file = place / "files" / re.sub(r"[^\w.-]+", "_", name)
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)
    print(f"    evidence: {place}")
    return str(place)


def count(arch, kernel, done, verdicts):
    """Each check is a test."""
    failed = [f"{arch.name} {kernel.name}: {step}: {name}" for step, name, *_ in verdicts.failed]
    place = keep_evidence(arch, kernel, done) if failed else ""
    tally.add(tier(), [(name, place) for name in failed], failed=len(failed),
              passed=len(verdicts.checks) - len(failed))


def show(arch, kernel, done, verdicts, recorded):
    facts = verdicts.facts
    failed = verdicts.failed
    print(f"{'FAILED' if failed else 'passed'} {arch.name} {kernel.name} "
          f"({facts.get('release', '?')}): {len(verdicts.checks) - len(failed)} of "
          f"{len(verdicts.checks)} checks, depth {facts.get('depth', '?')}, "
          f"{100 * facts.get('missed', 0):.0f} % of ticks missed, {done.seconds:.0f} s"
          + (f", {done.boots} boots" if done.boots > 1 else ""))
    for name, n in facts.get("instructions", {}).items():
        before = recorded.get("instructions", {}).get(name)
        print(f"    {name:16}{n:8} instructions" + (f", {100 * (n - before) / before:+.1f} %"
              if before else ", not recorded: DOCS=1 does"))
    for step, name, _, text in failed:
        print(f"    FAILED {step}: {name}: {text}")


def prepare_all(arch, kernels):
    """Before the clock starts; mirrors are asked one at a time."""
    if os.geteuid() != 0:
        give_up("needs root")
    if not shutil.which(arch.qemu[0]):
        give_up(f"{arch.qemu[0]} is not there: install {arch.qemu_package} (make check-deps)")
    start = time.monotonic()
    try:
        for kernel in kernels:
            prepare.kernel(arch, kernel)
            prepare.root(arch, table.ROOTS[kernel.root])
            extension.headers(arch, table.ROOTS[kernel.root])
            extension.tool(arch, "gcc")
    except Failed as e:
        give_up(str(e))
    os.environ.pop("REFRESH", None)
    return time.monotonic() - start


def main():
    arch = table.ARCHES.get(os.environ.get("ARCH") or "x86")
    if not arch:
        raise SystemExit(f"check-kernels: ARCH is one of {', '.join(table.ARCHES)}")
    kernels = chosen()
    recorded = docs.read()
    if not on("DOCS"):
        docs.check(recorded)
    cold = prepare_all(arch, kernels)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tachbpf-kernels-", dir="/tmp") as scratch:
        os.chmod(scratch, 0o755)
        loader = Loader(scratch)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            results = list(pool.map(
                lambda k: run(arch, k, recorded.get(arch.name, {}), loader), kernels))
    for kernel, (done, verdicts) in zip(kernels, results):
        show(arch, kernel, done, verdicts, recorded.get(arch.name, {}).get(kernel.name, {}))
        count(arch, kernel, done, verdicts)
    failures = sum(bool(v.failed) for _, v in results)
    if on("DOCS") and not failures:
        docs.record(recorded, arch, {k.name: v.facts for k, (_, v) in zip(kernels, results)})
    print(f"check-kernels: {len(kernels) - failures} kernels passed, {failures} failed, "
          f"{time.monotonic() - start:.0f} s and {cold:.0f} s of preparation")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
