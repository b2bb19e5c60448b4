// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * annotate_show.c - tachbpf report --annotate: the lines of analysis/annotate.h with their source,
 * and as JSON for editors.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/annotate.h"
#include "base/arith.h"
#include "base/colour.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/annotate_view.h"
#include "commands/report_show.h"
#include "commands/show.h"
#include "commands/source_book.h"

#define SOURCE_COLUMN 26	/* where the source begins */
#define LEAST_SHARE 200		/* without a name, lines with 1/200 of the samples are shown */
#define MARKED_PART 5		/* ... and expressions with 1/5 of the hottest line's are marked */
#define EXPRESSIONS_MAX 16	/* of a line, in JSON */

struct show {
	const struct report_options *opts;
	struct report_read *read;
	struct source_book *book;
	struct annotation a;
	uint64_t samples;
	size_t width;		/* of the terminal; 0: none */
	bool named;		/* NAME was given: its functions are shown whole */
};

static double share_of(const struct show *s, uint64_t weight)
{
	return percent(weight, s->samples);
}

/* ---- what a file's text is ---- */

/* How the text on this machine may differ from what ran. */
enum text_state { TEXT_NONE, TEXT_KEPT, TEXT_FOUND, TEXT_NEWER, TEXT_SHORTER };

/* Returns why a file has no text. */
static const char *no_text(struct string_ref file)
{
	if (ref_starts_with(file, "<"))
		return "This code has no source file.";
	return ref_starts_with(file, "/") ? "The source is not on this machine." :
	       "The path is relative to a directory that is not known here.";
}

/* Returns true if the file changed after the last recording, whose start is known to a second. */
static bool is_newer(const struct show *s, struct string_ref file)
{
	char *path = s->read->end_utc_ns ? strndup(file.data, file.len) : NULL;
	struct stat st;
	bool newer = path && !stat(path, &st) &&
		     st.st_mtim.tv_sec > (time_t)(s->read->end_utc_ns / 1000000000u) + 1;

	free(path);
	return newer;
}

/* Returns the highest sampled line of a file; f: one of its functions. */
static int32_t last_line_of(const struct show *s, const struct annotate_function *f)
{
	const struct annotate_function *end = s->a.functions + s->a.function_cnt;
	const struct annotate_function *at = f;
	int32_t last = 0;

	while (at > s->a.functions && !ref_compare(at[-1].file, f->file))
		at--;
	for (; at < end && !ref_compare(at->file, f->file); at++) {
		int32_t line = at->lines[at->line_cnt - 1].line;

		last = line > last ? line : last;
	}
	return last;
}

static enum text_state text_state_of(const struct show *s, const struct annotate_function *f,
				     const struct source_pages *pages)
{
	if (!pages->text)
		return TEXT_NONE;
	if (pages->kept)
		return TEXT_KEPT;
	if ((uint32_t)last_line_of(s, f) > pages->line_cnt)
		return TEXT_SHORTER;
	return is_newer(s, f->file) ? TEXT_NEWER : TEXT_FOUND;
}

/* ---- text ---- */

/* Prints escaped text that ends before this column on a terminal; its end counts. */
static void put_path(const struct show *s, struct string_ref text, size_t used)
{
	char *shown = text_escape(text.data, text.len);

	text_print(stdout, shown ? shown : "?", s->width ? s->width - used : 0, CUT_LEFT, false);
	free(shown);
}

static int print_hottest(const struct show *s)
{
	const struct annotate_line *line = s->a.hottest[0];
	uint64_t heat = annotate_heat(&s->a, line->self, line->total);
	struct string_ref text = source_book_line(s->book, line->file, line->line);
	char *source = annotate_view_text(text), head[80], tail[16];

	if (!source)
		return -ENOMEM;
	snprintf(head, sizeof(head), "Hottest line: %.2f %% at ", share_of(s, heat));
	snprintf(tail, sizeof(tail), ":%d", line->line);
	printf("%s", head);
	put_path(s, line->file, strlen(head) + strlen(tail));
	printf("%s\n", tail);
	if (*source) {
		printf("    %s", colour_on(stdout, COLOUR_BOLD));
		text_print(stdout, source, s->width ? s->width - 4 : 0, CUT_RIGHT, false);
		printf("%s\n", colour_off(stdout));
	}
	free(source);
	return 0;
}

static void print_file(const struct show *s, const struct annotate_function *f,
		       const struct source_pages *pages)
{
	const char *const notes[] = {
		[TEXT_NONE] = no_text(f->file),
		[TEXT_NEWER] = "The file is newer than the recording: lines may have moved.",
		[TEXT_SHORTER] = "The file has fewer lines than the one that ran: it has changed.",
	};
	enum text_state state = text_state_of(s, f, pages);
	char tail[40];

	snprintf(tail, sizeof(tail), ", self %.2f %%", share_of(s, f->file_self));
	printf("\n%s", colour_on(stdout, COLOUR_BOLD));
	put_path(s, f->file, strlen(tail));
	printf("%s%s\n", tail, colour_off(stdout));
	if (notes[state])
		text_wrap(stdout, notes[state], 0, s->width);
	printf("%7s %8s %7s  %s\n", "self %", "total %", "line", pages->text ? "source" : "");
}

static void print_function(const struct show *s, const struct annotate_function *f)
{
	char *func = text_escape(f->func.data, f->func.len), tail[80];
	size_t used;

	snprintf(tail, sizeof(tail), ": self %.2f %%, total %.2f %%", share_of(s, f->self),
		 share_of(s, f->total));
	used = SOURCE_COLUMN + strlen(tail);
	printf("%*s%s", SOURCE_COLUMN, "", colour_on(stdout, COLOUR_BOLD));
	text_print(stdout, func ? func : "?", s->width > used ? s->width - used : 0, CUT_LEFT,
		   false);
	printf("%s%s\n", tail, colour_off(stdout));
	free(func);
}

static void print_number(const struct show *s, uint64_t weight, int width)
{
	if (weight)
		report_print_share(share_of(s, weight), width);
	else
		printf("%*s", width, "");
}

/* Returns the column at which the first bytes of a line end on the terminal. */
static size_t column_of(struct string_ref text, int32_t bytes)
{
	char *head;
	size_t column;

	text.len = (uint32_t)bytes < text.len ? (uint32_t)bytes : text.len;
	head = annotate_view_text(text);
	column = head ? text_widest(0, head) : 0;
	free(head);
	return column;
}

/* Returns the weight by which the expressions of this line are ordered. */
static uint64_t weight_in(const struct show *s, const struct annotate_line *line,
			  const struct report_row *e)
{
	return s->a.sort == REPORT_SORT_TOTAL || !line->self ? e->total : e->self;
}

/* Returns true if the line's hottest expression is hot enough to be marked. */
static bool is_marked(const struct show *s, const struct annotate_line *line)
{
	const struct annotate_line *top = s->a.hottest[0];

	return s->named || weight_in(s, line, line->expressions) >=
			   annotate_heat(&s->a, top->self, top->total) / MARKED_PART;
}

/* Marks the hottest of several expressions below the line. */
static void print_marks(const struct show *s, const struct annotate_line *line,
			struct string_ref text, size_t indent)
{
	const struct report_row *e = line->expressions;
	size_t from, to, last = s->width ? s->width - SOURCE_COLUMN - strlen(" 100.00 %") : 0;

	if (line->expression_cnt < 2 || !weight_in(s, line, &e[1]) || !is_marked(s, line))
		return;
	from = column_of(text, e->column);
	to = column_of(text, e->end_line == e->line ? e->end_column : INT32_MAX);
	from -= from < indent ? from : indent;
	to -= to < indent ? to : indent;
	if (last && to > last)
		to = last;
	if (from >= to)
		return;
	printf("%*s%s", (int)(SOURCE_COLUMN + from), "", colour_on(stdout, COLOUR_YELLOW));
	for (; from < to; from++)
		putchar('^');
	printf(" %.2f %%%s\n", share_of(s, weight_in(s, line, e)), colour_off(stdout));
}

static int print_line(const struct show *s, const struct annotate_function *f,
		      const struct source_pages *pages, int32_t number, size_t indent)
{
	const struct annotate_line *line = annotate_find(&s->a, f->file, number);
	struct string_ref text = source_pages_line(pages, number);
	char *shown = annotate_view_text(text);

	if (!shown)
		return -ENOMEM;
	print_number(s, line ? line->self : 0, 7);
	printf(" ");
	print_number(s, line ? line->total : 0, 8);
	printf(" %7d", number);
	if (strlen(shown) > indent) {
		printf("  ");
		text_print(stdout, shown + indent, s->width ? s->width - SOURCE_COLUMN : 0,
			   CUT_RIGHT, false);
	}
	printf("\n");
	free(shown);
	if (line && line->picked && text.len)
		print_marks(s, line, text, indent);
	return 0;
}

static int print_view(const struct show *s, const struct annotate_function *f,
		      const struct source_pages *pages)
{
	struct annotate_view v;
	/* A module is not shown whole: its functions are between its lines. */
	int err = annotate_view_make(&v, f, pages, s->named && !ref_is(f->func, "<module>"));
	size_t i;

	if (!err && v.cnt)
		print_function(s, f);
	for (i = 0; !err && i < v.cnt; i++) {
		if (v.lines[i] == VIEW_GAP)
			printf("%*s\n", SOURCE_COLUMN - 2, "...");
		else
			err = print_line(s, f, pages, v.lines[i], v.indent);
	}
	annotate_view_free(&v);
	return err;
}

static bool has_picked(const struct annotate_function *f)
{
	size_t i;

	for (i = 0; i < f->line_cnt; i++)
		if (f->lines[i].picked)
			return true;
	return false;
}

static int print_functions(const struct show *s)
{
	const struct annotate_function *last = NULL;
	int err = 0;
	size_t i;

	for (i = 0; !err && i < s->a.function_cnt; i++) {
		const struct annotate_function *f = &s->a.functions[i];
		const struct source_pages *pages;

		if (!has_picked(f))
			continue;
		pages = source_book_file(s->book, f->file);
		if (!pages)
			return -ENOMEM;
		if (!last || ref_compare(last->file, f->file))
			print_file(s, f, pages);
		else
			printf("\n");
		err = print_view(s, f, pages);
		last = f;
	}
	return err;
}

/* Says how many lines with samples of their own are not shown, and how hot they are. */
static void print_rest(const struct show *s)
{
	uint64_t heat = 0;
	size_t cnt = 0, i;

	for (i = 0; i < s->a.line_cnt && !s->named; i++) {
		const struct annotate_line *line = s->a.hottest[i];

		cnt += !line->picked && annotate_heat(&s->a, line->self, line->total);
		heat += line->picked ? 0 : line->self;
	}
	if (cnt)
		printf("\n... and %zu more %s, self %.2f %%; --limit 0 shows all\n", cnt,
		       text_plural(cnt, "line", "lines"), share_of(s, heat));
}

static int print_text(const struct show *s)
{
	int err = report_print_head(s->opts, s->read);

	if (!err && !s->named && s->a.line_cnt && s->a.hottest[0]->picked)
		err = print_hottest(s);
	if (!err)
		err = print_functions(s);
	if (err)
		return err;
	print_rest(s);
	report_print_foot(s->opts, s->read, s->samples - s->a.self);
	return 0;
}

/* ---- JSON ---- */

static void json_sums(struct json *j, const struct show *s, uint64_t self, uint64_t total)
{
	json_uint(j, "self", self);
	json_double(j, "self_pct", share_of(s, self));
	json_uint(j, "total", total);
	json_double(j, "total_pct", share_of(s, total));
}

static void json_expressions(struct json *j, const struct show *s,
			     const struct annotate_line *line)
{
	size_t i;

	json_array(j, "expressions");
	for (i = 0; i < line->expression_cnt && i < EXPRESSIONS_MAX; i++) {
		const struct report_row *e = &line->expressions[i];

		json_object(j, NULL);
		json_int(j, "column", e->column);
		json_int(j, "end_line", e->end_line);
		json_int(j, "end_column", e->end_column);
		json_sums(j, s, e->self, e->total);
		json_object_end(j);
	}
	json_array_end(j);
}

static int json_file(struct json *j, const struct show *s, const struct annotate_function *f)
{
	static const char *const from[] = {
		[TEXT_KEPT] = "recording", [TEXT_FOUND] = "disk", [TEXT_NEWER] = "disk",
		[TEXT_SHORTER] = "disk",
	};
	const struct source_pages *pages = source_book_file(s->book, f->file);
	enum text_state state;

	if (!pages)
		return -ENOMEM;
	state = text_state_of(s, f, pages);
	json_object(j, NULL);
	json_ref(j, "file", &f->file);
	json_uint(j, "self", f->file_self);
	json_string(j, "source", from[state]);
	json_bool(j, "changed", state == TEXT_NEWER || state == TEXT_SHORTER);
	json_object_end(j);
	return 0;
}

static int json_files(struct json *j, const struct show *s)
{
	const struct annotate_function *last = NULL;
	int err = 0;
	size_t i;

	json_array(j, "files");
	for (i = 0; !err && i < s->a.function_cnt; i++) {
		const struct annotate_function *f = &s->a.functions[i];

		if (!has_picked(f) || (last && !ref_compare(last->file, f->file)))
			continue;
		err = json_file(j, s, f);
		last = f;
	}
	json_array_end(j);
	return err;
}

static size_t count_rows(const struct show *s)
{
	size_t cnt = 0, i;

	if (!s->named)
		return s->a.line_cnt;
	for (i = 0; i < s->a.line_cnt; i++)
		cnt += s->a.lines[i].picked;
	return cnt;
}

static int print_json(const struct show *s)
{
	struct json j;
	size_t i;
	int err;

	json_start(&j, stdout, true);
	json_object(&j, NULL);
	report_json_head(&j, s->read);
	err = json_files(&j, s);
	json_uint(&j, "row_count", count_rows(s));
	json_array(&j, "rows");
	for (i = 0; i < s->a.line_cnt; i++) {
		const struct annotate_line *line = s->a.hottest[i];

		if (!line->picked)
			continue;
		json_object(&j, NULL);
		show_json_row(&j, &line->func, FRAME_PYTHON, &line->file, line->line);
		json_sums(&j, s, line->self, line->total);
		json_expressions(&j, s, line);
		json_object_end(&j);
	}
	json_array_end(&j);
	report_json_foot(&j, s->opts, s->read, s->samples - s->a.self);
	json_object_end(&j);
	return err;
}

/* ---- the command ---- */

/* Picks what is shown. 0 or -ENOENT. */
static int pick_lines(struct show *s)
{
	uint32_t limit = s->opts->limit;
	bool all = !limit || s->opts->json;
	char name[256];

	if (!s->named) {
		annotate_pick(&s->a, limit, all ? 0 : s->samples / LEAST_SHARE + 1);
		return 0;
	}
	if (annotate_pick_named(&s->a, s->opts->annotate))
		return 0;
	log_error("no function or file with samples is called '%s'; see: tachbpf report",
		  escape_text(s->opts->annotate, strlen(s->opts->annotate), name, sizeof(name)));
	return -ENOENT;
}

int annotate_show(const struct report_options *opts, struct report_read *read)
{
	struct show s = { .opts = opts, .read = read, .named = *opts->annotate,
			  .samples = report_sample_cnt(read->report),
			  .width = text_terminal_width(stdout) };
	int err = annotate_make(&s.a, read->reports, opts->sort);

	s.book = source_book_new(&read->set);
	if (!err)
		err = s.book ? pick_lines(&s) : -ENOMEM;
	if (!err)
		err = opts->json ? print_json(&s) : print_text(&s);
	source_book_free(s.book);
	annotate_free(&s.a);
	return err;
}
