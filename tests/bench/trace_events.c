// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * trace_events.c - samples processes, and prints each event with the thread context that it has:
 *
 *	trace_events MODE RATE PID...
 *
 * MODE is cpu or wall. "ready" is printed when sampling has begun; it ends when stdin does. An
 * event is a line: tgid, tid, weight, trace id, span id, attributes "key=text,...", frames
 * "outer;inner"; what is not there is "-". MODE bench: on CPU 0 only, and prints nothing but the
 * number of events; contexts are off if RATE begins with "-".
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/capture.h"
#include "host/identity.h"
#include "model/trace_context.h"
#include "resolve/observer.h"
#include "resolve/process.h"
#include "target/inspector.h"
#include "telemetry/process_ctx_watch.h"

#define PIDS_MAX 64

static struct traced {
	pid_t tgid;
	struct process_ctx_watch watch;
	struct thread_keys keys;
	int state;		/* of the last capture_trace_process(), or 1: not called yet */
} traced[PIDS_MAX];
static int traced_cnt;
static bool silent;
static uint64_t event_cnt, trace_cnt;

static struct traced *find(pid_t tgid)
{
	int i;

	for (i = 0; i < traced_cnt; i++)
		if (traced[i].tgid == tgid)
			return &traced[i];
	return NULL;
}

static void print_hex(const uint8_t *id, int bytes)
{
	while (bytes--)
		printf("%02x", *id++);
	printf(" ");
}

static void print_attributes(const struct trace_context *t, const struct thread_keys *keys)
{
	struct trace_attribute a;
	size_t pos = 0;

	while (trace_attribute_next(t, &pos, &a))
		printf("%s=%.*s,", keys ? thread_key(keys, a.key) : "?", a.len, a.text);
}

static int take_event(struct observer *o, struct process *p, const struct event *ev)
{
	const struct profile_tables *tables = process_tables(p);
	const struct trace_context *t = ev->trace;
	const struct traced *its = find(process_tgid(p));
	uint32_t i;

	event_cnt++;
	trace_cnt += !!t;
	if (silent)
		return 0;
	printf("%d %" PRIu64 " %" PRIu64 " ", process_tgid(p), ev->thread_id, ev->weight);
	if (t) {
		print_hex(t->trace_id, 16);
		print_hex(t->span_id, 8);
		print_attributes(t, its ? &its->keys : NULL);
		printf("- ");
	} else {
		printf("- - - ");
	}
	for (i = ev->nframes; i--; ) {
		const struct string_ref *s = &tables->strings[tables->frames[ev->frames[i]].func];

		printf("%.*s;", (int)s->len, s->data);
	}
	printf("\n");
	return 0;
}

static const struct observer_ops ops = { .event = take_event };
static struct observer observer = { &ops };

/* Look for the processes' contexts, as an agent does. */
static void look(struct capture *c)
{
	static struct process_ctx ctx;
	struct traced *t;

	for (t = traced; t < traced + traced_cnt; t++) {
		int err = process_ctx_look(&t->watch, t->tgid, now_ns(), false, &ctx);

		if (!err)
			t->keys = ctx.threads;
		if (!t->keys.schema[0] || !t->state)
			continue;
		err = capture_trace_process(c, t->tgid);
		if (err != t->state)
			fprintf(stderr, "process %d: %s\n", t->tgid, strerror(-err));
		t->state = err;
	}
}

static int run(struct capture *c)
{
	struct pollfd end = { STDIN_FILENO, POLLIN, 0 };
	uint64_t next = 0;
	int err = capture_start(c);

	printf("ready\n");
	fflush(stdout);
	while (!err && !poll(&end, 1, 0)) {
		err = capture_poll(c, 50);
		if (!err && now_ns() > next) {
			err = capture_housekeep(c);
			look(c);
			next = now_ns() + 200000000;
		}
	}
	return err ? err : capture_stop(c);
}

int main(int argc, char **argv)
{
	struct capture_args args = {
		.gc = true, .event = SAMPLER_CLOCK, .observer = &observer,
		.identities = identities_new(inspector_names), .children = true,
	};
	struct capture *c;
	int i, err = 0;

	if (argc < 4 || argc > 3 + PIDS_MAX)
		return 2;
	silent = !strcmp(argv[1], "bench");
	args.mode = &record_modes[strcmp(argv[1], "wall") ? RECORD_CPU : RECORD_WALL];
	args.rate_hz = (uint32_t)abs(atoi(argv[2]));
	args.trace_context = argv[2][0] != '-';
	args.cpu_list = silent ? "0" : NULL;
	c = capture_new(&args);
	if (!c)
		return 1;
	for (i = 3; !err && i < argc; i++) {
		traced[traced_cnt++] = (struct traced){ .tgid = atoi(argv[i]), .state = 1 };
		err = capture_watch(c, atoi(argv[i]), WATCH_CHILDREN);
		if (!err)
			err = capture_add(c, atoi(argv[i]));
	}
	if (!err)
		look(c);
	if (!err)
		err = run(c);
	fprintf(stderr, "%" PRIu64 " events, %" PRIu64 " with a context\n", event_cnt, trace_cnt);
	capture_free(c);
	identities_free(args.identities);
	return err ? 1 : 0;
}
