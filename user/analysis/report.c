// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * report.c - see report.h.
 *
 * Most samples repeat the stack before them, and others share its outer frames. Equal samples are
 * only counted. A frame gets its total when it is left: what was counted since it was entered. So a
 * sample costs one comparison, and something for each frame that was left or entered.
 * A row is a frame of our own intern table, in which the fields that do not distinguish rows
 * have no value; each frame id of a profile is translated once.
 */
#include "analysis/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "bpf/abi.h"
#include "model/id_map.h"
#include "model/intern.h"
#include "model/native_frame.h"
#include "model/self_frame.h"
#include "model/shared_frames.h"
#include "model/thread_map.h"

struct counts {
	uint64_t self, total;
	double self_squares;	/* of the weights in self */
	bool entered;		/* it is in the stack: a recursive function counts once */
	int32_t first_line;	/* of the function; LINE_NONE: unknown */
	int32_t lowest_line;	/* that was sampled; LINE_NONE */
	uint32_t profile;
	uint64_t thread_id;
	bool main;
};

/* In place of a row: a frame that is a detail of the next one that is none; of machine code. */
#define ROW_DETAIL UINT32_MAX
#define ROW_NATIVE (UINT32_MAX - 1)
#define IS_ROW(row) ((row) < ROW_NATIVE)

/* A frame of the stack that is counted. */
struct level {
	uint32_t row;
	bool outermost;		/* of this row's */
	uint64_t since;		/* report.counted when it was entered */
};

struct report {
	enum report_by by;
	bool detail;
	enum self_of self_of;
	bool hides_native;
	uint64_t sample_cnt;
	double squares;			/* sum of the squares of all weights */
	struct intern *names;		/* by function or line */
	struct counts *rows;		/* by function or line: indexed by names' frame ids */
	uint32_t row_cnt, row_cap;
	struct report_row *sorted;
	struct buf labels;		/* struct string_ref, of the profiles */
	/* The profile that is being added: */
	uint32_t profile_cnt;
	const struct profile_tables *tables;
	uint32_t selected;		/* by process, container: the row for samples */
	struct thread_map *threads;	/* by thread */
	uint32_t thread_row_0;		/* row of the profile's first thread */
	struct id_map row_of;		/* frame id -> row or ROW_DETAIL, as far as translated */
	struct id_map row_alone;	/* the same of details that are outermost in stacks of details */
	struct id_map string_of;	/* string id -> ours, as far as translated */
	/* The stack that is being repeated: */
	uint64_t pending;
	double pending_squares;
	uint32_t depth;
	uint32_t stack[EVENT_MAX_FRAMES];
	uint64_t counted;		/* weight so far, without pending */
	uint32_t level_cnt;		/* the outer frames of it that levels has, all or none */
	struct level levels[EVENT_MAX_FRAMES];	/* the outermost first */
	uint32_t self;			/* the row that gets pending as self */
	bool alone;			/* and as total: nothing else does */
};

struct report *report_new(enum report_by by)
{
	struct report *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->by = by;
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
	r->detail = true;
}

void report_show_native(struct report *r)
{
	r->self_of = SELF_OF_FUNCTIONS;
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
	free(r->rows);
	free(r->sorted);
	buf_free(&r->labels);
	free(r);
}

/* Add rows until this one exists. */
static int need_row(struct report *r, uint32_t row)
{
	if (row < r->row_cnt)
		return 0;
	if (row >= r->row_cap) {
		uint32_t cap = r->row_cap ? r->row_cap : 256;
		struct counts *rows;

		while (cap <= row) {
			if (cap > UINT32_MAX / 2)
				return -ENOMEM;
			cap *= 2;
		}
		rows = reallocarray(r->rows, cap, sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		r->rows = rows;
		r->row_cap = cap;
	}
	for (; r->row_cnt <= row; r->row_cnt++)
		r->rows[r->row_cnt] = (struct counts){ .first_line = LINE_NONE,
						      .lowest_line = LINE_NONE };
	return 0;
}

static struct string_ref *label_at(const struct report *r, uint32_t i)
{
	return (struct string_ref *)(void *)r->labels.data + i;
}

/* Is each row a function or a line? */
static bool by_code(const struct report *r)
{
	return r->by == REPORT_BY_FUNCTION || r->by == REPORT_BY_LINE;
}

/* Does each profile have a row? Rows of one container are joined at the end. */
static bool by_profile(const struct report *r)
{
	return r->by == REPORT_BY_PROCESS || r->by == REPORT_BY_CONTAINER;
}

int report_begin(struct report *r, const struct profile_tables *tables, const char *label)
{
	const struct string_ref text = { label, (uint32_t)strlen(label) };

	if (buf_add(&r->labels, &text, sizeof(text)))
		return -ENOMEM;
	r->profile_cnt++;
	r->tables = tables;
	if (r->by == REPORT_BY_THREAD) {
		r->thread_row_0 = r->row_cnt;
		r->threads = thread_map_new();
		return r->threads ? 0 : -ENOMEM;
	}
	if (by_profile(r)) {
		uint32_t row = r->row_cnt;
		int err = need_row(r, row);

		if (!err)
			r->rows[row].profile = r->selected = row;
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
	struct frame key = { .line = LINE_NONE, .end_line = LINE_NONE, .column = COLUMN_NONE,
			     .end_column = COLUMN_NONE, .opcode = OPCODE_NONE, .kind = f->kind };
	int err;

	if (r->by == REPORT_BY_LINE)
		key.line = key.end_line = f->line;
	err = our_string(r, f->file, &key.file);
	if (!err)
		err = our_string(r, f->func, &key.func);
	if (!err)
		err = intern_frame(r->names, &key, row);
	if (!err)
		err = need_row(r, *row);
	if (!err)
		err = id_map_set(map, id, *row);
	if (err)
		return err;
	note_lowest(&r->rows[*row].lowest_line, f->line);
	if (r->by == REPORT_BY_FUNCTION)
		note_lowest(&r->rows[*row].first_line, f->first_line);
	return 0;
}

/* The row of a frame, or what it is instead. 0 or -ENOMEM. */
static int translate(struct report *r, uint32_t id, uint32_t *row)
{
	if (id_map_get(&r->row_of, id, row))
		return 0;
	if (r->detail || !frame_is_detail(r->tables, id, r->self_of))
		return row_of_frame(r, id, &r->row_of, row);
	*row = frame_is_native(r->tables, &r->tables->frames[id]) ? ROW_NATIVE : ROW_DETAIL;
	return id_map_set(&r->row_of, id, *row);
}

/* Add the count of the repeated stack. */
static void add_pending(struct report *r)
{
	if (!r->pending)
		return;
	if (r->depth) {
		r->rows[r->self].self += r->pending;
		r->rows[r->self].self_squares += r->pending_squares;
		r->rows[r->self].total += r->alone ? r->pending : 0;
	}
	r->counted += r->pending;
	r->pending = 0;
	r->pending_squares = 0;
}

/* Leave all frames but the outermost `keep`. */
static void leave(struct report *r, uint32_t keep)
{
	while (r->level_cnt > keep) {
		const struct level *l = &r->levels[--r->level_cnt];

		if (!l->outermost)
			continue;
		r->rows[l->row].entered = false;
		r->rows[l->row].total += r->counted - l->since;
	}
}

/* Enter the frames of the stack that are not entered. 0 or -ENOMEM. */
static int enter(struct report *r)
{
	for (; r->level_cnt < r->depth; r->level_cnt++) {
		struct level *l = &r->levels[r->level_cnt];
		int err = translate(r, r->stack[r->depth - 1 - r->level_cnt], &l->row);

		if (err)
			return err;
		l->since = r->counted;
		l->outermost = IS_ROW(l->row) && !r->rows[l->row].entered;
		if (l->outermost)
			r->rows[l->row].entered = true;
		r->hides_native |= l->row == ROW_NATIVE;
	}
	return 0;
}

/* A stack of details is its outermost frame. 0 or -ENOMEM. */
static int enter_alone(struct report *r)
{
	uint32_t root = r->stack[r->depth - 1];

	r->alone = true;
	return id_map_get(&r->row_alone, root, &r->self) ?
	       0 : row_of_frame(r, root, &r->row_alone, &r->self);
}

/* The innermost frame that is no detail has the self. 0 or -ENOMEM. */
static int find_self(struct report *r)
{
	uint32_t i = r->level_cnt;

	r->alone = false;
	while (i && !IS_ROW(r->levels[i - 1].row))
		i--;
	if (!i)
		return r->depth ? enter_alone(r) : 0;
	r->self = r->levels[i - 1].row;
	return 0;
}

/* Another stack follows. 0 or -ENOMEM. */
static int change_stack(struct report *r, const struct event *ev)
{
	int err;

	add_pending(r);
	leave(r, frames_shared(r->stack, r->depth, ev->frames, ev->nframes));
	r->depth = ev->nframes;
	if (r->depth)
		memcpy(r->stack, ev->frames, r->depth * sizeof(*r->stack));
	err = enter(r);
	return err ? err : find_self(r);
}

static int add_to_thread(struct report *r, const struct event *ev)
{
	uint32_t index;
	int err;

	/* One row per thread: several interpreters may run on it in turn. */
	err = thread_map_get(r->threads, ev->thread_id, 0, &index);
	if (!err)
		err = need_row(r, r->thread_row_0 + index);
	if (err)
		return err;
	r->rows[r->thread_row_0 + index].profile = r->profile_cnt - 1;
	r->rows[r->thread_row_0 + index].thread_id = ev->thread_id;
	r->rows[r->thread_row_0 + index].main |= (ev->status & STATUS_MAIN_THREAD) != 0;
	r->rows[r->thread_row_0 + index].self += ev->weight;
	r->rows[r->thread_row_0 + index].total += ev->weight;
	return 0;
}

int report_event(void *ctx, const struct event *ev)
{
	struct report *r = ctx;
	size_t bytes = ev->nframes * sizeof(*ev->frames);
	double square = (double)ev->weight * (double)ev->weight;
	int err;

	r->sample_cnt += ev->weight;
	r->squares += square;
	if (r->by == REPORT_BY_THREAD)
		return add_to_thread(r, ev);
	if (by_profile(r)) {
		r->rows[r->selected].self += ev->weight;
		r->rows[r->selected].total += ev->weight;
		return 0;
	}
	if (ev->nframes == r->depth && (!bytes || !memcmp(ev->frames, r->stack, bytes))) {
		r->pending += ev->weight;
		r->pending_squares += square;
		return 0;
	}
	err = change_stack(r, ev);
	if (err)
		return err;
	r->pending = ev->weight;
	r->pending_squares = square;
	return 0;
}

int report_end(struct report *r)
{
	add_pending(r);
	leave(r, 0);
	r->depth = 0;
	end_profile(r);
	return 0;
}

/* The row for another report's row; one of a profile or a thread is a new one. 0 or -ENOMEM. */
static int merged_row(struct report *r, const struct report *other, uint32_t theirs, uint32_t *row)
{
	const struct profile_tables *names = intern_tables(other->names);
	struct frame key;
	int err;

	if (!by_code(r)) {
		*row = r->row_cnt;
		err = need_row(r, *row);
		if (err)
			return err;
		r->rows[*row].profile = r->profile_cnt + other->rows[theirs].profile;
		r->rows[*row].thread_id = other->rows[theirs].thread_id;
		r->rows[*row].main = other->rows[theirs].main;
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

static void merge_counts(struct counts *c, const struct counts *more)
{
	c->self += more->self;
	c->total += more->total;
	c->self_squares += more->self_squares;
	note_lowest(&c->first_line, more->first_line);
	note_lowest(&c->lowest_line, more->lowest_line);
}

int report_merge(struct report *r, const struct report *other)
{
	uint32_t i, row;
	int err;

	for (i = 0; i < other->row_cnt; i++) {
		err = merged_row(r, other, i, &row);
		if (err)
			return err;
		merge_counts(&r->rows[row], &other->rows[i]);
	}
	if (buf_add(&r->labels, other->labels.data, other->labels.len))
		return -ENOMEM;
	r->profile_cnt += other->profile_cnt;
	r->sample_cnt += other->sample_cnt;
	r->squares += other->squares;
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
	return r->squares;
}

static int compare_text(const struct string_ref *a, const struct string_ref *b)
{
	int diff = memcmp(a->data, b->data, a->len < b->len ? a->len : b->len);

	return diff ? diff : (a->len > b->len) - (a->len < b->len);
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int by_name(const struct report_row *a, const struct report_row *b)
{
	int diff = compare_text(&a->func, &b->func);

	return diff ? diff : COMPARE(a->thread_id, b->thread_id);
}

static int by_file(const struct report_row *a, const struct report_row *b)
{
	int diff = compare_text(&a->file, &b->file);

	diff = diff ? diff : COMPARE(a->profile, b->profile);
	return diff ? diff : COMPARE(a->line, b->line);
}

static int by_self(const struct report_row *a, const struct report_row *b)
{
	return COMPARE(b->self, a->self);
}

static int by_total(const struct report_row *a, const struct report_row *b)
{
	return COMPARE(b->total, a->total);
}

typedef int (*row_compare)(const struct report_row *a, const struct report_row *b);

/* The keys of each order, most important first; together they make it unambiguous. */
static const row_compare orders[][4] = {
	[REPORT_SORT_SELF] = { by_self, by_total, by_name, by_file },
	[REPORT_SORT_TOTAL] = { by_total, by_self, by_name, by_file },
	[REPORT_SORT_NAME] = { by_name, by_file, by_self, by_total },
	[REPORT_SORT_FILE] = { by_file, by_name, by_self, by_total },
};

static int compare_rows(const void *a, const void *b, void *order)
{
	const row_compare *compare = order;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(orders[0]); i++) {
		int diff = compare[i](a, b);

		if (diff)
			return diff;
	}
	return 0;
}

static int compare_containers(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;
	int diff = compare_text(&x->func, &y->func);

	return diff ? diff : COMPARE(x->profile, y->profile);
}

/* Join rows that have the same label. Returns how many are left. */
static uint32_t join_containers(struct report_row *rows, uint32_t cnt)
{
	uint32_t i, left = 0;

	qsort(rows, cnt, sizeof(*rows), compare_containers);
	for (i = 0; i < cnt; i++) {
		if (left && !compare_text(&rows[left - 1].func, &rows[i].func)) {
			rows[left - 1].self += rows[i].self;
			rows[left - 1].total += rows[i].total;
			rows[left - 1].profile_cnt++;
		} else {
			rows[left++] = rows[i];
		}
	}
	return left;
}

const struct report_row *report_rows(struct report *r, enum report_sort sort, size_t *cnt)
{
	static const struct string_ref none = { "", 0 };
	const struct profile_tables *names = intern_tables(r->names);
	bool named = by_code(r);
	uint32_t i;

	free(r->sorted);
	r->sorted = malloc(((size_t)r->row_cnt + 1) * sizeof(*r->sorted));
	if (!r->sorted)
		return NULL;
	for (i = 0; i < r->row_cnt; i++) {
		const struct counts *c = &r->rows[i];
		const struct frame *f = named ? &names->frames[i] : NULL;

		r->sorted[i] = (struct report_row){
			.self = c->self, .total = c->total,
			.self_squares = c->self_squares,
			.file = f ? names->strings[f->file] : none,
			.func = f ? names->strings[f->func] : *label_at(r, c->profile),
			.kind = f ? f->kind : FRAME_SYNTHETIC,
			.line = c->first_line > 0 ? c->first_line : c->lowest_line,
			.profile = c->profile, .thread_id = c->thread_id, .main = c->main,
			.profile_cnt = 1,
		};
	}
	*cnt = r->by == REPORT_BY_CONTAINER ? join_containers(r->sorted, r->row_cnt) : r->row_cnt;
	qsort_r(r->sorted, *cnt, sizeof(*r->sorted), compare_rows, (void *)orders[sort]);
	return r->sorted;
}
