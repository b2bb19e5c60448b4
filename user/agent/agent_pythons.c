// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* agent_pythons.c - see agent_pythons.h. */
#include "agent/agent_pythons.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/agent_modes.h"
#include "base/time.h"
#include "base/util.h"
#include "config/config.h"
#include "resolve/process.h"
#include "telemetry/service_labels.h"

struct agent_pythons {
	struct python_metrics *metrics;
	uint64_t boot_ns;		/* the agent's begin, like processes' start times */
	char *keys[PYTHON_LABELS_MAX];	/* of the labels */
	size_t key_cnt;
	const struct service_config *config;
	bool loops;
};

/* What these modes record completely, as agent_modes_record() sets it up. */
static unsigned int what_of(uint32_t modes, bool loops)
{
	struct record_mode_def mode;
	unsigned int what = PYTHON_METRICS_GC | (loops ? PYTHON_METRICS_LOOPS : 0);

	agent_modes_record(modes, &mode);
	modes &= AGENT_TIMES;
	if (mode.ticks && !mode.need_status)
		what |= PYTHON_METRICS_CPU;
	if (mode.ticks && modes != AGENT_EXCEPTION)
		what |= PYTHON_METRICS_GIL;
	if (mode.waits && modes != AGENT_EXCEPTION)
		what |= PYTHON_METRICS_GIL_WAIT;
	if (mode.wait_frames)
		what |= PYTHON_METRICS_OFF_CPU;
	if (mode.ticks && modes != AGENT_GIL)
		what |= PYTHON_METRICS_EXCEPTIONS;
	if (mode.memory)
		what |= PYTHON_METRICS_MEMORY;
	return what;
}

struct agent_pythons *agent_pythons_new(uint32_t rows, uint32_t modes, bool loops,
					const char *const *keys, size_t key_cnt,
					const struct service_config *config)
{
	struct agent_pythons *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return NULL;
	a->boot_ns = clock_ns(CLOCK_BOOTTIME);
	a->config = config;
	a->loops = loops;
	a->metrics = python_metrics_new(rows, what_of(modes, loops));
	err = a->metrics ? python_metrics_set_labels(a->metrics, keys, key_cnt) : -ENOMEM;
	for (; !err && a->key_cnt < key_cnt; a->key_cnt += !err) {
		a->keys[a->key_cnt] = strdup(keys[a->key_cnt]);
		err = a->keys[a->key_cnt] ? 0 : -ENOMEM;
	}
	if (!err)
		return a;
	agent_pythons_free(a);
	errno = -err;
	return NULL;
}

void agent_pythons_free(struct agent_pythons *a)
{
	if (!a)
		return;
	python_metrics_free(a->metrics);
	while (a->key_cnt)
		free(a->keys[--a->key_cnt]);
	free(a);
}

void agent_pythons_set(struct agent_pythons *a, uint32_t rows, uint32_t modes)
{
	python_metrics_set_rows(a->metrics, rows);
	python_metrics_set_what(a->metrics, what_of(modes, a->loops));
}

void agent_pythons_render(const struct agent_pythons *a, struct metrics_text *t)
{
	python_metrics_render(a->metrics, t);
}

/* The values of the labels, which are a service's attributes. */
static void values_of(const struct agent_pythons *a, const struct service *s,
		      const char *values[PYTHON_LABELS_MAX])
{
	size_t i;

	for (i = 0; i < a->key_cnt; i++)
		values[i] = s ? service_attribute(s, a->config, a->keys[i]) : NULL;
}

static void begin_python(struct agent_pythons *a, struct agent_process *p,
			 const struct service *s)
{
	const struct cpython_image *image = process_image(p->process);
	const char *values[PYTHON_LABELS_MAX];
	const struct python_process_args args = {
		.service = s ? service_name_of(s) : SERVICE_OTHER_NAME, .values = values,
		.tables = process_tables(p->process),
		.tgid = process_tgid(p->process),
		.major = image->major, .minor = image->minor,
		.free_threaded = image->free_threaded,
		.started = process_start_ns(p->process) >= a->boot_ns,
	};

	values_of(a, s, values);
	p->metrics = python_metrics_begin(a->metrics, &args);
}

void agent_pythons_moved(struct agent_pythons *a, struct agent_process *p,
			 const struct service *service)
{
	const char *values[PYTHON_LABELS_MAX];

	if (!p->metrics) {
		begin_python(a, p, service);
		return;
	}
	values_of(a, service, values);
	python_metrics_rename(p->metrics, service ? service_name_of(service) : SERVICE_OTHER_NAME,
			      values);
}

/* ---- the viewer ---- */

static void view_event(void *ctx, struct agent_process *p, const struct event *ev,
		       uint64_t value_ns)
{
	python_metrics_event(p->metrics, ev, value_ns);
}

static void view_memory(void *ctx, struct agent_process *p, const struct memory_event *ev)
{
	python_metrics_memory(p->metrics, ev);
}

static void view_end(void *ctx, struct agent_process *p, uint64_t end_ns)
{
	if (!p->metrics)
		begin_python(ctx, p, NULL);
	python_metrics_end(p->metrics);
	p->metrics = NULL;
}

static void view_tick(void *ctx)
{
	struct agent_pythons *a = ctx;

	python_metrics_tick(a->metrics, now_ns());
}

struct agent_viewer agent_pythons_viewer(struct agent_pythons *a)
{
	return (struct agent_viewer){
		.event = view_event, .memory = view_memory, .end = view_end, .tick = view_tick,
		.ctx = a,
	};
}
