// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * merge.c - see merge.h.
 *
 * A lane is one thread in one source. Files are ordered within a lane only. So the samples of a
 * lane wait in its queue until every other source that still has samples of the thread (they were
 * counted) has delivered its next one; then the oldest is sent. Sources are read in step with their
 * times, which keeps queues as short as the files' own disorder allows.
 *
 * There may be many sources, each with few threads: a source has only lanes of its own threads, a
 * thread knows its lanes, and the source to read next is on top of a heap.
 */
#include "formats/tach/merge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "formats/tach/tach_decode.h"
#include "model/remap.h"
#include "model/thread_map.h"

/* Limit for all queues together. */
#define QUEUED_MAX_BYTES (512u << 20)
/* Samples that are read from one source at a time. */
#define BATCH 64
#define WHY_BYTES 256

struct queued {
	uint64_t time_us;
	uint32_t nframes;
	uint8_t status;
};

struct lane {
	uint32_t thread;	/* its number in the merge */
	uint64_t left;		/* samples that were not read yet */
	struct buf queue;	/* each struct queued followed by its frames */
	size_t head;		/* in queue: what was sent */
};

struct source {
	struct merge *m;
	struct tach_reader *r;
	struct tach_decoder *decoder;
	struct sample_filter *filter;
	struct remap *remap;
	char why[WHY_BYTES];
	uint64_t total, read;	/* samples before the first damage; those of them that were read */
	uint64_t clock_us;	/* the latest time seen */
	size_t index;		/* in the merge's sources: the order of equal clocks */
	struct thread_map *map;	/* (thread, interpreter) -> index in lanes */
	struct lane **lanes;
	size_t lane_cnt, lane_cap;
};

struct thread {
	uint64_t thread_id;
	uint32_t interp_id;
	uint32_t active;	/* sources that still have samples of it, unread or queued */
	struct lane **lanes;	/* in the order of sources */
	size_t lane_cnt, lane_cap;
	size_t ended;		/* lanes in the list that have no more samples */
};

struct merge {
	const struct sample_filter_options *options;
	struct intern *in;
	struct thread_map *map;		/* (thread, interpreter) -> number */
	struct thread *threads;
	size_t thread_cnt, thread_cap;
	struct source **sources;
	size_t source_cnt, source_cap;
	struct source **heap;		/* sources that have more to read: see sift_down() */
	size_t heap_cnt;
	size_t queued_bytes;
	int (*on_event)(void *ctx, const struct event *ev);
	void *ctx;
};

struct merge *merge_new(const struct sample_filter_options *filter, struct intern *in)
{
	struct merge *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->options = filter;
	m->in = in;
	m->map = thread_map_new();
	if (!m->map) {
		free(m);
		errno = ENOMEM;
		return NULL;
	}
	return m;
}

static void free_source(struct source *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->lane_cnt; i++) {
		buf_free(&s->lanes[i]->queue);
		free(s->lanes[i]);
	}
	free(s->lanes);
	thread_map_free(s->map);
	tach_decoder_free(s->decoder);
	sample_filter_free(s->filter);
	remap_free(s->remap);
	free(s);
}

void merge_free(struct merge *m)
{
	size_t i;

	if (!m)
		return;
	for (i = 0; i < m->source_cnt; i++)
		free_source(m->sources[i]);
	for (i = 0; i < m->thread_cnt; i++)
		free(m->threads[i].lanes);
	free(m->sources);
	free(m->heap);
	free(m->threads);
	thread_map_free(m->map);
	free(m);
}

/* ---- counting ---- */

/* The number of the event's thread in the merge. Returns 0 or -ENOMEM. */
static int number_of(struct merge *m, const struct event *ev, uint32_t *number)
{
	struct thread *threads;
	int err = thread_map_get(m->map, ev->thread_id, ev->interp_id, number);

	if (err || *number < m->thread_cnt)
		return err;
	threads = array_grow(m->threads, m->thread_cnt, &m->thread_cap, sizeof(*threads));
	if (!threads)
		return -ENOMEM;
	m->threads = threads;
	m->threads[m->thread_cnt++] = (struct thread){ .thread_id = ev->thread_id,
						       .interp_id = ev->interp_id };
	return 0;
}

/* Adds a lane to a list. Returns 0 or -ENOMEM. */
static int add_lane(struct lane ***list, size_t *cnt, size_t *cap, struct lane *l)
{
	struct lane **bigger = array_grow(*list, *cnt, cap, sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	*list = bigger;
	bigger[(*cnt)++] = l;
	return 0;
}

/* The lane of the event's thread in a source, added if it is new. Returns 0 or -ENOMEM. */
static int lane_of(struct source *s, const struct event *ev, struct lane **lane)
{
	struct thread *th;
	struct lane *l;
	uint32_t i, n;
	int err = thread_map_get(s->map, ev->thread_id, ev->interp_id, &i);

	if (err)
		return err;
	if (i < s->lane_cnt) {
		*lane = s->lanes[i];
		return 0;
	}
	err = number_of(s->m, ev, &n);
	l = err ? NULL : calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->thread = n;
	err = add_lane(&s->lanes, &s->lane_cnt, &s->lane_cap, l);
	if (err) {
		free(l);
		return err;
	}
	*lane = l;
	th = &s->m->threads[n];
	return add_lane(&th->lanes, &th->lane_cnt, &th->lane_cap, l);
}

static int count_event(void *ctx, const struct event *ev)
{
	struct source *s = ctx;
	struct lane *l;
	int err = lane_of(s, ev, &l);

	if (err)
		return err;
	s->m->threads[l->thread].active += !l->left;
	l->left++;
	return 0;
}

/* Counts every sample, including those that the filter drops: the second reading stops there. */
static int count_read(void *ctx, const struct event *ev)
{
	struct source *s = ctx;

	s->total++;
	return sample_filter_event(s->filter, ev);
}

static struct source *source_new(struct merge *m, struct tach_reader *r,
				 int (*on_event)(void *ctx, const struct event *ev))
{
	const struct tach_info *info = tach_reader_info(r);
	struct source *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->m = m;
	s->r = r;
	s->clock_us = info->meta.start_us;
	s->index = m->source_cnt;
	s->map = thread_map_new();
	s->filter = sample_filter_new();
	s->remap = remap_new(tach_reader_tables(r), m->in);
	if (!s->map || !s->filter || !s->remap) {
		free_source(s);
		return NULL;
	}
	sample_filter_begin(s->filter, m->options, &info->meta, tach_reader_tables(r), on_event, s);
	return s;
}

static int enqueue_sample(void *ctx, const struct event *ev);

int merge_add(struct merge *m, struct tach_reader *r, char *why, size_t why_size)
{
	struct source **bigger = array_grow(m->sources, m->source_cnt, &m->source_cap,
					    sizeof(*bigger));
	struct source *s;
	int err;

	*why = '\0';
	if (!bigger)
		return -ENOMEM;
	m->sources = bigger;
	s = source_new(m, r, count_event);
	if (!s)
		return -ENOMEM;
	m->sources[m->source_cnt++] = s;
	err = tach_reader_run(r, count_read, s, why, why_size);
	if (err && err != -EBADMSG)
		return err;
	sample_filter_begin(s->filter, m->options, &tach_reader_info(r)->meta,
			    tach_reader_tables(r), enqueue_sample, s);
	s->decoder = tach_reader_samples(r, s->why, sizeof(s->why));
	return s->decoder ? err : -ENOMEM;
}

/* ---- joining ---- */

static int send_sample(struct merge *m, const struct thread *th, uint64_t time_us, uint8_t status,
		       uint32_t nframes, const uint32_t *frames)
{
	const struct event ev = {
		.time_us = time_us,
		.thread_id = th->thread_id,
		.interp_id = th->interp_id,
		.nframes = nframes,
		.frames = frames,
		.weight = 1,
		.status = status,
	};

	return m->on_event(m->ctx, &ev);
}

static bool lane_is_empty(const struct lane *l)
{
	return l->head == l->queue.len;
}

static bool lane_has_ended(const struct lane *l)
{
	return lane_is_empty(l) && !l->left;
}

/* A lane of the thread has ended. Ended lanes are removed when they are half of the list. */
static void end_lane(struct thread *th)
{
	size_t i, left = 0;

	th->active--;
	if (++th->ended * 2 < th->lane_cnt)
		return;
	for (i = 0; i < th->lane_cnt; i++)
		if (!lane_has_ended(th->lanes[i]))
			th->lanes[left++] = th->lanes[i];
	th->lane_cnt = left;
	th->ended = 0;
}

/* Sends the oldest sample of a lane's queue, which must not be empty. */
static int send_head(struct merge *m, struct lane *l)
{
	struct thread *th = &m->threads[l->thread];
	const uint8_t *p = l->queue.data + l->head;
	struct queued q;
	size_t bytes;
	int err;

	memcpy(&q, p, sizeof(q));
	bytes = sizeof(q) + q.nframes * sizeof(uint32_t);
	err = send_sample(m, th, q.time_us, q.status, q.nframes,
			  (const uint32_t *)(const void *)(p + sizeof(q)));
	l->head += bytes;
	m->queued_bytes -= bytes;
	if (lane_is_empty(l)) {
		l->head = l->queue.len = 0;
		if (!l->left)
			end_lane(th);
	} else if (l->head > l->queue.len / 2) {
		memmove(l->queue.data, l->queue.data + l->head, l->queue.len - l->head);
		l->queue.len -= l->head;
		l->head = 0;
	}
	return err;
}

/*
 * The lane whose next sample is the oldest; NULL: a source must be read first, or there are no
 * more.
 */
static struct lane *oldest_lane(const struct thread *th)
{
	struct lane *best = NULL;
	uint64_t best_us = 0, us;
	size_t i;

	for (i = 0; i < th->lane_cnt; i++) {
		struct lane *l = th->lanes[i];

		if (lane_has_ended(l))
			continue;
		if (lane_is_empty(l))
			return NULL;
		memcpy(&us, l->queue.data + l->head, sizeof(us));
		if (!best || us < best_us) {
			best = l;
			best_us = us;
		}
	}
	return best;
}

static int queue_up(struct merge *m, struct lane *l, const struct event *ev)
{
	const struct queued q = { ev->time_us, ev->nframes, ev->status };
	size_t frame_bytes = ev->nframes * sizeof(*ev->frames);

	_Static_assert(offsetof(struct queued, time_us) == 0, "oldest() reads it there");
	_Static_assert(sizeof(q) % sizeof(uint32_t) == 0, "send_head() reads frames behind it");
	if (m->queued_bytes + sizeof(q) + frame_bytes > QUEUED_MAX_BYTES)
		return -E2BIG;
	if (buf_add(&l->queue, &q, sizeof(q)))
		return -ENOMEM;
	if (frame_bytes && buf_add(&l->queue, ev->frames, frame_bytes)) {
		l->queue.len -= sizeof(q);
		return -ENOMEM;
	}
	m->queued_bytes += sizeof(q) + frame_bytes;
	return 0;
}

static int enqueue_sample(void *ctx, const struct event *ev)
{
	struct source *s = ctx;
	struct merge *m = s->m;
	struct thread *th;
	struct event ours;
	struct lane *l;
	int err = lane_of(s, ev, &l);

	if (!err)
		err = remap_event(s->remap, ev, &ours);
	if (err)
		return err;
	th = &m->threads[l->thread];
	if (!l->left)
		return -EBADMSG;	/* more than were counted: the file has changed */
	l->left--;
	if (th->active == 1 && lane_is_empty(l)) {
		if (!l->left)
			end_lane(th);
		return send_sample(m, th, ours.time_us, ours.status, ours.nframes,
				   ours.frames);
	}
	err = queue_up(m, l, &ours);
	while (!err && (l = oldest_lane(th)))
		err = send_head(m, l);
	return err;
}

static bool is_slower(const struct source *a, const struct source *b)
{
	return a->clock_us != b->clock_us ? a->clock_us < b->clock_us : a->index < b->index;
}

/* Of heap[i], heap[2i + 1] and heap[2i + 2] the first is the slowest: restores this from i on. */
static void sift_down(struct merge *m, size_t i)
{
	struct source *s = m->heap[i];
	size_t child;

	for (; (child = 2 * i + 1) < m->heap_cnt; i = child) {
		if (child + 1 < m->heap_cnt && is_slower(m->heap[child + 1], m->heap[child]))
			child++;
		if (!is_slower(m->heap[child], s))
			break;
		m->heap[i] = m->heap[child];
	}
	m->heap[i] = s;
}

static int make_heap(struct merge *m)
{
	size_t i;

	m->heap = calloc(m->source_cnt + 1, sizeof(struct source *));
	if (!m->heap)
		return -ENOMEM;
	for (i = 0; i < m->source_cnt; i++)
		if (m->sources[i]->total)
			m->heap[m->heap_cnt++] = m->sources[i];
	for (i = m->heap_cnt / 2; i--;)
		sift_down(m, i);
	return 0;
}

static int read_some(struct source *s)
{
	struct event ev;
	int i, n, err = 0;

	for (i = 0; !err && i < BATCH && s->read < s->total; i++) {
		n = tach_decoder_next(s->decoder, &ev);
		if (n <= 0)
			return n ? n : -EBADMSG;
		s->read++;
		if (ev.time_us > s->clock_us)
			s->clock_us = ev.time_us;
		err = sample_filter_event(s->filter, &ev);
	}
	return err;
}

int merge_samples(struct merge *m, int (*on_event)(void *ctx, const struct event *ev), void *ctx)
{
	int err = make_heap(m);
	size_t i;

	m->on_event = on_event;
	m->ctx = ctx;
	while (!err && m->heap_cnt) {
		err = read_some(m->heap[0]);
		if (m->heap[0]->read == m->heap[0]->total)
			m->heap[0] = m->heap[--m->heap_cnt];
		if (m->heap_cnt)
			sift_down(m, 0);
	}
	for (i = 0; !err && i < m->source_cnt; i++)
		err = remap_libraries(m->sources[i]->remap);
	return err;
}

/* ---- the common properties ---- */

void merge_meta(const struct merge *m, struct profile_meta *meta, const char **warn)
{
	bool modes_differ = false;
	enum profile_mode mode;
	size_t i;

	*warn = NULL;
	*meta = tach_reader_info(m->sources[0]->r)->meta;
	mode = meta->mode;
	for (i = 1; i < m->source_cnt; i++) {
		const struct profile_meta *other = &tach_reader_info(m->sources[i]->r)->meta;

		if (other->python_major != meta->python_major ||
		    other->python_minor != meta->python_minor ||
		    other->python_micro != meta->python_micro)
			*warn = "they come from different versions of Python; the first one's is "
				"kept";
		if (other->interval_us != meta->interval_us)
			*warn = "their intervals differ; the first one's is kept";
		if (other->mode != MODE_UNKNOWN && mode != MODE_UNKNOWN && other->mode != mode) {
			*warn = "their modes differ; the result has none";
			modes_differ = true;
		}
		if (mode == MODE_UNKNOWN)
			mode = other->mode;
		if (other->start_us < meta->start_us)
			meta->start_us = other->start_us;
		meta->features_known &= other->features_known;
		meta->features |= other->features;
	}
	meta->mode = modes_differ ? MODE_UNKNOWN : mode;
}

/* From the first start to the last end; rates are averages weighted by each profile's length. */
void merge_stats(const struct merge *m, struct profile_stats *out)
{
	struct profile_stats sum = { .known = true, .error_known = true, .missed_known = true };
	double start = INFINITY, end = 0, seconds = 0;
	size_t i;

	for (i = 0; i < m->source_cnt; i++) {
		const struct tach_info *info = tach_reader_info(m->sources[i]->r);
		const struct profile_stats *st = &info->stats;
		double from = info->meta.start_us / 1e6;

		sum.known &= st->known;
		sum.error_known &= st->error_known;
		sum.missed_known &= st->missed_known;
		start = fmin(start, from);
		end = fmax(end, from + st->duration_s);
		seconds += st->duration_s;
		sum.sample_rate += st->duration_s * st->sample_rate;
		sum.error_pct += st->duration_s * st->error_pct;
		sum.missed_pct += st->duration_s * st->missed_pct;
	}
	sum.duration_s = end - start;
	if (seconds > 0) {
		sum.sample_rate /= seconds;
		sum.error_pct /= seconds;
		sum.missed_pct /= seconds;
	}
	*out = sum;
}
