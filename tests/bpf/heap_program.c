// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * heap_program.c - a capture with --allocations, for test_heap.py.
 *
 * heap_program PID MIN_BYTES force|judge: says "recording" once it records, and at the end of its
 * standard input one line for each block that lives, "ADDRESS BYTES FUNCTION", and "end ALLOCS
 * FREES LOST". FUNCTION: the innermost frame. Exits with 3 if it would cost too much.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/u64map.h"
#include "base/util.h"
#include "capture/capture.h"
#include "capture/capture_state.h"
#include "host/identity.h"
#include "resolve/observer.h"
#include "resolve/process.h"
#include "tachbpf.skel.h"
#include "target/inspector.h"

#define POLL_MS 20

struct live {
	uint64_t addr, bytes;
	uint32_t frame;
};

struct book {
	struct observer observer;
	struct u64map live;	/* of struct live, by address */
	uint64_t allocs, frees, wrong;
};

static int take(struct observer *o, struct process *p, const struct memory_event *ev)
{
	struct book *b = (struct book *)o;
	struct live *l;

	if (ev->change == MEMORY_ALLOC) {
		l = calloc(1, sizeof(*l));
		*l = (struct live){ ev->addr, ev->bytes, ev->frames[0] };
		b->wrong += u64map_get(&b->live, ev->addr) != NULL;
		b->allocs++;
		return u64map_put(&b->live, ev->addr, l);
	}
	if (ev->change == MEMORY_FREE) {
		l = u64map_remove(&b->live, ev->addr);
		b->wrong += !l || l->bytes != ev->bytes;
		b->frees++;
		free(l);
	}
	return 0;
}

static int take_event(struct observer *o, struct process *p, const struct event *ev)
{
	return 0;
}

/* observer_ops.end: the process' names are there for the last time. */
static int print_live(struct observer *o, struct process *p, uint64_t end_ns)
{
	const struct profile_tables *t = process_tables(p);
	struct book *b = (struct book *)o;
	const struct live *l;
	size_t pos = 0;

	while ((l = u64map_next(&b->live, &pos))) {
		struct string_ref name = t->strings[t->frames[l->frame].func];

		printf("%" PRIx64 " %" PRIu64 " %.*s\n", l->addr, l->bytes, (int)name.len,
		       (const char *)name.data);
	}
	return 0;
}

static int loop(struct capture *c)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	bool said = false;
	int err = 0;
	char byte;

	while (!err) {
		err = capture_poll(c, POLL_MS);
		if (!said && !c->skel->bss->heap_counting) {
			printf("recording\n");
			fflush(stdout);
			said = true;
		}
		if (poll(&in, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0)
			break;
	}
	return err;
}

int main(int argc, char **argv)
{
	static const struct observer_ops ops = {
		.event = take_event, .memory = take, .end = print_live,
	};
	static struct book book = { .observer.ops = &ops };
	struct capture_args args = {
		.rate_hz = 99, .mode = &record_modes[RECORD_MEM], .event = SAMPLER_CLOCK,
		.allocations = true, .every_bytes = 65536,
		.min_block_bytes = argc > 2 ? strtoull(argv[2], NULL, 10) : 512,
		.costly = argc > 3 && !strcmp(argv[3], "force"),
		.identities = identities_new(inspector_names), .observer = &book.observer,
	};
	struct capture_counts counts;
	struct capture *c = capture_new(&args);
	int err = c ? 0 : -errno;

	if (!err)
		err = capture_add(c, argc > 1 ? strtol(argv[1], NULL, 10) : 0);
	if (!err)
		err = capture_start(c);
	if (!err)
		err = loop(c);
	if (!err)
		err = capture_stop(c);
	if (!err) {
		capture_counts(c, &counts);
		printf("end %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", book.allocs, book.frees,
		       book.wrong + counts.bpf[CNT_ALLOC_LOST] + counts.bpf[CNT_FREE_LOST] +
		       counts.bpf[CNT_BLOCK_LOST]);
	} else {
		fprintf(stderr, "heap_program: %s\n", strerror(-err));
	}
	capture_free(c);
	identities_free(args.identities);
	return err == -EDQUOT ? 3 : err ? EXIT_FAILURE : EXIT_SUCCESS;
}
