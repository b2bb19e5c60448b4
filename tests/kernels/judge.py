# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Is what a guest brought back right? Facts of job.py in, a list of verdicts out.

Profiles are decoded by CPython 3.15's own reader. A timer of an emulated machine may be late by
milliseconds: shares are compared with what the target measured, and ticks with the CPU time it
had, by the bounds of noise.py, both knowing how many ticks the recorder says it missed.
"""
import json
import os
import re
from collections import Counter
from dataclasses import dataclass, field

import chains
import native_frames
import noise
from profiles import MAX_FRAMES, TRUNCATED, fraction, leaf_is
from target import Truth

SLOWER = 15             # times: an emulated CPU, at what a switch takes
# A part of a function's name in the kernel's own stack.
KERNEL = {"nap": "nanosleep", "read": "pipe_read", "poll": "poll", "lock": "futex"}
UNRESOLVED = 0.005      # of all frames, a process' first milliseconds included
CYCLES = ("aarch64",)   # machines whose emulator has a cycle counter that interrupts
CYCLES_SAMPLES = 300    # of 2,000 that are to come
# Links of chains that end a stack: the kernel's part of a signal handler has no table, and a return
# address that is more than 32 KiB from the frame's end no rule.
UNTOLD = {"aarch64": chains.SIGNALS + "kb"}
GROWTH = 1.20           # of the instructions that the verifier looked at
# Counted, and not to be helped: before it was known.
MAY_LOSE = {"late_discovery": 100}
# Of the summary's ticks: all others are ways a tick can end.
NO_ENDS = ("delivered", "missed", "expected", "source", "without_stack", "received", "cpus")
STEPS = ("doctor", "command", "one_pid", "everything", "chosen", "waiting", "native", "memory",
         "cycles")
# The kernel's, of things that are wrong; emulation under load does make it complain of time.
WRONG = re.compile(r"WARNING:|BUG:|Oops|general protection|KASAN|deadlock|refcount_t")
SLOW = re.compile(r"soft lockup|clocksource|hrtimer: interrupt took|rcu")


@dataclass
class Verdicts:
    """What was looked at, and the row for the tables."""
    checks: list = field(default_factory=list)      # (step, name, ok, text)
    facts: dict = field(default_factory=dict)

    def check(self, step, name, ok, text=""):
        self.checks.append((step, name, bool(ok), str(text)))
        return ok

    @property
    def failed(self):
        return [c for c in self.checks if not c[2]]

    def step_ok(self, step):
        mine = [c for c in self.checks if c[0] == step]
        return bool(mine) and all(c[2] for c in mine)


def biggest_file(summary, pid):
    """Of a pid that exec'ed there are several; None: there is none."""
    mine = [p for p in summary["processes"] if p["pid"] == pid and p["file"]]
    return max(mine, key=lambda p: p["samples"])["file"] if mine else None


def check_run(v, step, facts):
    """It ended well, lost nothing that it need not lose, and its files are sound."""
    if not v.check(step, "ends with status 0", facts["status"] == 0 and facts["summary"],
                   facts["stderr"][-600:]):
        return False
    # and while exec replaced its memory, or a page was copied: see lost_of_short_lives()
    may = dict(MAY_LOSE, thread_state_unreadable=max(4, facts["summary"]["samples"] / 300))
    # A CPU that has spent its budget walks no page fault, and sends no range that was unmapped: emulated,
    # a walk may take all of it (budget.bpf.h).
    may["frees_ring_full"] = (facts["summary"].get("memory") or {}).get("not_walked", 0)
    lost = {k: n for k, n in facts["summary"]["lost"].items() if n > may.get(k, 0)}
    v.check(step, "loses nothing", not lost, lost)
    ticks = facts["summary"]["ticks"]
    ends = sum(n for k, n in ticks.items() if k not in NO_ENDS)
    v.check(step, "every tick ends in one way", ends == ticks["delivered"], ticks)
    # One on a page that its process has not touched yet is not the kernel side's to fault in;
    # of threads that are asleep user space reads the names, for a fifth of its time at most.
    unresolved, unverified, frames = (
        facts["summary"][k] for k in ("unresolved", "unverified_code", "frames"))
    v.check(step, "code objects can be read, but for a few on pages that are not there",
            unresolved <= min(unverified if step != "waiting" else unresolved,
                              frames * UNRESOLVED),
            f"{unresolved} unresolved, {unverified} unverified")
    reads = facts["read"] if "verify" not in facts["read"] else {"": facts["read"]}
    bad = {name: r["verify_says"] for name, r in reads.items() if r["verify"]}
    v.check(step, "files are sound", reads and not bad, bad)
    return True


def check_ticks(v, step, name, samples, missed, cpu_s, rate):
    """missed may be another thread's: it widens, and never hides."""
    bound = noise.count_bound(cpu_s, rate, missed)
    v.check(step, f"{name}: a sample for each tick", samples in bound,
            f"{samples} samples, {missed} missed, {cpu_s * rate:.0f} expected: {bound}")


def check_shares(v, step, name, counts, spent, missed):
    """A tick that the recorder says it missed may have been in any of the functions."""
    total, samples = sum(spent.values()), sum(counts[f] for f in spent)
    v.check(step, f"{name}: there are samples to judge by", samples >= 100, samples)
    for function, seconds in spent.items():
        bound = noise.share_bound(samples, seconds / total, missed)
        v.check(step, f"{name}: the share of {function}", counts[function] in bound,
                f"{counts[function]} of {samples} samples, {missed} ticks missed, "
                f"in truth {seconds / total:.3f}: {bound}")


def leaves(samples):
    return Counter(s.frames[0].func for s in samples if s.frames)


def starved(guest):
    """Why it is run once more, or None: the host kept the guest's CPUs waiting, and more than a
    third of its ticks were missed."""
    if "result.json" not in guest.files:
        return None
    result = json.loads(guest.files["result.json"])
    ticks = {s: (result[s].get("summary") or {}).get("ticks") for s in STEPS[1:]}
    return next((f"this machine kept it waiting: {t['missed']} of {t['expected']} ticks of step "
                 f"{s} did not come" for s, t in ticks.items()
                 if t and t["missed"] > t["delivered"] / 2), None)


def judge_doctor(v, facts, result, profiles):
    found = facts["json"]
    problems = [c for c in found["checks"] if c["verdict"] == "problem"]
    v.check("doctor", "finds no problem", facts["status"] == 0 and found["ok"], problems)
    v.check("doctor", "says so", "ready to record" in facts["text"],
            facts["text"][-300:])
    programs = found["programs"]
    v.check("doctor", "programs load", programs["loaded"], programs["reason"])
    v.check("doctor", "the verifier says how many instructions it processed",
            programs["instructions"] and all(programs["instructions"].values()),
            programs["instructions"])
    can = result["machine"] == "x86_64" and any(
        f["name"] == "loads from any address" and f["found"] for f in found["features"])
    v.check("doctor", "memory is read directly where that is possible", programs["direct_reads"] == can,
            programs["direct_reads"])
    v.facts["instructions"] = programs["instructions"]
    v.facts["features"] = {f["name"]: f["found"] for f in found["features"]}


def judge_command(v, facts, result, profiles):
    if not check_run(v, "command", facts):
        return
    summary = facts["summary"]
    v.check("command", "all three lives ended", len(facts["lives"]) == 3, facts["lives"])
    # once before its exec and once after it, at the most, and one fork
    v.check("command", "a process is found once", facts["admissions"] <= 4, facts["admissions"])
    for name, life in facts["lives"].items():
        file = biggest_file(summary, life["pid"])
        if not v.check("command", f"{name} has a file", file):
            continue
        samples = profiles["command/" + file].samples
        burnt = [s for s in samples if any(f.func == name for f in s.frames)]
        check_ticks(v, "command", name, len(burnt), summary["ticks"]["missed"], 0.7,
                    result["rate"])


def judge_one_pid(v, facts, result, profiles):
    if not check_run(v, "one_pid", facts):
        return
    truth, profile = Truth(facts["truth"]), profiles["pid.tach"]
    spent = truth["phases"]["shares"]["spent"]
    missed = facts["summary"]["ticks"]["missed"]
    check_shares(v, "one_pid", "CPython's reader", leaves(profile.phase(truth, "shares")), spent,
                 missed)
    own = Counter()
    for row in facts["read"]["report"]["rows"]:
        own[row["function"]] += row["self"]
    check_shares(v, "one_pid", "our report", own, spent, missed)
    v.check("one_pid", "both readers count alike",
            facts["read"]["report"]["samples"] == len(profile.samples),
            (facts["read"]["report"]["samples"], len(profile.samples)))
    start, end = truth["clock"][0][0] // 1000, truth["clock"][-1][0] // 1000
    check_ticks(v, "one_pid", "target", len(profile.between(start, end)),
                missed, truth.cpu_between(start, end), result["rate"])
    judge_depth(v, truth, profile)


def judge_depth(v, truth, profile):
    deep = profile.phase(truth, "deep")
    depth = max((len(s.frames) for s in deep), default=0)
    v.facts["depth"] = depth
    v.check("one_pid", f"400 frames are walked to {MAX_FRAMES}", depth == MAX_FRAMES, depth)
    v.check("one_pid", "what is cut off is said", any(s.frames[-1].func == TRUNCATED
                                                    for s in deep if s.frames), depth)
    bottom = [s for s in profile.phase(truth, "recursion") if leaf_is(s, "bottom")]
    whole = len(bottom) >= 50 and fraction(
        bottom, lambda s: sum(f.func == "recurse" for f in s.frames) == 200)
    v.check("one_pid", "a recursion of 200 is whole", whole >= 0.98, (len(bottom), whole))


def judge_everything(v, facts, result, profiles):
    if not check_run(v, "everything", facts):
        return
    summary = facts["summary"]
    versions = {p["python"] for p in summary["processes"]}
    v.check("everything", "every Python is found", set(result["pythons"].values()) <= versions,
            versions)
    for name, truth in facts["truths"].items():
        file = biggest_file(summary, truth["pid"])
        if not v.check("everything", f"{name} has a file", file):
            continue
        truth, profile = Truth(truth), profiles["all/" + file]
        spent = truth["phases"]["shares"]["spent"]
        samples = profile.phase(truth, "shares")
        check_ticks(v, "everything", name, len(samples), summary["ticks"]["missed"],
                    sum(spent.values()), result["rate"])
        if name == "later":
            continue
        check_shares(v, "everything", name, leaves(samples), spent,
                     summary["ticks"]["missed"])
        workers = {w["tid"] for w in truth["phases"]["threads"]["spent"].values()}
        seen = {s.tid for s in profile.phase(truth, "threads")}
        v.check("everything", f"{name}: every thread is seen", workers <= seen,
                (workers, seen))


def judge_chosen(v, facts, result, profiles):
    if not check_run(v, "chosen", facts):
        return
    seen = {p["pid"]: p["samples"] for p in facts["summary"]["processes"] if p["samples"]}
    wanted = {facts["pids"]["in"], facts["pids"]["later"]}
    v.check("chosen", "exactly those in the cgroup", set(seen) == wanted, (seen, facts["pids"]))
    v.check("chosen", "with samples", all(n >= 100 for n in seen.values()), seen)


def judge_waiting(v, facts, result, profiles):
    if not check_run(v, "waiting", facts):
        return
    for thread in facts["threads"]:
        kind, off = thread["kind"], thread["off"]
        inside = [s for s in profiles["waiting.tach"].samples if s.tid == thread["tid"] and
                  thread["begin"] * 1e6 <= s.time_us < thread["end"] * 1e6 and
                  any(f.func == "wait_" + kind for f in s.frames)]
        seconds = len(inside) / result["rate"]
        # its own clocks are read around the wait: its CPU time there, or without one, is no wait
        bound = noise.wait_bound(off - thread["busy"] - thread["starved"], off, result["rate"],
                                 thread["switches"], 2, SLOWER * noise.SWITCH_S)
        v.check("waiting", f"as long as {kind} takes", seconds in bound, (seconds, str(bound)))
        # afterwards it may wait for the GIL, too
        blocked = [s for s in inside if any(f.func.startswith("<blocked in ") for f in s.frames)]
        v.check("waiting", f"where in the kernel {kind} is", blocked and fraction(
            blocked, lambda s: any(f.func.startswith("<kernel ") and KERNEL[kind] in f.func
                                  for f in s.frames)) >= 0.95,
                Counter(f.func for s in blocked for f in s.frames).most_common(20))


def judge_native(v, facts, result, profiles):
    """By the second half the tables are there; zlib takes nearly all of the function's time."""
    if not check_run(v, "native", facts):
        return
    squeezing = [s for s in profiles["native.tach"].phase(Truth(facts["truth"]), "squeeze")
                 if any(f.func == "squeeze" for f in s.frames)]
    late = squeezing[len(squeezing) // 2:]
    v.check("native", "the second half has samples", len(late) >= 200, len(late))
    inside = [s for s in late if any(native_frames.kind(f) == native_frames.NATIVE and
                                     native_frames.library(f).startswith("libz.so")
                                     for f in s.frames)]
    names = Counter(f"{f.func} {f.file}" for s in late for f in s.frames)
    v.check("native", "zlib's functions are there", len(inside) >= 0.8 * len(late),
            (len(inside), len(late), names.most_common(20)))
    v.check("native", "they stand above the function of Python that called them", all(
        s.frames[-1].func == "<module>" and [native_frames.kind(f) for f in s.frames].index(
            native_frames.PYTHON) > 0 for s in inside), names.most_common(20))
    cut = Counter(c for s in late for c in native_frames.causes(s))
    v.check("native", "nearly all are whole", cut.total() <= 0.05 * len(late), cut)
    threads = [t for p in json.loads(facts["asleep"] or "{}").get("processes", ())
               for t in p["threads"] if t["main"]]
    v.check("native", "a thread that sleeps has C functions", [
        f for t in threads for f in t["frames"] if f["kind"] == "native" and
        "read" in f["function"]], (facts["asleep"], facts["asleep_says"]))


    for name, judged in (("whole", judge_chains), ("stripped", judge_stripped)):
        played = facts["chains"][name]
        if check_run(v, "native", played):
            late = played["truth"]["played"][len(played["truth"]["played"]) // 2:]
            judged(v, profiles[f"chains-{name}.tach"], dict(played["truth"], played=late), result["machine"])


def judge_chains(v, profile, truth, machine):
    """Of an extension module: exactly the functions of each chain, as in tests/e2e/native."""
    seen = chains.Judged(profile, truth, full=False)
    v.check("native", "chains have points", seen.points >= 200, seen.report())
    v.check("native", "no chain is wrong", not seen.wrong, seen.report())
    told = [p for p in truth["played"] if not set(p["chain"]) & set(UNTOLD.get(machine, ""))]
    seen = chains.Judged(profile, dict(truth, played=told), full=False)
    clock = sum(in_vdso(s) for c in chains.played(dict(truth, played=told)) for s in c.of(profile))
    v.check("native", "nearly all chains are whole", seen.cut - clock <= 0.05 * seen.points,
            f"{clock} in the vDSO, {seen.report()}")


def in_vdso(sample):
    """Does it end in the vDSO, which has no table on arm64? Leaves of chains read the clock."""
    return any(native_frames.cause(f) and native_frames.library(before) == "vdso"
               for before, f in zip(sample.frames, sample.frames[1:]) if before.file.startswith("["))


def in_stripped(chain, version):
    """What an extension module without symbols shows of a chain: Python, the method by which Python enters
    it, and what it exports."""
    names = {"ch_step": "chains.step", "ch_exported": "ch_exported"}
    return [names.get(name, name) for kind, name, _ in chains.expected(chain, version, full=False)
            if kind == chains.PY or name in names]


def judge_stripped(v, profile, truth, machine):
    points, wrong = 0, Counter()
    for chain in chains.played(truth):
        right = in_stripped(chain.chain, truth["version"])
        for sample in chain.of(profile):
            shown = [f.func for f in reversed(sample.frames) if native_frames.is_python(f) or
                     native_frames.kind(f) == native_frames.NATIVE and native_frames.library(f) == "chains.so"]
            points += 1
            if shown != right and not native_frames.causes(sample):
                wrong[chain.chain, tuple(shown)] += 1
    v.check("native", "the stripped module has points", points >= 50, points)
    v.check("native", "its functions have the method's name", not wrong, wrong.most_common(4))


def judge_memory(v, facts, result, profiles):
    """Bytes by function: of so many pages one in so many has a stack. What is moved stays held."""
    if not check_run(v, "memory", facts):
        return
    page, every = os.sysconf("SC_PAGESIZE"), facts["summary"]["memory"]["every_bytes"]
    for name, size in facts["truth"].items():
        held = sum(r["held"] for r in facts["rows"] if r["function"] == name)
        chosen = noise.proportion_bound(size / page, page / every)
        v.check("memory", f"{name} holds what it keeps",
                held / size * page / every in chosen, f"{held} of {size}")


def judge_cycles(v, facts, result, profiles):
    """How many come is the emulator's affair; of what they tell, nothing is."""
    if result["machine"] not in CYCLES:
        v.check("cycles", "without a counter it says what to do",
                "-e cycles" in facts.get("refused", ""), facts)
        return
    if not v.check("cycles", "the counter can be sampled", "refused" not in facts,
                   facts.get("refused")) or not check_run(v, "cycles", facts):
        return
    summary, truth, profile = facts["summary"], Truth(facts["truth"]), profiles["cycles.tach"]
    v.check("cycles", "the hardware ticks", summary["ticks"]["source"] == "cycles",
            summary["ticks"])
    spent = truth["phases"]["shares"]["spent"]
    samples = profile.phase(truth, "shares")
    if v.check("cycles", "they are enough to judge by", len(samples) >= CYCLES_SAMPLES,
               len(samples)):
        # With a counter nobody counts what was missed, so: what the CPU time says.
        missed = max(0, sum(spent.values()) * result["rate"] - len(samples))
        check_shares(v, "cycles", "target", leaves(samples), spent, missed)


JUDGES = {"doctor": judge_doctor, "command": judge_command, "one_pid": judge_one_pid,
          "everything": judge_everything, "chosen": judge_chosen,
          "waiting": judge_waiting, "native": judge_native,
          "memory": judge_memory, "cycles": judge_cycles}


def judge_budget(v, recorded):
    """Against what is in recorded.json."""
    for name, n in v.facts.get("instructions", {}).items():
        before = recorded.get("instructions", {}).get(name)
        if before:
            v.check("budget", f"{name} has not grown by more than a fifth",
                    n <= before * GROWTH, f"{n} instructions, recorded {before}: simplify it, or "
                    "record anew with DOCS=1")


def judge(guest, recorded, load):
    """load: {name: bytes} of TACH files to {name: Profile}."""
    v = Verdicts()
    text = guest.files.get("result.json")
    if not v.check("boot", "the job is done", text, guest.last_words()):
        return v
    result = json.loads(text)
    v.facts.update(release=result["release"], pythons=sorted(set(result["pythons"].values())))
    profiles = load({n: d for n, d in guest.files.items() if n.endswith(".tach")})
    for step in STEPS:
        facts = result[step]
        if v.check(step, "runs to its end", "error" not in facts, facts.get("error", "")):
            JUDGES[step](v, facts, result, profiles)
    judge_budget(v, recorded)
    wrong = [l for l in result["kernel_log"] if WRONG.search(l) and not SLOW.search(l)]
    v.check("kernel", "has nothing to complain of", not wrong, wrong[:5])
    ticks = [result[s]["summary"]["ticks"] for s in STEPS[1:] if result[s].get("summary")]
    v.facts["missed"] = sum(t["missed"] for t in ticks) / max(1, sum(t["expected"]
                                                                     for t in ticks))
    v.facts["results"] = {s: v.step_ok(s) for s in STEPS
                          if s != "cycles" or result["machine"] in CYCLES}
    v.facts["seconds"] = {s: round(result[s]["seconds"], 1) for s in STEPS}
    return v
