// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* record_show.c - output after the end of a recording. See record_parts.h. */
#include "commands/record_parts.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arith.h"
#include "base/colour.h"
#include "base/output.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/command_process.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "commands/report_read.h"
#include "commands/show.h"
#include "formats/formats.h"
#include "host/spawn.h"
#include "recording/recording.h"

#define HOT_ROWS 5
#ifndef HOT_EVENTS
#define HOT_EVENTS 3000000	/* stacks of 30 frames are read in about half a second */
#endif
#define SHARE_COLUMNS 13	/* "  100.00 %  " and a little */
#define NEXT_PATHS 8		/* a program that executes others has many files */

/* Returns true if there is a profile at path. A process without samples has none. */
static bool has_profile(const char *path)
{
	struct stat st;
	struct dirent *e;
	bool found = false;
	DIR *dir;

	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return !stat(path, &st);
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir))) {
		const char *dot = strrchr(e->d_name, '.');

		found = *e->d_name != '.' && dot &&
			(!strcmp(dot, ".tach") || !strcmp(dot, ".mlyze"));
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Returns the path as a word for a shell, to be freed; NULL: no memory. */
static char *quoted_path(const char *path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789_./:@%+=,-";
	struct buf b = { 0 };
	char *shown;
	int err = 0;

	if (*path && path[strspn(path, plain)] == '\0')
		return strdup(path);
	err = buf_add(&b, "'", 1);
	for (; !err && *path; path++)
		err = *path == '\'' ? buf_add(&b, "'\\''", 4) : buf_add(&b, path, 1);
	if (!err)
		err = buf_add(&b, "'", 1);
	shown = err ? NULL : text_escape((char *)b.data, b.len);
	buf_free(&b);
	return shown;
}

static void print_heading(const char *text)
{
	fprintf(stderr, "\n%s%s%s\n", colour_on(stderr, COLOUR_BOLD), text, colour_off(stderr));
}

static void print_row(double share, const char *name, size_t width, const char *place)
{
	struct text_column names = { .width = width, .cut = CUT_RIGHT };
	struct text_column places = { .cut = CUT_LEFT };
	size_t terminal = text_terminal_width(stderr), left = (terminal ? terminal : TEXT_COLUMNS);

	left -= SHARE_COLUMNS + width + 2;
	places.width = terminal ? left : 0;
	fprintf(stderr, "  %6.2f %%  ", share);
	text_cell(stderr, &names, name, *place);
	text_cell(stderr, &places, place, false);
	fprintf(stderr, "\n");
}

/* As wide as the widest name, but leaves half of 80 columns to the rest. */
static size_t name_width(char *const names[HOT_ROWS], size_t cnt)
{
	size_t width = 0, i;

	for (i = 0; i < cnt; i++)
		width = text_widest(width, names[i]);
	return width < TEXT_COLUMNS / 2 ? width : TEXT_COLUMNS / 2;
}

/* Makes "1234 app", and its command. 0 or -ENOMEM. */
static int process_texts(const struct report_read *r, const struct report_row *row, char **name,
			 char **place)
{
	const struct session_process *p = &r->profiles[row->profile]->process;
	const char *command = p->command ? p->command : "";
	char *label = text_escape(row->func.data, row->func.len);
	int n = -1;

	if (label)
		n = p->tgid ? asprintf(name, "%u %s", p->tgid, label) :
			      asprintf(name, "%s", label);
	if (n < 0)
		*name = NULL;
	free(label);
	*place = text_escape(command, strlen(command));
	return *name && *place ? 0 : -ENOMEM;
}

/* By process, by function. */
static const char *const headings[] = {
	"Busiest processes (of all samples)", "Hottest functions (self, of all samples)",
};
static const char *const headings_memory[] = {
	"Processes that hold the most (of all held memory)",
	"Functions that hold the most (self, of all held memory)",
};

static int print_rows(struct report_read *r)
{
	bool functions = r->by == REPORT_BY_FUNCTION;
	char *names[HOT_ROWS] = { 0 }, *places[HOT_ROWS] = { 0 };
	size_t cnt, i;
	const struct report_row *rows = report_rows(r->report, REPORT_SORT_SELF, &cnt);
	int err = rows ? 0 : -ENOMEM;

	for (i = 0; !err && i < cnt && i < HOT_ROWS && rows[i].self; i++) {
		if (functions) {
			names[i] = text_escape(rows[i].func.data, rows[i].func.len);
			places[i] = show_place(rows[i].kind, &rows[i].file, rows[i].line);
			err = names[i] && places[i] ? 0 : -ENOMEM;
		} else {
			err = process_texts(r, &rows[i], &names[i], &places[i]);
		}
	}
	if (!err) {
		size_t shown = i, width = name_width(names, shown);

		print_heading(r->unit == UNIT_BYTES ? headings_memory[functions] :
						      headings[functions]);
		for (i = 0; i < shown; i++)
			print_row(percent(rows[i].self, report_sample_cnt(r->report)), names[i],
				  width, places[i]);
	}
	for (i = 0; i < HOT_ROWS; i++) {
		free(names[i]);
		free(places[i]);
	}
	return err;
}

/* Fills *input with those of the paths that have a profile. input->paths must be freed. */
static int find_profiles(const struct recording_paths *p, struct input_options *input)
{
	size_t i;

	*input = (struct input_options){ .paths = calloc(p->cnt + 1, sizeof(char *)) };
	for (i = 0; input->paths && i < p->cnt; i++)
		if (has_profile(p->paths[i]))
			input->paths[input->path_cnt++] = p->paths[i];
	return input->paths ? 0 : -ENOMEM;
}

/* Returns true if the recording has samples, or too many to be read. */
static bool print_hot(struct input_options input, enum report_by by)
{
	struct report_read r;
	int err = report_read(&r, by, ROWS_OF_PYTHON, &input, HOT_EVENTS);
	bool any = err == -EFBIG || (!err && report_sample_cnt(r.report));

	if (err == -EFBIG && by == REPORT_BY_FUNCTION)
		fprintf(stderr, "\nThere are too many samples to read in a second: the hottest "
			"functions are not\nshown here.\n");
	else if (!err && any)
		print_rows(&r);
	report_read_free(&r);
	return any;
}

static size_t length_without(const char *path, size_t len, const char *tail)
{
	size_t tail_len = strlen(tail);

	return len > tail_len && !memcmp(path + len - tail_len, tail, tail_len) ? len - tail_len :
										   len;
}

/*
 * Returns a place for the flame graph: "rec.html" for rec/, rec.tach and rec.tach.d; or rec.mlyze.
 */
static char *page_of(const char *path)
{
	size_t len = strlen(path);
	char *page, *word;

	while (len > 1 && path[len - 1] == '/')
		len--;
	len = length_without(path, length_without(path, len, ".tach" PLACE_DIR_SUFFIX), ".tach");
	len = length_without(path, length_without(path, len, ".mlyze" PLACE_DIR_SUFFIX), ".mlyze");
	if (asprintf(&page, "%.*s.html", (int)len, path) < 0)
		return NULL;
	word = quoted_path(page);
	free(page);
	return word;
}

/* Returns the paths as words for a shell, at most NEXT_PATHS of them, each after a space. */
static int quote_paths(const struct input_options *input, struct buf *out)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < input->path_cnt && i < NEXT_PATHS; i++) {
		char *word = quoted_path(input->paths[i]);

		err = !word || buf_add(out, " ", 1) || buf_add(out, word, strlen(word)) ? -ENOMEM :
											   0;
		free(word);
	}
	return err ? err : buf_add(out, "", 1);
}

static void print_next(const struct record_options *opts, const struct input_options *input)
{
	char *page = page_of(input->paths[0]);
	struct buf words = { 0 };

	if (page && !quote_paths(input, &words)) {
		print_heading("Next");
		fprintf(stderr, "  tachbpf %s%s\n",
			record_modes[opts->mode].memory ? "mem" : "report", (char *)words.data);
		if (!opts->html)
			fprintf(stderr, "  tachbpf replay%s --format flamegraph -o %s\n",
				(char *)words.data, page);
	}
	buf_free(&words);
	free(page);
}

void record_show_hot(const struct record_options *opts, const struct recording_paths *paths)
{
	struct input_options input;

	if (!find_profiles(paths, &input) && input.path_cnt &&
	    print_hot(input, REPORT_BY_FUNCTION)) {
		if (opts->select.all)
			print_hot(input, REPORT_BY_PROCESS);
		print_next(opts, &input);
	}
	free(input.paths);
}

int record_check_html(const struct record_options *opts)
{
	struct output_file file;
	int err = opts->html ? output_open(&file, opts->html) : 0;

	if (opts->html && !err)
		output_abort(&file);
	return err;
}

int record_write_html(const struct record_options *opts, const struct recording_paths *paths,
		      const struct recording_result *result, bool *written)
{
	struct replay_options replay = { .export = { .format = &sink_flamegraph,
						     .output = opts->html } };
	char *shown = text_escape(opts->html, strlen(opts->html));
	const char *name = shown ? shown : "?";
	int err = find_profiles(paths, &replay.input);

	*written = !err && result->samples && replay.input.path_cnt;
	if (err)
		log_error("cannot write '%s': %s", name, strerror(-err));
	else if (!*written)
		log_warn("there are no samples: no flame graph was written to '%s'",
			 name);
	else if (replay_run(&replay) != EXIT_SUCCESS)
		err = -EIO;
	else
		log_info("flame graph: %s", name);
	*written &= !err;
	free(replay.input.paths);
	free(shown);
	return err;
}

/* ---- the command, the exit status ---- */

/* --kill: SIGTERM, and after this time SIGKILL. */
#define KILL_AFTER_NS 5000000000ull
/* How long a signal that arrives just before waiting for the command may be missed. */
#define WAIT_MS 200
#define SHOWN_BYTES 256

/* Returns the command's first word, for messages. */
static const char *shown_command(const struct record_options *o, char buf[SHOWN_BYTES])
{
	return escape_text(o->command[0], strlen(o->command[0]), buf, SHOWN_BYTES);
}

static bool ends_command(int sig)
{
	return sig == SIGTERM || sig == SIGHUP;
}

int record_wait_command(const struct record_options *o, struct spawned *child,
			const struct record_signals *ended_by)
{
	struct record_signals before = *ended_by, now;
	bool asked = o->kill || ends_command(before.last);
	uint64_t kill_ns = now_ns() + KILL_AFTER_NS;
	char command[SHOWN_BYTES];
	int status;

	if (spawn_ended(child, &status))
		return status;
	if (asked)
		spawn_signal(child, SIGTERM);
	else
		log_info("the recording has ended; waiting for '%s' (process %d), which is still "
			 "running: another SIGINT stops waiting",
			 shown_command(o, command), child->pid);
	while (!spawn_wait(child, WAIT_MS, &status)) {
		now = record_signals_seen();
		if (now.own > before.own && ends_command(now.last) && !asked) {
			spawn_signal(child, SIGTERM);
			asked = true;
			before = now;
		} else if (now.own > before.own || now.terminal > before.terminal + 1) {
			log_info("process %d continues without tachbpf", child->pid);
			spawn_forget(child);
			return 128 + (now.own > before.own ? now.last : SIGINT);
		}
		if (o->kill && now_ns() >= kill_ns)
			spawn_signal(child, SIGKILL);
	}
	return status;
}

int record_exit_status(const struct recording_result *res, int command_status)
{
	if (command_status)
		return command_status;
	if (res->lost_processes && !res->samples)
		return EXIT_FAILURE;	/* nothing was recorded, due to an error that was logged */
	return res->processes ? EXIT_SUCCESS : EXIT_NO_PYTHON;
}
