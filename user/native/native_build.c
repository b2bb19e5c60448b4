// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_build.c - see native_build.h. */
#include "native/native_build.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "native/native_files.h"
#include "native/native_parties.h"
#include "native/native_tables.h"

/* The helper's facts are not trusted where they could do harm. */
static void take_facts(struct file *f, const struct elf_message *m, const void *data)
{
	struct elf_facts facts;

	if (m->bytes != sizeof(facts))
		return;
	memcpy(&facts, data, sizeof(facts));
	if (facts.build_id_bytes > sizeof(facts.build_id) ||
	    facts.load_cnt > ARRAY_SIZE(facts.loads) || !facts.load_cnt)
		return;
	f->facts = facts;
	f->has_facts = true;
	f->info.build_id_bytes = facts.build_id_bytes;
	memcpy(f->info.build_id, facts.build_id, sizeof(facts.build_id));
}

/* Returns true for memory that a program shares with itself to write code in it. */
static bool is_memory(const char *path)
{
	return !strncmp(path, "/memfd:", 7) || !strncmp(path, "/SYSV", 5) ||
	       !strcmp(path, "/dev/zero") || !strncmp(path, "/dev/shm/", 9);
}

/* Returns the enum native_end of a file without a table. */
static uint8_t why_not(const struct file *f, int result)
{
	if (result == -ENOENT)
		return NATIVE_NO_ROW;
	if (result == -ENOEXEC || (result == -EBADMSG && !f->has_facts))
		return is_memory(f->info.path) ? NATIVE_JIT : NATIVE_NO_ROW;
	return NATIVE_NO_TABLE;
}

static void store_table(struct native *n, const struct file *f)
{
	const struct elf_message m = { .kind = CACHE_STORE, .bytes = sizeof(f->head.hash) };

	if (n->cache.ready && !f->facts.cached)
		cache_ask(n, &m, f->head.hash, f->memfd);
}

void file_built(struct native *n, struct file *f, const struct elf_message *m, int fd)
{
	int err = m->result ? m->result : fd < 0 ? -EBADMSG : 0;

	f->missing = 0;
	take_facts(f, m, n->data);
	if (!err && !f->has_facts)
		err = -EBADMSG;
	if (!err)
		err = table_take(n, f, fd);
	if (err) {
		if (fd >= 0)
			close(fd);
		file_add_class(f, f->facts.eval_start, f->facts.eval_end, NATIVE_EVAL);
		file_sort_classes(f);
		f->has_start = true;
		file_refuse(n, f, why_not(f, err));
		return;
	}
	n->counts.build_us += f->facts.build_us;
	n->counts.tables_cached += f->facts.cached;
	store_table(n, f);
	table_number(n, f);
	f->stage = FILE_MATCHING;
	if (f->facts.eval_start && !f->has_start)
		file_push(n, QUEUE_MATCH, f);
	else
		file_matched(n, f);
}

void file_matched(struct native *n, struct file *f)
{
	/* This function has a symbol even in a stripped file: other files call it. */
	if (!f->has_start)
		file_add_class(f, f->facts.eval_start, f->facts.eval_end, NATIVE_EVAL);
	file_sort_classes(f);
	f->has_start = true;
	n->lists_stale = true;
	if (f->stage != FILE_MATCHING)
		return;
	f->stage = FILE_COPYING;
	file_push(n, QUEUE_COPY, f);
}
