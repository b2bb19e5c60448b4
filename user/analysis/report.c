// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * report.c - see report.h.
 *
 * Most samples repeat the previous stack of their thread, and others share its outer frames; often
 * the reader knows how many, otherwise they are compared. Equal samples are only counted. The count
 * of a thread is subtracted from a row's total when it is entered, and added when it is left. So a
 * sample costs time for each frame that is left or entered, none for the others. Samples of several
 * threads alternate, so there are STACKS stacks. A thread's id selects one; threads with the same
 * one take it from each other. A row is a frame of our own intern table, in which the fields that
 * do not distinguish rows have no value; each frame id of a profile is translated once.
 */
#include "analysis/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report_key.h"
#include "analysis/report_order.h"
#include "base/util.h"
#include "bpf/abi.h"
#include "model/id_map.h"
#include "model/intern.h"
#include "model/native_frame.h"
#include "model/stack_frame.h"
#include "model/thread_map.h"

#define STACKS 8	/* number of stacks; sums fill half a cache line */

/* The part of a row that samples change. It is small: they change other rows all the time. */
struct sums {
	uint64_t self, total;	/* total: while it is entered, minus the count before that */
	uint16_t entered[STACKS];	/* how often it is in each stack: a recursive function
					 * counts once */
};

/* The rest of a row. */
struct about {
	int32_t first_line;	/* of the function; LINE_NONE: unknown */
	int32_t lowest_line;	/* the lowest sampled line; LINE_NONE */
	uint32_t profile;
	uint64_t thread_id;
	bool main;
};

/* Instead of a row: a frame that is a detail of the next one that is not; machine code. */
#define ROW_DETAIL UINT32_MAX
#define ROW_NATIVE (UINT32_MAX - 1)
#define IS_ROW(row) ((row) < ROW_NATIVE)

/*
 * The excess is the sum of the squares of some weights, minus the sum of the weights. Usually all
 * weights are 1, and it is 0.
 */

/* The stack of a thread's last sample, whose frames are entered. */
struct stack {
	uint64_t thread_id;
	uint32_t interp_id;
	uint32_t depth;
	uint64_t pending;		/* weight of the last samples, which have this stack, */
	double pending_excess;
	uint64_t counted;		/* and of all before them */
	uint32_t self;			/* the row that gets pending as self */
	bool alone;			/* and as total: no other row does */
	uint32_t frames[EVENT_MAX_FRAMES];	/* at the end, the outermost last */
	uint32_t row_at[EVENT_MAX_FRAMES];	/* their rows, or ROW_DETAIL, ROW_NATIVE */
};

struct report {
	struct report_kind kind;
	bool hides_native;
	uint64_t sample_cnt;
	double excess;			/* of all weights */
	struct intern *names;		/* by function or line */
	struct sums *sums;		/* by row; by function or line: by names' frame ids */
	struct about *about;		/* by row */
	double *excesses;		/* by row, of the weights in self */
	uint32_t row_cnt, row_cap;
	struct report_row *sorted;
	struct buf labels;		/* struct string_ref, of the profiles */
	/* The current profile. */
	uint32_t profile_cnt;
	const struct profile_tables *tables;
	uint32_t selected;		/* by process, container: the row for samples */
	struct thread_map *threads;	/* by thread */
	uint32_t thread_row_0;		/* row of the profile's first thread */
	struct id_map row_of;		/* frame id -> row or ROW_DETAIL, as far as translated */
	struct id_map row_alone;	/* the same for a stack's outermost detail */
	struct id_map string_of;	/* string id -> ours, as far as translated */
	struct stack stacks[STACKS];	/* by the end of the thread's id */
};

struct report *report_new(enum report_by by)
{
	struct report *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->kind.by = by;
	r->names = intern_new();
	if (!r->names) {
		free(r);
		errno = ENOMEM;
		return NULL;
	}
	return r;
}

void report_show_detail(struct report *r)
{
	r->kind.detail = true;
}

void report_show_native(struct report *r)
{
	r->kind.self_of = SELF_OF_FUNCTIONS;
}

void report_show_mine(struct report *r)
{
	r->kind.mine = true;
}

static void end_profile(struct report *r)
{
	thread_map_free(r->threads);
	id_map_clear(&r->row_of);
	id_map_clear(&r->row_alone);
	id_map_clear(&r->string_of);
	r->threads = NULL;
	r->tables = NULL;
}

void report_free(struct report *r)
{
	if (!r)
		return;
	end_profile(r);
	id_map_free(&r->row_of);
	id_map_free(&r->row_alone);
	id_map_free(&r->string_of);
	intern_free(r->names);
	free(r->sums);
	free(r->about);
	free(r->excesses);
	free(r->sorted);
	buf_free(&r->labels);
	free(r);
}

/* Makes room for this row, and for half as many again. Returns 0 or -ENOMEM. */
static int more_rows(struct report *r, uint32_t row)
{
	uint32_t cap = r->row_cap ? r->row_cap : 256;
	struct about *about;
	struct sums *sums;
	double *excesses;

	while (cap <= row) {
		if (cap > UINT32_MAX / 2)
			return -ENOMEM;
		cap *= 2;
	}
	sums = reallocarray(r->sums, cap, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	r->sums = sums;
	about = reallocarray(r->about, cap, sizeof(*about));
	if (!about)
		return -ENOMEM;
	r->about = about;
	excesses = reallocarray(r->excesses, cap, sizeof(*excesses));
	if (!excesses)
		return -ENOMEM;
	r->excesses = excesses;
	r->row_cap = cap;
	return 0;
}

/* Adds rows until this one exists. */
static int need_row(struct report *r, uint32_t row)
{
	if (row < r->row_cnt)
		return 0;
	if (row >= r->row_cap && more_rows(r, row))
		return -ENOMEM;
	for (; r->row_cnt <= row; r->row_cnt++) {
		r->sums[r->row_cnt] = (struct sums){ 0 };
		r->excesses[r->row_cnt] = 0;
		r->about[r->row_cnt] = (struct about){ .first_line = LINE_NONE,
						       .lowest_line = LINE_NONE };
	}
	return 0;
}

static struct string_ref *label_at(const struct report *r, uint32_t i)
{
	return (struct string_ref *)(void *)r->labels.data + i;
}

/* Returns true if each profile has a row. Rows with one label may be joined at the end. */
static bool by_profile(const struct report *r)
{
	return r->kind.by == REPORT_BY_PROCESS || report_joins(r->kind.by);
}

int report_begin(struct report *r, const struct profile_tables *tables, const char *label)
{
	const struct string_ref text = { label, (uint32_t)strlen(label) };

	if (buf_add(&r->labels, &text, sizeof(text)))
		return -ENOMEM;
	r->profile_cnt++;
	r->tables = tables;
	if (r->kind.by == REPORT_BY_THREAD) {
		r->thread_row_0 = r->row_cnt;
		r->threads = thread_map_new();
		return r->threads ? 0 : -ENOMEM;
	}
	if (by_profile(r)) {
		uint32_t row = r->row_cnt;
		int err = need_row(r, row);

		if (!err)
			r->about[row].profile = r->selected = row;
		return err;
	}
	return 0;
}

void report_select(struct report *r, uint32_t profile)
{
	r->selected = profile;
}

void report_rename(struct report *r, const char *label)
{
	*label_at(r, r->profile_cnt - 1) = (struct string_ref){ label, (uint32_t)strlen(label) };
}

static int our_string(struct report *r, uint32_t id, uint32_t *ours)
{
	const struct string_ref *s = &r->tables->strings[id];
	int err;

	if (id_map_get(&r->string_of, id, ours))
		return 0;
	err = intern_string(r->names, s->data, s->len, ours);
	return err ? err : id_map_set(&r->string_of, id, *ours);
}

static void note_lowest(int32_t *lowest, int32_t line)
{
	if (line > 0 && (line < *lowest || *lowest < 0))
		*lowest = line;
}

static int row_of_frame(struct report *r, uint32_t id, struct id_map *map, uint32_t *row)
{
	const struct frame *f = &r->tables->frames[id];
	struct frame key = report_key_of(r->kind.by, f);
	int err = our_string(r, f->file, &key.file);

	if (!err)
		err = report_by_function(r->kind.by) ?
		      our_string(r, f->func, &key.func) :
		      intern_string(r->names, "", 0, &key.func);
	if (!err)
		err = intern_frame(r->names, &key, row);
	if (!err)
		err = need_row(r, *row);
	if (!err)
		err = id_map_set(map, id, *row);
	if (err)
		return err;
	note_lowest(&r->about[*row].lowest_line, f->line);
	if (r->kind.by == REPORT_BY_FUNCTION)
		note_lowest(&r->about[*row].first_line, f->first_line);
	return 0;
}

/* Finds the row of a frame, or ROW_DETAIL or ROW_NATIVE. Returns 0 or -ENOMEM. */
static int find_row(struct report *r, uint32_t id, uint32_t *row)
{
	if (id_map_get(&r->row_of, id, row))
		return 0;
	if (report_has_row(&r->kind, r->tables, id))
		return row_of_frame(r, id, &r->row_of, row);
	*row = frame_is_native(r->tables, &r->tables->frames[id]) ? ROW_NATIVE : ROW_DETAIL;
	return id_map_set(&r->row_of, id, *row);
}

/* Adds the count of the repeated stack. */
static inline void add_pending(struct report *r, struct stack *st)
{
	if (st->depth && st->pending && IS_ROW(st->self)) {
		struct sums *self = r->sums + st->self;

		self->self += st->pending;
		self->total += st->alone ? st->pending : 0;
		if (st->pending_excess > 0)
			r->excesses[st->self] += st->pending_excess;
	}
	st->counted += st->pending;
	st->pending = 0;
	st->pending_excess = 0;
}

/* Leaves all frames except the outermost `keep`. */
static inline void leave_frames(struct report *r, struct stack *st, size_t place, uint32_t keep)
{
	const uint32_t *row = st->row_at + EVENT_MAX_FRAMES - st->depth;
	const uint32_t *end = st->row_at + EVENT_MAX_FRAMES - keep;
	uint64_t counted = st->counted;
	struct sums *sums = r->sums;

	for (; row < end; row++)
		if (IS_ROW(*row))
			sums[*row].total += --sums[*row].entered[place] ? 0 : counted;
	st->depth = keep;
}

/* Enters the inner frames of a stack whose outermost ones are entered. Returns 0 or -ENOMEM. */
static inline int enter_frames(struct report *r, struct stack *st, size_t place,
			       const uint32_t *frames, uint32_t depth)
{
	uint32_t *id = st->frames + EVENT_MAX_FRAMES - st->depth, row;
	uint32_t *row_at = st->row_at + EVENT_MAX_FRAMES - st->depth, left = depth - st->depth;
	uint64_t counted = st->counted;
	struct id_map rows = r->row_of;
	struct sums *sums = r->sums;

	while (left--) {
		*--id = frames[left];
		if (!id_map_get(&rows, *id, &row)) {
			st->depth = depth - 1 - left;
			if (find_row(r, *id, &row))
				return -ENOMEM;
			rows = r->row_of;
			sums = r->sums;
		}
		*--row_at = row;
		if (IS_ROW(row))
			sums[row].total -= sums[row].entered[place]++ ? 0 : counted;
		else
			r->hides_native |= row == ROW_NATIVE;
	}
	st->depth = depth;
	return 0;
}

/* A stack of details is represented by its outermost frame. Returns 0 or -ENOMEM. */
static int enter_alone(struct report *r, struct stack *st)
{
	uint32_t root = st->frames[EVENT_MAX_FRAMES - 1];

	st->alone = true;
	return id_map_get(&r->row_alone, root, &st->self) ?
	       0 : row_of_frame(r, root, &r->row_alone, &st->self);
}

/* The innermost frame that is no detail has the self. Returns 0 or -ENOMEM. */
static inline int find_self(struct report *r, struct stack *st)
{
	const uint32_t *row = st->row_at + EVENT_MAX_FRAMES - st->depth;
	const uint32_t *end = st->row_at + EVENT_MAX_FRAMES;

	st->alone = false;
	while (row < end && !IS_ROW(*row))
		row++;
	if (row == end && !r->kind.mine)
		return st->depth ? enter_alone(r, st) : 0;
	st->self = row == end ? ROW_DETAIL : *row;
	return 0;
}

/* Returns the stack of the event's thread; an empty one if another thread used it last. */
static inline struct stack *stack_of(struct report *r, const struct event *ev, size_t place)
{
	struct stack *st = &r->stacks[place];

	if (st->thread_id != ev->thread_id || st->interp_id != ev->interp_id) {
		add_pending(r, st);
		leave_frames(r, st, place, 0);
		st->thread_id = ev->thread_id;
		st->interp_id = ev->interp_id;
	}
	return st;
}

/* Returns how many outer frames the event shares with the stack, as far as the reader knows. */
static inline uint32_t outer_frames_shared(const struct stack *st, const struct event *ev)
{
	uint32_t least = st->depth < ev->nframes ? st->depth : ev->nframes;

	if (ev->kept_1)
		return ev->kept_1 - 1 < least ? ev->kept_1 - 1 : least;
	return frames_shared(st->frames + EVENT_MAX_FRAMES - st->depth, st->depth, ev->frames,
			     ev->nframes);
}

/* Adds weight to a row that has only samples. */
static void add_to_row(struct report *r, uint32_t row, uint64_t weight)
{
	r->sums[row].self += weight;
	r->sums[row].total += weight;
}

static int add_to_thread(struct report *r, const struct event *ev, uint64_t weight)
{
	struct about *about;
	uint32_t index;
	int err;

	/* One row per thread: several interpreters may run on it in turn. */
	err = thread_map_get(r->threads, ev->thread_id, 0, &index);
	if (!err)
		err = need_row(r, r->thread_row_0 + index);
	if (err)
		return err;
	about = &r->about[r->thread_row_0 + index];
	about->profile = r->profile_cnt - 1;
	about->thread_id = ev->thread_id;
	about->main |= (ev->status & STATUS_MAIN_THREAD) != 0;
	add_to_row(r, r->thread_row_0 + index, weight);
	return 0;
}

static int add_to_stack(struct report *r, const struct event *ev, uint64_t weight, double excess)
{
	size_t place = ev->thread_id % STACKS;
	struct stack *st = stack_of(r, ev, place);
	uint32_t keep = outer_frames_shared(st, ev);
	int err = 0;

	if (keep != st->depth || keep != ev->nframes) {
		add_pending(r, st);
		leave_frames(r, st, place, keep);
		err = enter_frames(r, st, place, ev->frames, ev->nframes);
		if (!err)
			err = find_self(r, st);
	}
	st->pending += weight;
	st->pending_excess += excess;
	return err;
}

int report_event(void *ctx, const struct event *ev)
{
	struct report *r = ctx;
	uint64_t weight = ev->weight * ((uint64_t)ev->more + 1);
	double excess = 0;

	r->sample_cnt += weight;
	if (ev->weight != 1) {
		excess = (double)weight * ((double)ev->weight - 1);
		r->excess += excess;
	}
	if (r->kind.by == REPORT_BY_THREAD)
		return add_to_thread(r, ev, weight);
	if (by_profile(r)) {
		add_to_row(r, r->selected, weight);
		return 0;
	}
	return add_to_stack(r, ev, weight, excess);
}

int report_end(struct report *r)
{
	size_t i;

	for (i = 0; i < STACKS; i++) {
		add_pending(r, &r->stacks[i]);
		leave_frames(r, &r->stacks[i], i, 0);
	}
	end_profile(r);
	return 0;
}

/* Finds the row for another report's row; profiles and threads get new ones. 0 or -ENOMEM. */
static int merged_row(struct report *r, const struct report *other, uint32_t theirs, uint32_t *row)
{
	const struct profile_tables *names = intern_tables(other->names);
	struct frame key;
	int err;

	if (!report_by_code(r->kind.by)) {
		*row = r->row_cnt;
		err = need_row(r, *row);
		if (err)
			return err;
		r->about[*row] = other->about[theirs];
		r->about[*row].profile += r->profile_cnt;
		return 0;
	}
	key = names->frames[theirs];
	err = intern_string(r->names, names->strings[key.file].data, names->strings[key.file].len,
			    &key.file);
	if (!err)
		err = intern_string(r->names, names->strings[key.func].data,
				    names->strings[key.func].len, &key.func);
	if (!err)
		err = intern_frame(r->names, &key, row);
	return err ? err : need_row(r, *row);
}

static void merge_row(struct report *r, uint32_t row, const struct sums *sums,
		      const struct about *about, double excess)
{
	r->sums[row].self += sums->self;
	r->sums[row].total += sums->total;
	r->excesses[row] += excess;
	note_lowest(&r->about[row].first_line, about->first_line);
	note_lowest(&r->about[row].lowest_line, about->lowest_line);
}

int report_merge(struct report *r, const struct report *other)
{
	uint32_t i, row;
	int err;

	for (i = 0; i < other->row_cnt; i++) {
		err = merged_row(r, other, i, &row);
		if (err)
			return err;
		merge_row(r, row, &other->sums[i], &other->about[i], other->excesses[i]);
	}
	if (buf_add(&r->labels, other->labels.data, other->labels.len))
		return -ENOMEM;
	r->profile_cnt += other->profile_cnt;
	r->sample_cnt += other->sample_cnt;
	r->excess += other->excess;
	r->hides_native |= other->hides_native;
	return 0;
}

uint64_t report_sample_cnt(const struct report *r)
{
	return r->sample_cnt;
}

bool report_hides_native(const struct report *r)
{
	return r->hides_native;
}

double report_squares(const struct report *r)
{
	return (double)r->sample_cnt + r->excess;
}

const struct report_row *report_rows(struct report *r, enum report_sort sort, size_t *cnt)
{
	static const struct string_ref none = { "", 0 };
	const struct profile_tables *names = intern_tables(r->names);
	bool named = report_by_code(r->kind.by);
	uint32_t i;

	free(r->sorted);
	r->sorted = malloc(((size_t)r->row_cnt + 1) * sizeof(*r->sorted));
	if (!r->sorted)
		return NULL;
	for (i = 0; i < r->row_cnt; i++) {
		const struct about *a = &r->about[i];
		const struct sums *s = &r->sums[i];
		const struct frame *f = named ? &names->frames[i] : NULL;

		r->sorted[i] = (struct report_row){
			.self = s->self, .total = s->total,
			.self_squares = (double)s->self + r->excesses[i],
			.file = f ? names->strings[f->file] : none,
			.func = f ? names->strings[f->func] : *label_at(r, a->profile),
			.kind = f ? f->kind : FRAME_SYNTHETIC,
			.line = a->first_line > 0 ? a->first_line : a->lowest_line,
			.end_line = f ? f->end_line : LINE_NONE,
			.column = f ? f->column : COLUMN_NONE,
			.end_column = f ? f->end_column : COLUMN_NONE,
			.profile = a->profile, .thread_id = a->thread_id, .main = a->main,
			.profile_cnt = 1,
		};
	}
	*cnt = r->row_cnt;
	if (report_joins(r->kind.by))
		*cnt = report_join_rows(r->sorted, *cnt);
	report_sort_rows(r->sorted, *cnt, sort);
	return r->sorted;
}
