// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* loop_health.c - see loop_health.h. */
#include "asyncio/loop_health.h"

#include <string.h>

#include "base/time.h"
#include "base/util.h"

/* Two clocks are read a little apart. */
#define APART_NS (20 * NS_PER_MS)

static void raise_to(uint64_t *max, uint64_t value)
{
	if (value > *max)
		*max = value;
}

static struct loop_second *second_of(struct loop_health *h, uint64_t now_ns)
{
	uint64_t second = now_ns / NS_PER_S + 1;
	struct loop_second *s = &h->seconds[second % ARRAY_SIZE(h->seconds)];

	if (s->second != second)
		*s = (struct loop_second){ .second = second };
	return s;
}

/* The loop in the last look; NULL: it was not there. */
static const struct loop_seen *seen_before(const struct loop_health *h,
					   const struct loop_state *s)
{
	size_t i;

	for (i = 0; i < LOOP_HEALTH_LOOPS && h->seen[i].at_ns; i++)
		if (h->seen[i].addr == s->addr && h->seen[i].tid == s->tid)
			return &h->seen[i];
	return NULL;
}

/*
 * The last look says that this turn cannot have begun so early: the loop was in another one then,
 * or waited. The process' memory may be read while it changes, or its clock be another one.
 */
static bool is_contradicted(const struct loop_seen *before, const struct loop_state *s,
			    uint64_t now_ns)
{
	return before && before->timed && before->turn_ns != s->turn_ns &&
	       s->busy_ns > APART_NS && before->at_ns > now_ns - s->busy_ns + APART_NS;
}

/* The first callback of a turn begins with it. Another one began after it was seen last. */
static uint64_t begin_of(const struct loop_seen *before, const struct loop_state *s,
			 uint64_t now_ns)
{
	if (!s->nth)
		return now_ns - s->busy_ns;
	if (s->nth != LOOP_UNKNOWN && before && before->timed && before->turn_ns == s->turn_ns &&
	    before->nth == s->nth)
		return before->first_ns;
	return now_ns;
}

/* A loop that is busy: *out is how it was seen. Returns false if its time is contradicted. */
static bool see_busy(const struct loop_seen *before, const struct loop_state *s, uint64_t now_ns,
		     struct loop_seen *out)
{
	if (s->busy_ns > now_ns || is_contradicted(before, s, now_ns))
		return false;
	out->timed = true;
	out->turn_ns = s->turn_ns;
	out->nth = s->nth;
	out->first_ns = begin_of(before, s, now_ns);
	return true;
}

static void add_times(struct loop_health *h, struct loop_second *second, uint64_t now_ns,
		      const struct loop_state *s, struct loop_seen *out)
{
	const struct loop_seen *before = seen_before(h, s);

	*out = (struct loop_seen){ .addr = s->addr, .tid = s->tid, .at_ns = now_ns,
				   .turn_ns = LOOP_UNKNOWN, .nth = LOOP_UNKNOWN };
	if (s->busy_ns == 0) {
		out->timed = true;
		second->timed_looks++;
	} else if (s->busy_ns != LOOP_UNKNOWN && see_busy(before, s, now_ns, out)) {
		second->timed_looks++;
		raise_to(&second->longest_ns, now_ns - out->first_ns);
		raise_to(&second->lag_ns, s->busy_ns);
	} else if (s->busy_ns != LOOP_UNKNOWN) {
		h->contradicted++;
	}
	/* A timer cannot have been due before the clock began. */
	if (s->late_ns != LOOP_UNKNOWN && s->late_ns <= now_ns && out->timed)
		raise_to(&second->lag_ns, s->late_ns);
}

void loop_health_add(struct loop_health *h, uint64_t now_ns, const struct loop_states *s)
{
	struct loop_second *second = second_of(h, now_ns);
	struct loop_seen seen[LOOP_HEALTH_LOOPS] = { 0 };
	uint32_t i, cnt = s->cnt < LOOP_HEALTH_LOOPS ? s->cnt : LOOP_HEALTH_LOOPS;
	bool ready_known = false;
	uint64_t ready = 0;

	second->looks++;
	for (i = 0; i < cnt; i++) {
		add_times(h, second, now_ns, &s->loop[i], &seen[i]);
		if (s->loop[i].ready == LOOP_UNKNOWN)
			continue;
		ready_known = true;
		ready += s->loop[i].ready;
	}
	if (ready_known) {
		second->ready_looks++;
		second->ready_sum += ready;
		raise_to(&second->ready_max, ready);
	}
	memcpy(h->seen, seen, sizeof(seen));
	h->loops = s->cnt;
}

void loop_health_figures(const struct loop_health *h, uint64_t now_ns, uint32_t seconds,
			 struct loop_figures *out)
{
	uint64_t last = now_ns / NS_PER_S + 1, ready_looks = 0, timed = 0;
	const struct loop_second *s;
	double sum = 0;

	*out = (struct loop_figures){ .loops = h->loops };
	for (s = h->seconds; s < h->seconds + ARRAY_SIZE(h->seconds); s++) {
		if (!s->second || s->second + seconds < last)
			continue;
		out->looks += s->looks;
		ready_looks += s->ready_looks;
		timed += s->timed_looks;
		sum += (double)s->ready_sum;
		raise_to(&out->ready_max, s->ready_max);
		raise_to(&out->longest_ns, s->longest_ns);
		raise_to(&out->lag_ns, s->lag_ns);
	}
	if (ready_looks)
		out->ready_mean = sum / (double)ready_looks;
	else
		out->ready_max = LOOP_UNKNOWN;
	if (!timed)
		out->longest_ns = out->lag_ns = LOOP_UNKNOWN;
}
