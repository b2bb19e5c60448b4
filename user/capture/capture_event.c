// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* capture_event.c - see capture_event.h. */
#include "capture/capture_event.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/capture_state.h"
#include "capture/event_sampler.h"
#include "probe/event_probes.h"
#include "probe/event_spec.h"
#include "probe/tracepoint.h"
#include "tachbpf.skel.h"

struct capture_event {
	struct event_sampler *counted;	/* of events that perf counts; NULL: others */
	int fd;				/* the tracepoint's; -1: none, or the link's */
	struct bpf_link **links;	/* link_cnt of the tracepoint or of all probes */
	size_t link_cnt, link_cap;
	pid_t *pids;			/* pid_cnt processes that the user has chosen */
	size_t pid_cnt, pid_cap;
};

/* The program for the events; NULL: there are none. */
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

void capture_event_configure(struct capture *s)
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
}

/* 0 or -errno. */
static int open_counted(struct capture *s)
{
	const struct event_spec *spec = s->args.event_spec;
	struct event_sampler_args args = {
		.program = program_of(s),
		.type = spec->kind == EVENT_HARDWARE ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = spec->config,
		.period = s->args.event_every,
		.hz = s->args.event_every ? 0 : s->args.rate_hz,
		.what = spec->name,
		.cpu_list = s->args.cpu_list,
	};

	s->event->counted = event_sampler_new(&args);
	return s->event->counted ? 0 : -errno;
}

int capture_event_open(struct capture *s)
{
	const struct event_spec *spec = s->args.event_spec;

	if (!spec)
		return 0;
	s->event = calloc(1, sizeof(*s->event));
	if (!s->event)
		return -ENOMEM;
	s->event->fd = -1;
	if (event_is_counted(spec))
		return open_counted(s);
	if (spec->kind != EVENT_TRACEPOINT)
		return 0;	/* a worker opens probes, when the processes are known */
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

/* Attach the program to an event, which is the link's then, or closed. 0 or -errno. */
static int attach(struct capture *s, int fd)
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

/* prober_take_fn */
static int attach_probe(void *ctx, unsigned int i, bool returns, int event)
{
	return attach(ctx, event);
}

/* Probe the chosen processes; all, if others may be recorded, too. 0 or -errno; logs why. */
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

int capture_event_start(struct capture *s)
{
	struct capture_event *e = s->event;
	int err;

	if (!e)
		return 0;
	if (e->counted)
		return event_sampler_start(e->counted);
	if (s->args.event_spec->kind != EVENT_TRACEPOINT)
		return start_probes(s);
	err = attach(s, e->fd);
	e->fd = -1;
	if (err)
		log_error("-e %s: cannot attach to it: %s", s->args.event_spec->name,
			  strerror(-err));
	return err;
}

/* Other events are not taken while capture_paused is set. */
void capture_event_pause(struct capture *s, bool pause)
{
	if (s->event && s->event->counted)
		event_sampler_pause(s->event->counted, pause);
}

void capture_event_refresh(struct capture *s)
{
	if (s->event && s->event->counted)
		event_sampler_refresh(s->event->counted);
}

void capture_event_stop(struct capture *s)
{
	struct capture_event *e = s->event;

	if (!e)
		return;
	if (e->counted)
		event_sampler_stop(e->counted);
	while (e->link_cnt)
		bpf_link__destroy(e->links[--e->link_cnt]);
	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
}

void capture_event_free(struct capture *s)
{
	if (!s->event)
		return;
	capture_event_stop(s);
	event_sampler_free(s->event->counted);
	prober_end();
	free(s->event->links);
	free(s->event->pids);
	free(s->event);
	s->event = NULL;
}
