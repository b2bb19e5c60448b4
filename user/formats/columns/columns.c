// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * columns.c - writes columns of numbers for programs that read a profile whole, such as the Python
 * package (docs/format-columns.md): each sample is a row, and refers to tables by number.
 *
 * Samples are written in batches as they come, so memory grows with names and distinct stacks only.
 * The tables, which they refer to, follow at the end: a file without "end" is not complete.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/arith.h"
#include "bpf/abi.h"
#include "formats/columns/columns_out.h"
#include "formats/columns/columns_tables.h"
#include "formats/formats.h"
#include "model/process_frame.h"
#include "model/profile_names.h"
#include "model/remap.h"
#include "model/thread_names.h"

#define BATCH_ROWS 65536
#define ROW_BYTES 25

struct sample_row {
	int64_t time_us, weight;
	int32_t thread, stack;
	uint8_t status;
};

static const struct column sample_columns[] = {
	COLUMN("sample.time_us", struct sample_row, time_us),
	COLUMN("sample.weight", struct sample_row, weight),
	COLUMN("sample.thread", struct sample_row, thread),
	COLUMN("sample.stack", struct sample_row, stack),
	COLUMN("sample.status", struct sample_row, status),
};

/* Without padding. */
struct thread_key {
	uint64_t id;
	uint32_t process, unused;
};

struct columns {
	struct sink sink;
	struct sink_args args;
	struct writer *w;
	struct columns_tables tables;
	struct intern *threads;		/* strings: struct thread_key; by id the row */
	struct intern *inner;		/* strings: ids of process frames, of the profile */
	struct sample_row *rows;	/* that are not written yet */
	uint32_t row_cnt;
	/* The current profile. */
	const struct profile_meta *meta;
	const struct profile_tables *from;
	struct remap *remap;
	struct process_root root;
	uint32_t profile;		/* its row */
	uint32_t inner_process;		/* row of the first process that shares it */
	struct thread_key last;		/* of the last event, */
	uint32_t last_thread;		/* its row, */
	bool any_last;			/* if there is one */
	bool skipped;			/* it counts another unit */
	enum profile_unit unit;		/* of the first profile */
	bool active, begun;
	int err;
};

static struct columns *to_columns(struct sink *s)
{
	return (struct columns *)s;
}

static void free_columns(struct columns *c)
{
	columns_tables_free(&c->tables);
	intern_free(c->threads);
	intern_free(c->inner);
	remap_free(c->remap);
	free(c->rows);
	free(c->w);
	free(c);
}

static struct sink *columns_open(const struct sink_args *args)
{
	struct columns *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return NULL;
	c->sink.ops = &sink_columns;
	c->args = *args;
	err = columns_tables_init(&c->tables);
	c->w = writer_new(args->fd, args->max_bytes);
	c->threads = intern_new();
	c->rows = calloc(BATCH_ROWS, sizeof(*c->rows));
	if (!err && c->w && c->threads && c->rows) {
		columns_begin(c->w);
		return &c->sink;
	}
	free_columns(c);
	errno = ENOMEM;
	return NULL;
}

/* ---- processes ---- */

static int add_profile(struct columns *c, const struct profile_meta *meta)
{
	c->profile = columns_process_cnt(&c->tables);
	return columns_add_process(&c->tables, meta);
}

/* Adds one of the processes that share the profile: what is known of all, and its own names. */
static int add_inner(struct columns *c)
{
	struct process_row row = *columns_process(&c->tables, c->profile);
	int err;

	row.pid = c->root.tgid;
	row.lost = -1;
	row.profile = (int32_t)c->profile;
	err = columns_text(&c->tables, c->root.comm, &row.text[TEXT_COMM]);
	if (!err && *c->root.container)
		err = columns_text(&c->tables, c->root.container, &row.text[TEXT_CONTAINER]);
	return err ? err : buf_add(&c->tables.processes, &row, sizeof(row));
}

/* Finds the row of the process whose frame is the event's outermost. Returns 0 or -errno. */
static int inner_process(struct columns *c, uint32_t *process)
{
	const char *frame = (const char *)&c->root.frame;
	uint32_t index, cnt;
	int err;

	if (!c->inner)
		c->inner = intern_new();
	if (!c->inner)
		return -ENOMEM;
	cnt = intern_tables(c->inner)->string_cnt;
	err = intern_string(c->inner, frame, sizeof(c->root.frame), &index);
	if (!err && index == cnt)
		err = add_inner(c);
	*process = c->inner_process + index;
	return err;
}

/* ---- threads, stacks ---- */

static int add_thread(struct columns *c, const struct thread_key *key)
{
	struct thread_row row = { .id = (int64_t)key->id, .process = (int32_t)key->process };
	const char *name = thread_names_find(c->meta->thread_names, key->id);
	int err = columns_text(&c->tables, name, &row.name);

	return err ? err : buf_add(&c->tables.threads, &row, sizeof(row));
}

/* Sets *thread to the row of the event's thread. Returns 0 or -errno. */
static int find_thread(struct columns *c, const struct event *ev, uint32_t process,
		       uint32_t *thread)
{
	struct thread_key key = { .id = ev->thread_id, .process = process };
	struct thread_row *row;
	uint32_t cnt;
	int err = 0;

	if (!c->any_last || c->last.id != key.id || c->last.process != process) {
		cnt = intern_tables(c->threads)->string_cnt;
		err = intern_string(c->threads, (const char *)&key, sizeof(key), &c->last_thread);
		if (!err && c->last_thread == cnt)
			err = add_thread(c, &key);
		c->last = key;
		c->any_last = !err;
	}
	*thread = c->last_thread;
	row = (struct thread_row *)(void *)c->tables.threads.data + *thread;
	if (!err && ev->status & STATUS_MAIN_THREAD)
		row->main = 1;
	return err;
}

/* Sets *stack to the number of the event's stack, and adds its weight. Returns 0 or -errno. */
static int find_stack(struct columns *c, const struct event *ev, uint32_t *stack)
{
	const struct stack_sum none = { 0 };
	struct stack_sum *sum;
	struct event ours;
	int err = remap_event(c->remap, ev, &ours);

	if (!err)
		err = intern_string(c->tables.stacks, (const char *)ours.frames,
				    ours.nframes * sizeof(*ours.frames), stack);
	if (!err && *stack == c->tables.sums.len / sizeof(none))
		err = buf_add(&c->tables.sums, &none, sizeof(none));
	if (err)
		return err;
	sum = (struct stack_sum *)(void *)c->tables.sums.data + *stack;
	sum->weight = (int64_t)add_capped((uint64_t)sum->weight, ev->weight);
	if (sum->weight < 0)
		sum->weight = INT64_MAX;
	sum->squares += (double)ev->weight * (double)ev->weight;
	return 0;
}

/* ---- the calls ---- */

/* A stack's weight is a sum, so all have one unit: that of the first profile. */
static bool has_other_unit(struct columns *c, const struct profile_meta *meta)
{
	if (!c->begun)
		c->unit = meta->unit;
	if (c->unit == meta->unit)
		return false;
	log_warn("a profile counts %s, but the first one counts %s: its samples are left out; "
		 "read it separately", profile_unit_name(meta->unit), profile_unit_name(c->unit));
	return true;
}

static int columns_begin_profile(struct sink *sink, const struct profile_meta *meta,
				 const struct profile_tables *tables)
{
	struct columns *c = to_columns(sink);

	if (c->err)
		return c->err;
	if (c->active || (c->begun && !c->args.many))
		return -EINVAL;
	c->skipped = has_other_unit(c, meta);
	c->meta = meta;
	c->from = tables;
	c->root = (struct process_root){ .tables = tables };
	c->any_last = false;
	intern_free(c->inner);
	c->inner = NULL;
	if (c->remap)
		remap_begin(c->remap, tables, c->tables.names);
	else
		c->remap = remap_new(tables, c->tables.names);
	c->err = !c->remap ? -ENOMEM : c->skipped ? 0 : add_profile(c, meta);
	c->inner_process = columns_process_cnt(&c->tables);
	c->active = c->begun = !c->err;
	return c->err;
}

static bool frames_known(const struct columns *c, const struct event *ev)
{
	uint32_t i;

	for (i = 0; i < ev->nframes; i++)
		if (ev->frames[i] >= c->from->frame_cnt)
			return false;
	return true;
}

static void write_batch(struct columns *c)
{
	columns_put_rows(c->w, sample_columns, ARRAY_SIZE(sample_columns), c->rows,
			 sizeof(*c->rows), c->row_cnt);
	c->row_cnt = 0;
}

static int add_sample(struct columns *c, const struct event *ev)
{
	struct event inner = *ev;
	uint32_t process = c->profile, thread, stack;
	int err = 0;

	if (!c->meta->tgid && process_root_of(&c->root, ev)) {
		inner.nframes--;	/* its frame is no function */
		err = inner_process(c, &process);
	}
	if (!err)
		err = find_thread(c, &inner, process, &thread);
	if (!err)
		err = find_stack(c, &inner, &stack);
	if (err)
		return err;
	c->rows[c->row_cnt++] = (struct sample_row){
		.time_us = (int64_t)ev->time_us, .weight = (int64_t)ev->weight,
		.thread = (int32_t)thread, .stack = (int32_t)stack, .status = ev->status,
	};
	if (c->row_cnt == BATCH_ROWS)
		write_batch(c);
	return c->w->err;
}

static int columns_event(struct sink *sink, const struct event *ev)
{
	struct columns *c = to_columns(sink);

	if (c->err)
		return c->err;
	if (!c->active)
		return -EINVAL;
	if (ev->nframes > EVENT_MAX_FRAMES || !frames_known(c, ev))
		return c->err = -EINVAL;
	return c->skipped ? 0 : (c->err = add_sample(c, ev));
}

static int columns_lost(struct sink *sink, const char *cause, uint64_t cnt)
{
	struct columns *c = to_columns(sink);
	struct loss_row row = { .count = cnt < INT64_MAX ? (int64_t)cnt : INT64_MAX,
				.process = (int32_t)c->profile };

	if (c->err || c->skipped)
		return c->err;
	c->err = columns_text(&c->tables, cause, &row.cause);
	if (!c->err)
		c->err = buf_add(&c->tables.losses, &row, sizeof(row));
	return c->err;
}

static void note_stats(struct process_row *row, const struct profile_stats *stats)
{
	if (stats->known) {
		row->duration_s = stats->duration_s;
		row->sample_rate = stats->sample_rate;
	}
	if (stats->error_known)
		row->error_pct = stats->error_pct;
	if (stats->missed_known)
		row->missed_pct = stats->missed_pct;
	if (stats->lost_known)
		row->lost = stats->lost_cnt < INT64_MAX ? (int64_t)stats->lost_cnt : INT64_MAX;
}

static int columns_end(struct sink *sink, const struct profile_stats *stats)
{
	struct columns *c = to_columns(sink);

	if (c->err)
		return c->err;
	if (!c->active)
		return -EINVAL;
	c->active = false;
	if (stats && !c->skipped)
		note_stats(columns_process(&c->tables, c->profile), stats);
	return 0;
}

static int columns_close(struct sink *sink)
{
	struct columns *c = to_columns(sink);
	int err = c->err, write_err;

	if (!err)
		err = c->active ? -EINVAL : 0;
	if (!err) {
		write_batch(c);
		err = columns_tables_write(&c->tables, c->w);
		write_err = writer_flush(c->w);
		err = err ? err : write_err;
	}
	free_columns(c);
	return err;
}

const struct sink_ops sink_columns = {
	.name = "columns",
	.help = "columns of numbers for programs: each sample, and what it refers to",
	.binary = true,
	.bytes_an_event = ROW_BYTES,
	.open = columns_open,
	.begin = columns_begin_profile,
	.event = columns_event,
	.lost = columns_lost,
	.end = columns_end,
	.close = columns_close,
	.suffix = ".columns",
};
