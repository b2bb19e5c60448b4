// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * jsonl.c - writes the records of CPython 3.15's `profiling.sampling replay --jsonl`
 * (Lib/profiling/sampling/jsonl_collector.py), one JSON object per line: meta, string_table,
 * frame_table, agg, end.
 *
 * Ids and their order are the same. Several processes are several streams one after the other, with
 * different run_ids. What CPython's records have no field for (pid, comm, container, image,
 * python_version, unit) is in meta, only if it is known and not the default; CPython's readers must
 * ignore unknown fields.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/arith.h"
#include "base/json.h"
#include "formats/formats.h"
#include "model/aggregate.h"
#include "model/profile_names.h"
#include "base/writer.h"

#define CHUNK 256	/* entries per record: CPython's _CHUNK_SIZE */
#define RUN_ID_BYTES 16

struct counts {
	uint64_t self, cumulative;
	uint32_t seen;		/* number of the last stack counted here, + 1 */
};

struct jsonl {
	struct writer *w;
	struct json json;	/* the record that is being written */
	const struct aggregate *a;
	const struct profile_tables *t;
	struct counts *counts;	/* by label */
	uint64_t total;
	char run_id[2 * RUN_ID_BYTES + 1];
};

static int make_run_id(struct jsonl *j)
{
	uint8_t bytes[RUN_ID_BYTES];
	size_t i;

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	/* A random UUID (version 4), RFC 9562. */
	bytes[6] = (bytes[6] & 0x0f) | 0x40;
	bytes[8] = (bytes[8] & 0x3f) | 0x80;
	for (i = 0; i < sizeof(bytes); i++)
		snprintf(j->run_id + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static void count_stacks(struct jsonl *j)
{
	uint32_t i, k, cnt = stacks_cnt(j->a->stacks);

	for (i = 0; i < cnt; i++) {
		struct stack_view v = stacks_get(j->a->stacks, i);

		if (!v.n)
			continue;
		j->total = add_capped(j->total, v.weight);
		j->counts[v.labels[0]].self = add_capped(j->counts[v.labels[0]].self, v.weight);
		for (k = 0; k < v.n; k++) {
			struct counts *c = &j->counts[v.labels[k]];

			if (c->seen == i + 1)
				continue;
			c->seen = i + 1;
			c->cumulative = add_capped(c->cumulative, v.weight);
		}
	}
}

/* A record is an object on a line of its own. */
static void begin_record(struct jsonl *j, const char *type)
{
	json_start_in(&j->json, j->w);
	json_object(&j->json, NULL);
	json_string(&j->json, "type", type);
	json_int(&j->json, "v", 0);
	json_string(&j->json, "run_id", j->run_id);
}

static void end_record(struct jsonl *j)
{
	json_object_end(&j->json);
	writer_char(j->w, '\n');
}

/* Unknown values are left out. */
static void put_known(struct json *json, const char *key, const char *value)
{
	if (value)
		json_string(json, key, value);
}

static void put_meta(struct jsonl *j)
{
	const struct profile_meta *meta = &stacks_process(j->a->stacks, 0)->meta;
	char version[32];

	begin_record(j, "meta");
	json_uint(&j->json, "sample_interval_usec", meta->interval_us);
	if (profile_mode_known(meta->mode))
		json_string(&j->json, "mode", profile_mode_name(meta->mode));
	if (meta->unit != UNIT_SAMPLES)
		json_string(&j->json, "unit", profile_unit_name(meta->unit));
	if (meta->tgid) {
		snprintf(version, sizeof(version), "%u.%u.%u", meta->python_major,
			 meta->python_minor, meta->python_micro);
		json_uint(&j->json, "pid", meta->tgid);
		put_known(&j->json, "comm", meta->comm);
		put_known(&j->json, "container", meta->container);
		put_known(&j->json, "image", meta->image);
		put_known(&j->json, "python_version", meta->python_major ? version : NULL);
	}
	end_record(j);
}

static void put_string_entry(struct jsonl *j, uint32_t i)
{
	json_uint(&j->json, "str_id", i);
	json_string_n(&j->json, "value", j->t->strings[i].data, j->t->strings[i].len);
}

static void put_frame_entry(struct jsonl *j, uint32_t i)
{
	const struct frame *f = &j->t->frames[i];

	json_uint(&j->json, "frame_id", i);
	json_uint(&j->json, "path_str_id", f->file);
	json_uint(&j->json, "func_str_id", f->func);
	json_int(&j->json, "line", f->line);
	if (f->end_line != LINE_NONE)
		json_int(&j->json, "end_line", f->end_line);
	if (f->column != COLUMN_NONE)
		json_int(&j->json, "col", f->column);
	if (f->end_column != COLUMN_NONE)
		json_int(&j->json, "end_col", f->end_column);
}

static void put_count_entry(struct jsonl *j, uint32_t i)
{
	json_uint(&j->json, "frame_id", i);
	json_uint(&j->json, "self", j->counts[i].self);
	json_uint(&j->json, "cumulative", j->counts[i].cumulative);
}

static void put_agg_head(struct jsonl *j)
{
	json_string(&j->json, "kind", "frame");
	json_string(&j->json, "scope", "final");
	json_uint(&j->json, "samples_total", j->total);
}

/* The kinds of records that are written in chunks. */
struct record {
	const char *type, *field;
	void (*head)(struct jsonl *j);
	void (*entry)(struct jsonl *j, uint32_t i);
};

static void put_chunks(struct jsonl *j, const struct record *r, uint32_t cnt)
{
	uint32_t i;

	for (i = 0; i < cnt; i++) {
		if (i % CHUNK == 0) {
			begin_record(j, r->type);
			if (r->head)
				r->head(j);
			json_array(&j->json, r->field);
		}
		json_object(&j->json, NULL);
		r->entry(j, i);
		json_object_end(&j->json);
		if (i + 1 == cnt || i % CHUNK == CHUNK - 1) {
			json_array_end(&j->json);
			end_record(j);
		}
	}
}

static int jsonl_write(struct aggregate *a)
{
	static const struct record strings = { "string_table", "strings", NULL, put_string_entry };
	static const struct record frames = { "frame_table", "frames", NULL, put_frame_entry };
	static const struct record counts = { "agg", "entries", put_agg_head, put_count_entry };
	struct jsonl j = { .w = writer_new(a->args.fd, a->args.max_bytes), .a = a,
			   .t = stacks_tables(a->stacks) };
	int err = make_run_id(&j);

	j.counts = calloc((size_t)j.t->frame_cnt + 1, sizeof(*j.counts));
	if (!err && (!j.w || !j.counts))
		err = -ENOMEM;
	if (err)
		goto out;
	count_stacks(&j);
	put_meta(&j);
	put_chunks(&j, &strings, j.t->string_cnt);
	put_chunks(&j, &frames, j.t->frame_cnt);
	put_chunks(&j, &counts, j.t->frame_cnt);
	begin_record(&j, "end");
	json_uint(&j.json, "samples_total", j.total);
	end_record(&j);
	err = writer_flush(j.w);
out:
	free(j.counts);
	free(j.w);
	return err;
}

static const struct aggregate_format jsonl_format = {
	.ops = &sink_jsonl,
	.apart = DETAIL_LOCATION,
	.lines = true,
	.each_process = true,
	.write = jsonl_write,
};

static struct sink *jsonl_open(const struct sink_args *args)
{
	return aggregate_open(&jsonl_format, args);
}

const struct sink_ops sink_jsonl = {
	.name = "jsonl",
	.help = "frames with their counts, one JSON record a line, as CPython 3.15's",
	.open = jsonl_open,
	AGGREGATE_CALLS,
	.suffix = ".jsonl",
};
