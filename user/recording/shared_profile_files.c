// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * shared_profile_files.c - creates, fills and finishes the files that several short-lived processes
 * of the same binary and command share (merged files).
 *
 * The processes can still be distinguished: the stacks of each have a root frame "<process PID
 * COMM>", and session.json lists the members.
 *
 * A group is one such file. Its row is like that of a process, with pid 0 and its members. It needs
 * memory for names, frames and members until it is finished, so a group with many of them is
 * finished and replaced by a new one.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "model/memory_sink.h"
#include "model/process_frame.h"
#include "model/remap.h"
#include "recording/profile_file.h"
#include "recording/recording_rows.h"
#include "recording/sums.h"

/*
 * A group with this many members (500 bytes each) or frames is finished, as is the one with the
 * most of either if all groups together have this many.
 */
#ifndef MEMBERS_MAX
#define MEMBERS_MAX 4000
#define FRAMES_MAX  200000
#define ALL_MEMBERS_MAX 40000
#define ALL_FRAMES_MAX  1000000
#endif
/*
 * Limit of groups by binary and command. Further processes share a file by binary alone, up to
 * another GROUPS_MAX groups; after that with any process of the same Python version.
 */
#define GROUPS_MAX 128
#define COMMAND_BYTES 256

struct group {
	char comm[PROC_COMM_MAX], version[sizeof(((struct row *)0)->version)];
	char command[COMMAND_BYTES];	/* group_command() */
	const struct container *container;	/* of all members; NULL: none, or several */
	struct profile_file file;
	unsigned int id;		/* row.in_group of its members; not 0 */
	struct intern *in;		/* NULL: nothing is written yet */
	size_t member_cap;
};

static void free_group(struct group *g)
{
	if (!g)
		return;
	profile_file_abandon(&g->file);
	intern_free(g->in);
	free(g);
}

void recording_free_groups(struct recording *r)
{
	size_t i;

	for (i = 0; i < r->group_cnt; i++)
		free_group(r->groups[i]);
	free(r->groups);
}

/* ---- commands ---- */

/* Finds the next word from *p on; *p moves after it. Returns its length; 0: there is none. */
static size_t next_word(const char **p, const char **word)
{
	size_t len;

	*p += strspn(*p, " ");
	*word = *p;
	len = strcspn(*p, " ");
	*p += len;
	return len;
}

/* Returns true for options followed by a word of their own (Python/getopt.c, "c:m:W:X:"). */
static bool takes_word(const char *option, size_t len)
{
	return len == 2 && strchr("WX", option[1]);
}

/*
 * Returns the part of a command line by which processes share a file: without the interpreter's
 * options and the script's arguments, "python3 -m pip" or "python3.11 /srv/job.py". Cut to size.
 */
static void group_command(const char *command, char *out, size_t size)
{
	const char *p = command, *name, *word;
	size_t name_len = next_word(&p, &name), len;

	for (len = next_word(&p, &word); len > 1 && word[0] == '-'; len = next_word(&p, &word)) {
		if (word[1] == 'c')
			len = 2;	/* leave out the program text, also in "-cTEXT" */
		if (len == 2 && (word[1] == 'c' || word[1] == 'm'))
			break;
		if (takes_word(word, len))
			next_word(&p, &word);
	}
	if (len == 2 && word[0] == '-' && word[1] == 'm') {
		const char *module;
		size_t module_len = next_word(&p, &module);

		snprintf(out, size, "%.*s -m %.*s", (int)name_len, name, (int)module_len, module);
		return;
	}
	snprintf(out, size, "%.*s%s%.*s", (int)name_len, name, len ? " " : "", (int)len, word);
}

/* ---- choosing a group ---- */

static struct group *find_group(struct recording *r, const struct row *row, const char *command,
				const struct container *container)
{
	size_t i;

	for (i = 0; i < r->group_cnt; i++) {
		struct group *g = r->groups[i];

		if (!strcmp(g->comm, row->comm) && !strcmp(g->version, row->version) &&
		    g->file.row->free_threaded == row->free_threaded &&
		    !strcmp(g->command, command) && g->container == container)
			return g;
	}
	return NULL;
}

static struct group *new_group(struct recording *r, const struct row *row, const char *command,
			       const struct container *container,
			       const struct cpython_image *image)
{
	struct group *g = calloc(1, sizeof(*g));
	struct row *own;

	if (!g)
		return NULL;
	snprintf(g->comm, sizeof(g->comm), "%s", row->comm);
	snprintf(g->version, sizeof(g->version), "%s", row->version);
	snprintf(g->command, sizeof(g->command), "%s", command);
	g->container = container;
	g->id = ++r->groups_made;
	own = recording_new_row(r, command);
	if (!own || array_add(r->groups, r->group_cnt, r->group_cap, g)) {
		if (own)
			recording_remove_row(r, own);
		free(g);
		return NULL;
	}
	recording_reserve_row(r, own->command);
	own->identity = (struct identity){ .container = container, .uid = IDENTITY_NO_UID };
	snprintf(own->comm, sizeof(own->comm), "%s", row->comm);
	snprintf(own->version, sizeof(own->version), "%s", row->version);
	own->free_threaded = row->free_threaded;
	profile_file_init(&g->file, r, own, image, 0, g->comm);
	return g;
}

static struct group *group_of(struct recording *r, const struct row *row,
			      const struct cpython_image *image)
{
	const struct container *container = row->identity.container;
	char command[COMMAND_BYTES];
	struct group *g;
	size_t i;

	group_command(row->command, command, sizeof(command));
	g = find_group(r, row, command, container);
	if (g || r->group_cnt < GROUPS_MAX)
		return g ? g : new_group(r, row, command, container, image);
	g = find_group(r, row, "", NULL);
	if (g || r->group_cnt < 2 * GROUPS_MAX)
		return g ? g : new_group(r, row, "", NULL, image);
	for (i = 0; i < r->group_cnt; i++)	/* any binary with the same Python version */
		if (!strcmp(r->groups[i]->version, row->version))
			return r->groups[i];
	return r->groups[0];
}

/* ---- files ---- */

/* "merged-<comm>.tach"; seq > 0: "merged-<comm>.<seq>.tach" */
static void name_file(struct recording *r, struct row *row)
{
	uint64_t key = hash_bytes(row->comm, strlen(row->comm)) | 1ull << 63;	/* no tgid */
	char name[OUTPUT_NAME_MAX];

	/* The name is "0-<comm>.tach" first. */
	output_file_name(name, 0, row->comm, recording_name_used(r, key), OUTPUT_SUFFIX);
	snprintf(row->file, sizeof(row->file), "merged%.*s", (int)(sizeof(row->file) - 7),
		 name + 1);
}

/* If it fails, the group's next process tries again: descriptors may be free by then. */
static int open_group(struct recording *r, struct group *g)
{
	if (!g->in)
		g->in = intern_new();
	if (!g->in)
		return -ENOMEM;
	name_file(r, g->file.row);
	g->file.err = 0;
	return profile_file_create(&g->file, intern_tables(g->in));
}

static int end_group(struct recording *r, struct group *g)
{
	struct row *row = g->file.row;
	int err = 0;

	row->end_s = recording_since_start(r);
	if (g->file.sink)
		err = profile_file_end(&g->file);
	else
		row->err = g->file.err;
	recording_row_ended(r, row);
	return err;
}

int recording_end_groups(struct recording *r)
{
	int err = 0, one;

	while (r->group_cnt) {
		struct group *g = r->groups[--r->group_cnt];

		one = end_group(r, g);
		err = err ? err : one;
		free_group(g);
	}
	return err;
}

int recording_flush_groups(struct recording *r)
{
	size_t i;
	int err = 0;

	for (i = 0; i < r->group_cnt; i++) {
		struct profile_file *f = &r->groups[i]->file;
		int one = f->sink ? recording_judge_error(r, f->row, profile_file_flush(f)) : 0;

		err = err ? err : one;
	}
	return err;
}

static size_t members_of(const struct group *g)
{
	return g->file.row->member_cnt;
}

static size_t frames_of(const struct group *g)
{
	return g->in ? intern_tables(g->in)->frame_cnt : 0;
}

/* Returns the group with the highest count, if all together have too many; otherwise NULL. */
static struct group *fullest_group(const struct recording *r,
				   size_t (*count)(const struct group *g),
				   size_t max)
{
	struct group *found = NULL;
	size_t i, sum = 0;

	for (i = 0; i < r->group_cnt; i++) {
		sum += count(r->groups[i]);
		if (!found || count(r->groups[i]) > count(found))
			found = r->groups[i];
	}
	return sum >= max ? found : NULL;
}

/* Returns the group to be finished now, after one has got a member; NULL: none. */
static struct group *full_group(const struct recording *r, struct group *g)
{
	struct group *full;

	if (members_of(g) >= MEMBERS_MAX || frames_of(g) >= FRAMES_MAX)
		return g;
	full = fullest_group(r, members_of, ALL_MEMBERS_MAX);
	return full ? full : fullest_group(r, frames_of, ALL_FRAMES_MAX);
}

static int finish_if_full(struct recording *r, struct group *g)
{
	size_t i;
	int err;

	g = full_group(r, g);
	if (!g)
		return 0;
	for (i = 0; r->groups[i] != g; i++)
		;
	r->groups[i] = r->groups[--r->group_cnt];
	err = end_group(r, g);
	free_group(g);
	/* glibc keeps pages of freed small blocks until asked to return them. */
	malloc_trim(0);
	return err;
}

/* ---- samples ---- */

/* Copies the events of one process to a merged file. */
struct pour {
	struct remap *remap;
	struct sink *sink;
	uint32_t root;
	uint32_t frames[EVENT_MAX_FRAMES];
};

/* 0 or -ENOMEM; in any case pour->remap must be freed. */
static int pour_begin(struct pour *pour, struct group *g, const struct row *row,
		      const struct process *p)
{
	char name[PROCESS_FRAME_BYTES], label[CONTAINER_LABEL_BYTES] = "";

	if (row->identity.container)
		container_label(row->identity.container, label);
	process_frame_name(name, row->tgid, row->comm, label);
	pour->sink = g->file.sink;
	pour->remap = remap_new(process_tables(p), g->in);
	return pour->remap ? intern_synthetic(g->in, FRAME_SYNTHETIC, name, &pour->root) : -ENOMEM;
}

/* In a stack without room the process' frame replaces the outermost frame. */
static int pour_event(void *ctx, const struct event *ev)
{
	struct pour *p = ctx;
	struct event ours;
	uint32_t n;
	int err = remap_event(p->remap, ev, &ours);

	if (err)
		return err;
	n = ours.nframes < EVENT_MAX_FRAMES ? ours.nframes : EVENT_MAX_FRAMES - 1;
	memcpy(p->frames, ours.frames, n * sizeof(*p->frames));
	p->frames[n] = p->root;
	ours.frames = p->frames;
	ours.nframes = n + 1;
	return p->sink->ops->event(p->sink, &ours);
}

/* ---- members ---- */

/* Returns a new member of the group's file, all zero; NULL: no memory. */
static struct shared_profile_member *new_member(struct group *g, struct row *row)
{
	struct row *all = g->file.row;

	if (array_add(all->members, all->member_cnt, g->member_cap,
		      (struct shared_profile_member){ 0 }))
		return NULL;
	row->in_group = g->id;
	row->member_at = all->member_cnt - 1;
	return &all->members[row->member_at];
}

/* Adds what a process has counted since it was last added. It may have joined when it was alive. */
static int add_member(struct group *g, struct row *row)
{
	struct shared_profile_member *m = row->in_group == g->id ?
						 &g->file.row->members[row->member_at] :
						 new_member(g, row);
	int cause;

	if (!m)
		return -ENOMEM;
	m->tgid = row->tgid;
	m->samples += (uint32_t)row->stats.samples;
	m->begin_s = (float)row->begin_s;
	m->end_s = (float)row->end_s;
	m->identity = row->identity;
	m->service = row->service;
	m->alive_ns = row->alive_ns;
	for (cause = 0; cause < LOSS_CNT; cause++)
		m->lost[cause] += (uint32_t)row->stats.lost[cause];
	return 0;
}

static int pour_row(struct recording *r, struct group *g, struct row *row,
		const struct process *p, const struct sink *held)
{
	struct pour pour;
	int err = g->file.sink ? g->file.err : open_group(r, g);

	if (err)
		return err;
	err = pour_begin(&pour, g, row, p);
	if (!err)
		err = memory_sink_replay(held, pour_event, &pour);
	if (!err)
		err = remap_libraries(pour.remap);
	remap_free(pour.remap);
	return err ? err : add_member(g, row);
}

/* Calls pour_row(); if it fails, the row's samples are lost. 0 or -errno. */
static int pour_or_lose(struct recording *r, struct group *g, struct row *row,
			const struct process *p, const struct sink *held)
{
	int err = pour_row(r, g, row, p, held);

	if (!g->file.err)
		g->file.err = err;
	if (!err)
		return 0;
	row->stats.lost[LOSS_WRITE] += row->stats.samples;
	row->stats.samples = 0;
	return recording_judge_error(r, row, err);
}

int recording_share(struct recording *r, struct row *row, const struct process *p,
		    const struct sink *held, uint64_t samples)
{
	const struct process_stats none = { 0 };
	struct group *g = group_of(r, row, process_image(p));
	bool is_new;
	int err;

	if (!g)
		return -ENOMEM;
	is_new = row->in_group != g->id;
	row->end_s = recording_since_start(r);
	row->stats = (struct process_stats){ .samples = samples };
	err = pour_or_lose(r, g, row, p, held);
	g->file.row->merged_cnt += is_new;
	stats_add(&g->file.row->stats, &row->stats);
	row->stats = none;
	return err ? err : finish_if_full(r, g);
}

int recording_merge(struct recording *r, struct row *row, const struct process *p,
		    const struct sink *held)
{
	struct group *g = group_of(r, row, process_image(p));
	bool is_new = g && row->in_group != g->id;
	int err = g ? 0 : -ENOMEM;

	if (g && held && row->stats.samples)
		err = pour_or_lose(r, g, row, p, held);
	else if (g && !is_new)
		err = add_member(g, row);
	if (g) {
		g->file.row->merged_cnt += is_new;
		stats_add(&g->file.row->stats, &row->stats);
		losses_add_since(&g->file.row->losses, row->losses, NULL);
	}
	recording_remove_row(r, row);
	return err ? err : g ? finish_if_full(r, g) : 0;
}
