# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The budget's figures: from rounds of measuring to ratios, from ratios to bounds and verdicts.

Nothing is measured here. A round is
{"reads": {"step": ns, "cold": ns}, "walks": {"3.11": {"5": WALK, "120": WALK}}, "file": bytes of a
sample, "cold": {"3.11": ns of a sample at a low rate}} with WALK {"ns": of a sample, "ring": its bytes
in the ring buffer}.
"""
import itertools
import statistics
from dataclasses import dataclass

LOW, HIGH = "5", "120"      # depths
# The least margin of each unit: what another build of the same Python may differ by.
LEAST_MARGIN = {"steps": 1.10, "bytes": 1.05, "cold reads": 1.20}
MOST_MARGIN = 1.5           # a bound beyond that is of no use
INSTRUCTIONS_MARGIN = 1.20  # as in tests/kernels/judge.py: other compilers, other verifiers
ADVICE = {
    "cold reads": "a sample touches more memory or code that no cache has: make bench-cold shows where "
                  "(rate, depth, version)",
    "steps": "a sample reads more of its target, or does more with it: make bench shows where (depth, version)",
    "bytes": "a record has grown (bpf/abi.h), or its file (docs/tach.md)",
    "instructions": "the verifier has more paths to look at: simplify the program",
}


@dataclass
class Figure:
    value: float
    unit: str


def least_ns(rounds, minor, depth):
    """Other work can only make a sample slower."""
    return min(r["walks"][minor][depth]["ns"] for r in rounds)


def middle(values):
    """Bytes are the same however busy the machine is; for how many samples is not exact. What is cold
    takes as much longer as a read that no cache has: the ratio is as often too small as too large."""
    return statistics.median(values)


def walk_figures(rounds, minor, unit_ns, unit):
    """What a frame takes (the slope between two depths), and a sample without its frames."""
    low, high = (least_ns(rounds, minor, depth) for depth in (LOW, HIGH))
    frame = (high - low) / (int(HIGH) - int(LOW))
    yield f"walk, CPython {minor}: a frame", Figure(frame / unit_ns, unit)
    yield (f"walk, CPython {minor}: a sample without its frames",
           Figure((low - int(LOW) * frame) / unit_ns, unit))


def read_ns(rounds, kind):
    return min(r["reads"][kind] for r in rounds)


def in_units(rounds, kind, unit):
    """The walks in units that take as long as what read_cost.c calls kind: name -> Figure."""
    ns = read_ns(rounds, kind)
    return {name: figure for minor in rounds[0]["walks"]
            for name, figure in walk_figures(rounds, minor, ns, unit)}


def figures(rounds):
    """What is judged: name -> Figure."""
    found = in_units(rounds, "step", "steps")
    for minor in rounds[0]["walks"]:
        for depth in (LOW, HIGH):
            found[f"ring buffer, CPython {minor}: a sample of {depth} frames"] = Figure(
                middle(r["walks"][minor][depth]["ring"] for r in rounds), "bytes")
    found["file: a sample of 42 frames, hardly two alike"] = Figure(
        middle(r["file"] for r in rounds), "bytes")
    return found


def cold_figures(rounds):
    """The same of what is judged beside figures of the same processor only: how a run from cold caches
    compares with a cold read differs from one kind to the next."""
    return {f"cold, CPython {minor}: a sample of 20 frames at 19 Hz": Figure(
        middle(r["cold"][minor] / r["reads"]["cold"] for r in rounds), "cold reads")
        for minor in rounds[0]["cold"]}


def margins(rounds, of=figures):
    """name -> by what a figure may be larger another time: twice the range in which it is when it
    is computed from half of the rounds, each half there is; LEAST_MARGIN at least, MOST_MARGIN at
    most."""
    halves = [of(half) for half in itertools.combinations(rounds, (len(rounds) + 1) // 2)]
    found = {}
    for name, figure in of(rounds).items():
        values = [half[name].value for half in halves]
        spread = (max(values) - min(values)) / figure.value
        found[name] = min(MOST_MARGIN, max(LEAST_MARGIN[figure.unit], 1 + 2 * spread))
    return found


def record(rounds, of=figures):
    """Figures as budget.json has them."""
    allowed, cold = margins(rounds, of), in_units(rounds, "cold", "cold reads")
    return {name: {"value": round(f.value, 3), "unit": f.unit, "margin": round(allowed[name], 3),
                   **({"cold reads": round(cold[name].value, 3)} if name in cold else {})}
            for name, f in of(rounds).items()}


def rose(name, value, recorded, margin, unit):
    """What is wrong with a figure, or None."""
    if value <= recorded * margin:
        return None
    return (f"{name}: {value:.4g} {unit}, recorded {recorded:.4g}: "
            f"{100 * (value / recorded - 1):.0f} % more, {100 * (margin - 1):.0f} % are allowed. "
            f"{ADVICE[unit]}; if it is worth it: make budget")


def judge(found, recorded, noise=None):
    """The figures that rose by more than they may. noise: the margins of the rounds that are judged;
    where a machine changes while it is measured, its own margin counts if it is larger."""
    said = []
    for name, figure in found.items():
        if name not in recorded:
            said.append(f"{name}: is not recorded")
            continue
        was = recorded[name]
        margin = max(was["margin"], (noise or {}).get(name, 0))
        said.append(rose(name, figure.value, was["value"], margin, figure.unit))
    return [s for s in said if s]


def judge_instructions(found, recorded):
    """found, recorded: mode -> program -> instructions that the verifier looked at."""
    said = []
    for mode, programs in found.items():
        for program, n in programs.items():
            was = recorded.get(mode, {}).get(program)
            name = f"verifier, {mode}: {program}"
            said.append(rose(name, n, was, INSTRUCTIONS_MARGIN, "instructions") if was
                        else f"{name}: is not recorded")
    return [s for s in said if s]
