// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_files.c - see native_files.h. */
#include "native/native_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

#define CLASSES_MAX 131072u
#define CLASSES_OF_ALL (1u << 20)

/* ---- numbers ---- */

static uint64_t inode_key(uint64_t dev, uint64_t ino)
{
	return hash_u64(ino ^ hash_u64(dev + 1));
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* The suffix that the kernel appends to a path is not part of the name (fs/d_path.c). */
static void cut_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t len = strlen(path);

	if (len > sizeof(mark) - 1 && !strcmp(path + len - (sizeof(mark) - 1), mark))
		path[len - (sizeof(mark) - 1)] = '\0';
}

struct file *files_add(struct native *n, enum file_kind kind, const char *path)
{
	struct file **files = n->files, *f;
	char *copy = strdup(path);

	f = n->file_cnt < NATIVE_FILES_MAX ? calloc(1, sizeof(*f)) : NULL;
	if (f && copy)
		files = array_grow(n->files, n->file_cnt, &n->file_cap, sizeof(*files));
	if (!f || !copy || !files) {
		free(f);
		free(copy);
		return NULL;
	}
	cut_deleted(copy);
	f->kind = kind;
	f->info.path = copy;
	f->info.library = last_part(copy);
	f->memfd = -1;
	f->used_ns = n->now;
	n->files = files;
	files[n->file_cnt++] = f;
	f->number = (uint32_t)n->file_cnt;
	n->counts.files++;
	return f;
}

static struct file *add_mapped(struct native *n, uint64_t dev, uint64_t ino, const char *path)
{
	struct file *f = files_add(n, FILE_MAPPED, path);

	if (!f)
		return NULL;
	f->dev = dev;
	f->ino = ino;
	/* Without memory it has a number, but is not found again. */
	u64map_put(&n->by_inode, inode_key(dev, ino), f);
	return f;
}

struct file *files_get(struct native *n, uint64_t dev, uint64_t ino, const char *path)
{
	struct file *f = u64map_get(&n->by_inode, inode_key(dev, ino));

	if (!f)
		return add_mapped(n, dev, ino, path);
	return f->dev == dev && f->ino == ino ? f : NULL;
}

struct file *files_find(const struct native *n, uint32_t number)
{
	return number && number <= n->file_cnt ? n->files[number - 1] : NULL;
}

struct file *files_replace(struct native *n, struct file *old)
{
	struct file *f = add_mapped(n, old->dev, old->ino, old->info.path);

	if (!f)
		return NULL;
	f->place = old->place;
	f->turn = old->turn;
	return f;
}

void file_leave(struct file *f)
{
	/* When it is mapped again, another file may have its inode. */
	if (!--f->refs)
		f->confirmed = false;
}

static void file_free(struct native *n, struct file *f)
{
	if (f->memfd >= 0)
		close(f->memfd);
	native_names_free(&f->names, &n->names);
	free(f->wanted);
	free(f->classes);
	free((void *)f->info.path);
	free(f);
}

void files_free(struct native *n)
{
	size_t i;

	for (i = 0; i < n->file_cnt; i++)
		file_free(n, n->files[i]);
	free(n->files);
	u64map_free(&n->by_inode);
}

/* ---- dropping ---- */

/* Returns true if nobody has the file mapped or requests its names. */
static bool is_idle(const struct native *n, const struct file *f)
{
	bool gone = f->kind == FILE_PERF_MAP ? f->ended : f->kind == FILE_MAPPED && !f->refs;

	return gone && !f->wanted_cnt && !f->opening && !f->queued &&
	       n->helpers[ELF_ROLE_NAMES].file != f;
}

void files_forget_names(struct native *n)
{
	size_t i;

	n->names.full = false;
	for (i = 0; i < n->file_cnt; i++)
		if (is_idle(n, n->files[i]))
			native_names_free(&n->files[i]->names, &n->names);
}

struct file *files_idle_perf_map(struct native *n)
{
	struct file *f;
	size_t i;

	for (i = 0; i < n->file_cnt; i++) {
		f = n->files[i];
		if (f->kind != FILE_PERF_MAP || !is_idle(n, f))
			continue;
		native_names_free(&f->names, &n->names);
		f->ended = f->at_names = f->no_names = false;
		f->passed_ns = f->again_ns = 0;
		f->strikes = f->failures = f->missing = 0;
		return f;
	}
	return NULL;
}

/* ---- failures ---- */

void file_refuse(struct native *n, struct file *f, uint8_t why)
{
	if (f->memfd >= 0)
		close(f->memfd);
	f->memfd = -1;
	f->stage = FILE_REFUSED;
	f->why = why;
	n->counts.tables_failed += why == NATIVE_NO_TABLE;
	n->lists_stale = true;
}

void file_drop_wanted(struct file *f, bool known)
{
	size_t i;

	for (i = 0; i < f->wanted_cnt; i++)
		native_names_give_up(&f->names, f->wanted[i], known);
	f->wanted_cnt = 0;
}

/* ---- addresses ---- */

bool file_bias(const struct file *f, const struct mapping *m, uint64_t *bias)
{
	uint64_t end = m->offset + (m->end - m->start);
	uint32_t i;

	for (i = 0; f->has_facts && i < f->facts.load_cnt; i++) {
		uint64_t off = f->facts.loads[i].off, bytes = f->facts.loads[i].filesz;

		/* A mapping begins at a page, a segment anywhere in one. */
		if (m->offset >= off + bytes || end <= off)
			continue;
		*bias = m->start - (f->facts.loads[i].vaddr - off + m->offset);
		return true;
	}
	return false;
}

void file_add_class(struct native *n, struct file *f, uint64_t start, uint64_t end,
		    enum native_class class)
{
	const struct class_range range = { start, end, class };

	if (start >= end)
		return;
	f->classes_full |= f->class_cnt >= CLASSES_MAX || n->class_cnt >= CLASSES_OF_ALL ||
			   array_add(f->classes, f->class_cnt, f->class_cap, range);
	n->class_cnt += !f->classes_full;
}

/*
 * The evaluation function comes first of those that begin at the same address, a function without a
 * class of its own last.
 */
static int by_start(const void *a, const void *b)
{
	const struct class_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->class == NATIVE_CODE || y->class == NATIVE_CODE)
		return (int)y->class - (int)x->class;
	return (int)x->class - (int)y->class;
}

void file_sort_classes(struct native *n, struct file *f)
{
	size_t i, cnt = 0;

	if (f->class_cnt)
		qsort(f->classes, f->class_cnt, sizeof(*f->classes), by_start);
	for (i = 0; i < f->class_cnt; i++)
		if (!cnt || f->classes[i].start >= f->classes[cnt - 1].end)
			f->classes[cnt++] = f->classes[i];
	n->class_cnt -= f->class_cnt - cnt;
	f->class_cnt = cnt;
}

void file_drop_classes(struct native *n, struct file *f)
{
	n->class_cnt -= f->class_cnt;
	f->class_cnt = 0;
	f->classes_full = false;
}

enum native_class file_class(const struct file *f, uint64_t addr)
{
	size_t low = 0, high = f->class_cnt;

	if (file_is_stub(f, addr))
		return NATIVE_UNNAMED;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (f->classes[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < f->class_cnt && f->classes[low].start <= addr)
		return f->classes[low].class;
	return f->partial ? NATIVE_UNNAMED : NATIVE_CODE;
}
