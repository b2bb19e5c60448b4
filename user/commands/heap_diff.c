// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * heap_diff.c - see heap_diff.h. Processes of the two files are the same if they have the same pid;
 * if each file has one process, these are compared.
 */
#include "commands/heap_diff.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/heap_read.h"
#include "commands/heap_show.h"
#include "commands/options.h"

#define HEAD_BYTES 256		/* of a file, to detect its format */
#define GROWTH_MAX (2 * HEAP_TYPES_MAX)

/* One of the two files. */
struct side {
	const char *path;
	struct heap_file file;
};

/* Two censuses of a process. */
struct pair {
	const struct heap_file_process *a, *b;
};

/* Opens a regular file. Returns its descriptor, or -errno. */
static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

static bool is_census(const char *path)
{
	char head[HEAD_BYTES];
	int fd = open_file(path);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, head, sizeof(head));
	close(fd);
	return n > 0 && heap_read_detects(head, (size_t)n);
}

bool heap_diff_takes(const struct diff_options *opts)
{
	return opts->input.path_cnt == 2 &&
	       (is_census(opts->input.paths[0]) || is_census(opts->input.paths[1]));
}

static const char *shown_path(const char *path, char out[HEAP_SHOWN_BYTES])
{
	return escape_text(path, strlen(path), out, HEAP_SHOWN_BYTES);
}

/* 0; -errno after logging. */
static int read_side(struct side *s)
{
	char why[HEAP_READ_WHY_BYTES], shown[HEAP_SHOWN_BYTES];
	struct buf text = { 0 };
	int fd = open_file(s->path), err;

	err = fd < 0 ? fd : buf_add_file(&text, fd, HEAP_FILE_BYTES_MAX);
	if (fd >= 0)
		close(fd);
	snprintf(why, sizeof(why), "%s", strerror(-err));
	if (!err)
		err = heap_read((const char *)text.data, text.len, &s->file, why);
	if (err)
		log_error("'%s': %s", shown_path(s->path, shown), why);
	buf_free(&text);
	return err;
}

/* ---- what is compared ---- */

static const struct heap_file_process *find_pid(const struct heap_file *f, int32_t pid)
{
	size_t i;

	for (i = 0; i < f->cnt; i++)
		if (f->list[i].pid == pid)
			return &f->list[i];
	return NULL;
}

/* Returns an array of *cnt pairs, to be freed; NULL: no memory. */
static struct pair *find_pairs(const struct side sides[2], size_t *cnt)
{
	const struct heap_file *a = &sides[0].file, *b = &sides[1].file;
	struct pair *list = calloc(a->cnt + 1, sizeof(*list));
	size_t i;

	*cnt = 0;
	if (!list)
		return NULL;
	if (a->cnt == 1 && b->cnt == 1) {
		list[(*cnt)++] = (struct pair){ a->list, b->list };
		return list;
	}
	for (i = 0; i < a->cnt; i++) {
		const struct heap_file_process *other = find_pid(b, a->list[i].pid);

		if (other)
			list[(*cnt)++] = (struct pair){ &a->list[i], other };
	}
	return list;
}

/* 0; -EINVAL after logging why they cannot be compared. */
static int check_pairs(const struct side sides[2], const struct pair *list, size_t cnt)
{
	size_t i;

	if (!cnt)
		log_error("no process is in both files: take the second census of the same "
			  "process, before it ends");
	for (i = 0; i < cnt; i++) {
		if (list[i].a->census->time_ns < list[i].b->census->time_ns)
			continue;
		log_error("B is not later than A: name the earlier census first");
		return -EINVAL;
	}
	i = sides[0].file.cnt + sides[1].file.cnt - 2 * cnt;
	if (cnt && i)
		log_warn("%zu %s in only one of the two files: left out", i,
			 text_plural(i, "process is", "processes are"));
	return cnt ? 0 : -EINVAL;
}

/* ---- the result ---- */

struct result {
	const struct diff_options *opts;
	const struct side *sides;
	struct heap_growth *growth;	/* GROWTH_MAX of them, for one process at a time */
	struct heap_lines lines;
	struct json json;
};

static void write_json(struct result *r, const struct pair *p, const struct heap_shown *shown)
{
	struct json *j = &r->json;

	json_object(j, NULL);
	json_int(j, "pid", p->b->pid);
	json_int(j, "pid_before", p->a->pid);
	json_string(j, "program", p->b->program);
	json_double(j, "seconds",
		    (double)(p->b->census->time_ns - p->a->census->time_ns) / 1e9);
	json_int(j, "rss", (int64_t)(p->b->census->rss - p->a->census->rss));
	heap_json_growth(j, shown->growth, shown->growth_cnt);
	json_object_end(j);
}

/* Shows a pair; the only one in full. */
static int show_pair(struct result *r, const struct pair *p, bool only)
{
	struct heap_screen screen = { .out = stdout, .width = text_terminal_width(stdout),
				      .limit = r->opts->limit };
	struct heap_shown shown = {
		.pid = p->b->pid, .program = p->b->program, .python = p->b->python,
		.census = p->b->census, .before = p->a->census, .growth = r->growth,
	};

	shown.growth_cnt = heap_census_growth(shown.before, shown.census, r->growth, GROWTH_MAX);
	if (r->opts->json) {
		write_json(r, p, &shown);
		return 0;
	}
	return only ? heap_text_growth(&screen, &shown) : heap_lines_add(&r->lines, &shown);
}

static void begin_json(struct result *r)
{
	json_start(&r->json, stdout, true);
	json_object(&r->json, NULL);
	json_uint(&r->json, "heap_growth", HEAP_JSON_VERSION);
	json_string(&r->json, "a", r->sides[0].path);
	json_string(&r->json, "b", r->sides[1].path);
	json_array(&r->json, "processes");
}

static int show_pairs(struct result *r, const struct pair *list, size_t cnt)
{
	struct heap_screen screen = { .out = stdout, .width = text_terminal_width(stdout),
				      .limit = r->opts->limit };
	size_t i;
	int err = 0;

	if (r->opts->json)
		begin_json(r);
	for (i = 0; !err && i < cnt; i++)
		err = show_pair(r, &list[i], cnt == 1);
	if (r->opts->json) {
		json_array_end(&r->json);
		json_object_end(&r->json);
		putchar('\n');
	} else if (!err) {
		heap_lines_print(&screen, &r->lines);
	}
	heap_lines_free(&r->lines);
	return err;
}

static int compare(const struct diff_options *opts, const struct side sides[2])
{
	size_t cnt;
	struct pair *list = find_pairs(sides, &cnt);
	struct result r = { .opts = opts, .sides = sides,
			    .growth = calloc(GROWTH_MAX, sizeof(*r.growth)) };
	int err = list && r.growth ? check_pairs(sides, list, cnt) : -ENOMEM;

	if (!err)
		err = show_pairs(&r, list, cnt);
	if (err == -ENOMEM)
		log_error("cannot compare the censuses: %s", strerror(ENOMEM));
	free(r.growth);
	free(list);
	return err;
}

/* Options of diff that are about samples, and files of two kinds. 0; -EINVAL after logging. */
static int check_options(const struct diff_options *opts)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (is_census(opts->input.paths[i]))
			continue;
		log_error("%c is a census of a heap, but %c is not: compare two files that "
			  "`tachbpf heap --json` has written", "BA"[i], "AB"[i]);
		return -EINVAL;
	}
	if (opts->format || opts->fail_over >= 0 || opts->native || opts->detail ||
	    opts->sort != DIFF_SORT_DELTA || opts->input.reader.format ||
	    opts->input.reader.type || !sample_filter_is_empty(&opts->input.filter)) {
		log_error("censuses of a heap have no samples: only --limit and --json can be used "
			  "with them");
		return -EINVAL;
	}
	return 0;
}

int heap_diff_run(const struct diff_options *opts)
{
	struct side sides[2] = { { .path = opts->input.paths[0] },
				 { .path = opts->input.paths[1] } };
	int err = check_options(opts), i;

	for (i = 0; !err && i < 2; i++)
		err = read_side(&sides[i]);
	if (!err)
		err = compare(opts, sides);
	if (!err)
		err = output_flush_stdout();
	for (i = 0; i < 2; i++)
		heap_file_free(&sides[i].file);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
