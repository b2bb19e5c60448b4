// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * options_check_live.c - which options go together, of the commands that look at running processes.
 * See options_tables.h.
 */
#include <errno.h>

#include "base/util.h"
#include "commands/options_tables.h"

#define BLOCKED_MIN_S 0.1
#define BLOCKED_MAX_S 300
#define HEAP_SINCE_MAX_S (24 * 3600)
#define TOP_MIN_S 0.1
#define TOP_MAX_S 3600

static int refuse(const char *why)
{
	log_error("%s", why);
	return -EINVAL;
}

void options_use_conditions(struct select_options *select, bool chosen)
{
	if (!chosen && (select->proc_filter.cnt || select->proc_filter.min_age_s > 0))
		select->all = true;
}

int options_check_top(struct options *o)
{
	struct select_options *select = &o->top.select;

	if (select->all && select->pid_cnt)
		return refuse("-a and -p are mutually exclusive: use only one of them");
	if (o->top.interval_s < TOP_MIN_S || o->top.interval_s > TOP_MAX_S) {
		log_error("--interval must be from %g s to %d s", TOP_MIN_S, TOP_MAX_S);
		return -EINVAL;
	}
	select->all = !select->pid_cnt;
	return 0;
}

int options_check_dump(struct options *o)
{
	struct select_options *select = &o->dump.select;
	double s = o->dump.blocked_s;

	options_use_conditions(select, select->pid_cnt);
	if (s > BLOCKED_MAX_S || (s > 0 && s < BLOCKED_MIN_S)) {
		log_error("--blocked must be from %g s to %d s", BLOCKED_MIN_S, BLOCKED_MAX_S);
		return -EINVAL;
	}
	if (select->all && select->pid_cnt)
		return refuse("-a and process IDs are mutually exclusive: use only one of them");
	if (!select->all && !select->pid_cnt)
		return refuse("nothing selected: use a PID, -a, or a filter such as --container "
			      "NAME; see: tachbpf dump --help");
	return 0;
}

int options_check_heap(struct options *o)
{
	struct heap_options *h = &o->heap;

	options_use_conditions(&h->select, h->select.pid_cnt);
	if (h->select.all && h->select.pid_cnt)
		return refuse("-a and process IDs are mutually exclusive: use only one of them");
	if (!h->select.all && !h->select.pid_cnt)
		return refuse("nothing selected: use a PID, -a, or a filter such as --container "
			      "NAME; see: tachbpf heap --help");
	if (h->why && h->since_s > 0)
		return refuse("--why and --since are mutually exclusive: use only one of them");
	if (h->values && !h->why)
		return refuse("--values requires --why TYPE");
	if (h->sort == HEAP_SORT_GROWTH && !(h->since_s > 0))
		return refuse("--sort growth requires --since TIME");
	if (h->since_s > HEAP_SINCE_MAX_S)
		return refuse("--since must be at most 24 h; for longer times keep two censuses: "
			      "tachbpf heap PID --json > before.json, and later tachbpf diff "
			      "before.json after.json");
	return 0;
}
