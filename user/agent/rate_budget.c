// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* rate_budget.c - see rate_budget.h. */
#include "agent/rate_budget.h"

#include <math.h>

#include "base/time.h"

#define MINUTE_NS (60 * NS_PER_S)
#define TRY_MAX_NS (60 * MINUTE_NS)
#define BUDGET_ROOM 0.93	/* of the target: no higher rate is tried above this */

/* Time constants of the two limits. A first verdict comes after fast_ns. */
static const struct budget_limit cpu_limit = {
	.fast_ns = 10 * NS_PER_S,
	.slow_ns = MINUTE_NS,
	.hold_ns = 30 * NS_PER_S,
	.try_ns = 2 * MINUTE_NS,
};
static const struct budget_limit bytes_limit = {
	.fast_ns = 2 * MINUTE_NS, .slow_ns = 5 * MINUTE_NS, .hold_ns = 5 * MINUTE_NS,
	.try_ns = 10 * MINUTE_NS,
};

static void set_targets(struct budget *b, const struct budget_targets *targets)
{
	b->targets = *targets;
	if (!b->targets.min_hz)
		b->targets.min_hz = 1;
	if (b->targets.max_hz < b->targets.min_hz)
		b->targets.max_hz = b->targets.min_hz;
	b->cpu.target = targets->cpu_share * targets->cpus;
	b->bytes.target = targets->bytes_per_minute / 60.0;
}

void budget_init(struct budget *b, const struct budget_targets *targets)
{
	*b = (struct budget){ .cpu = cpu_limit, .bytes = bytes_limit };
	set_targets(b, targets);
	b->rate_hz = b->targets.max_hz;
}

static uint32_t within_limits(const struct budget *b, double hz)
{
	if (!(hz > b->targets.min_hz))
		return b->targets.min_hz;
	return hz < b->targets.max_hz ? (uint32_t)hz : b->targets.max_hz;
}

/* ---- one limit ---- */

/* Moves the mean towards cost, over tau_ns; before that much time was seen, over all of it. */
static void move_mean(double *mean, double cost, uint64_t elapsed, uint64_t tau, uint64_t seen)
{
	double part = 1 - exp(-(double)elapsed / tau), plain = (double)elapsed / (seen + elapsed);

	*mean += (cost - *mean) * (part > plain ? part : plain);
}

static void observe_cost(struct budget_limit *l, double cost, uint64_t elapsed_ns)
{
	move_mean(&l->fast, cost, elapsed_ns, l->fast_ns, l->seen_ns);
	move_mean(&l->slow, cost, elapsed_ns, l->slow_ns, l->seen_ns);
	l->seen_ns += elapsed_ns;
	l->since_ns += elapsed_ns;
	/* A try that nothing has refuted for this long was good: the next one may come soon. */
	if (l->tried_from && l->since_ns > 2 * l->fast_ns + l->hold_ns)
		l->tried_from = 0;
}

/* The highest rate that certainly costs no more than BUDGET_AIM of the target. */
static double affordable_rate(const struct budget_limit *l, uint32_t rate, double cost)
{
	return cost > 0 ? rate * (BUDGET_AIM * l->target / cost) : INFINITY;
}

static double lower_rate(struct budget_limit *l, const struct budget *b)
{
	double cost, hz;

	if (l->fast > BUDGET_FAR * l->target)	/* the last minute tells nothing any more */
		l->slow = l->fast;
	cost = l->slow;
	hz = affordable_rate(l, b->rate_hz, cost);
	if (!l->tried_from)
		return hz;
	l->try_ns = 2 * l->try_ns < TRY_MAX_NS ? 2 * l->try_ns : TRY_MAX_NS;
	/* The rate before the try was good, unless much else has changed since. */
	if (cost < 2 * BUDGET_RISE * l->target && hz < l->tried_from)
		hz = l->tried_from;
	return hz;
}

/* Raises the rate by a quarter, but at least by 1 Hz. */
static double risen_rate(uint32_t rate)
{
	double hz = rate * BUDGET_RISE;

	return hz < rate + 1 ? rate + 1 : hz;
}

/* The rate that this limit wants. *trying: a higher one, although it may cost too much. */
static double wanted_rate(struct budget_limit *l, const struct budget *b, bool *trying)
{
	double up, surely;

	*trying = false;
	if (!l->target)
		return INFINITY;
	if (l->seen_ns < l->fast_ns)
		return b->rate_hz;
	if (l->fast > BUDGET_FAR * l->target || l->slow > l->target)
		return lower_rate(l, b);
	up = risen_rate(b->rate_hz);
	surely = affordable_rate(l, b->rate_hz, l->slow > l->fast ? l->slow : l->fast);
	if (l->since_ns < l->hold_ns)
		return b->rate_hz;
	if (surely >= b->rate_hz + 1 && surely >= b->rate_hz * (BUDGET_AIM / BUDGET_CALM))
		return up < surely ? up : surely;
	*trying = l->since_ns >= l->try_ns && l->slow < BUDGET_ROOM * l->target;
	return *trying ? up : b->rate_hz;
}

/* The rate has changed. Scales the means as if cost were in proportion. */
static void rate_changed(struct budget_limit *l, uint32_t from, uint32_t to, bool trying)
{
	double ratio = (double)to / from;

	l->since_ns = 0;
	l->tried_from = trying ? from : 0;
	if (ratio < 1) {
		l->fast *= ratio;
		l->slow *= ratio;
	} else if (l->seen_ns > l->fast_ns) {
		l->seen_ns = l->fast_ns;	/* the new rate's cost counts soon */
	}
}

/* ---- both ---- */

static void change_rate(struct budget *b, uint32_t to, bool cpu_tries, bool bytes_try)
{
	if (to == b->rate_hz)
		return;
	rate_changed(&b->cpu, b->rate_hz, to, cpu_tries && to > b->rate_hz);
	rate_changed(&b->bytes, b->rate_hz, to, bytes_try && to > b->rate_hz);
	b->rate_hz = to;
}

static enum budget_why why_now(const struct budget *b, double cpu, double bytes)
{
	bool at_floor = b->rate_hz == b->targets.min_hz;

	if (at_floor && b->cpu.target && b->cpu.slow > b->cpu.target)
		return BUDGET_CPU_OVER;
	if (at_floor && b->bytes.target && b->bytes.slow > b->bytes.target)
		return BUDGET_BYTES_OVER;
	if (b->rate_hz == b->targets.max_hz)
		return BUDGET_FREE;
	return cpu <= bytes ? BUDGET_CPU : BUDGET_BYTES;
}

uint32_t budget_step(struct budget *b, const struct budget_used *used)
{
	double cpu, bytes, seconds = used->elapsed_ns / 1e9;
	bool cpu_tries, bytes_try;
	uint32_t rate;

	if (!used->elapsed_ns)
		return b->rate_hz;
	observe_cost(&b->cpu, used->cpu_ns / 1e9 / seconds, used->elapsed_ns);
	observe_cost(&b->bytes, used->bytes / seconds, used->elapsed_ns);
	cpu = wanted_rate(&b->cpu, b, &cpu_tries);
	bytes = wanted_rate(&b->bytes, b, &bytes_try);
	rate = within_limits(b, cpu < bytes ? cpu : bytes);
	change_rate(b, rate, cpu_tries, bytes_try);
	b->why = why_now(b, cpu, bytes);
	return b->rate_hz;
}

uint32_t budget_retarget(struct budget *b, const struct budget_targets *targets)
{
	bool at_top = b->rate_hz == b->targets.max_hz;

	set_targets(b, targets);
	change_rate(b, within_limits(b, at_top ? b->targets.max_hz : b->rate_hz), false, false);
	return b->rate_hz;
}

const char *budget_why_name(enum budget_why why)
{
	static const char *const names[] = {
		[BUDGET_FREE] = "free", [BUDGET_CPU] = "cpu", [BUDGET_BYTES] = "bytes",
		[BUDGET_CPU_OVER] = "cpu-over", [BUDGET_BYTES_OVER] = "bytes-over",
	};

	return names[why];
}

double budget_cpu_share(const struct budget *b)
{
	return b->targets.cpus && b->cpu.seen_ns ? b->cpu.slow / b->targets.cpus : 0;
}
