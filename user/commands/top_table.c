// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* top_table.c - the table of `tachbpf top`. See top_show.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/colour.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/top_show.h"
#include "cpython/image.h"
#include "host/containers.h"
#include "host/held_by.h"
#include "host/identity.h"
#include "model/event.h"
#include "resolve/process.h"

static double percent(uint64_t ns, uint64_t of)
{
	return of ? 100.0 * ns / of : 0;
}

/*
 * "handle (app.py), 43 %": the function, its file's name, its share of the process' time. Without
 * CPU time in the window: what holds the process, if anything does.
 */
static void write_hottest(FILE *out, const struct live_process *p)
{
	const struct profile_tables *t = process_tables(p->process);
	const struct string_ref *func, *file;
	char *name, *path, held[HELD_BY_BYTES];
	const char *base;

	if (!p->hottest) {
		held_by_words(process_tgid(p->process), held);
		fputs(held, out);
		return;
	}
	func = &t->strings[p->hottest->func];
	file = &t->strings[p->hottest->file];
	name = text_escape(func->data, func->len);
	path = text_escape(file->data, file->len);
	base = path ? strrchr(path, '/') : NULL;
	base = base ? base + 1 : path;
	fprintf(out, "%s", name ? name : "?");
	if (base && strcmp(base, SYNTHETIC_FILE) != 0)
		fprintf(out, " (%s)", base);
	fprintf(out, " %.0f %%", percent(p->hottest->self_ns, p->last.cpu_ns));
	free(name);
	free(path);
}

static void write_row(FILE *out, const struct live_process *p, uint64_t ns)
{
	const struct container *c = process_identity(p->process)->container;
	char label[CONTAINER_LABEL_BYTES] = "-", *container, *comm;

	if (c && container_is(c))
		container_label(c, label);
	container = text_escape(label, strlen(label));
	comm = text_escape(process_comm(p->process), strlen(process_comm(p->process)));
	fprintf(out, "%8d  %-15.15s  %-16.16s  %-7.7s  %6.1f  %5.1f  %5.1f  %7" PRIu32 "  %6" PRIu64
		"  ", process_tgid(p->process), comm ? comm : "?", container ? container : "?",
		process_image(p->process)->version, percent(p->last.cpu_ns, ns),
		percent(p->last.gil_ns, ns), percent(p->last.gc_ns, p->last.cpu_ns), p->threads,
		p->lost);
	write_hottest(out, p);
	free(container);
	free(comm);
}

/* One line, cut to the terminal's width. */
static void print_row(const struct live_process *p, uint64_t ns)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return;
	write_row(out, p, ns);
	if (!fclose(out))
		text_print(stdout, text, text_terminal_width(stdout), CUT_RIGHT, false);
	printf("\n");
	free(text);
}

/* The first line and the headings. */
static void print_head(const struct top_window *w)
{
	time_t now = (time_t)w->utc_s;
	char text[16] = "", line[128];
	struct tm tm;
	int n;

	if (localtime_r(&now, &tm))
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	n = snprintf(line, sizeof(line), "%s  %zu %s, %.1f %% CPU, %u Hz, last %.1f s, %" PRIu64
		     " lost", text, w->total.processes,
		     text_plural(w->total.processes, "Python process", "Python processes"),
		     percent(w->total.last.cpu_ns, w->ns), w->rate_hz, w->ns / 1e9, w->total.lost);
	if (w->total.ended && n > 0 && (size_t)n < sizeof(line))
		snprintf(line + n, sizeof(line) - n, ", %zu ended", w->total.ended);
	text_print(stdout, line, text_terminal_width(stdout), CUT_RIGHT, false);
	printf("\n%s", colour_on(stdout, COLOUR_BOLD));
	snprintf(line, sizeof(line), "%8s  %-15s  %-16s  %-7s  %6s  %5s  %5s  %7s  %6s  %s", "pid",
		 "name", "container", "python", "cpu %", "gil %", "gc %", "threads", "lost",
		 "hottest function");
	text_print(stdout, line, text_terminal_width(stdout), CUT_RIGHT, false);
	printf("%s\n", colour_off(stdout));
}

void top_table(const struct top_window *w)
{
	size_t rows = w->limit && w->limit < w->cnt ? w->limit : w->cnt, i;

	print_head(w);
	for (i = 0; i < rows; i++)
		print_row(&w->list[i], w->ns);
	if (rows < w->cnt)
		printf("%zu more\n", w->cnt - rows);
}
