// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_lists.c - see native_lists.h. */
#include "native/native_lists.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "native/native_files.h"
#include "native/native_tables.h"

struct list *list_new(struct native *n, const struct mapping *maps, uint32_t cnt)
{
	struct list *l = calloc(1, sizeof(*l));
	uint32_t i;

	if (l)
		l->maps = calloc(cnt ? cnt : 1, sizeof(*maps));
	if (!l || !l->maps) {
		free(l);
		return NULL;
	}
	if (cnt)
		memcpy(l->maps, maps, cnt * sizeof(*maps));
	l->cnt = cnt;
	l->refs = 1;
	l->fresh = true;
	l->next = n->lists;
	n->lists = l;
	for (i = 0; i < cnt; i++)
		if (maps[i].file)
			maps[i].file->refs++;
	return l;
}

static void leave_files(struct list *l)
{
	uint32_t i;

	for (i = 0; i < l->cnt; i++) {
		struct file *f = l->maps[i].file;

		/* When it is mapped again, another file may have its inode. */
		if (f && !--f->refs)
			f->confirmed = false;
	}
}

void list_put(struct native *n, struct list *l)
{
	struct list **at = &n->lists;

	if (!l || --l->refs)
		return;
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	leave_files(l);
	native_memory_give(n->memory, l->chunk, l->chunk_cnt, n->now);
	free(l->maps);
	free(l);
}

/* ---- the form for the BPF side ---- */

static uint32_t shared_table(uint8_t why)
{
	return why == NATIVE_JIT ? TABLE_JIT : why == NATIVE_NO_ROW ? TABLE_NO_ROW :
								     TABLE_NO_TABLE;
}

/*
 * An address is relative to the file only if the file's bias and functions are known. Until then it
 * is relative to the process, which native_name() understands.
 */
static struct native_mapping mapping_of(const struct mapping *m)
{
	struct native_mapping out = { .start = m->start, .end = m->end };
	const struct file *f = m->file;

	if (!f) {
		out.table = shared_table(m->why);
		return out;
	}
	out.table = f->stage == FILE_REFUSED ? shared_table(f->why) : TABLE_NO_TABLE;
	if (!f->confirmed || (f->has_facts && f->facts.eval_start && !f->has_start) ||
	    !file_bias(f, m, &out.bias))
		return out;
	out.file = f->number;
	if (f->stage != FILE_REFUSED && f->table)
		out.table = f->table;
	return out;
}

#define PER_CHUNK (NATIVE_CHUNK / sizeof(struct native_mapping))

static void fill_mappings(const struct list *l, struct native_mapping *out)
{
	uint32_t i;

	memset(out, 0, NATIVE_MAPPINGS * sizeof(*out));
	for (i = 0; i < l->cnt; i++)
		out[i] = mapping_of(&l->maps[i]);
}

static int put_chunks(struct native *n, const struct native_mapping *maps, uint32_t cnt,
		      uint32_t chunk)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < cnt; i++)
		err = n->args.maps.put_chunk(n->args.maps.ctx, chunk + i, maps + i * PER_CHUNK);
	return err;
}

int list_write(struct native *n, struct list *l, bool *wrote)
{
	static struct native_mapping maps[NATIVE_MAPPINGS];
	uint32_t chunks = (uint32_t)((l->cnt + PER_CHUNK - 1) / PER_CHUNK), chunk = 0;
	uint64_t hash;
	int err;

	*wrote = false;
	fill_mappings(l, maps);
	hash = hash_bytes(maps, l->cnt * sizeof(*maps)) | 1;
	l->fresh = false;
	if (hash == l->hash)
		return 0;
	err = chunks ? native_memory_take(n->memory, chunks, &chunk) : 0;
	if (err == -ENOSPC)
		table_evict(n);
	if (err) {
		l->fresh = true;
		return err;
	}
	err = put_chunks(n, maps, chunks, chunk);
	native_memory_give(n->memory, err ? chunk : l->chunk, err ? chunks : l->chunk_cnt, n->now);
	if (err)
		return err;
	l->chunk = chunk;
	l->chunk_cnt = chunks;
	l->hash = hash;
	l->stamp = ++n->list_stamps;
	*wrote = true;
	return 0;
}
