// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mlyze_profile.c - Memlyze files as a reader: events have bytes as weights; --value selects the
 * allocations that count. mlyze.h has the format.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/util.h"
#include "formats/describe.h"
#include "formats/formats.h"
#include "formats/input.h"
#include "formats/mlyze/mlyze_growth.h"
#include "formats/mlyze/mlyze_notes.h"
#include "formats/mlyze/mlyze_stats.h"
#include "formats/thread_clocks.h"
#include "model/held_series.h"
#include "model/reader.h"

/* How many collections and markers are listed one by one. */
#define LISTED_MAX 100

struct mlyze_input {
	struct reader reader;
	struct mlyze_file *file;
	struct mlyze_notes notes;
	struct mlyze_stats stats;
	struct held_series held;
	struct type_series *types;	/* NULL: there are no two censuses */
	uint64_t to_us;		/* the first time that does not count; 0: all times count */
	enum reader_value value;
};

static struct mlyze_input *to_mlyze(struct reader *r)
{
	return (struct mlyze_input *)r;
}

static bool mlyze_probe(const struct input *in)
{
	return in->size >= 4 && !memcmp(in->data, MLYZE_MAGIC, 4);
}

static void error_text(const struct mlyze_error *e, char *why, size_t why_size)
{
	if (e->rule == MLYZE_VALID)
		snprintf(why, why_size, "%s", e->text);
	else
		snprintf(why, why_size, "damaged at byte %" PRIu64 ": %s: %s", e->off,
			 mlyze_rule_name(e->rule), e->text);
}

/* What tachbpf's own marks say. Their times are times of day. */
static void fill_meta(const struct mlyze_input *m, struct profile_meta *meta)
{
	const struct mlyze_notes *n = &m->notes;

	if (!n->recorded)
		return;
	meta->tgid = n->pid;
	meta->comm = n->comm;
	meta->container = n->container;
	meta->python_major = n->python_major;
	meta->python_minor = n->python_minor;
	meta->python_micro = n->python_micro;
	meta->thread_names = n->names;
	meta->start_utc_ns = mul_capped(meta->start_us, 1000);
}

static void fill_info(struct mlyze_input *m)
{
	struct reader_info *info = &m->reader.info;
	const struct mlyze_sums *t = &m->stats.total;

	m->reader.ops = &reader_mlyze;
	m->reader.profile_cnt = 1;
	m->reader.tables = mlyze_tables(m->file);
	info->meta.unit = UNIT_BYTES;
	info->meta.mode = MODE_UNKNOWN;
	info->meta.start_us = mlyze_start_us(m->file);
	info->meta.interval_us = NOMINAL_INTERVAL_US;
	info->meta.held_apart = m->value == VALUE_BOTH;
	info->meta.held = &m->held;
	info->meta.types = m->types;
	fill_meta(m, &info->meta);
	info->timed = true;
	info->stats.known = true;
	info->stats.duration_s = (m->stats.end_us - info->meta.start_us) / 1e6;
	info->truncated_cnt = mlyze_deep_stack_cnt(m->file);
	if (m->value == VALUE_ALLOCATED || m->value == VALUE_BOTH) {
		info->event_cnt = t->count;
		info->weight_sum = t->allocated;
	} else if (m->value == VALUE_PEAK) {
		info->event_cnt = t->peak_count;
		info->weight_sum = t->peak;
	} else {
		info->event_cnt = t->live_count;
		info->weight_sum = t->live;
	}
}

/* The first width of the steps of what is held over time. */
#define HELD_STEP_US 1000

static int add_held(void *ctx, uint32_t row, uint64_t time_us, uint64_t bytes, bool more)
{
	(void)row;
	held_series_change(ctx, time_us, bytes, more);
	return 0;
}

/* What has become of all that is held when the file ends. */
static void add_fates(struct mlyze_input *m)
{
	const struct mlyze_fate *fates;
	size_t i, cnt;

	fates = mlyze_notes_fates(&m->notes, &cnt);
	for (i = 0; i < cnt; i++) {
		m->held.pages = add_capped(m->held.pages, fates[i].pages);
		m->held.own = add_capped(m->held.own, fates[i].own);
		m->held.gone = add_capped(m->held.gone, fates[i].reused);
		m->held.gone = add_capped(m->held.gone, fates[i].unused);
	}
}

/* Reads everything except the events that become the profile's. Returns 0 or -errno. */
static int read_all(struct mlyze_input *m, const struct reader_args *args)
{
	struct mlyze_stats_args range = { .changed = add_held, .ctx = &m->held };
	int err;

	m->value = args->value;
	if (args->until_given)
		range.to_us = args->until_absolute ? args->until_us :
			      add_capped(mlyze_start_us(m->file), args->until_us);
	range.to_us += args->until_given && !range.to_us;	/* 0 would be the end */
	m->to_us = range.to_us;
	err = mlyze_notes_read(m->file, &m->notes);
	m->held.start_us = mlyze_start_us(m->file);
	m->held.width_us = HELD_STEP_US;
	m->held.check_us = m->notes.interval_us;
	if (!err && !range.to_us)
		add_fates(m);
	err = err ? err : mlyze_stats_collect(m->file, &range, &m->stats);
	if (err)
		return err;
	held_series_until(&m->held, m->stats.end_us);
	return mlyze_growth_read(&m->notes, m->held.start_us, m->stats.end_us, &m->types);
}

static struct reader *open_mlyze(const struct input *in, const struct reader_args *args, char *why,
				 size_t why_size)
{
	struct mlyze_input *m = calloc(1, sizeof(*m));
	struct mlyze_error error = { .text = "out of memory" };
	int err;

	if (m)
		m->file = mlyze_open(in->data, in->size, &error);
	if (!m || !m->file) {
		err = m ? errno : ENOMEM;
		error_text(&error, why, why_size);
		goto fail;
	}
	err = -read_all(m, args);
	if (!err && m->stats.damaged && !m->stats.event_cnt) {
		error_text(&m->stats.error, why, why_size);
		err = EBADMSG;
	} else if (err) {
		snprintf(why, why_size, "%s", strerror(err));
	}
	if (err)
		goto fail;
	fill_info(m);
	return &m->reader;
fail:
	if (m) {
		free(m->types);
		mlyze_notes_free(&m->notes);
		mlyze_stats_free(&m->stats);
		mlyze_free(m->file);
	}
	free(m);
	errno = err;
	return NULL;
}

static void free_mlyze(struct reader *r)
{
	struct mlyze_input *m = to_mlyze(r);

	free(m->types);
	mlyze_notes_free(&m->notes);
	mlyze_stats_free(&m->stats);
	mlyze_free(m->file);
	free(m);
}

/* Returns true if what this event allocated is live, or if live is NULL. */
static bool is_live(const struct mlyze_live *live, const struct mlyze_event *ev, uint64_t index)
{
	const struct mlyze_block *b = live ? mlyze_live_find(live, ev->addr) : NULL;

	return b && b->index == index;
}

static int deliver_events(struct mlyze_input *m, const struct mlyze_live *live,
			  reader_event_fn on_event, void *ctx)
{
	bool all = m->value == VALUE_ALLOCATED || m->value == VALUE_BOTH;
	uint32_t frames[EVENT_MAX_FRAMES];
	struct mlyze_error error;
	struct mlyze_event alloc;
	struct mlyze_cursor c;
	int err = 0;

	mlyze_rewind(&c, m->file);
	while (!err && mlyze_next(&c, &alloc, &error) > 0) {
		struct event ev = { .time_us = alloc.time_us, .frames = frames,
				    .weight = alloc.size };
		bool held = is_live(live, &alloc, c.index - 1);

		if (m->to_us && alloc.time_us >= m->to_us)
			break;
		if (alloc.type != MLYZE_ALLOC || !alloc.size || (!all && !held))
			continue;
		if (m->value == VALUE_BOTH && held)
			ev.status = STATUS_HELD;
		ev.thread_id = mlyze_notes_tid(&m->notes, alloc.thread);
		ev.nframes = mlyze_event_frames(m->file, alloc.stack, frames);
		err = on_event(ctx, &ev);
	}
	return err;
}

static int mlyze_run(struct reader *r, reader_event_fn on_event, void *ctx, char *why,
		     size_t why_size)
{
	struct mlyze_input *m = to_mlyze(r);
	struct mlyze_live *live = NULL;
	int err = 0;

	if (r->info.weight_sum > WEIGHT_SUM_MAX) {
		snprintf(why, why_size, "sizes that add up to more than 63 bits");
		return -EBADMSG;
	}
	if (m->value != VALUE_ALLOCATED) {
		live = mlyze_live_new();
		err = live ? mlyze_live_replay(live, m->file, m->value == VALUE_PEAK ?
					       m->stats.peak_events : m->stats.event_cnt) : -ENOMEM;
	}
	if (!err)
		err = deliver_events(m, live, on_event, ctx);
	mlyze_live_free(live);
	if (!err && m->stats.damaged) {
		error_text(&m->stats.error, why, why_size);
		err = -EBADMSG;
	}
	return err;
}

static void describe_sums(const struct mlyze_stats *st, struct describe *d)
{
	const struct {
		const char *key;
		uint64_t v;
	} facts[] = {
		{ "events", st->event_cnt },
		{ "allocations", st->total.count },
		{ "allocated_bytes", st->total.allocated },
		{ "frees", st->free_cnt },
		{ "freed_bytes", st->freed },
		{ "live_allocations", st->total.live_count },
		{ "live_bytes", st->total.live },
		{ "peak_allocations", st->total.peak_count },
		{ "peak_bytes", st->total.peak },
		{ "peak_us", st->peak_us },
		{ "frees_of_unknown_blocks", st->unmatched_frees },
		{ "frees_not_recorded", st->lost_frees },
		{ "collections", st->gc_cnt },
		{ "collected_objects", st->gc_objects },
		{ "collected_bytes", st->gc_bytes },
		{ "markers", st->marker_cnt },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(facts); i++)
		d->number(d, facts[i].key, facts[i].v);
}

/* Describes the first LISTED_MAX events of a type. */
static void describe_events(const struct mlyze_input *m, enum mlyze_type type, const char *key,
			    struct describe *d)
{
	struct mlyze_error error;
	struct mlyze_cursor c;
	struct mlyze_event ev;
	int left = LISTED_MAX;

	d->list(d, key);
	mlyze_rewind(&c, m->file);
	while (left && mlyze_next(&c, &ev, &error) > 0) {
		if (ev.type != type)
			continue;
		left--;
		d->item(d);
		d->number(d, "time_us", ev.time_us);
		if (type == MLYZE_GC) {
			d->number(d, "objects", ev.objects);
			d->number(d, "bytes", ev.bytes);
		} else {
			const struct string_ref *s = &mlyze_tables(m->file)->strings[ev.name];

			d->text(d, "name", s->data, s->len);
		}
	}
	d->list_end(d);
}

static void mlyze_describe(const struct reader *r, struct describe *d)
{
	const struct mlyze_input *m = (const struct mlyze_input *)r;
	static const char newer[] = "not 0: made by something newer";
	char why[256] = "yes";

	if (m->stats.damaged)
		error_text(&m->stats.error, why, sizeof(why));
	d->number(d, "version", MLYZE_VERSION);
	d->text(d, "valid", why, strlen(why));
	d->number(d, "metadata_bytes", mlyze_metadata_bytes(m->file));
	if (!mlyze_reserved_clear(m->file))
		d->text(d, "reserved", newer, strlen(newer));
	d->number(d, "stacks", mlyze_stack_cnt(m->file));
	d->number(d, "source_files", mlyze_file_cnt(m->file));
	d->number(d, "functions", mlyze_function_cnt(m->file));
	describe_sums(&m->stats, d);
	if (m->notes.sampled.bursts)
		d->number(d, "sampled_bursts", m->notes.sampled.bursts);
	if (m->stats.gc_cnt)
		describe_events(m, MLYZE_GC, "collection_events", d);
	if (m->stats.marker_cnt)
		describe_events(m, MLYZE_MARKER, "marker_events", d);
}

const struct reader_ops reader_mlyze = {
	.name = "mlyze",
	.help = "Memlyze traces of allocations; --value says which bytes count",
	.probe = mlyze_probe,
	.open = open_mlyze,
	.run = mlyze_run,
	.describe = mlyze_describe,
	.free = free_mlyze,
};
