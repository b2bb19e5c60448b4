# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The bounds of noise.py: simulated clocks raise no more false alarms than they may."""
import itertools
import math
import os
import random

import pytest

import noise

RATE = 999
# Alarms at a risk that a simulation can show; the same formulas are used with noise.RISK.
RISK = 0.01
RUNS = 1500


def allowed(runs):
    """Of so many runs; itself with a risk of one in a million."""
    return noise.few_bound(runs, RISK)


def ticks(rnd, seconds, rate=RATE, jitter=noise.JITTER):
    """Times at which one CPU's clock ticks: the model that noise.py describes."""
    at = 0.0
    while at < seconds:
        end = at + rnd.uniform(*noise.CHANGE_S)
        period = 1 / (rate * (1 + rnd.uniform(-jitter, jitter)))
        tick = at + rnd.random() * period
        while tick < min(end, seconds):
            yield tick
            tick += period
        at = end


def slices(rnd, cpu_s, regular):
    """(begin, end) of a thread's turns on a CPU that it shares, so much CPU time in all."""
    at, left = rnd.random() * 0.004, cpu_s
    while left > 0:
        length = min(left, 0.004 if regular else rnd.expovariate(1 / 0.003))
        yield at, at + length
        left -= length
        at += length + (0.004 if regular else rnd.expovariate(1 / 0.003))


def inside(times, turns):
    """How many of the times fall into a turn; both in order."""
    times, found = iter(times), 0
    t = next(times, math.inf)
    for begin, end in turns:
        while t < end:
            found += t >= begin
            t = next(times, math.inf)
    return found


# ---- shares ----

def test_binomial_tails_are_not_too_narrow():
    """Against the exact distribution, at the risk that the tests have."""
    for n, p in itertools.product((1, 5, 50, 400), (0.001, 0.1, 0.5, 0.6, 0.97)):
        bound = noise.share_bound(n, p)
        log_pmf = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) +
                   k * math.log(p) + (n - k) * math.log1p(-p) for k in range(n + 1)]
        outside = sum(math.exp(x) for k, x in enumerate(log_pmf) if k not in bound)
        assert outside <= noise.RISK, (n, p, outside)


def test_binomial_tails_are_narrow_enough():
    """A share that is off by five points is found with the samples of ten seconds, and the
    bound is not twice as wide as the normal one (4.9 standard deviations)."""
    n, p = 10 * RATE, 0.6
    bound = noise.share_bound(n, p)
    assert (p + 0.05) * n not in bound and (p - 0.05) * n not in bound
    sd = math.sqrt(n * p * (1 - p))
    assert 4.9 * sd < bound.high - n * p < 6 * sd
    assert 4.9 * sd < n * p - bound.low < 6 * sd


def test_edges():
    assert noise.share_bound(0, 0.5) == (0, 0)
    assert 100 in noise.share_bound(100, 1.0) and 99 not in noise.share_bound(100, 1.0)
    assert 0 in noise.share_bound(100, 0.0) and 1 not in noise.share_bound(100, 0.0)
    assert noise.count_bound(0, RATE).low == 0
    assert noise.samples_needed(1.0) == 1


def test_missed_ticks_widen_and_never_hide():
    plain, wide = noise.share_bound(1000, 0.6), noise.share_bound(1000, 0.6, missed=50)
    assert wide.low < plain.low - 15 and wide.high > plain.high + 25
    # all that was missed was in the function, or none of it
    assert 0.6 * 1050 - 50 in wide and 0.6 * 1050 in wide
    assert 0.8 * 1000 not in wide
    assert noise.count_bound(2, RATE, missed=100).high == noise.count_bound(2, RATE).high
    assert noise.count_bound(2, RATE, missed=100).low == noise.count_bound(2, RATE).low - 100


def irregular(rnd, n):
    """Whether each of n ticks of the clock is in a function that runs for 60 % of the time,
    with turns of random length, as targets/shares.py has them."""
    turn, at = [], 0.0
    end = n / RATE
    while at < end:
        unit = rnd.uniform(0.5e-3, 1e-3)
        turn.append((at, at + 6 * unit))
        at += 10 * unit
    return turn


@pytest.mark.parametrize("missing", [0, 100])
def test_alarms_of_irregular_programs(missing):
    """missing: so many ticks did not come, all of them in one function."""
    rnd, alarms = random.Random(missing), 0
    for _ in range(RUNS):
        clock = list(ticks(rnd, 1.0))
        k, n = inside(clock, irregular(rnd, 1.0 * RATE)), len(clock)
        k, n = max(0, k - missing), n - min(k, missing)
        alarms += k not in noise.share_bound(n, 0.6, missed=missing, risk=RISK)
    assert alarms <= allowed(RUNS)


def test_alarms_of_programs_in_lock_step():
    """The program's turn is as long as the clock's mean period: the worst there is."""
    rnd, alarms, seconds = random.Random(3), 0, 4.0
    period = 1 / RATE
    for _ in range(RUNS // 3):
        phase = rnd.random()
        ons = [int(((t / period) + phase) % 1 < 0.6) for t in ticks(rnd, seconds)]
        alarms += sum(ons) not in noise.lockstep_bound(len(ons), 0.6, RATE, risk=RISK)
    assert alarms <= allowed(RUNS // 3)


def test_alarms_of_programs_with_long_turns():
    """Half a second in one function, then half in another."""
    rnd, alarms = random.Random(4), 0
    for _ in range(RUNS // 3):
        clock = list(ticks(rnd, 4.0))
        k = sum(t % 1 < 0.5 for t in clock)
        alarms += k not in noise.share_bound(len(clock), 0.5, design=noise.slow_design(RATE), risk=RISK)
    assert alarms <= allowed(RUNS // 3)


# ---- counts ----

@pytest.mark.parametrize("seconds", [0.05, 0.4, 3.0])
def test_alarms_of_a_thread_with_a_cpu_of_its_own(seconds):
    rnd = random.Random(5)
    bound = noise.count_bound(seconds, RATE, slices=1, risk=RISK)
    alarms = sum(sum(1 for _ in ticks(rnd, seconds)) not in bound for _ in range(RUNS))
    assert alarms <= allowed(RUNS)


@pytest.mark.parametrize("regular", [True, False], ids=["regular", "irregular"])
@pytest.mark.parametrize("jitter", [noise.JITTER, 0.0], ids=["varied", "fixed"])
def test_alarms_of_a_thread_that_shares_its_cpu(regular, jitter):
    rnd, alarms, runs = random.Random(6), 0, RUNS // 3
    for _ in range(runs):
        turns = list(slices(rnd, 0.5, regular))
        clock = list(ticks(rnd, turns[-1][1], jitter=jitter))
        bound = noise.count_bound(0.5, RATE, slices=len(turns), risk=RISK)
        alarms += inside(clock, turns) not in bound
    assert alarms <= allowed(runs)


def test_a_count_that_is_wrong_is_found():
    """A fifth of the samples of ten seconds is gone, or half of those of one."""
    assert 0.8 * 10 * RATE not in noise.count_bound(10, RATE, slices=500)
    assert 0.5 * RATE not in noise.count_bound(1, RATE, slices=100)


def test_one_sample_at_the_least():
    assert noise.least(0.08, RATE) == 1 and noise.least(0.02, RATE) == 0
    assert noise.least(0.08, RATE, missed=60) == 0
    assert noise.least(10, RATE) == noise.count_bound(10, RATE).low


def test_seconds_that_give_samples():
    seconds = noise.cpu_for(300, RATE)
    assert noise.count_bound(seconds, RATE).low >= 300
    assert noise.count_bound(0.9 * seconds, RATE).low < 300 and seconds < 1


def test_samples_that_show_a_function():
    assert 0.9 ** noise.samples_needed(0.1) <= noise.RISK < 0.9 ** (noise.samples_needed(0.1) - 1)


def test_few_and_most():
    n, p = 20000, 0.001
    assert 20 < noise.few_bound(n, p) < 60
    assert noise.most_bound(n, 1 - p) == pytest.approx(n - noise.few_bound(n, p), abs=1e-6 * n)
    assert noise.few_bound(100, 0) == pytest.approx(0, abs=1e-9)


# ---- what the machine says ----

STAT = "cpu  74986 0 12616 61778 1091 0 227 %d 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n"
SUMMARY = {"rate_hz": 500, "ticks": {"missed": 7, "expected": 99}}


def samples_of_waits(waits, rate, begin, end):
    """As user/waits.c makes them: an interval each; what is left over is kept for the next wait."""
    interval, rest, samples = 1 / rate, 0.0, 0
    for start, stop in waits:
        first = start + interval - rest
        cnt = int((rest + stop - start) / interval)
        rest = (rest + stop - start) % interval
        samples += sum(begin <= first + i * interval < end for i in range(cnt))
    return samples


def test_sums_of_waits_differ_by_less_than_their_ends():
    for seed in range(200):
        chance, waits, now = random.Random(seed), [], 0.0
        for _ in range(100):
            start = now + chance.uniform(0, 0.002)
            now = start + chance.choice((0.0001, 0.005)) * chance.uniform(0.1, 2)
            waits.append((start, now))
        begin, end = 0.2 * now, 0.8 * now
        waited = sum(max(0, min(b, end) - max(a, begin)) for a, b in waits)
        seen = samples_of_waits(waits, 999, begin, end) / 999
        assert seen in noise.wait_bound(waited, waited, 999)
        assert seen + 0.01 not in noise.wait_bound(waited, waited, 999)


def test_steal_is_missed_ticks():
    assert noise.stolen_s(STAT % 250) == pytest.approx(2.5)
    assert noise.stolen_s() >= 0
    assert noise.missed(SUMMARY) == 7 and noise.missed(SUMMARY, 0.1) == pytest.approx(57)


def test_account_of_this_process():
    before = noise.account(os.getpid())
    sum(range(3000000))
    spent = noise.account(os.getpid()) - before
    assert spent.cpu_s > 0.005 and spent.slices >= 0


# ---- bytes ----

PAGES = 16                  # in a distance
CLOCKS = 3


class FaultClock:
    """One of a CPU's: the model that noise.bytes_bound describes."""

    def __init__(self, rnd):
        self.rnd = rnd
        self.change()
        self.left = rnd.randint(1, self.period)

    def change(self):
        mean = CLOCKS * PAGES
        self.period = self.left = self.rnd.randint(mean - mean // 4, mean + mean // 4)

    def pass_by(self, faults):
        """The weight of those of so many faults that it chooses, in distances."""
        if faults < self.left:
            self.left -= faults
            return 0.0
        chosen = 1 + (faults - self.left) // self.period
        self.left = self.period - (faults - self.left) % self.period
        return chosen * self.period / CLOCKS / PAGES


def sampled_bytes(rnd, runs):
    """What the clocks find of a function's faults, in distances; runs: (ours, others') in turn."""
    clocks, found = [FaultClock(rnd) for _ in range(CLOCKS)], 0.0
    for number, (ours, others) in enumerate(runs):
        for clock in clocks:
            if number % 50 == 49:
                clock.change()
                clock.left = rnd.randint(1, clock.period)
            found += clock.pass_by(ours)
            clock.pass_by(others)
    return found


@pytest.mark.parametrize("ours, others", [((1, 1), (1, 200)), ((1, 40), (1, 40)), ((256, 256), (1, 90)),
                                          ((16, 16), (16, 16)), ((24, 24), (24, 24))])
def test_bytes_that_are_sampled(ours, others):
    """Others' faults come in between at will, or always as many; runs of one fault, of a MiB."""
    rnd, alarms = random.Random(13), 0
    for _ in range(RUNS):
        runs = [(rnd.randint(*ours), rnd.randint(*others)) for _ in range(300)]
        size = sum(run[0] for run in runs) / PAGES
        alarms += sampled_bytes(rnd, runs) not in noise.bytes_bound(size, 1, RISK)
    assert alarms <= allowed(RUNS)


def test_bytes_within_five_percent_from_so_many_on():
    """832 MiB at one in 64 KiB."""
    bound = noise.bytes_bound(13000, 1)
    assert bound.high < 1.05 * 13000 and bound.low > 0.95 * 13000
    assert noise.bytes_bound(0, 1) == (0, 0)
