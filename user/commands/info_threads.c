// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* info_threads.c - see info_show.h. */
#include "commands/info_show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/json.h"
#include "base/text.h"
#include "base/util.h"
#include "bpf/abi.h"
#include "commands/show.h"
#include "formats/readers.h"
#include "model/thread_map.h"

#define THREAD_COLUMNS 62	/* of a thread's numbers, with their gaps */

/* Adds to the samples of the process whose root frame was found last. 0 or -ENOMEM. */
static int count_process(struct info_threads *t, uint64_t weight)
{
	uint32_t i;

	if (!id_map_get(&t->process_of, t->root.frame, &i)) {
		i = (uint32_t)t->process_cnt;
		if (array_add(t->processes, t->process_cnt, t->process_cap,
			      (struct info_process){ .frame = t->root.frame }) ||
		    id_map_set(&t->process_of, t->root.frame, i))
			return -ENOMEM;
	}
	t->processes[i].samples += weight;
	return 0;
}

static int compare_processes(const void *a, const void *b)
{
	const struct info_process *x = a, *y = b;

	return (x->frame > y->frame) - (x->frame < y->frame);
}

static int on_event(void *ctx, const struct event *ev)
{
	struct info_threads *t = ctx;
	struct info_thread *th, none = {
		.id = ev->thread_id, .interp_id = ev->interp_id, .first_us = ev->time_us,
	};
	uint32_t index;

	if (thread_map_get(t->map, ev->thread_id, ev->interp_id, &index) ||
	    (index == t->cnt && array_add(t->list, t->cnt, t->cap, none)))
		return -ENOMEM;
	th = &t->list[index];
	th->samples += ev->weight;
	th->last_us = ev->time_us;
	th->gil += !!(ev->status & STATUS_HAS_GIL);
	th->on_cpu += !!(ev->status & STATUS_ON_CPU);
	th->cpu_unknown += !!(ev->status & STATUS_UNKNOWN);
	th->gil_requested += !!(ev->status & STATUS_GIL_REQUESTED);
	th->exceptions += !!(ev->status & STATUS_HAS_EXCEPTION);
	th->main |= !!(ev->status & STATUS_MAIN_THREAD);
	return t->shared && process_root_of(&t->root, ev) ? count_process(t, ev->weight) : 0;
}

/* Most samples first; the order is always the same. */
static int compare_threads(const void *a, const void *b)
{
	const struct info_thread *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->interp_id > y->interp_id) - (x->interp_id < y->interp_id);
}

/* Counts samples by process if the file's process is unknown. */
static void prepare_processes(struct info_threads *t, const struct profile_file *file,
			     const struct profile_tables *tables)
{
	t->process_cnt = 0;
	id_map_clear(&t->process_of);
	t->root = (struct process_root){ .tables = tables };
	t->shared = !file->process.tgid;
}

int info_threads_read(struct info_threads *t, struct profile_set *set,
		      const struct profile_file *file, struct reader *r)
{
	int err;

	t->cnt = 0;
	t->map = thread_map_new();
	prepare_processes(t, file, reader_tables(r));
	err = t->map ? profile_set_run(set, file, r, on_event, t) : -ENOMEM;
	thread_map_free(t->map);
	t->map = NULL;
	if (!err && t->cnt)
		qsort(t->list, t->cnt, sizeof(*t->list), compare_threads);
	if (!err && t->process_cnt)
		qsort(t->processes, t->process_cnt, sizeof(*t->processes), compare_processes);
	return err;
}

void info_threads_free(struct info_threads *t)
{
	free(t->list);
	id_map_free(&t->process_of);
	free(t->processes);
	memset(t, 0, sizeof(*t));
}

static void print_thread(const struct info_thread *th, const struct thread_names *names)
{
	const char *name = thread_names_find(names, th->id);
	size_t terminal = text_terminal_width(stdout), used = THREAD_COLUMNS + (th->main ? 6 : 0);
	char shown[4 * THREAD_NAME_BYTES];

	printf("  %10" PRIu64 " %6u %10" PRIu64 " %7.2f ", th->id, th->interp_id, th->samples,
	       percent(th->gil, th->samples));
	/* The share of those samples whose on-CPU status is known. */
	if (th->cpu_unknown < th->samples)
		printf("%9.2f ", percent(th->on_cpu, th->samples - th->cpu_unknown));
	else
		printf("%9s ", "?");
	printf("%12.2f%s", percent(th->exceptions, th->samples), th->main ? "  main" : "");
	if (name) {
		printf("  ");
		text_print(stdout, escape_text(name, strlen(name), shown, sizeof(shown)),
			   terminal > used + 4 ? terminal - used - 2 : 0, CUT_RIGHT, false);
	}
	printf("\n");
}

/* If the main thread is not among the first, it takes the last place that is shown. */
static const struct info_thread *thread_at(const struct info_threads *t, size_t i, size_t shown)
{
	size_t j;

	for (j = i; i + 1 == shown && j < t->cnt; j++)
		if (t->list[j].main)
			return &t->list[j];
	return &t->list[i];
}

void info_threads_print(const struct info_threads *t, const struct thread_names *names,
			uint32_t limit)
{
	size_t i, shown = limit_rows(limit, t->cnt);

	if (!t->cnt)
		return;
	printf("  %10s %6s %10s %7s %9s %12s\n", "thread", "interp", "samples", "gil %",
	       "on-cpu %", "exceptions %");
	for (i = 0; i < shown; i++)
		print_thread(thread_at(t, i, shown), names);
	limit_print_more("  ", t->cnt, shown);
}

void info_threads_json(struct json *j, const struct info_threads *t,
		       const struct thread_names *names)
{
	uint32_t i;

	json_array(j, "threads");
	for (i = 0; i < t->cnt; i++) {
		const struct info_thread *th = &t->list[i];

		json_object(j, NULL);
		json_uint(j, "thread", th->id);
		json_string(j, "name", thread_names_find(names, th->id));
		json_uint(j, "interpreter", th->interp_id);
		json_uint(j, "samples", th->samples);
		json_uint(j, "has_gil", th->gil);
		json_uint(j, "on_cpu", th->on_cpu);
		json_uint(j, "cpu_unknown", th->cpu_unknown);
		json_uint(j, "gil_requested", th->gil_requested);
		json_uint(j, "has_exception", th->exceptions);
		json_bool(j, "main", th->main);
		json_uint(j, "first_us", th->first_us);
		json_uint(j, "last_us", th->last_us);
		json_object_end(j);
	}
	json_array_end(j);
}
