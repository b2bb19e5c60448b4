// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* record_next.c - the commands that fit a recording that has ended. See record_hot.h. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "base/util.h"
#include "commands/options.h"
#include "commands/output_name.h"
#include "commands/record_hot.h"
#include "commands/record_parts.h"
#include "recording/recording.h"

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

int record_find_profiles(const struct recording_paths *p, struct input_options *input)
{
	size_t i;

	*input = (struct input_options){ .paths = calloc(p->cnt + 1, sizeof(char *)) };
	for (i = 0; input->paths && i < p->cnt; i++)
		if (has_profile(p->paths[i]))
			input->paths[input->path_cnt++] = p->paths[i];
	return input->paths ? 0 : -ENOMEM;
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

/* The commands for each mode; the paths follow. */
static const char *const first_commands[RECORD_MODE_CNT] = {
	[RECORD_CPU] = "report --annotate", [RECORD_WALL] = "report --detail",
	[RECORD_OFFCPU] = "report --detail", [RECORD_GIL] = "gil",
	[RECORD_EXCEPTION] = "report --detail", [RECORD_ALL] = "report --detail",
	[RECORD_MEM] = "mem",
};

static const char *first_command(const struct record_options *opts)
{
	if (opts->event.kind != EVENT_NONE)
		return "report --by line";
	if (opts->native && opts->mode != RECORD_GIL && opts->mode != RECORD_MEM)
		return "report --native";
	/* The hottest lines are often in what all tasks share; who awaits them is further out. */
	if (opts->capture.async && opts->mode == RECORD_CPU)
		return "report --mine --sort total";
	return first_commands[opts->mode];
}

/* Of -o FILE.svg and the like: the recording itself will be gone. */
static void print_export_next(const struct record_options *opts)
{
	char *word = quoted_path(opts->export.path);

	if (word) {
		record_heading("Next");
		output_name_print_ways(opts->export.format, word);
	}
	free(word);
}

void record_print_next(const struct record_options *opts, const struct input_options *input)
{
	struct buf words = { 0 };

	if (opts->export.format) {
		print_export_next(opts);
	} else if (!quote_paths(input, &words)) {
		record_heading("Next");
		fprintf(stderr, "  tachbpf %s%s\n", first_command(opts), (char *)words.data);
		if (!opts->html)
			fprintf(stderr, "  tachbpf open%s\n", (char *)words.data);
	}
	buf_free(&words);
}

/* Appends the processes that were selected. Returns false if they are not simple to repeat. */
static bool add_selection(const struct record_options *opts, struct buf *out)
{
	char text[32];
	size_t i;
	int err = 0;

	if (opts->select.proc_filter.cnt || opts->select.proc_filter.min_age_s > 0)
		return false;
	for (i = 0; !err && !opts->command && i < opts->select.pid_cnt; i++)
		err = buf_add(out, text, (size_t)snprintf(text, sizeof(text), "%s%d",
							  i ? "," : " -p ",
							  opts->select.pids[i]));
	if (!err && opts->select.proc_filter.children == CHILDREN_YES && !opts->command)
		err = buf_add(out, " --children", 11);
	if (!err && opts->select.proc_filter.children == CHILDREN_NO && opts->command)
		err = buf_add(out, " --no-children", 14);
	if (!err && opts->command)
		err = buf_add(out, " --", 3);
	for (i = 0; !err && opts->command && opts->command[i]; i++) {
		char *word = quoted_path(opts->command[i]);

		err = !word || buf_add(out, " ", 1) || buf_add(out, word, strlen(word));
		free(word);
	}
	return !err && !buf_add(out, "", 1);
}

void record_print_mode_command(const struct record_options *opts, const char *mode)
{
	struct buf words = { 0 };

	if (add_selection(opts, &words))
		fprintf(stderr, "tachbpf -m %s%s%s", mode, opts->capture.async ? " --async" : "",
			(char *)words.data);
	else
		fprintf(stderr, "the same command with -m %s", mode);
	buf_free(&words);
}
