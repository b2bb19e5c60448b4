// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * gil_text.c - the results of tachbpf gil as tables; code shared with the other formats.
 *
 * Names are untrusted and are escaped first. A place is "file:line function", so that directories
 * are cut first on a terminal.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/text.h"
#include "commands/gil_show.h"
#include "commands/show.h"
#include "model/profile_names.h"
#include "model/thread_names.h"

/* ---- shared by text, JSON and page ---- */

double gil_seconds(const struct gil_section *s, uint64_t samples)
{
	return samples * (s->meta->interval_us / 1e6);
}

double gil_observed_s(const struct gil_section *s)
{
	const struct gil_process *p = s->process;

	if (p->last_us < p->first_us)
		return 0;
	/* The last sample stands for an interval, too. */
	return (p->last_us - p->first_us) / 1e6 + s->meta->interval_us / 1e6;
}

double gil_utilisation(const struct gil_section *s, uint64_t held)
{
	double observed = gil_observed_s(s);
	double pct = observed > 0 ? 100 * gil_seconds(s, held) / observed : 0;

	return pct < 100 ? pct : 100;
}

const char *gil_reason(const struct gil_section *s)
{
	static const char *const reasons[] = {
		[GIL_NOT_RECORDED] = "not recorded: threads that wait for the GIL are only in "
				     "profiles of modes gil, wall and all (record with --mode gil)",
		[GIL_NO_GIL] = "a free-threaded Python: it has no GIL",
		[GIL_NEVER_SEEN] = "no thread held or wanted the GIL: it was idle",
	};

	return s->known == GIL_KNOWN ? NULL : reasons[s->known];
}

const char *gil_no_holders(const struct gil_section *s)
{
	return gil_holders_known(s->process) ? NULL :
	       "running threads were not recorded, so the holders of the GIL are unknown";
}

uint32_t gil_tgid(const struct gil_section *s)
{
	return s->process->tgid ? s->process->tgid : s->file->process.tgid;
}

const char *gil_comm(const struct gil_section *s)
{
	return s->process->tgid ? s->process->comm : s->file->process.comm;
}

const struct gil_exact_thread *gil_exact(const struct gil_section *s, uint64_t thread_id)
{
	return s->threads ? u64map_get(s->threads, thread_id) : NULL;
}

const char *gil_thread_name(const struct gil_section *s, uint64_t thread_id)
{
	const struct gil_exact_thread *exact = gil_exact(s, thread_id);

	return exact && exact->name ? exact->name :
				      thread_names_find(s->file->process.thread_names, thread_id);
}

uint32_t gil_shown(const struct gil_report *r, uint32_t cnt)
{
	return (uint32_t)limit_rows(r->limit, cnt);
}

/* ---- the tables ---- */

/* Columns of two numbers and their gaps, and of three, before the places. */
#define PAIR_COLUMNS 24
#define LINE_COLUMNS 36
/* The widest text of a column to which the rest of its row is aligned, without a terminal. */
#define ALIGN_COLUMNS 512
/* The narrowest column for places on a terminal, even if lines wrap then. */
#define PLACE_MIN 16

struct page {
	const struct gil_report *r;
	const struct gil_section *s;
	size_t terminal;	/* columns; 0: not a terminal */
	size_t names;		/* the same, for names of threads; 0: there are none */
};

/* Returns a place as text, to be freed; NULL: no memory. */
static char *place_text(const struct gil_section *s, uint32_t place)
{
	const struct profile_tables *t = gil_tables(s->gil);
	const struct frame *f = &t->frames[place];
	const struct string_ref *file = &t->strings[f->file];
	const struct string_ref *func = &t->strings[f->func];
	char *name = text_escape(func->data, func->len), *path, *text = NULL;
	int n;

	if (f->line <= 0)
		return name;
	path = text_escape(file->data, file->len);
	n = name && path ? asprintf(&text, "%s:%d %s", path, f->line, name) : -1;
	free(name);
	free(path);
	return n < 0 ? NULL : text;
}

static char *line_text(const struct gil_section *s, uint32_t line)
{
	uint32_t cnt;

	if (line == GIL_NO_LINE)
		return strdup("(no holder seen)");
	return place_text(s, gil_lines(s->gil, &cnt)[line].place);
}

/* Prints the held time in seconds; "-" if it is unknown. */
static void print_held(const struct page *p, uint64_t held)
{
	if (gil_holders_known(p->s->process))
		printf("%10.3f  ", gil_seconds(p->s, held));
	else
		printf("%10s  ", "-");
}

/* Returns a thread's label, to be freed; NULL: no memory. */
static char *thread_text(const struct gil_section *s, const struct gil_thread *t)
{
	const char *name = gil_thread_name(s, t->thread_id);

	name = name ? name : t->is_main ? "main" : "";
	return text_escape(name, strlen(name));
}

/* Returns the width of the names of the first `shown` threads; 0: none has one, or no memory. */
static size_t names_width(const struct page *p, const struct gil_order *order, uint32_t shown)
{
	uint32_t i, cnt;
	const struct gil_thread *threads = gil_threads(p->s->gil, &cnt);
	size_t width = 0;

	for (i = 0; i < shown; i++) {
		char *name = thread_text(p->s, &threads[order->ids[i]]);

		width = name ? text_widest(width, name) : width;
		free(name);
	}
	return width < ALIGN_COLUMNS ? width : ALIGN_COLUMNS;
}

/* Prints a row for each, as far as --limit allows. 0 or -ENOMEM. */
static int print_rows(const struct page *p, const struct gil_order *order,
		      int (*row)(const struct page *p, uint32_t id))
{
	uint32_t i, shown = gil_shown(p->r, order->cnt);
	int err = 0;

	for (i = 0; !err && i < shown; i++)
		err = row(p, order->ids[i]);
	if (!err)
		limit_print_more("  ", order->cnt, shown);
	return err;
}

static void print_waited(const struct page *p, uint64_t waited)
{
	printf("%10.3f  %8.2f  ", gil_seconds(p->s, waited),
	       percent(waited, p->s->process->waited));
}

static int print_thread(const struct page *p, uint32_t id)
{
	uint32_t cnt;
	const struct gil_thread *t = &gil_threads(p->s->gil, &cnt)[id];
	const struct gil_exact_thread *exact = gil_exact(p->s, t->thread_id);
	const struct text_column names = { .width = p->names, .spill = true };
	bool measured = exact && exact->gil.known;
	char *name = thread_text(p->s, t);

	if (!name)
		return -ENOMEM;
	print_waited(p, t->waited);
	print_held(p, t->held);
	printf("%10llu%s", (unsigned long long)t->thread_id, *name || measured ? "  " : "");
	if (names.width)
		text_cell(stdout, &names, name, measured);
	if (measured)
		printf("measured: %.6f s in %llu %s, the longest %.6f s",
		       exact->gil.wait_ns / 1e9, (unsigned long long)exact->gil.waits,
		       text_plural(exact->gil.waits, "wait", "waits"),
		       exact->gil.longest_wait_ns / 1e9);
	printf("\n");
	free(name);
	return 0;
}

static int print_threads(struct page *p)
{
	struct gil_order order = gil_rows_threads(p->s->rows, p->s->number);

	p->names = names_width(p, &order, gil_shown(p->r, order.cnt));
	printf("\n%10s  %8s  %10s  %10s  %s\n", "waited s", "share %", "held s", "thread", "name");
	return print_rows(p, &order, print_thread);
}

/*
 * Returns the width of the first of two columns of places: its widest text; on a terminal at most
 * half of both.
 */
static size_t first_width(const struct page *p, char *const *texts, uint32_t cnt, size_t heading)
{
	size_t widest = heading, most = ALIGN_COLUMNS;
	uint32_t i;

	for (i = 0; i < cnt; i++)
		widest = text_widest(widest, texts[2 * i]);
	if (p->terminal)
		most = p->terminal > PAIR_COLUMNS + 2 * PLACE_MIN ?
		       (p->terminal - PAIR_COLUMNS) / 2 : PLACE_MIN;
	return widest < most ? widest : most;
}

static void print_pair(const struct page *p, const struct gil_pair *pair, char *const *texts,
		       size_t width)
{
	/* Wider text is cut on a terminal; elsewhere it shifts the second column. */
	struct text_column first = { .width = width, .cut = CUT_LEFT, .spill = !p->terminal };
	struct text_column second = { .cut = CUT_LEFT };

	if (p->terminal)
		second.width = p->terminal > PAIR_COLUMNS + width + PLACE_MIN ?
			       p->terminal - PAIR_COLUMNS - width : PLACE_MIN;
	print_waited(p, pair->waited);
	text_cell(stdout, &first, texts[0], true);
	text_cell(stdout, &second, texts[1], false);
	printf("\n");
}

static int print_matrix(const struct page *p)
{
	static const char *const headings[] = { "while it was held at", "waited at" };
	struct gil_order order = gil_rows_pairs(p->s->rows, p->s->number);
	uint32_t i, shown = gil_shown(p->r, order.cnt);
	char **texts = calloc(2 * (size_t)shown + 1, sizeof(*texts));
	int err = texts ? 0 : -ENOMEM;
	size_t width;

	for (i = 0; !err && i < shown; i++) {
		struct gil_pair pair = gil_pair(p->s->gil, order.ids[i]);

		texts[2 * i] = line_text(p->s, pair.holder);
		texts[2 * i + 1] = line_text(p->s, pair.waiter);
		err = texts[2 * i] && texts[2 * i + 1] ? 0 : -ENOMEM;
	}
	if (!err) {
		width = first_width(p, texts, shown, strlen(headings[0]));
		printf("\n%10s  %8s  %-*s  %s\n", "waited s", "share %", (int)width, headings[0],
		       headings[1]);
		for (i = 0; i < shown; i++) {
			struct gil_pair pair = gil_pair(p->s->gil, order.ids[i]);

			print_pair(p, &pair, texts + 2 * i, width);
		}
		limit_print_more("  ", order.cnt, shown);
	}
	for (i = 0; texts && i < 2 * shown; i++)
		free(texts[i]);
	free(texts);
	return err;
}

/* Prints the last cell of a row, after this many columns. text is freed; NULL: -ENOMEM. */
static int print_last(const struct page *p, size_t columns, char *text)
{
	if (!text)
		return -ENOMEM;
	text_print(stdout, text, p->terminal ? p->terminal - columns : 0, CUT_LEFT, false);
	printf("\n");
	free(text);
	return 0;
}

static int print_line(const struct page *p, uint32_t id)
{
	uint32_t cnt;
	const struct gil_line *l = &gil_lines(p->s->gil, &cnt)[id];

	printf("%10.3f  %10.3f  ", gil_seconds(p->s, l->waited), gil_seconds(p->s, l->blamed));
	print_held(p, l->held);
	return print_last(p, LINE_COLUMNS, place_text(p->s, l->place));
}

static int print_lines(const struct page *p)
{
	struct gil_order order = gil_rows_lines(p->s->rows, p->s->number);
	uint32_t i, cnt;
	const struct gil_line *lines = gil_lines(p->s->gil, &cnt);

	/* The remaining lines have no waits. */
	for (i = 0; i < order.cnt; i++)
		if (!lines[order.ids[i]].waited && !lines[order.ids[i]].blamed)
			order.cnt = i;
	printf("\n%10s  %10s  %10s  %s\n", "waited s", "others s", "held s", "line");
	return print_rows(p, &order, print_line);
}

/* Returns the stack, outermost function first, as text to be freed; NULL: no memory. */
static char *stack_text(const struct gil_section *s, const struct gil_stack *stack)
{
	const struct profile_tables *t = gil_tables(s->gil);
	char *text = NULL, *name;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	uint32_t i;

	if (!out)
		return NULL;
	for (i = stack->n; i-- > 0;) {
		const struct frame *f = &t->frames[stack->places[i]];
		const struct string_ref *func = &t->strings[f->func];

		name = text_escape(func->data, func->len);
		fputs(name ? name : "?", out);
		free(name);
		if (f->line > 0)
			fprintf(out, ":%d", f->line);
		fputs(i ? ";" : "", out);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static int print_stack(const struct page *p, uint32_t id)
{
	struct gil_stack stack = gil_stack(p->s->gil, id);

	print_waited(p, stack.waited);
	return print_last(p, PAIR_COLUMNS - 2, stack_text(p->s, &stack));
}

static int print_stacks(const struct page *p)
{
	struct gil_order order = gil_rows_stacks(p->s->rows, p->s->number);

	printf("\n%10s  %8s  %s\n", "waited s", "share %", "stack");
	return print_rows(p, &order, print_stack);
}

static void print_left_out(const struct gil_section *s)
{
	const struct gil_process *p = s->process;

	if (p->holds_left_out)
		printf("\nleft out: %.3f s with the GIL, with too many line changes to look for "
		       "waits\n", gil_seconds(s, p->holds_left_out));
	if (p->pairs_left_out)
		printf("\nleft out: %.3f s of waits, in too many pairs of lines\n",
		       gil_seconds(s, p->pairs_left_out));
	if (p->stacks_left_out)
		printf("\nleft out: %.3f s of waits, in too many stacks\n",
		       gil_seconds(s, p->stacks_left_out));
}

static void print_interps(const struct gil_section *s)
{
	uint32_t cnt, i;
	const struct gil_interp *interps = gil_rows_interps(s->rows, s->number, &cnt);

	if (cnt < 2)
		return;
	for (i = 0; i < cnt && i < 64; i++) {
		printf("  interpreter %u:", interps[i].interp_id);
		if (gil_holders_known(s->process))
			printf(" GIL held %.2f %%,", gil_utilisation(s, interps[i].held));
		printf(" waited for %.3f s\n", gil_seconds(s, interps[i].waited));
	}
	if (i < cnt)
		printf("  ... %u more %s\n", cnt - i,
		       text_plural(cnt - i, "interpreter", "interpreters"));
}

static uint32_t waiting_threads(const struct gil_section *s)
{
	struct gil_order order = gil_rows_threads(s->rows, s->number);
	uint32_t cnt, n = 0;
	const struct gil_thread *threads = gil_threads(s->gil, &cnt);

	while (n < order.cnt && threads[order.ids[n]].waited)
		n++;
	return n;
}

static void put_title(const struct gil_section *s, FILE *out)
{
	const char *comm = gil_comm(s);
	char *name = comm ? text_escape(comm, strlen(comm)) : NULL;

	fprintf(out, "%s", s->file->shown);
	if (gil_tgid(s))
		fprintf(out, ", pid %u", gil_tgid(s));
	if (comm)
		fprintf(out, " %s", name ? name : "?");
	fprintf(out, ": ");
	free(name);
}

static void put_summary(const struct gil_section *s, FILE *out)
{
	uint32_t threads = gil_rows_thread_cnt(s->rows, s->number);

	if (!gil_no_holders(s))
		fprintf(out, "GIL held %.2f %% of ", gil_utilisation(s, s->process->held));
	fprintf(out, "%.2f s, ", gil_observed_s(s));
	if (s->process->waited)
		fprintf(out, "waited for %.3f s by %u of %u %s",
			gil_seconds(s, s->process->waited), waiting_threads(s), threads,
			text_plural(threads, "thread", "threads"));
	else
		fprintf(out, "no wait for it among %llu %s",
			(unsigned long long)s->process->samples,
			text_plural(s->process->samples, "sample", "samples"));
	if (s->exact.known)
		fprintf(out, " (measured: %.6f s in %llu %s)", s->exact.wait_ns / 1e9,
			(unsigned long long)s->exact.waits,
			text_plural(s->exact.waits, "wait", "waits"));
	fprintf(out, ", %s mode", profile_mode_name(s->meta->mode));
}

/* Prints the process, and how long the GIL was held, or why that is unknown. */
static void put_head(const void *ctx, FILE *out)
{
	const char *reason = gil_reason(ctx);

	put_title(ctx, out);
	if (reason)
		fputs(reason, out);
	else
		put_summary(ctx, out);
}

static int print_section(struct page *p)
{
	const struct gil_section *s = p->s;
	const char *no_holders = gil_no_holders(s);
	int err = text_wrap_written(stdout, put_head, s, p->terminal);

	if (err || gil_reason(s))
		return err;
	print_interps(s);
	if (!s->process->waited)
		return 0;
	if (no_holders)
		printf("  %s\n", no_holders);
	err = print_threads(p);
	if (!err)
		err = print_matrix(p);
	if (!err)
		err = print_lines(p);
	if (!err)
		err = print_stacks(p);
	print_left_out(s);
	return err;
}

int gil_print_text(const struct gil_report *r, const struct profile_set *set)
{
	struct page page = { .r = r, .terminal = text_terminal_width(stdout) };
	int err = 0;
	size_t i;

	for (i = 0; !err && i < r->section_cnt; i++) {
		bool tables = r->sections[i].process->waited && !gil_reason(&r->sections[i]);

		page.s = &r->sections[i];
		err = print_section(&page);
		if (tables && i + 1 < r->section_cnt)
			printf("\n");
	}
	return err;
}
