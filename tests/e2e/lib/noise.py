# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What chance may do to a measurement: the one place for statistical bounds of the tests.

A bound comes from the number of samples, from the CPU time that the kernel counted for a
thread (never from the wall clock), and from ticks that the machine did not deliver. Each
test raises at most one false alarm in a million (RISK). Standard library only.

The model of the recorder's clock (user/capture/tick_jitter.h): each CPU ticks with a rate that is
uniform within +-JITTER around the one that was asked for, drawn anew every CHANGE_S seconds
with a new phase; in the long run the rate is the one that was asked for. With a fixed period
the bounds hold, too: they are wider than is necessary.

Tails are those of Chernoff and Hoeffding: for independent samples they hold for every n. A
design effect above 1 is the variance's, put into the same tail; test_noise.py simulates it.
"""
import math
import os
from collections import namedtuple
from pathlib import Path

import tally

RISK = 1e-6                 # of a false alarm, for each test
JITTER = 0.25               # of a rate: uniform within so much around the one asked for
PAID = 0.15                 # and so much more at most, for what changes have cost
CHANGE_S = (0.05, 0.10)     # a CPU's period lasts so long, at least and at most

SPREAD = JITTER / math.sqrt(3)      # standard deviation of the rate, relative
SLOWEST = FASTEST = JITTER + PAID   # no rate is farther off
# A program with the period of the clock: of a change's m ticks all fall into one phase if the
# drawn period is within 1/(2m) of the program's, which has probability 1/(2*JITTER*m): m^2
# times that is a variance of m/(2*JITTER), as against a binomial one of m.
LOCKSTEP = 1 / (2 * JITTER)


class Bound(namedtuple("Bound", "low high")):
    """What a count may be; `count in bound`."""
    __slots__ = ()

    def __contains__(self, count):
        return self.low <= count <= self.high

    def __str__(self):
        return f"{self.low:.7g} to {self.high:.7g}"


def _nats(risk):
    """Chernoff's exponent of a bound with two sides."""
    return math.log(2 / risk)


def divergence(q, p):
    """Kullback-Leibler, of two coins."""
    def part(a, b):
        return 0.0 if not a else math.inf if not b else a * math.log(a / b)
    return part(q, p) + part(1 - q, 1 - p)


def _farthest(n, p, end, nats):
    """The share between p and end at which Chernoff's bound reaches the risk."""
    if n * divergence(end, p) <= nats:
        return end
    near, far = p, end
    for _ in range(60):
        middle = (near + far) / 2
        near, far = (middle, far) if n * divergence(middle, p) <= nats else (near, middle)
    return far


def proportion_bound(n, p, risk=RISK):
    """What share of n independent samples has what each of them has with probability p."""
    nats = _nats(risk)
    return Bound(_farthest(n, p, 0.0, nats), _farthest(n, p, 1.0, nats))


def share_bound(n, p, missed=0, design=1.0, risk=RISK):
    """How many of n samples may be in a function that had the share p of the CPU time.

    Ticks that were missed are samples of any function: they widen. design: by how much the
    variance exceeds that of independent samples. 1 for what alternates irregularly within a
    change of the period; LOCKSTEP for a regular program; slow_design() for long stretches.
    """
    all_of_them = n + missed
    share = proportion_bound(all_of_them / design, p, risk)
    return Bound(max(0.0, all_of_them * share.low - missed), min(n, all_of_them * share.high))


def lockstep_bound(n, p, rate, missed=0, risk=RISK):
    """How many of n samples may be in one part of a program that has the clock's period.

    LOCKSTEP is the variance; but it comes in lumps, of all ticks of one change at the most
    (Bernstein's inequality).
    """
    nats, variance = _nats(risk), n * p * (1 - p) * LOCKSTEP
    lump = nats * rate * CHANGE_S[1] / 3
    off = lump + math.sqrt(lump ** 2 + 2 * nats * variance)
    return Bound(max(0.0, n * p - off - missed), min(n, n * p + off + missed))


def slow_design(rate):
    """Design effect where a function runs for longer than a period of the clock lasts: the
    share has the variance p(1-p) * SPREAD^2 * CHANGE_S / T besides that of its n = rate*T."""
    return 1 + SPREAD ** 2 * CHANGE_S[1] * rate


def few_bound(n, p, risk=RISK):
    """How many of n may have what happens with a probability of p at the most."""
    return n * _farthest(n, p, 1.0, math.log(1 / risk))


def most_bound(n, p, risk=RISK):
    """How many of n must have what happens with a probability of p at the least."""
    return n * _farthest(n, p, 0.0, math.log(1 / risk))


def bytes_bound(size, every, risk=RISK):
    """How many bytes sampled page faults may find where there were so many, one fault for `every`.

    Several clocks of a CPU count faults (user/capture/capture_faults.c), with periods that are uniform within
    JITTER; a sampled fault weighs its clock's period, all clocks together `every` on average. Where
    others' faults come in between at will, it is a matter of chance which fault is sampled: a sum of
    weights of at most (1 + JITTER) * every, whose variance is that of a Poisson count and the weights' own
    (Bennett's inequality). Faults that follow one another are sampled more evenly.
    """
    most, variance = (1 + JITTER) * every, size * every * (1 + SPREAD ** 2)
    if not size:
        return Bound(0.0, 0.0)
    near, far = 0.0, size + 4 * most * _nats(risk)
    for _ in range(60):
        off = (near + far) / 2
        u = most * off / variance
        enough = variance / most ** 2 * ((1 + u) * math.log1p(u) - u) > _nats(risk)
        near, far = (near, off) if enough else (off, far)
    return Bound(max(0.0, size - far), size + far)


def samples_needed(p, risk=RISK):
    """Of so many samples at least one is in a function with the share p."""
    return math.ceil(math.log(risk) / math.log1p(-p)) if p < 1 else 1


def count_bound(cpu_s, rate, missed=0, slices=None, risk=RISK):
    """How many ticks a thread gets in cpu_s seconds of CPU time, of which `missed` did not come.

    Two errors, added: the rate's (each change's error is uniform, thus sub-Gaussian with its own
    variance; and none is more than JITTER allows), and what each piece is rounded by, less than a
    tick with mean 0 (Hoeffding: a variance of 1). Pieces are the changes of the period and the
    thread's time slices (the third number in its schedstat); without it each tick is a piece. The
    scheduler's slices are regular: LOCKSTEP.
    """
    nats, mean = _nats(risk), cpu_s * rate
    rate_error = mean * SPREAD * math.sqrt(2 * nats * CHANGE_S[1] / cpu_s) if cpu_s else 0.0
    pieces = (mean if slices is None else min(slices, mean)) + cpu_s / CHANGE_S[0] + 1
    rounding = math.sqrt(2 * nats * LOCKSTEP * pieces) + nats / 3
    return Bound(max(0.0, mean - min(rate_error, SLOWEST * mean) - rounding - missed),
                 mean + min(rate_error, FASTEST * mean) + rounding)


def least(cpu_s, rate, missed=0, slices=None):
    """So many samples there must be; one at the least where none would be a miracle."""
    surely = cpu_s * rate - missed >= LOCKSTEP * math.log(1 / RISK)
    return max(count_bound(cpu_s, rate, missed, slices).low, 1 if surely else 0)


def cpu_for(samples, rate, risk=RISK):
    """The CPU time after which there are at least so many samples."""
    seconds = samples / rate
    while count_bound(seconds, rate, risk=risk).low < samples:
        seconds *= 1.05
    return seconds


# ---- waits, which are measured ----

# What a switch takes that no clock of ours sees: the scheduler reads its clock when it begins to
# switch, and when a wakeup has reached the other CPU; the tracepoint's program reads it later.
# A wakeup of another CPU is an interrupt, which takes 30 us on a virtual machine, and so does an
# idle CPU until it runs again.
SWITCH_S = 60e-6
# A wait is as many samples as it has intervals; what is left over is kept for the thread's next
# wait of this kind (user/waits.c). So a sum lacks less than one at each of its two ends.
ENDS = 2


def wait_error(rate, switches=0, kinds=1, switch_s=SWITCH_S):
    """Seconds that a thread's measured waits of so many kinds may differ from its own clocks."""
    return ENDS * kinds / rate + switches * switch_s


def wait_bound(low_s, high_s, rate, switches=0, kinds=1, switch_s=SWITCH_S):
    """Of waits that by the thread's own clocks took at least low_s and at most high_s."""
    error = wait_error(rate, switches, kinds, switch_s)
    return Bound(low_s - error, high_s + error)


# ---- what the machine and the kernel say ----

class Account(namedtuple("Account", "cpu_s starved_s slices")):
    """What the scheduler counted for threads: time on a CPU, without one, times on one."""
    __slots__ = ()

    def __sub__(self, before):
        return Account(*(a - b for a, b in zip(self, before)))


def account(pid):
    """Of all threads that a process has now (schedstat)."""
    total = [0, 0, 0]
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            numbers = (task / "schedstat").read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total = [a + int(b) for a, b in zip(total, numbers)]
    return Account(total[0] / 1e9, total[1] / 1e9, total[2])


def stolen_s(text=None):
    """Seconds for which the host had this machine's CPUs (steal in /proc/stat), so far."""
    text = Path("/proc/stat").read_text() if text is None else text
    return int(text.split("\n", 1)[0].split()[8]) / os.sysconf("SC_CLK_TCK")


def missed(summary, stolen=0.0):
    """Ticks that did not come. The recorder sees those between two ticks in one thread; when the
    thread changed meanwhile only the host's own account tells (stolen: seconds of it)."""
    return summary["ticks"]["missed"] + stolen * summary["rate_hz"]


# ---- once more: only where nothing but the machine's own counters decides, never in make check ----

def note_retry(test, why):
    """Printed, and counted in the last lines of a run."""
    print(f"RETRIED {test}: {why}", flush=True)
    tally.retried(test, why)
