// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* agent_files.c - see agent_files.h. */
#include "agent/agent_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "config/config.h"
#include "formats/pprof/pprof_encode.h"
#include "telemetry/service_labels.h"
#include "telemetry/window_pprof.h"

struct agent_files {
	struct agent_files_args args;
	struct tach_exporter *tach;
	struct pprof_exporter *pprof;		/* NULL: off */
	char *pprof_dir;
	struct pprof_exporter_stats before;	/* of exporters that a reload ended */
};

static struct tach_exporter_args tach_args(const struct agent_files *f,
					   const struct agent_config *c)
{
	const struct agent_tach *t = &c->exporters.tach;

	return (struct tach_exporter_args){
		.dir = t->dir, .rotate_time_ns = t->rotate_time_ns,
		.rotate_size_bytes = t->rotate_size_bytes, .keep = t->keep,
		.rate_hz = c->rate_hz, .mode = f->args.mode,
		.features = FEATURE_ALL_THREADS | FEATURE_GC |
			    (c->native != AGENT_NATIVE_OFF ? FEATURE_NATIVE : 0),
		.async = c->async,
		.counts = f->args.counts, .ctx = f->args.ctx,
	};
}

static void add_stats(struct pprof_exporter_stats *sum, const struct pprof_exporter *e)
{
	struct pprof_exporter_stats s = { 0 };

	if (e)
		pprof_exporter_stats(e, &s);
	sum->files += s.files;
	sum->bytes += s.bytes;
	sum->errors += s.errors;
	sum->removed += s.removed;
}

/* Switches to another directory, or none. Returns 0, or -errno: nothing has changed. */
static int open_pprof(struct agent_files *f, const struct agent_pprof *p)
{
	struct pprof_exporter_args args = { .dir = p->dir, .keep = p->keep };
	struct pprof_exporter *new = *p->dir ? pprof_exporter_new(&args) : NULL;
	char *dir = strdup(p->dir);

	if (!dir || (*p->dir && !new)) {
		int err = dir ? -errno : -ENOMEM;

		free(dir);
		pprof_exporter_free(new);
		return err;
	}
	add_stats(&f->before, f->pprof);
	pprof_exporter_free(f->pprof);
	free(f->pprof_dir);
	f->pprof = new;
	f->pprof_dir = dir;
	return 0;
}

int agent_files_new(struct agent_files **out, const struct agent_files_args *args)
{
	struct agent_files *f = calloc(1, sizeof(*f));
	struct tach_exporter_args tach;
	int err;

	if (!f)
		return -ENOMEM;
	f->args = *args;
	tach = tach_args(f, args->config);
	f->tach = tach_exporter_new(&tach);
	err = f->tach ? open_pprof(f, &args->config->exporters.pprof) : -errno;
	if (err)
		agent_files_free(f);
	else
		*out = f;
	return err;
}

void agent_files_free(struct agent_files *f)
{
	if (!f)
		return;
	tach_exporter_free(f->tach);
	pprof_exporter_free(f->pprof);
	free(f->pprof_dir);
	free(f);
}

int agent_files_set(struct agent_files *f, const struct agent_config *c)
{
	struct tach_exporter_args tach = tach_args(f, c);
	const struct agent_pprof *p = &c->exporters.pprof;
	int err = strcmp(p->dir, f->pprof_dir) ? open_pprof(f, p) : 0;

	if (err)
		return err;
	if (f->pprof)
		pprof_exporter_keep(f->pprof, p->keep);
	return tach_exporter_configure(f->tach, &tach);
}

/* ---- viewers of events ---- */

static void view_begin(void *ctx, struct agent_process *p)
{
	struct agent_files *f = ctx;

	/* Without memory, its samples count as lost. */
	tach_exporter_begin(f->tach, p->process);
}

static void view_event(void *ctx, struct agent_process *p, const struct event *ev,
		       uint64_t value_ns)
{
	struct agent_files *f = ctx;

	tach_exporter_event(f->tach, p->process, ev, ev->tick_ns);
}

static void view_end(void *ctx, struct agent_process *p, uint64_t end_ns)
{
	struct agent_files *f = ctx;

	tach_exporter_end(f->tach, p->process, end_ns);
}

static void view_tick(void *ctx)
{
	struct agent_files *f = ctx;

	tach_exporter_tick(f->tach, now_ns());
}

static void view_remark(void *ctx, pid_t tgid, uint32_t uid, const char *comm, const char *text)
{
	struct agent_files *f = ctx;

	tach_exporter_remark(f->tach, tgid, uid, comm, text);
}

struct agent_viewer agent_files_viewer(struct agent_files *f)
{
	return (struct agent_viewer){
		.begin = view_begin, .event = view_event, .end = view_end, .tick = view_tick,
		.remark = view_remark, .ctx = f,
	};
}

/* The attributes of a service, for comments. */
struct described {
	const struct agent_services *services;
	const struct service_config *config;
};

/* window_comments.add: KEY=VALUE, as profile_service.h says. */
static void add_attributes(void *ctx, uint32_t service, struct pprof_encoder *e)
{
	struct otlp_attribute list[SERVICE_ATTRIBUTES_MAX];
	const struct described *d = ctx;
	char text[ATTR_KEY_BYTES + ATTR_VALUE_BYTES];
	uint32_t cnt, i;

	cnt = service_attributes(agent_services_get(d->services, service), d->config, list);
	for (i = 0; i < cnt; i++) {
		if (list[i].text)
			snprintf(text, sizeof(text), "%s=%s", list[i].key, list[i].text);
		else
			snprintf(text, sizeof(text), "%s=%lld", list[i].key,
				 (long long)list[i].number);
		pprof_comment(e, text);
	}
}

void agent_files_window(struct agent_files *f, const struct window *w,
			const struct agent_services *services, const struct service_config *config,
			uint64_t period_ns)
{
	struct described described = { services, config };
	const struct window_comments comments = { add_attributes, &described };
	uint32_t cnt = window_service_cnt(w), i;
	const char **names;

	if (!f->pprof || !cnt)
		return;
	names = calloc(cnt, sizeof(*names));
	for (i = 0; names && i < cnt; i++)
		names[i] = agent_services_name(services, i);
	pprof_exporter_window(f->pprof, w, names, names ? cnt : 0, period_ns, &comments);
	free(names);
}

void agent_files_stats(const struct agent_files *f, struct tach_exporter_stats *tach,
		       struct pprof_exporter_stats *pprof)
{
	tach_exporter_stats(f->tach, tach);
	*pprof = f->before;
	add_stats(pprof, f->pprof);
}

const char *agent_files_path(const struct agent_files *f)
{
	return tach_exporter_path(f->tach);
}
