// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* python_rows.c - which services have rows of their own. The rules are in python_metrics.h. */
#include <stdlib.h>
#include <string.h>

#include "agent/python_metrics_parts.h"
#include "base/util.h"

#define MINUTE_NS 60000000000ull
#define KEEP_NS (60 * MINUTE_NS)	/* a service without processes keeps its row this long */
#define NEEDED_NS (10 * MINUTE_NS)	/* ... if another one needs it */
#define HOTTER 2

static void give_row(struct python_metrics *m, struct python_service *s)
{
	memset(s->counters, 0, sizeof(s->counters));
	s->to = s;
	m->row_cnt++;
}

static void take_row(struct python_metrics *m, struct python_service *s)
{
	s->to = &m->other;
	m->row_cnt--;
}

void python_rows_forget(struct python_metrics *m, struct python_service *s)
{
	if (s == &m->other || s->processes || python_has_row(s))
		return;
	s->before->next = s->next;
	s->next->before = s->before;
	u64map_remove(&m->by_name, s->hash);
	m->service_cnt--;
	free(s);
}

static bool idle_for(const struct python_metrics *m, const struct python_service *s, uint64_t ns)
{
	return !s->processes && m->now - s->idle_since >= ns;
}

/* The service with a row that recently used least CPU; one without processes comes first. */
static struct python_service *coldest_row(const struct python_metrics *m)
{
	struct python_service *s, *best = NULL;

	PYTHON_EACH_SERVICE(m, s)
		if (python_has_row(s) && (!best || s->heat < best->heat ||
					  (s->heat == best->heat && !s->processes)))
			best = s;
	return best;
}

static struct python_service *hottest_without(const struct python_metrics *m)
{
	struct python_service *s, *best = NULL;

	PYTHON_EACH_SERVICE(m, s)
		if (!python_has_row(s) && (!best || s->heat > best->heat))
			best = s;
	return best;
}

static void take_and_forget(struct python_metrics *m, struct python_service *s)
{
	take_row(m, s);
	python_rows_forget(m, s);
}

void python_rows_ask(struct python_metrics *m, struct python_service *s)
{
	struct python_service *old, *idle = NULL;

	if (!m->row_max)
		return;
	if (m->row_cnt >= m->row_max) {
		PYTHON_EACH_SERVICE(m, old)
			if (python_has_row(old) && idle_for(m, old, NEEDED_NS) &&
			    (!idle || old->idle_since < idle->idle_since))
				idle = old;
		if (!idle)
			return;
		take_and_forget(m, idle);
	}
	give_row(m, s);
}

static void end_old_rows(struct python_metrics *m)
{
	struct python_service *s, *next;

	for (s = m->services.next; s != &m->services; s = next) {
		next = s->next;
		if (python_has_row(s) && idle_for(m, s, KEEP_NS))
			take_and_forget(m, s);
	}
}

/* Free rows go to the services that used most; then at most one row changes hands. */
static void hand_over(struct python_metrics *m)
{
	struct python_service *old, *s;

	while (m->row_cnt < m->row_max && (s = hottest_without(m)))
		give_row(m, s);
	s = hottest_without(m);
	old = coldest_row(m);
	if (!s || !old || !s->heat || s->heat / HOTTER < old->heat)
		return;
	if (!old->processes && !idle_for(m, old, NEEDED_NS))
		return;
	take_and_forget(m, old);
	give_row(m, s);
}

void python_rows_tick(struct python_metrics *m, uint64_t now)
{
	struct python_service *s;

	if (!m->cooled_ns)
		m->cooled_ns = now;
	if (now - m->cooled_ns < MINUTE_NS)
		return;
	m->cooled_ns = now;
	end_old_rows(m);
	hand_over(m);
	PYTHON_EACH_SERVICE(m, s)
		s->heat /= 2;
}

void python_metrics_set_rows(struct python_metrics *m, uint32_t rows)
{
	struct python_service *s;

	m->row_max = rows;
	while (m->row_cnt > rows && (s = coldest_row(m)))
		take_and_forget(m, s);
	while (m->row_cnt < rows && (s = hottest_without(m)))
		give_row(m, s);
}
