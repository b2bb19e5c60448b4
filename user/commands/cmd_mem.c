// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_mem.c - tachbpf mem: which code allocated the memory of a Memlyze trace, and whether the
 * file keeps the rules of its format.
 */
#include "base/text.h"
#include "commands/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/output.h"
#include "base/util.h"
#include "commands/limit.h"
#include "commands/options.h"
#include "formats/input.h"
#include "formats/mlyze/mlyze_rows.h"
#include "formats/mlyze/mlyze_stats.h"

#define WHY_BYTES 256

/* One file while it is shown. */
struct trace {
	const char *path;
	char *shown;			/* path, escaped */
	struct input *in;
	struct mlyze_file *file;	/* NULL: header or metadata are damaged */
	struct mlyze_stats stats;
	struct mlyze_error error;	/* rule 0: none */
};

struct run {
	const struct mem_options *opts;
	struct json json;
	bool failed;			/* a file could not be read or is damaged, and was logged */
};

static void report_damage(struct run *run, const struct trace *t)
{
	char shown[WHY_BYTES * 2];

	log_error("'%s': rule %d (%s) broken at byte %" PRIu64 ": %s", t->shown, t->error.rule,
		  mlyze_rule_name(t->error.rule), t->error.off,
		  escape_text(t->error.text, strlen(t->error.text), shown, sizeof(shown)));
	run->failed = true;
}

/*
 * 0, with t->error set if the file is damaged; -EBADMSG after logging why it cannot be opened;
 * -ENOMEM.
 */
static int open_trace(struct run *run, struct trace *t)
{
	char why[WHY_BYTES];
	int err;

	t->shown = text_escape(t->path, strlen(t->path));
	if (!t->shown)
		return -ENOMEM;
	t->in = input_map(t->path, why, sizeof(why));
	if (!t->in) {
		log_error("'%s': %s", t->shown, why);
		run->failed = true;
		return -EBADMSG;
	}
	t->file = mlyze_open(t->in->data, t->in->size, &t->error);
	if (!t->file)
		return t->error.rule ? 0 : -ENOMEM;
	err = mlyze_stats_collect(t->file, &t->stats);
	if (!err && t->stats.damaged)
		t->error = t->stats.error;
	return err;
}

static void close_trace(struct trace *t)
{
	mlyze_stats_free(&t->stats);
	mlyze_free(t->file);
	input_unmap(t->in);
	free(t->shown);
}

/* ---- JSON ---- */

static void json_sums(struct json *j, const struct mlyze_sums *s)
{
	json_uint(j, "allocations", s->count);
	json_uint(j, "allocated_bytes", s->allocated);
	json_uint(j, "live_allocations", s->live_count);
	json_uint(j, "live_bytes", s->live);
	json_uint(j, "peak_allocations", s->peak_count);
	json_uint(j, "peak_bytes", s->peak);
}

static void json_ref(struct json *j, const char *key, const struct mlyze_file *f, uint32_t string)
{
	const struct string_ref *s = &mlyze_tables(f)->strings[string];

	json_string_n(j, key, s->data, s->len);
}

static void json_frame(struct json *j, const struct mlyze_file *f, const struct frame *frame)
{
	json_ref(j, "function", f, frame->func);
	json_ref(j, "file", f, frame->file);
	if (frame->line > 0)
		json_int(j, "line", frame->line);
	else
		json_null(j, "line");
}

static void json_row(struct json *j, const struct trace *t, const struct mlyze_row *row,
		     enum mem_by by)
{
	struct mlyze_stack s = mlyze_stack(t->file, row->stack);
	const struct frame *frames = mlyze_tables(t->file)->frames;
	const struct frame *own = mlyze_row_frame(t->file, row);
	size_t i;

	json_object(j, NULL);
	json_sums(j, &row->sums);
	if (by == MEM_BY_STACK) {
		json_uint(j, "stack_id", row->id);
		json_array(j, "frames");	/* innermost first */
		for (i = 0; i < s.frame_cnt; i++) {
			json_object(j, NULL);
			json_frame(j, t->file, &frames[s.frames[i]]);
			json_object_end(j);
		}
		json_array_end(j);
	} else if (!own) {
		json_null(j, "file");
	} else {
		json_ref(j, "file", t->file, own->file);
		if (by == MEM_BY_FUNCTION)
			json_ref(j, "function", t->file, own->func);
	}
	json_object_end(j);
}

static void json_validity(struct json *j, const struct trace *t)
{
	json_string(j, "path", t->path);
	json_bool(j, "valid", t->error.rule == MLYZE_VALID);
	if (t->error.rule == MLYZE_VALID)
		return;
	json_int(j, "rule", t->error.rule);
	json_string(j, "rule_name", mlyze_rule_name(t->error.rule));
	json_uint(j, "offset", t->error.off);
	json_string(j, "error", t->error.text);
}

static void json_totals(struct json *j, const struct trace *t)
{
	const struct mlyze_stats *st = &t->stats;

	json_uint(j, "start_us", mlyze_start_us(t->file));
	json_uint(j, "end_us", st->end_us);
	json_uint(j, "events", st->event_cnt);
	json_sums(j, &st->total);
	json_uint(j, "peak_us", st->peak_us);
	json_uint(j, "frees", st->free_cnt);
	json_uint(j, "freed_bytes", st->freed);
	json_uint(j, "frees_of_unknown_blocks", st->unmatched_frees);
	json_uint(j, "frees_not_recorded", st->lost_frees);
	json_uint(j, "collections", st->gc_cnt);
	json_uint(j, "collected_objects", st->gc_objects);
	json_uint(j, "collected_bytes", st->gc_bytes);
	json_uint(j, "markers", st->marker_cnt);
}

static void json_trace(struct run *run, const struct trace *t, const struct mlyze_row *rows,
		       size_t cnt, size_t all)
{
	struct json *j = &run->json;
	size_t i;

	json_object(j, NULL);
	json_validity(j, t);
	if (rows) {
		json_totals(j, t);
		json_uint(j, "row_count", all);
		json_array(j, "rows");
		for (i = 0; i < cnt; i++)
			json_row(j, t, &rows[i], run->opts->by);
		json_array_end(j);
	}
	json_object_end(j);
}

/* ---- text ---- */

/* The columns of a table: numbers, then what allocated. */
struct table {
	int live, allocated, peak, count;
	struct text_column name, place;
};

static int digits(int width, uint64_t n)
{
	int own = snprintf(NULL, 0, "%" PRIu64, n);

	return own > width ? own : width;
}

static int number_columns(const struct table *t)
{
	return t->live + t->allocated + t->peak + t->count + 3 + 2;
}

static struct table fit(const struct mlyze_row *rows, size_t cnt, enum mem_by by)
{
	struct table t = { .live = 10, .allocated = 10, .peak = 10, .count = 6,
			   .place = { .cut = CUT_LEFT } };
	size_t terminal = text_terminal_width(stdout), left, i;

	for (i = 0; i < cnt; i++) {
		t.live = digits(t.live, rows[i].sums.live);
		t.allocated = digits(t.allocated, rows[i].sums.allocated);
		t.peak = digits(t.peak, rows[i].sums.peak);
		t.count = digits(t.count, rows[i].sums.count);
	}
	if (!terminal)
		return t;
	left = terminal > (size_t)number_columns(&t) + 20 ? terminal - number_columns(&t) : 20;
	t.name = (struct text_column){ .width = left / 2 - 1, .cut = CUT_RIGHT };
	t.place.width = by == MEM_BY_FILE ? left : left - left / 2 - 1;
	return t;
}

/* One cell, and in front of it the gap to the one before. line: 0: none. */
static void print_ref(const struct mlyze_file *f, uint32_t string, int32_t line,
		      const struct text_column *column, bool more)
{
	const struct string_ref *s = &mlyze_tables(f)->strings[string];
	char *shown = text_escape(s->data, s->len), *with_line = NULL;

	if (shown && line > 0 && asprintf(&with_line, "%s:%d", shown, line) < 0)
		with_line = NULL;
	text_cell(stdout, column, with_line ? with_line : shown ? shown : "?", more);
	free(with_line);
	free(shown);
}

static void print_frame(const struct mlyze_file *f, const struct frame *fr, enum mem_by by,
			const struct table *t)
{
	if (by != MEM_BY_FILE)
		print_ref(f, fr->func, 0, &t->name, true);
	print_ref(f, fr->file, by == MEM_BY_STACK ? fr->line : 0, &t->place, false);
	printf("\n");
}

static void print_row(const struct trace *t, const struct mlyze_row *row, enum mem_by by,
		      const struct table *table)
{
	struct mlyze_stack s = mlyze_stack(t->file, row->stack);
	size_t i;

	printf("%*" PRIu64 " %*" PRIu64 " %*" PRIu64 " %*" PRIu64 "  ", table->live, row->sums.live,
	       table->allocated, row->sums.allocated, table->peak, row->sums.peak, table->count,
	       row->sums.count);
	if (!s.frame_cnt) {
		printf("(no frames)\n");
		return;
	}
	if (by != MEM_BY_STACK)
		print_frame(t->file, mlyze_row_frame(t->file, row), by, table);
	for (i = 0; by == MEM_BY_STACK && i < s.frame_cnt; i++) {
		if (i)
			printf("%*s", number_columns(table), "");
		print_frame(t->file, &mlyze_tables(t->file)->frames[s.frames[i]], by, table);
	}
}

/* The beginning of a line: so many bytes in so many of what. */
static void print_total(const char *name, uint64_t bytes, uint64_t cnt, const char *what)
{
	printf("  %-10s %16" PRIu64 " %s in %" PRIu64 " %s%s", name, bytes,
	       text_plural(bytes, "byte", "bytes"), cnt, what, text_plural(cnt, "", "s"));
}

static void print_totals(const struct trace *t)
{
	const struct mlyze_stats *st = &t->stats;
	const struct mlyze_sums *s = &st->total;

	printf("%s: %.6f s, %" PRIu64 " %s\n", t->shown,
	       (st->end_us - mlyze_start_us(t->file)) / 1e6, st->event_cnt,
	       text_plural(st->event_cnt, "event", "events"));
	print_total("allocated", s->allocated, s->count, "allocation");
	printf("\n");
	print_total("freed", st->freed, st->free_cnt - st->unmatched_frees + st->lost_frees,
		    "free");
	printf("\n");
	print_total("live", s->live, s->live_count, "allocation");
	printf(" at the end\n");
	print_total("peak", s->peak, s->peak_count, "allocation");
	printf(", after %.6f s\n", (st->peak_us - mlyze_start_us(t->file)) / 1e6);
	if (st->gc_cnt)
		printf("  %-10s %16" PRIu64 " %s, %" PRIu64 " %s in %" PRIu64 " %s\n",
		       "collected", st->gc_bytes, text_plural(st->gc_bytes, "byte", "bytes"),
		       st->gc_objects, text_plural(st->gc_objects, "object", "objects"),
		       st->gc_cnt, text_plural(st->gc_cnt, "collection", "collections"));
	if (st->unmatched_frees)
		printf("  %" PRIu64 " %s allocated before the trace\n", st->unmatched_frees,
		       text_plural(st->unmatched_frees, "free of a block that was",
				   "frees of blocks that were"));
	if (st->lost_frees)
		printf("  %" PRIu64 " %s whose address was allocated again without a free\n",
		       st->lost_frees, text_plural(st->lost_frees, "block", "blocks"));
}

static void print_trace(const struct run *run, const struct trace *t, const struct mlyze_row *rows,
			size_t cnt, size_t all)
{
	struct table table = fit(rows, cnt, run->opts->by);
	size_t i;

	print_totals(t);
	if (cnt)
		printf("\n%*s %*s %*s %*s  %s\n", table.live, "live", table.allocated, "allocated",
		       table.peak, "peak", table.count, "count",
		       run->opts->by == MEM_BY_FILE ? "file" : "function, file:line");
	for (i = 0; i < cnt; i++)
		print_row(t, &rows[i], run->opts->by, &table);
	limit_print_more("", all, cnt);
	printf("\n");
}

/* ---- */

static int show_rows(struct run *run, const struct trace *t)
{
	const struct mem_options *o = run->opts;
	size_t all, cnt;
	struct mlyze_row *rows = mlyze_rows(t->file, &t->stats, o->by, o->sort, &all);

	if (!rows)
		return -ENOMEM;
	cnt = limit_rows(o->limit, all);
	if (o->json)
		json_trace(run, t, rows, cnt, all);
	else
		print_trace(run, t, rows, cnt, all);
	free(rows);
	return 0;
}

static int show_trace(struct run *run, const char *path)
{
	struct trace t = { .path = path };
	int err = open_trace(run, &t);

	if (!err && t.error.rule)
		report_damage(run, &t);
	if (!err && t.file && !run->opts->validate)
		err = show_rows(run, &t);
	else if (!err && run->opts->json)
		json_trace(run, &t, NULL, 0, 0);
	else if (!err && run->opts->validate && !t.error.rule)
		printf("%s: valid\n", t.shown);
	close_trace(&t);
	return err == -EBADMSG ? 0 : err;
}

int mem_run(const struct mem_options *opts)
{
	struct run run = { .opts = opts };
	size_t i;
	int err = 0;

	if (opts->json) {
		json_start(&run.json, stdout, true);
		json_object(&run.json, NULL);
		json_array(&run.json, "files");
	}
	for (i = 0; !err && i < opts->input.path_cnt; i++)
		err = show_trace(&run, opts->input.paths[i]);
	if (opts->json) {
		json_array_end(&run.json);
		json_object_end(&run.json);
	}
	if (err)
		log_error("cannot read the traces: %s", strerror(-err));
	else
		err = output_flush_stdout();
	return err || run.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
