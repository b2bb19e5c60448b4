// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_event.c - the event of -e (capture_args.event_spec): perf events on each CPU, a
 * tracepoint, or probes, and the program attached to them.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/capture_state.h"
#include "capture/cpu_events.h"
#include "probe/event_probes.h"
#include "probe/event_spec.h"
#include "probe/tracepoint.h"
#include "tachbpf.skel.h"

struct capture_event {
	bool is_counted;		/* perf counts it */
	struct cpu_events counted;	/* the perf events if it is counted */
	int fd;				/* the tracepoint's; -1: none, or owned by the link */
	struct bpf_link **links;	/* link_cnt of the tracepoint or of all probes */
	size_t link_cnt, link_cap;
	pid_t *pids;			/* the pid_cnt processes that the user has chosen */
	size_t pid_cnt, pid_cap;
};

/* The program for the events; NULL if there are none. */
static struct bpf_program *program_of(const struct capture *s)
{
	const struct event_spec *spec = s->args.event_spec;

	if (!spec)
		return NULL;
	if (event_is_counted(spec))
		return s->skel->progs.on_event_counted;
	return spec->kind == EVENT_TRACEPOINT ? s->skel->progs.on_event_tracepoint :
						s->skel->progs.on_event_probe;
}

static int event_configure(struct capture *s)
{
	struct bpf_program *const programs[] = {
		s->skel->progs.on_event_counted, s->skel->progs.on_event_tracepoint,
		s->skel->progs.on_event_probe,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(programs); i++) {
		bpf_program__set_autoload(programs[i], programs[i] == program_of(s));
		bpf_program__set_autoattach(programs[i], false);
	}
	if (s->args.event_spec && !event_is_counted(s->args.event_spec))
		s->skel->rodata->cfg_event_every = s->args.event_every;
	return 0;
}

/* Returns 0 or -errno. */
static int open_counted(struct capture *s)
{
	const struct event_spec *spec = s->args.event_spec;
	bool by_rate = !s->args.event_every;
	struct cpu_events_args args = {
		.program = program_of(s),
		.attr = {
			.type = spec->kind == EVENT_HARDWARE ? PERF_TYPE_HARDWARE :
							       PERF_TYPE_SOFTWARE,
			.config = spec->config,
			.sample_period = by_rate ? s->args.rate_hz : s->args.event_every,
			.freq = by_rate,
		},
		.name = spec->name,
		.cpu_list = s->args.cpu_list,
	};
	int err = cpu_events_init(&s->event->counted, &args);

	if (err)
		return err;
	err = cpu_events_open(&s->event->counted);
	return err ? cpu_events_complain(&s->event->counted, err) : 0;
}

static int event_open(struct capture *s)
{
	const struct event_spec *spec = s->args.event_spec;

	if (!spec)
		return 0;
	s->event = calloc(1, sizeof(*s->event));
	if (!s->event)
		return -ENOMEM;
	s->event->fd = -1;
	s->event->is_counted = event_is_counted(spec);
	if (s->event->is_counted)
		return open_counted(s);
	if (spec->kind != EVENT_TRACEPOINT)
		return 0;	/* a worker opens probes once the processes are known */
	s->event->fd = tracepoint_open(spec);
	return s->event->fd < 0 ? s->event->fd : 0;
}

void capture_event_choose(struct capture *s, pid_t tgid)
{
	struct capture_event *e = s->event;
	pid_t *pids;

	if (!e)
		return;
	pids = array_grow(e->pids, e->pid_cnt, &e->pid_cap, sizeof(*pids));
	if (!pids)
		return;
	e->pids = pids;
	e->pids[e->pid_cnt++] = tgid;
}

/* Attaches the program to an event, which the link then owns, or closes it. 0 or -errno. */
static int attach_event(struct capture *s, int fd)
{
	struct capture_event *e = s->event;
	struct bpf_link **links = array_grow(e->links, e->link_cnt, &e->link_cap, sizeof(*links));
	struct bpf_link *link = NULL;
	int err = -ENOMEM;

	if (links) {
		e->links = links;
		link = bpf_program__attach_perf_event(program_of(s), fd);
		err = link ? 0 : -errno;
	}
	if (link)
		e->links[e->link_cnt++] = link;
	else
		close(fd);
	return err;
}

/* A prober_take_fn. */
static int attach_probe(void *ctx, unsigned int i, bool returns, int event)
{
	return attach_event(ctx, event);
}

/* Probes the chosen processes; all, if others may be recorded. 0, or -errno after logging. */
static int start_probes(struct capture *s)
{
	const struct event_spec *spec = s->args.event_spec;
	struct capture_event *e = s->event;
	const struct tracked *t;
	int err = 0, first = 0;
	size_t i, done = 0;

	if (!e->pid_cnt)
		return event_probe_file(spec, attach_probe, s);
	for (i = 0; i < e->pid_cnt; i++) {
		t = lifecycle_find(&s->life, e->pids[i]);
		err = event_probe_process(spec, e->pids[i], t ? t->start_ns : 0, s->args.children,
					  attach_probe, s);
		done += !err;
		first = first ? first : err;
	}
	return done ? 0 : first;
}

static int event_start(struct capture *s)
{
	struct capture_event *e = s->event;
	int err;

	if (!e)
		return 0;
	if (e->is_counted)
		return cpu_events_start(&e->counted);
	if (s->args.event_spec->kind != EVENT_TRACEPOINT)
		return start_probes(s);
	err = attach_event(s, e->fd);
	e->fd = -1;
	if (err)
		log_error("-e %s: cannot attach to it: %s", s->args.event_spec->name,
			  strerror(-err));
	return err;
}

/* Other events are dropped while capture_paused is set. */
static void event_pause(struct capture *s, bool pause)
{
	if (s->event)
		cpu_events_pause(&s->event->counted, pause);
}

static void event_refresh(struct capture *s)
{
	if (s->event)
		cpu_events_refresh(&s->event->counted);
}

static void event_stop(struct capture *s)
{
	struct capture_event *e = s->event;

	if (!e)
		return;
	cpu_events_stop(&e->counted);
	while (e->link_cnt)
		bpf_link__destroy(e->links[--e->link_cnt]);
	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
}

static void event_free(struct capture *s)
{
	if (!s->event)
		return;
	event_stop(s);
	cpu_events_free(&s->event->counted);
	prober_end();
	free(s->event->links);
	free(s->event->pids);
	free(s->event);
}

const struct source_ops capture_event_source = {
	.configure = event_configure,
	.open = event_open,
	.start = event_start,
	.pause = event_pause,
	.refresh = event_refresh,
	.stop = event_stop,
	.free = event_free,
};
