// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * parquet.c - writes Parquet: a row for each stack of a service, hour and sample type
 * (docs/format-parquet.md), in one file, or in a directory by day and service.
 *
 * Profiles of the same series are added up: the processes of a service, and the agent's windows of
 * 15 seconds. A series is a process of the stacks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/util.h"
#include "formats/formats.h"
#include "formats/parquet/parquet_child.h"
#include "formats/parquet/parquet_rows.h"
#include "model/profile_names.h"

#define HOUR_NS 3600000000000ull
#define ROW_BYTES 64		/* approximate bytes in the output, without the frames */
#define FRAME_BYTES 4

struct parquet {
	struct sink sink;
	struct sink_args args;
	struct parquet_child child;
	struct stacks *stacks;
	struct intern *texts;
	struct intern *keys;		/* strings: struct series_key */
	struct buf series;		/* struct parquet_series, by the key's id */
	uint32_t current;		/* series of the profile that is being added */
	uint64_t begin_ns;		/* of that profile, as time of day */
	bool held_apart;
	bool active, begun;
	int err;
};

/* Without padding. */
struct series_key {
	uint64_t hour, factor;
	uint32_t text[SERIES_TEXTS];
	uint32_t counted;
	uint32_t unused[(SERIES_TEXTS + 1) % 2];
};

static struct parquet *to_parquet(struct sink *s)
{
	return (struct parquet *)s;
}

static void free_parts(struct parquet *p)
{
	stacks_free(p->stacks);
	intern_free(p->texts);
	intern_free(p->keys);
	buf_free(&p->series);
	free(p);
}

static struct sink *parquet_open(const struct sink_args *args)
{
	struct stacks_config config = {
		.detail = args->lines == LINES_MERGED ? DETAIL_FUNCTION : DETAIL_LINE,
		.by_status = true,
	};
	struct parquet *p = calloc(1, sizeof(*p));
	int err = ENOMEM;

	if (!p)
		return NULL;
	p->sink.ops = &sink_parquet;
	p->args = *args;
	p->stacks = stacks_new(&config);
	p->texts = intern_new();
	p->keys = intern_new();
	if (p->stacks && p->texts && p->keys)
		err = -parquet_child_start(&p->child, args->fd, args->dirfd);
	if (!err)
		return &p->sink;
	free_parts(p);
	errno = err;
	return NULL;
}

/* ---- series ---- */

/* Returns the name of what the profile's samples measure. */
static const char *type_of(const struct profile_meta *m)
{
	static const char *const clocks[] = {
		[MODE_WALL] = "wall", [MODE_CPU] = "cpu", [MODE_GIL] = "gil", [MODE_ALL] = "wall",
		[MODE_EXCEPTION] = "exception", [MODE_OFFCPU] = "off_cpu",
	};

	if (m->type)
		return m->type;
	if (m->unit == UNIT_BYTES)
		return m->held_apart ? "alloc_space" : "space";
	if (m->event)
		return m->event;
	return profile_mode_known(m->mode) ? clocks[m->mode] : "unknown";
}

static bool is_time(const struct profile_meta *m)
{
	return m->unit == UNIT_SAMPLES && !m->event && m->interval_us;
}

static const char *unit_of(const struct profile_meta *m)
{
	if (m->type_unit)
		return m->type_unit;
	if (m->unit == UNIT_SAMPLES)
		return is_time(m) ? "nanoseconds" : "count";
	return profile_unit_name(m->unit);
}

/* Returns the service's name: as published, or of what the profile knows to be the same. */
static const char *service_of(const struct profile_meta *m)
{
	const char *names[] = { service_part_of(m->service, SERVICE_NAME), m->container,
				m->program, m->comm };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i] && *names[i])
			return names[i];
	return "unknown";
}

static int add_text(struct parquet *p, const char *text, uint32_t *id)
{
	*id = TEXT_NONE;
	return text && *text ? intern_string(p->texts, text, strlen(text), id) : 0;
}

static int make_key(struct parquet *p, const struct profile_meta *m, struct series_key *key)
{
	int part, err = 0;

	*key = (struct series_key){ .hour = m->start_utc_ns / HOUR_NS, .factor = 1,
				    .counted = m->unit == UNIT_SAMPLES };
	if (is_time(m))
		key->factor = mul_capped(m->interval_us, 1000);
	for (part = 0; !err && part < SERVICE_PART_CNT; part++)
		err = add_text(p, part == SERVICE_NAME ? service_of(m) :
				  service_part_of(m->service, (enum service_part)part),
			       &key->text[part]);
	if (!err)
		err = add_text(p, type_of(m), &key->text[SERIES_TYPE]);
	return err ? err : add_text(p, unit_of(m), &key->text[SERIES_UNIT]);
}

static int add_series(struct parquet *p, const struct series_key *key)
{
	struct parquet_series s = { .factor = key->factor, .counted = key->counted };
	int err;

	memcpy(s.text, key->text, sizeof(s.text));
	err = add_text(p, "inuse_space", &s.held_type);
	return err ? err : buf_add(&p->series, &s, sizeof(s));
}

static struct parquet_series *current_series(const struct parquet *p)
{
	return (struct parquet_series *)(void *)p->series.data + p->current;
}

/* Begins the profile, in an existing series or a new one. */
static int begin_series(struct parquet *p, const struct profile_meta *meta,
			const struct profile_tables *tables)
{
	struct series_key key;
	int err = make_key(p, meta, &key);

	if (!err)
		err = intern_string(p->keys, (const char *)&key, sizeof(key), &p->current);
	if (err)
		return err;
	if (p->current < p->series.len / sizeof(struct parquet_series)) {
		stacks_resume(p->stacks, p->current, tables);
		return 0;
	}
	err = stacks_begin(p->stacks, meta, tables);
	return err ? err : add_series(p, &key);
}

/* The series' window begins with its first profile and ends with its last. */
static void extend_window(struct parquet_series *s, uint64_t begin_ns, double duration_s)
{
	uint64_t end_ns = begin_ns;

	if (!begin_ns)
		return;
	if (duration_s > 0 && duration_s < 1e9)
		end_ns = add_capped(begin_ns, (uint64_t)(duration_s * 1e9));
	if (!s->begin_ns || begin_ns < s->begin_ns)
		s->begin_ns = begin_ns;
	if (end_ns > s->end_ns)
		s->end_ns = end_ns;
}

/* ---- the calls ---- */

static int check_time(const struct parquet *p, const struct profile_meta *meta)
{
	if (p->args.fd >= 0 || meta->start_utc_ns)
		return 0;
	log_error("a directory is divided by days, but the time of a profile is not known: use "
		  "-o FILE.parquet");
	return SINK_REPORTED;
}

static int parquet_begin(struct sink *sink, const struct profile_meta *meta,
			 const struct profile_tables *tables)
{
	struct parquet *p = to_parquet(sink);

	if (p->err)
		return p->err;
	if (p->active || (p->begun && !p->args.many))
		return -EINVAL;
	p->err = check_time(p, meta);
	if (!p->err)
		p->err = begin_series(p, meta, tables);
	if (!p->err)
		extend_window(current_series(p), meta->start_utc_ns, 0);
	p->begin_ns = meta->start_utc_ns;
	p->held_apart = meta->held_apart;
	p->active = p->begun = !p->err;
	return p->err;
}

static int parquet_event(struct sink *sink, const struct event *ev)
{
	struct parquet *p = to_parquet(sink);
	struct event one = *ev;
	uint32_t id;

	if (p->err)
		return p->err;
	if (!p->active)
		return -EINVAL;
	one.status = 0;
	p->err = stacks_add(p->stacks, &one, &id);
	if (p->err || !p->held_apart || !(ev->status & STATUS_HELD))
		return p->err;
	one.status = STATUS_HELD;
	return p->err = stacks_add(p->stacks, &one, &id);
}

static int parquet_end(struct sink *sink, const struct profile_stats *stats)
{
	struct parquet *p = to_parquet(sink);

	if (p->err)
		return p->err;
	if (!p->active)
		return -EINVAL;
	p->active = false;
	stacks_end(p->stacks);
	if (stats && stats->known)
		extend_window(current_series(p), p->begin_ns, stats->duration_s);
	return 0;
}

static int write_rows(struct parquet *p)
{
	const struct parquet_rows rows = {
		.stacks = p->stacks, .texts = p->texts, .apart = p->args.fd < 0,
		.series = (const void *)p->series.data, .lines = p->args.lines != LINES_MERGED,
	};
	struct writer *w = writer_new(p->child.rows, 0);
	int err = w ? 0 : -ENOMEM;

	if (!err)
		err = sink_check_size(p->sink.ops, p->args.max_bytes,
				      stacks_bytes(p->stacks, false, FRAME_BYTES) +
				      (uint64_t)stacks_cnt(p->stacks) * ROW_BYTES);
	if (!err)
		err = parquet_rows_write(&rows, w);
	free(w);
	return err;
}

static int parquet_close(struct sink *sink)
{
	struct parquet *p = to_parquet(sink);
	int err = p->err;

	if (!err)
		err = p->active ? -EINVAL : write_rows(p);
	err = parquet_child_end(&p->child, err);
	free_parts(p);
	return err;
}

const struct sink_ops sink_parquet = {
	.name = "parquet",
	.help = "rows by service, hour and stack for a warehouse (needs Python's pyarrow)",
	.takes = SINK_TAKES_LINES | SINK_TAKES_HELD,
	.binary = true,
	.into_dir = true,
	.open = parquet_open,
	.begin = parquet_begin,
	.event = parquet_event,
	.end = parquet_end,
	.close = parquet_close,
	.suffix = ".parquet",
};
