// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * pprof.c - writes profile.proto, gzipped, for Go's pprof and its relatives (docs/format-pprof.md;
 * pprof_encode.h encodes it).
 *
 * Fields are compressed and written as soon as there are some KiB of them, so memory only holds the
 * string table, which comes last.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/pairs.h"
#include "base/text.h"
#include "formats/formats.h"
#include "formats/pprof/pprof_encode.h"
#include "model/aggregate.h"
#include "model/profile_names.h"
#include "model/thread_names.h"

#define OUT_BYTES (64 * 1024)
#define GZIP_WINDOW (15 + 16)	/* zlib.h: plus 16 for a gzip header */
#define GZIP_LEVEL 4
#define LABEL_MAX 8

struct pprof {
	struct aggregate *a;
	const struct profile_tables *t;
	struct pprof_encoder *e;
	struct pairs functions;	/* pairs of file and name */
	z_stream zip;
	uint64_t written;	/* bytes of the file */
	uint8_t out[OUT_BYTES];
};

/* Passes data to zlib, and its output to the file. */
static int deflate_out(struct pprof *p, const void *data, size_t len, int flush)
{
	int err, status;

	p->zip.next_in = (Bytef *)data;
	p->zip.avail_in = (uInt)len;
	do {
		p->zip.next_out = p->out;
		p->zip.avail_out = OUT_BYTES;
		status = deflate(&p->zip, flush);
		if (status == Z_STREAM_ERROR)
			return -EIO;
		p->written += OUT_BYTES - p->zip.avail_out;
		if (p->a->args.max_bytes && p->written > p->a->args.max_bytes)
			return -EFBIG;
		err = write_all(p->a->args.fd, p->out, OUT_BYTES - p->zip.avail_out);
		if (err)
			return err;
	} while (!p->zip.avail_out);
	return 0;
}

/* Writes the encoder's fields once there are `least` bytes of them. */
static int write_fields(struct pprof *p, size_t least)
{
	struct buf *fields = pprof_fields(p->e);
	size_t at, n;
	int err = pprof_error(p->e);

	if (err || fields->len < least)
		return err;
	for (at = 0; !err && at < fields->len; at += n) {	/* zlib counts with 32 bits */
		n = fields->len - at < OUT_BYTES ? fields->len - at : OUT_BYTES;
		err = deflate_out(p, fields->data + at, n, Z_NO_FLUSH);
	}
	fields->len = 0;
	return err;
}

/* The value types by unit and, for samples, by clock: a number of events and its weight each. */
struct value_types {
	const char *types[PPROF_TYPES_MAX];
	size_t cnt;
	size_t shown;		/* the one that is shown at first */
	const char *unit;	/* of the weights */
};

static struct value_types types_of(const struct profile_meta *meta)
{
	static const char *const clocks[] = {
		[MODE_WALL] = "wall", [MODE_CPU] = "cpu", [MODE_GIL] = "gil",
		[MODE_ALL] = "wall", [MODE_EXCEPTION] = "exception",
		[MODE_OFFCPU] = "wall",
	};
	const char *clock = profile_mode_known(meta->mode) ? clocks[meta->mode] : "cpu";

	if (meta->unit == UNIT_BYTES && meta->held_apart)
		return (struct value_types){ { "alloc_objects", "alloc_space", "inuse_objects",
					       "inuse_space" }, 4, 3, "bytes" };
	if (meta->unit == UNIT_BYTES)
		return (struct value_types){ { "alloc_objects", "alloc_space" }, 2, 1, "bytes" };
	return (struct value_types){ { "samples", clock }, 2, 1, "nanoseconds" };
}

static uint64_t clamp_u64(unsigned __int128 v)
{
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

/* Writes a comment about a process, which `pprof -comments` shows. */
static void put_comment(struct pprof *p, uint32_t process)
{
	const struct stack_process *proc = stacks_process(p->a->stacks, process);
	const struct profile_stats *st = aggregate_stats(p->a, process);
	const struct profile_meta *m = &proc->meta;
	char text[512 + sizeof(proc->name)], python[48] = "", lost[64] = "", cut[64] = "";
	char platform[128] = "";

	if (m->python_major)
		snprintf(python, sizeof(python), " python %u.%u.%u", m->python_major,
			 m->python_minor, m->python_micro);
	if (m->platform)
		snprintf(platform, sizeof(platform), "; platform %.100s", m->platform);
	if (st->lost_known)
		snprintf(lost, sizeof(lost), "; lost %llu %s", (unsigned long long)st->lost_cnt,
			 text_plural(st->lost_cnt, "sample", "samples"));
	if (proc->truncated)
		snprintf(cut, sizeof(cut), "; truncated %llu",
			 (unsigned long long)proc->truncated);
	snprintf(text, sizeof(text), "%s %s:%s%s; mode %s%s%s", sink_meta_kind(m),
		 *proc->name ? proc->name : "?", python, platform, profile_mode_name(m->mode), lost,
		 cut);
	pprof_comment(p->e, text);
}

static uint64_t duration_ns(const struct aggregate *a)
{
	uint32_t i, cnt = stacks_process_cnt(a->stacks);
	double duration = 0;

	for (i = 0; i < cnt; i++) {
		if (aggregate_stats(a, i)->known && aggregate_stats(a, i)->duration_s > duration)
			duration = aggregate_stats(a, i)->duration_s;
	}
	return duration < 9e9 ? (uint64_t)(duration * 1e9) : 0;
}

static void begin_profile(struct pprof *p)
{
	static const struct profile_meta none = { .mode = MODE_UNKNOWN };
	uint32_t i, cnt = stacks_process_cnt(p->a->stacks);
	const struct profile_meta *m = cnt ? &stacks_process(p->a->stacks, 0)->meta : &none;
	struct value_types names = types_of(m);
	struct pprof_head head = {
		.type_cnt = names.cnt,
		.shown = names.shown,
		.period = m->unit == UNIT_SAMPLES ?
				  clamp_u64((unsigned __int128)m->interval_us * 1000) : 1,
		.time_ns = m->start_utc_ns,
		.duration_ns = duration_ns(p->a),
		.program = cnt == 1 && m->comm && *m->comm ? m->comm : "python",
	};

	for (i = 0; i < names.cnt; i++)
		head.types[i] = (struct pprof_type){ names.types[i], i % 2 ? names.unit : "count" };
	head.period_type = head.types[names.shown];
	pprof_begin(p->e, &head);
	for (i = 0; i < cnt; i++)
		put_comment(p, i);
}

/* A function is a file and a name. */
static int place_of(void *ctx, uint32_t label, struct pprof_place *out)
{
	struct pprof *p = ctx;
	const struct frame *f = &p->t->frames[label];

	out->line = stacks_line(p->a->stacks, label);
	out->first_line = stacks_first_line(p->a->stacks, label);
	return pairs_add(&p->functions, (struct pair){ f->file, f->func }, &out->function);
}

static void set_values(const struct stack_view *v, const struct profile_meta *meta,
		       uint64_t values[PPROF_TYPES_MAX])
{
	bool held = v->status & STATUS_HELD || !meta->held_apart;

	values[0] = meta->unit == UNIT_SAMPLES ? v->weight : v->events;
	values[1] = clamp_u64(meta->unit == UNIT_SAMPLES ?
				      (unsigned __int128)v->weight * meta->interval_us * 1000 :
				      v->weight);
	values[2] = held ? values[0] : 0;
	values[3] = held ? values[1] : 0;
}

static size_t set_labels(const struct pprof *p, const struct stack_view *v,
			 char status[PROFILE_STATUS_BYTES], struct pprof_label *l)
{
	const struct stack_group *g = stacks_group(p->a->stacks, v->group);
	const struct profile_meta *meta = &stacks_process(p->a->stacks, g->process)->meta;
	const char *name = thread_names_find(meta->thread_names, g->thread_id);
	size_t n = 0;

	if (meta->tgid)
		l[n++] = (struct pprof_label){ "pid", NULL, meta->tgid };
	if (meta->comm && *meta->comm)
		l[n++] = (struct pprof_label){ meta->of_container ? "container" : "comm",
					       meta->comm, 0 };
	if (meta->container && *meta->container)
		l[n++] = (struct pprof_label){ "container", meta->container, 0 };
	if (meta->image && *meta->image)
		l[n++] = (struct pprof_label){ "image", meta->image, 0 };
	if (p->a->config.by_thread)
		l[n++] = (struct pprof_label){ "tid", NULL, g->thread_id };
	if (name)
		l[n++] = (struct pprof_label){ "thread", name, 0 };
	if (!meta->held_apart)
		l[n++] = (struct pprof_label){ "status", profile_status_text(v->status, status),
					       0 };
	return n;
}

static int put_sample(struct pprof *p, const struct stack_view *v)
{
	const struct stack_group *g = stacks_group(p->a->stacks, v->group);
	char status[PROFILE_STATUS_BYTES];
	struct pprof_label labels[LABEL_MAX];
	uint64_t values[PPROF_TYPES_MAX];
	uint32_t ids[EVENT_MAX_FRAMES];

	memcpy(ids, v->labels, v->n * sizeof(*ids));
	set_values(v, &stacks_process(p->a->stacks, g->process)->meta, values);
	pprof_locations(p->e, ids, v->n);
	pprof_sample(p->e, ids, v->n, values, labels, set_labels(p, v, status, labels));
	return write_fields(p, OUT_BYTES);
}

static int put_profile(struct pprof *p)
{
	uint32_t i, cnt = stacks_cnt(p->a->stacks);
	int err = 0;

	begin_profile(p);
	for (i = 0; !err && i < cnt; i++) {
		struct stack_view v = stacks_get(p->a->stacks, i);

		if (v.n)
			err = put_sample(p, &v);
	}
	if (!err)
		err = write_fields(p, 0);
	pprof_end(p->e);
	if (!err)
		err = write_fields(p, 0);
	return err ? err : deflate_out(p, NULL, 0, Z_FINISH);
}

static int pprof_write(struct aggregate *a)
{
	struct pprof *p = calloc(1, sizeof(*p));
	struct pprof_source source = { .place = place_of, .ctx = p };
	int err = -ENOMEM;

	if (!p)
		return err;
	p->a = a;
	source.tables = p->t = stacks_tables(a->stacks);
	p->e = pprof_encoder_new(&source);
	if (p->e && deflateInit2(&p->zip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8,
				 Z_DEFAULT_STRATEGY) == Z_OK) {
		err = put_profile(p);
		deflateEnd(&p->zip);
	}
	pprof_encoder_free(p->e);
	pairs_free(&p->functions);
	free(p);
	return err;
}

static const struct aggregate_format pprof_format = {
	.ops = &sink_pprof,
	.apart = DETAIL_LINE,
	.lines = true,
	.by_thread = true,
	.one_unit = true,
	.by_status = true,
	.libraries = true,
	.frame_bytes = 1,	/* they are compressed */
	.write = pprof_write,
};

static struct sink *pprof_open(const struct sink_args *args)
{
	return aggregate_open(&pprof_format, args);
}

const struct sink_ops sink_pprof = {
	.name = "pprof",
	.help = "profile.proto, gzipped: go tool pprof, Pyroscope, Polar Signals, ...",
	.takes = SINK_TAKES_LINES | SINK_TAKES_GROUP | SINK_TAKES_HELD,
	.binary = true,
	.open = pprof_open,
	AGGREGATE_CALLS,
	.suffix = ".pb.gz",
};
