// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * agent_parts.c - what the loop and a reload do with the parts: they end a window and begin the
 * next, and give the parts their configuration. See agent_state.h.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent_state.h"
#include "base/time.h"
#include "base/util.h"
#include "config/config.h"
#include "capture/capture.h"

/* ---- the configuration in the form that the parts want ---- */

void agent_take_services(struct agent *a)
{
	const struct agent_privacy *p = &a->config->privacy;
	const struct agent_map *labels = &a->config->labels;
	size_t i;

	attrs_clear(&a->labels);
	for (i = 0; i < labels->cnt; i++)
		attrs_put_text(&a->labels, labels->pairs[i].name, labels->pairs[i].value);
	if (a->labels.dropped)
		log_warn("%u labels are left out: 47 of at most 8 KiB in all are possible",
			 a->labels.dropped);

	a->services = (struct service_config){
		.rules = a->config->service_rules.rules,
		.rule_cnt = a->config->service_rules.cnt,
		.privacy = {
			.command_line = p->command_line, .paths = p->paths == AGENT_PATHS_FULL,
			.host_name = p->host_name, .user = p->usernames,
			.containers = p->containers, .others = true,
		},
		.labels = &a->labels,
		.trust_processes = a->config->trust == AGENT_TRUST_PROCESS,
	};
}

/* Returns true if stderr is systemd's journal, which has times itself: systemd.exec(5). */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char own[64];
	struct stat st;

	if (!stream || fstat(STDERR_FILENO, &st))
		return false;
	snprintf(own, sizeof(own), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	return !strcmp(own, stream);
}

void agent_take_log(const struct agent_config *c)
{
	log_set_level(c->log_level);
	log_set_form(c->log_form == LOG_TIMED && is_journal() ? LOG_TEXT : c->log_form);
}

struct proc_filter *agent_filter(struct agent *a)
{
	struct proc_filter *f = &a->filters[a->filter];

	return f->cnt || f->min_age_s > 0 ? f : NULL;
}

struct window_privacy agent_window_privacy(const struct agent_config *c)
{
	return (struct window_privacy){
		.no_directories = c->privacy.paths == AGENT_PATHS_BASE,
		.no_exceptions = !c->privacy.exception_types,
	};
}

struct agent_heap_args agent_heap_of(const struct agent *a)
{
	return (struct agent_heap_args){
		.windows = a->windows, .every_ns = a->config->heap.every_ns,
		.processes = a->config->heap.processes, .cpu_percent = a->config->heap.cpu_percent,
	};
}

/* ---- windows ---- */

/*
 * How often the open window is written through, and the share of a CPU that this may take: one part
 * in so many. Samples have waited in the ring buffer for AGENT_BATCH_MS, which is also how often
 * the loop wakes.
 */
#define DRAFT_NS NS_PER_S
#define DRAFT_COST 400

static struct agent_window_facts facts_of(const struct agent *a)
{
	return (struct agent_window_facts){
		.period_ns = sampling_interval_us(capture_rate(a->capture)) * 1000,
		.links = agent_windows_links(a->windows),
		.samples = agent_windows_samples(a->windows), .config = &a->services,
	};
}

void agent_draft_window(struct agent *a, uint64_t now)
{
	struct agent_window_facts facts = facts_of(a);
	uint64_t cost;

	delivery_meter(agent_exports_delivery(a->exports), facts.samples);
	if (now < a->next_draft_ns || facts.samples == a->drafted_samples)
		return;
	cost = agent_exports_counts(a->exports)->encode_ns;
	agent_exports_draft(a->exports, agent_windows_so_far(a->windows),
			    agent_windows_services(a->windows), &facts);
	agent_windows_go_on(a->windows);
	cost = agent_exports_counts(a->exports)->encode_ns - cost;
	a->drafted_samples = facts.samples;
	a->next_draft_ns = now + (cost * DRAFT_COST > DRAFT_NS ? cost * DRAFT_COST : DRAFT_NS);
}

void agent_end_window(struct agent *a)
{
	struct agent_window_facts facts = facts_of(a);
	const struct window *w = agent_windows_finish(a->windows);

	agent_exports_window(a->exports, w, agent_windows_services(a->windows), &facts);
	agent_files_window(a->files, w, facts.period_ns);
	malloc_trim(0);		/* tables that have grown have left holes */
}

void agent_begin_window(struct agent *a)
{
	struct agent_weight weight;

	agent_windows_next(a->windows);
	a->drafted_samples = 0;
	a->next_draft_ns = now_ns() + DRAFT_NS;
	weight = agent_rate_window(a->rate, agent_windows_aligned_ns(a->windows));
	agent_windows_set_weight(a->windows, weight.mul, weight.div);
}
