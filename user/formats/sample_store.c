// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* sample_store.c - see sample_store.h. */
#include "formats/sample_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/read_stack.h"
#include "formats/thread_clocks.h"
#include "model/intern.h"
#include "model/thread_names.h"

#define PROFILES_MAX (1u << 16)
#define SAMPLES_MAX (1u << 28)
/* A few bytes of a file may name 256 frames: its size does not limit what its stacks take. */
#define FRAMES_MAX ((size_t)1 << 28)
#define NONE UINT32_MAX

struct stored_profile {
	struct reader_info info;
	struct profile_service service;
	struct thread_names *threads;	/* NULL: none */
	uint32_t first, last;		/* of its samples; NONE: there are none */
};

struct stored_sample {
	uint64_t thread_id, weight;
	uint32_t stack;			/* its id */
	uint32_t next;			/* the profile's next sample; NONE: this is the last */
	uint8_t status;
};

static struct sample_store *to_store(struct reader *r)
{
	return (struct sample_store *)(void *)r;
}

static struct stored_sample *sample_at(struct sample_store *s, size_t i)
{
	return (struct stored_sample *)(void *)s->samples.data + i;
}

int sample_store_init(struct sample_store *s, const struct reader_ops *ops,
		      const struct reason *why)
{
	s->reader.ops = ops;
	s->names = intern_new();
	s->texts = intern_new();
	s->keys = intern_new();
	s->stacks = intern_new();
	s->frames_left = FRAMES_MAX;
	return s->names && s->texts && s->keys && s->stacks ? 0 : reason_memory(why);
}

void sample_store_free(struct sample_store *s)
{
	uint32_t i;

	for (i = 0; i < s->reader.profile_cnt; i++)
		thread_names_drop(s->profiles[i].threads);
	free(s->profiles);
	intern_free(s->names);
	intern_free(s->texts);
	intern_free(s->keys);
	intern_free(s->stacks);
	buf_free(&s->samples);
}

const char *sample_store_text(struct sample_store *s, const char *data, size_t len)
{
	struct buf text = { 0 };
	uint32_t id;
	int err = buf_add(&text, data, len);

	err = err ? err : buf_add(&text, "", 1);
	err = err ? err : intern_string(s->texts, (const char *)text.data, text.len, &id);
	buf_free(&text);
	return err ? NULL : intern_tables(s->texts)->strings[id].data;
}

/* ---- profiles ---- */

static int add_text(struct buf *key, const char *text)
{
	int err = buf_add(key, text ? "+" : "-", 1);

	return err || !text ? err : buf_add(key, text, strlen(text) + 1);
}

/* The bytes that distinguish profiles. */
static int make_key(struct buf *key, const struct stored_identity *id,
		    const struct stored_kind *kind)
{
	int err = buf_add(key, &id->tgid, sizeof(id->tgid));
	size_t i;

	err = err ? err : buf_add(key, &kind->unit, sizeof(kind->unit));
	err = err ? err : add_text(key, id->comm);
	err = err ? err : add_text(key, id->container);
	err = err ? err : add_text(key, id->image);
	err = err ? err : add_text(key, kind->type);
	err = err ? err : add_text(key, kind->type_unit);
	for (i = 0; !err && i < SERVICE_PART_CNT; i++)
		err = add_text(key, id->service.part[i]);
	return err;
}

/* Copies a text; *err is set if there is no memory. */
static const char *copy_text(struct sample_store *s, const char *text, int *err)
{
	const char *copy = text ? sample_store_text(s, text, strlen(text)) : NULL;

	if (text && !copy)
		*err = -ENOMEM;
	return copy;
}

static int fill_profile(struct sample_store *s, struct stored_profile *p,
			const struct stored_identity *id, const struct stored_kind *kind)
{
	struct profile_meta *meta = &p->info.meta;
	int err = 0;
	size_t i;

	p->first = p->last = NONE;
	meta->tgid = id->tgid;
	meta->comm = copy_text(s, id->comm, &err);
	meta->container = copy_text(s, id->container, &err);
	meta->image = copy_text(s, id->image, &err);
	meta->type = copy_text(s, kind->type, &err);
	meta->type_unit = copy_text(s, kind->type_unit, &err);
	for (i = 0; i < SERVICE_PART_CNT; i++)
		p->service.part[i] = copy_text(s, id->service.part[i], &err);
	meta->unit = kind->unit;
	meta->mode = kind->mode;
	meta->interval_us = kind->interval_us;
	meta->held_apart = kind->held_apart;
	return err;
}

static void add_times(struct stored_profile *p, const struct stored_kind *kind)
{
	struct reader_info *info = &p->info;
	double seconds = kind->duration_ns / 1e9;

	if (kind->start_utc_ns &&
	    (!info->meta.start_utc_ns || kind->start_utc_ns < info->meta.start_utc_ns))
		info->meta.start_utc_ns = kind->start_utc_ns;
	if (seconds > info->stats.duration_s)
		info->stats.duration_s = seconds;
	info->stats.known = info->stats.duration_s > 0;
}

static int new_profile(struct sample_store *s, const struct stored_identity *id,
		       const struct stored_kind *kind, const struct reason *why)
{
	uint32_t i = s->reader.profile_cnt;
	struct stored_profile *profiles;

	if (i == PROFILES_MAX)
		return reason_at(why, s->at, "more than %u processes and services",
				 PROFILES_MAX);
	profiles = array_grow(s->profiles, i, &s->profile_cap, sizeof(*profiles));
	if (!profiles)
		return reason_memory(why);
	s->profiles = profiles;
	memset(&profiles[i], 0, sizeof(*profiles));
	s->reader.profile_cnt++;
	return fill_profile(s, &profiles[i], id, kind) ? reason_memory(why) : 0;
}

int sample_store_profile(struct sample_store *s, const struct stored_identity *id,
			 const struct stored_kind *kind, uint32_t *profile,
			 const struct reason *why)
{
	struct buf key = { 0 };
	int err = make_key(&key, id, kind);

	err = err ? err : intern_string(s->keys, (const char *)key.data, key.len, profile);
	buf_free(&key);
	if (err)
		return reason_memory(why);
	if (*profile == s->reader.profile_cnt)
		err = new_profile(s, id, kind, why);
	if (!err)
		add_times(&s->profiles[*profile], kind);
	return err;
}

/* ---- samples ---- */

/* The number of a thread that has only a name is that of the name. */
static int thread_id_of(struct sample_store *s, struct stored_profile *p,
			const struct stored_thread *thread, uint64_t *id, const struct reason *why)
{
	uint32_t number;
	int err;

	*id = thread->known ? thread->id : 0;
	if (!thread->name || !*thread->name)
		return 0;
	if (!thread->known) {
		if (intern_string(s->texts, thread->name, strlen(thread->name) + 1, &number))
			return reason_memory(why);
		*id = STORED_THREAD_MADE_UP + number;
	}
	if (!p->threads)
		p->threads = thread_names_new();
	err = p->threads ? thread_names_set(p->threads, *id, thread->name) : -ENOMEM;
	p->info.meta.thread_names = p->threads;
	return err == -ENOMEM ? reason_memory(why) : 0;
}

static int add_stack(struct sample_store *s, const struct buf *ids, uint32_t *stack, bool *cut,
		     const struct reason *why)
{
	uint32_t frames[EVENT_MAX_FRAMES], n, cnt = intern_tables(s->stacks)->string_cnt;

	if (stack_fit(s->names, ids, false, frames, &n, cut) ||
	    intern_string(s->stacks, (const char *)frames, n * sizeof(*frames), stack))
		return reason_memory(why);
	if (*stack < cnt)
		return 0;
	if (n > s->frames_left)
		return reason_at(why, s->at, "distinct stacks of more than %zu frames", FRAMES_MAX);
	s->frames_left -= n;
	return 0;
}

static void link_sample(struct sample_store *s, struct stored_profile *p, uint32_t i)
{
	if (p->first == NONE)
		p->first = i;
	else
		sample_at(s, p->last)->next = i;
	p->last = i;
}

int sample_store_add(struct sample_store *s, uint32_t profile, const struct stored_thread *thread,
		     const struct buf *ids, uint64_t weight, uint8_t status,
		     const struct reason *why)
{
	struct stored_sample sample = { .weight = weight, .status = status, .next = NONE };
	struct stored_profile *p = &s->profiles[profile];
	size_t cnt = s->samples.len / sizeof(sample);
	bool cut;
	int err;

	if (!weight)
		return 0;
	if (weight > WEIGHT_SUM_MAX - p->info.weight_sum)
		return reason_at(why, s->at, "values that add up to more than 63 bits");
	if (cnt == SAMPLES_MAX)
		return reason_at(why, s->at, "more than %u samples", SAMPLES_MAX);
	err = thread_id_of(s, p, thread, &sample.thread_id, why);
	if (err)
		return err;
	err = add_stack(s, ids, &sample.stack, &cut, why);
	if (err)
		return err;
	if (buf_add(&s->samples, &sample, sizeof(sample)))
		return reason_memory(why);
	link_sample(s, p, (uint32_t)cnt);
	p->info.weight_sum += weight;
	p->info.event_cnt++;
	p->info.truncated_cnt += cut;
	return 0;
}

/* The interval of time that is not known is the mean weight of a sample. */
static void finish_profile(struct stored_profile *p)
{
	struct reader_info *info = &p->info;
	uint64_t us = info->event_cnt ? info->weight_sum / info->event_cnt / 1000 : 0;

	if (!profile_service_same(&p->service, NULL))
		info->meta.service = &p->service;
	if (!info->meta.interval_us && info->meta.unit == UNIT_NANOSECONDS && us)
		info->meta.interval_us = us;
	if (!info->meta.interval_us)
		info->meta.interval_us = NOMINAL_INTERVAL_US;
}

int sample_store_finish(struct sample_store *s, const struct reason *why)
{
	uint32_t i;

	if (!s->reader.profile_cnt)
		return reason_at(why, s->at, "no profile");
	for (i = 0; i < s->reader.profile_cnt; i++)
		finish_profile(&s->profiles[i]);
	s->reader.tables = intern_tables(s->names);
	sample_store_select(&s->reader, 0);
	return 0;
}

/* ---- the reader ---- */

void sample_store_select(struct reader *r, uint32_t i)
{
	struct sample_store *s = to_store(r);

	s->current = i;
	r->info = s->profiles[i].info;
}

/* Sets the event's time, and advances its thread's clock by what the sample stands for. */
static int set_time(struct clocks *clocks, const struct reader_info *info, struct event *ev)
{
	uint64_t us = ev->weight / 1000;

	if (info->meta.unit == UNIT_SAMPLES)
		return clocks_tick(clocks, ev->thread_id, ev->weight, info->meta.interval_us,
				   &ev->time_us);
	return clocks_tick(clocks, ev->thread_id, info->meta.unit == UNIT_BYTES ? 0 : us, 1,
			   &ev->time_us);
}

/* Returns how many frames it has. */
static uint32_t get_stack(const struct sample_store *s, uint32_t id,
			  uint32_t frames[EVENT_MAX_FRAMES])
{
	const struct string_ref *stack = &intern_tables(s->stacks)->strings[id];

	memcpy(frames, stack->data, stack->len);
	return stack->len / sizeof(*frames);
}

int sample_store_run(struct reader *r, reader_event_fn on_event, void *ctx, char *why,
		     size_t why_size)
{
	struct sample_store *s = to_store(r);
	const struct stored_profile *p = &s->profiles[s->current];
	uint32_t frames[EVENT_MAX_FRAMES], i;
	struct clocks clocks = { 0 };
	int err = 0;

	for (i = p->first; !err && i != NONE; i = sample_at(s, i)->next) {
		const struct stored_sample *sample = sample_at(s, i);
		struct event ev = {
			.thread_id = sample->thread_id, .weight = sample->weight,
			.nframes = get_stack(s, sample->stack, frames), .frames = frames,
			.status = sample->status,
		};

		err = set_time(&clocks, &p->info, &ev);
		if (!err)
			err = on_event(ctx, &ev);
	}
	clocks_free(&clocks);
	return err;
}
