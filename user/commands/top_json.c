// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* top_json.c - a window of `tachbpf top` as one line of JSON. See top_show.h. */
#include <stdio.h>

#include "base/json.h"
#include "commands/top_show.h"
#include "cpython/image.h"
#include "host/held_by.h"
#include "host/identity.h"
#include "resolve/process.h"

static void write_sums(struct json *j, const struct live_sums *s)
{
	json_uint(j, "samples", s->samples);
	json_double(j, "cpu_s", s->cpu_ns / 1e9);
	json_double(j, "gil_s", s->gil_ns / 1e9);
	json_double(j, "gc_s", s->gc_ns / 1e9);
}

static void write_hottest(struct json *j, const struct live_process *p)
{
	const struct profile_tables *t = process_tables(p->process);
	const struct live_function *f = p->hottest;

	if (!f) {
		json_null(j, "hottest");
		return;
	}
	json_object(j, "hottest");
	json_string_n(j, "function", t->strings[f->func].data, t->strings[f->func].len);
	json_string_n(j, "file", t->strings[f->file].data, t->strings[f->file].len);
	json_double(j, "self_s", f->self_ns / 1e9);
	json_double(j, "total_s", f->total_ns / 1e9);
	json_object_end(j);
}

static void write_process(struct json *j, const struct live_process *p)
{
	pid_t tgid = process_tgid(p->process);
	char held[HELD_BY_BYTES] = "";

	json_object(j, NULL);
	json_uint(j, "pid", tgid);
	identity_json(j, process_identity(p->process), tgid);
	container_json(j, process_identity(p->process)->container);
	json_string(j, "comm", process_comm(p->process));
	json_string(j, "python", process_image(p->process)->version);
	write_sums(j, &p->last);
	json_object(j, "since_start");
	write_sums(j, &p->all);
	json_object_end(j);
	json_uint(j, "threads", p->threads);
	json_uint(j, "lost", p->lost);
	write_hottest(j, p);
	if (!p->hottest)
		held_by_words(tgid, held);
	json_string(j, "held", *held ? held : NULL);
	json_object_end(j);
}

void top_json(const struct top_window *w)
{
	size_t rows = w->limit && w->limit < w->cnt ? w->limit : w->cnt, i;
	struct json j;

	json_start(&j, stdout, false);
	json_object(&j, NULL);
	json_uint(&j, "version", 1);
	json_uint(&j, "time", w->utc_s);
	json_double(&j, "seconds", w->ns / 1e9);
	json_uint(&j, "rate_hz", w->rate_hz);
	json_uint(&j, "pythons", w->total.processes);
	json_uint(&j, "ended", w->total.ended);
	write_sums(&j, &w->total.last);
	json_uint(&j, "lost", w->total.lost);
	json_array(&j, "processes");
	for (i = 0; i < rows; i++)
		write_process(&j, &w->list[i]);
	json_array_end(&j);
	json_object_end(&j);
	putchar('\n');
}
