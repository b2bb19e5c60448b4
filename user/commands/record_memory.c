// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * record_memory.c - the answer of a recording with --mode mem: which objects there are more of, and
 * after the tables, what these do not say. See record_hot.h.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "base/util.h"
#include "commands/mem_types.h"
#include "commands/memory_hint.h"
#include "commands/options.h"
#include "commands/profile_set.h"
#include "commands/record_hot.h"
#include "formats/input.h"
#include "model/event.h"

/* Reading marks takes some 2 ms for each MiB of events: larger files are left to tachbpf mem. */
#define FILE_BYTES_MAX (64u << 20)
#define ALL_BYTES_MAX (256u << 20)

/* A file, its censuses, and what follows of them. */
struct census_file {
	struct input *in;
	struct mlyze_file *file;
	struct mlyze_notes notes;
	struct type_growths growths;
};

static void census_file_free(struct census_file *c)
{
	if (!c)
		return;
	type_growths_free(&c->growths);
	mlyze_notes_free(&c->notes);
	mlyze_free(c->file);
	input_unmap(c->in);
	free(c);
}

/* NULL: it is too large, damaged (which others report), or there is no memory. */
static struct census_file *census_file_read(const char *path, uint64_t *left)
{
	struct census_file *c = calloc(1, sizeof(*c));
	struct mlyze_error error;
	char why[256];

	if (!c)
		return NULL;
	c->in = input_map(path, why, sizeof(why));
	if (c->in && c->in->size <= FILE_BYTES_MAX && c->in->size <= *left) {
		*left -= c->in->size;
		c->file = mlyze_open(c->in->data, c->in->size, &error);
	}
	if (c->file && !mlyze_notes_read(c->file, &c->notes) &&
	    !type_growths_read(&c->notes, 0, UINT64_MAX, &c->growths))
		return c;
	census_file_free(c);
	return NULL;
}

/* The bytes by which its types have grown together. */
static uint64_t grown_bytes(const struct census_file *c)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < c->growths.cnt; i++)
		if (c->growths.list[i].more_bytes > 0 && type_has_grown(&c->growths.list[i]))
			sum += (uint64_t)c->growths.list[i].more_bytes / 2;
	return sum;
}

/* Returns the file whose objects have grown most, or the only one; NULL: there is none. */
static struct census_file *most_grown(const struct profile_set *set)
{
	struct census_file *most = NULL, *c;
	uint64_t left = ALL_BYTES_MAX;
	size_t i;

	for (i = 0; i < set->file_cnt; i++) {
		c = census_file_read(set->files[i].path, &left);
		if (c && (!most || grown_bytes(c) > grown_bytes(most))) {
			census_file_free(most);
			most = c;
		} else {
			census_file_free(c);
		}
	}
	return most;
}

static void print_sentence(const struct census_file *c, bool name_process)
{
	const char *comm = c->notes.comm ? c->notes.comm : "";
	char shown[4 * PROC_COMM_MAX], *text = mem_types_sentence(&c->growths), *line = NULL;
	int n = -1;

	escape_text(comm, strlen(comm), shown, sizeof(shown));
	if (text && name_process)
		n = asprintf(&line, "Objects: process %u (%s): %s", c->notes.pid, shown, text);
	else if (text)
		n = asprintf(&line, "Objects: %s", text);
	if (n >= 0)
		text_wrap(stderr, line, 0, text_terminal_width(stderr));
	free(n >= 0 ? line : NULL);
	free(text);
}

void record_print_types(const struct input_options *input, struct record_memory *out)
{
	struct census_file *c = NULL;
	struct profile_set set = { 0 };

	*out = (struct record_memory){ .tgid = 0 };
	if (!profile_set_open(&set, input->paths, input->path_cnt, &input->reader)) {
		c = most_grown(&set);
		if (set.file_cnt == 1)
			out->tgid = set.files[0].process.tgid;
	}
	if (c && c->growths.to)
		print_sentence(c, set.file_cnt > 1);
	out->exited = c && c->notes.exited;
	if (c && mem_types_first(&c->growths) && set.file_cnt == 1)
		snprintf(out->type, sizeof(out->type), "%s", mem_types_first(&c->growths));
	census_file_free(c);
	profile_set_free(&set);
}
