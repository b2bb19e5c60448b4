// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* source_book.c - see source_book.h. */
#include "commands/source_book.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash_index.h"
#include "base/hash_secret.h"
#include "base/util.h"
#include "commands/profile_set.h"
#include "formats/source_text.h"
#include "model/sample_filter.h"
#include "recording/sources_file.h"

#define BOOK_MAX_BYTES (64 * 1024 * 1024)	/* of all files: more have no text */

/* One that was looked up. Its pages stay where they are. */
struct book_entry {
	struct source_pages pages;
	struct buf text;
	char *path;
	uint32_t *starts;
	int state;		/* enum source_state */
};

struct source_book {
	const struct profile_set *set;
	struct book_entry **list;
	size_t cnt, cap, bytes;
	struct hash_index index;	/* of list, by path */
	uint64_t seed;			/* paths are chosen by targets */
	struct saved_sources *saved;	/* of each recording */
	size_t saved_cnt, saved_cap, saved_bytes;
	bool loaded, only_kept;
	bool ours, elsewhere;	/* there are processes that may have this machine's root; another */
};

struct source_book *source_book_new(const struct profile_set *set)
{
	struct source_book *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->set = set;
	b->seed = hash_secret_seed();
	return b;
}

void source_book_only_kept(struct source_book *b)
{
	b->only_kept = true;
}

static void entry_free(struct book_entry *e)
{
	if (!e)
		return;
	buf_free(&e->text);
	free(e->starts);
	free(e->path);
	free(e);
}

void source_book_free(struct source_book *b)
{
	size_t i;

	if (!b)
		return;
	for (i = 0; i < b->cnt; i++)
		entry_free(b->list[i]);
	for (i = 0; i < b->saved_cnt; i++)
		saved_sources_free(&b->saved[i]);
	free(b->saved);
	hash_index_free(&b->index);
	free(b->list);
	free(b);
}

/* ---- what the recordings kept ---- */

/* Damage costs only the texts: the profile is readable without. */
static int load_from(struct source_book *b, const char *name)
{
	struct saved_sources one = { 0 };
	int err;

	if (b->saved_bytes >= BOOK_MAX_BYTES)
		return 0;
	err = saved_sources_read(&one, AT_FDCWD, name);
	if (err && err != -ENOENT)
		log_debug("cannot use the sources in '%s': %s", name, strerror(-err));
	b->saved_bytes += one.bytes;
	if (one.cnt && array_add(b->saved, b->saved_cnt, b->saved_cap, one))
		err = -ENOMEM;
	else if (one.cnt)
		one = (struct saved_sources){ 0 };
	saved_sources_free(&one);
	return err == -ENOMEM ? err : 0;
}

static bool is_in_dir(const struct profile_set *set, const struct profile_file *f)
{
	size_t i, len;

	for (i = 0; i < set->dir_cnt; i++) {
		len = strlen(set->dirs[i].path);
		if (!strncmp(f->path, set->dirs[i].path, len) && f->path[len] == '/')
			return true;
	}
	return false;
}

/* Returns true if the filter accepts the process. Of a file of several it is not known. */
static bool is_wanted(const struct profile_set *set, uint32_t tgid, const char *comm)
{
	return !set->filter || !tgid || sample_filter_wants_process(set->filter, tgid, comm);
}

static void note_roots(struct source_book *b)
{
	size_t i;

	for (i = 0; i < b->set->file_cnt; i++) {
		const struct session_process *p = &b->set->files[i].process;

		if (!is_wanted(b->set, p->tgid, p->comm))
			continue;
		b->elsewhere |= p->elsewhere;
		b->ours |= !p->elsewhere || (!p->tgid && !p->container);
	}
}

/* 0 or -ENOMEM. */
static int load_saved(struct source_book *b)
{
	const struct profile_set *set = b->set;
	char name[PATH_MAX];
	size_t i;
	int err = 0;

	if (b->loaded || !set)
		return 0;
	b->loaded = true;
	note_roots(b);
	for (i = 0; !err && i < set->dir_cnt; i++)
		if (sources_path(set->dirs[i].path, true, name))
			err = load_from(b, name);
	for (i = 0; !err && i < set->file_cnt; i++)
		if (!is_in_dir(set, &set->files[i]) &&
		    sources_path(set->files[i].path, false, name))
			err = load_from(b, name);
	return err;
}

static const char *comm_of(const struct profile_set *set, uint32_t tgid)
{
	size_t i;

	for (i = 0; i < set->file_cnt; i++)
		if (set->files[i].process.tgid == tgid)
			return set->files[i].process.comm;
	return NULL;
}

/* Returns true if it is of a process that the filter accepts. */
static bool is_usable(const struct source_book *b, const struct saved_source *s)
{
	uint32_t i;

	for (i = 0; i < s->pid_cnt; i++)
		if (is_wanted(b->set, s->pids[i], comm_of(b->set, s->pids[i])))
			return true;
	return !s->pid_cnt && b->ours;
}

static const struct saved_source *find_saved(const struct source_book *b, struct string_ref path)
{
	size_t i, n;

	for (i = 0; i < b->saved_cnt; i++)
		for (n = 0; n < b->saved[i].cnt; n++) {
			const struct saved_source *s = &b->saved[i].list[n];

			if (s->path.len == path.len && !memcmp(s->path.data, path.data, path.len) &&
			    is_usable(b, s))
				return s;
		}
	return NULL;
}

/* Removes the file at this path if it is one of ours. */
static void remove_saved(const char *path)
{
	struct saved_sources old = { 0 };

	if (!saved_sources_read(&old, AT_FDCWD, path))
		unlink(path);
	saved_sources_free(&old);
}

int source_book_save(struct source_book *b, const char *path)
{
	struct saved_sources all = { 0 };
	char name[PATH_MAX];
	struct stat st;
	size_t i, n;
	int err = load_saved(b);

	for (i = 0; !err && i < b->saved_cnt; i++)
		for (n = 0; err != -ENOMEM && n < b->saved[i].cnt; n++)
			if (is_usable(b, &b->saved[i].list[n]))
				err = saved_sources_add(&all, &b->saved[i].list[n]);
	err = err == -E2BIG || err == -ENOMEM ? 0 : err;
	if (!stat(path, &st) && sources_path(path, S_ISDIR(st.st_mode), name)) {
		if (all.cnt)
			err = saved_sources_write(&all, name);
		else
			remove_saved(name);
	}
	saved_sources_free(&all);
	return err;
}

/* ---- texts ---- */

/* Finds where the lines of the text begin. 0 or -ENOMEM. */
static int split_lines(struct book_entry *e)
{
	const char *text = (const char *)e->text.data, *end = text + e->text.len, *at = text;
	uint32_t cnt = 0;

	while (at < end) {
		const char *next = memchr(at, '\n', end - at);

		cnt++;
		at = next ? next + 1 : end;
	}
	e->starts = calloc(cnt + 1, sizeof(*e->starts));
	if (!e->starts)
		return -ENOMEM;
	for (at = text, cnt = 0; at < end; cnt++) {
		const char *next = memchr(at, '\n', end - at);

		e->starts[cnt] = at - text;
		at = next ? next + 1 : end;
	}
	e->starts[cnt] = e->text.len;
	e->pages.line_cnt = cnt;
	return 0;
}

/* Takes the text that was kept, or reads the file of this machine. */
static int read_entry(struct source_book *b, struct book_entry *e)
{
	const struct saved_source *kept = find_saved(b, e->pages.path);
	int err = 0;

	e->state = SOURCE_MISSING;
	if (b->bytes >= BOOK_MAX_BYTES) {
		e->state = SOURCE_TOO_LARGE;
	} else if (kept) {
		e->state = SOURCE_READ;
		err = buf_add(&e->text, kept->text.data, kept->text.len);
	} else if (!b->elsewhere && !b->only_kept) {
		e->state = source_read(e->pages.path.data, e->pages.path.len, &e->text);
		err = e->state < 0 ? e->state : 0;
	}
	if (err || e->state != SOURCE_READ || !e->text.len)
		return err;
	if (split_lines(e))
		return -ENOMEM;
	b->bytes += e->text.len;
	e->pages.text = (const char *)e->text.data;
	e->pages.starts = e->starts;
	e->pages.kept = kept;
	return 0;
}

static bool path_equal(const void *list, uint32_t number, const void *key)
{
	const struct book_entry *const *entries = list;
	struct string_ref has = entries[number]->pages.path;
	const struct string_ref *path = key;

	return has.len == path->len && !memcmp(has.data, path->data, path->len);
}

/* Makes the entry of a path. NULL: no memory. */
static struct book_entry *new_entry(struct source_book *b, struct string_ref path)
{
	struct book_entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->path = malloc((size_t)path.len + 1);
	if (e->path)
		memcpy(e->path, path.data, path.len);
	e->pages.path = (struct string_ref){ e->path, path.len };
	if (!e->path || read_entry(b, e) || array_add(b->list, b->cnt, b->cap, e)) {
		entry_free(e);
		return NULL;
	}
	return e;
}

/* Finds the entry of a path, or makes it. NULL: no memory. */
static struct book_entry *find_entry(struct source_book *b, struct string_ref path)
{
	uint32_t hash = (uint32_t)hash_secret(b->seed, path.data, path.len), number;
	struct hash_index_slot *slot;
	struct book_entry *e;

	if (hash_index_find(&b->index, hash, path_equal, b->list, &path, &number))
		return b->list[number];
	if (load_saved(b) || hash_index_reserve(&b->index))
		return NULL;
	slot = hash_index_slot_of(&b->index, hash, path_equal, b->list, &path);
	e = new_entry(b, path);
	if (e)
		hash_index_fill(&b->index, slot, hash, (uint32_t)b->cnt - 1);
	return e;
}

const struct source_pages *source_book_file(struct source_book *b, struct string_ref path)
{
	struct book_entry *e = find_entry(b, path);

	return e ? &e->pages : NULL;
}

/* source_lookup.find */
static int find_text(void *ctx, struct string_ref path, struct string_ref *text)
{
	const struct book_entry *e = find_entry(ctx, path);

	if (!e)
		return -ENOMEM;
	*text = (struct string_ref){ (const char *)e->text.data, (uint32_t)e->text.len };
	return e->state;
}

struct source_lookup source_book_lookup(struct source_book *b)
{
	return (struct source_lookup){ .find = find_text, .ctx = b };
}

struct string_ref source_pages_line(const struct source_pages *pages, int32_t line)
{
	struct string_ref none = { "", 0 }, text;

	if (line < 1 || (uint32_t)line > pages->line_cnt)
		return none;
	text.data = pages->text + pages->starts[line - 1];
	text.len = pages->starts[line] - pages->starts[line - 1];
	while (text.len && (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == '\r'))
		text.len--;
	return text;
}

struct string_ref source_book_line(struct source_book *b, struct string_ref path, int32_t line)
{
	const struct source_pages *pages = source_book_file(b, path);
	struct string_ref text = { "", 0 };

	if (pages)
		text = source_pages_line(pages, line);
	while (text.len && (*text.data == ' ' || *text.data == '\t')) {
		text.data++;
		text.len--;
	}
	return text;
}
