// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * native_tables.c - see native_tables.h.
 *
 * A table is read with pread(), never mapped: touching a page of a memfd that does not exist yet
 * can fail with a signal.
 */
#include "native/native_tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"
#include "native/native_files.h"
#include "native/native_queues.h"

/* ---- numbers ---- */

static int put_empty(struct native *n, uint32_t number, uint8_t why)
{
	const struct unwind_table t = { .why = why, .stamp = ++n->table_stamps[number] };

	return n->args.maps.put_table(n->args.maps.ctx, number, &t);
}

int tables_begin(struct native *n)
{
	static const uint8_t shared[][2] = {
		{ TABLE_NO_TABLE, NATIVE_NO_TABLE }, { TABLE_JIT, NATIVE_JIT },
		{ TABLE_NO_ROW, NATIVE_NO_ROW },
	};
	size_t i;
	int err = 0;

	for (i = 0; !n->shared_put && !err && i < ARRAY_SIZE(shared); i++)
		err = put_empty(n, shared[i][0], shared[i][1]);
	n->shared_put = !err;
	return err;
}

static bool is_gone(const struct file *f)
{
	return !f->refs && f->kind == FILE_MAPPED;
}

/* Returns the least recently used number whose file nobody has mapped; 0: none. */
static uint32_t oldest_unmapped(const struct native *n)
{
	uint32_t i, found = 0;

	for (i = TABLE_FIRST; i < UNWIND_TABLES; i++)
		if (n->tables[i] && is_gone(n->tables[i]) &&
		    (!found || n->tables[i]->used_ns < n->tables[found]->used_ns))
			found = i;
	return found;
}

static uint32_t free_number(struct native *n)
{
	uint32_t i;

	for (i = 0; i < UNWIND_TABLES; i++) {
		n->table_next = n->table_next + 1 < UNWIND_TABLES ? n->table_next + 1 : 0;
		if (n->table_next >= TABLE_FIRST && !n->tables[n->table_next])
			return n->table_next;
	}
	return 0;
}

void table_number(struct native *n, struct file *f)
{
	uint32_t number = f->table ? 0 : free_number(n), old;

	if (f->table)
		return;
	if (!number && (old = oldest_unmapped(n))) {
		table_drop(n, n->tables[old]);
		number = old;
	}
	if (!number || put_empty(n, number, NATIVE_NO_TABLE))
		return;
	f->table = number;
	n->tables[number] = f;
}

/* ---- room ---- */

static void evict_table(struct native *n, struct file *f)
{
	put_empty(n, f->table, NATIVE_NO_TABLE);
	native_memory_give(n->memory, f->chunk, f->chunk_cnt, n->now);
	n->counts.tables--;
	n->counts.tables_evicted++;
	f->chunk_cnt = 0;
	f->stage = FILE_EVICTED;
}

bool table_evict(struct native *n)
{
	struct file *victim = NULL;
	uint32_t i;

	for (i = TABLE_FIRST; i < UNWIND_TABLES; i++) {
		struct file *f = n->tables[i];

		if (!f || f->stage != FILE_READY)
			continue;
		if (!is_gone(f) && n->now - f->used_ns < TABLE_IDLE_NS)
			continue;
		if (!victim || is_gone(f) > is_gone(victim) ||
		    (is_gone(f) == is_gone(victim) && f->used_ns < victim->used_ns))
			victim = f;
	}
	if (victim)
		evict_table(n, victim);
	return victim;
}

void table_drop(struct native *n, struct file *f)
{
	if (f->stage == FILE_READY)
		evict_table(n, f);
	if (f->table)
		n->tables[f->table] = NULL;
	f->table = 0;
}

/* ---- taking ---- */

static bool is_sealed(int fd)
{
	const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & wanted) == wanted;
}

int table_take(struct native *n, struct file *f, int memfd)
{
	_Alignas(8) uint8_t head[UNWIND_FILE_HEAD];
	struct stat st;

	if (!is_sealed(memfd) || fstat(memfd, &st) || st.st_size < (off_t)sizeof(head) ||
	    (uint64_t)st.st_size > (uint64_t)UNWIND_FILE_HEAD + UNWIND_FILE_BYTES_MAX)
		return -EBADMSG;
	if (pread(memfd, head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    !unwind_file_is_valid(head, (size_t)st.st_size))
		return -EBADMSG;
	memcpy(&f->head, head, sizeof(f->head));
	f->memfd = memfd;
	f->copied = 0;
	return 0;
}

/* ---- copying ---- */

static uint32_t chunks_of(const struct file *f)
{
	return (uint32_t)((f->head.total + NATIVE_CHUNK - 1) / NATIVE_CHUNK);
}

static void close_memfd(struct file *f)
{
	close(f->memfd);
	f->memfd = -1;
}

/* It found no room, or cannot be written: it is built again later, if it is used then. */
static void fail_copy(struct native *n, struct file *f)
{
	if (f->chunk_cnt)
		native_memory_give(n->memory, f->chunk, f->chunk_cnt, n->now);
	f->chunk_cnt = 0;
	close_memfd(f);
	f->stage = FILE_EVICTED;
	f->again_ns = n->now + TABLE_AGAIN_NS;
	n->counts.tables_failed++;
}

/* Returns 0, -EAGAIN if there will be room later, or another -errno. */
static int take_chunks(struct native *n, struct file *f)
{
	int err = native_memory_take(n->memory, chunks_of(f), &f->chunk);

	if (!err)
		f->chunk_cnt = chunks_of(f);
	if (err != -ENOSPC)
		return err;
	return table_evict(n) || native_memory_unsettled(n->memory) ? -EAGAIN : err;
}

static int copy_chunk(struct native *n, struct file *f)
{
	uint8_t bytes[NATIVE_CHUNK] = { 0 };
	uint64_t at = (uint64_t)f->copied * NATIVE_CHUNK, left = f->head.total - at;
	size_t len = left < NATIVE_CHUNK ? left : NATIVE_CHUNK;

	if (pread(f->memfd, bytes, len, (off_t)(UNWIND_FILE_HEAD + at)) != (ssize_t)len)
		return -EIO;
	return n->args.maps.put_chunk(n->args.maps.ctx, f->chunk + f->copied++, bytes);
}

static int finish_copy(struct native *n, struct file *f)
{
	const struct unwind_table t = unwind_file_table(&f->head, f->chunk,
							++n->table_stamps[f->table]);
	int err = n->args.maps.put_table(n->args.maps.ctx, f->table, &t);

	if (err)
		return err;
	close_memfd(f);
	f->stage = FILE_READY;
	f->used_ns = n->now;
	n->counts.tables++;
	return 0;
}

/* Returns 0 if done, -EAGAIN if not, or another -errno. */
static int copy_table(struct native *n, struct file *f, uint64_t until)
{
	int err = f->chunk_cnt ? 0 : take_chunks(n, f);

	while (!err && f->copied < f->chunk_cnt) {
		err = copy_chunk(n, f);
		if (!err && f->copied < f->chunk_cnt && f->copied % 16 == 0 && now_ns() >= until)
			return -EAGAIN;
	}
	return err ? err : finish_copy(n, f);
}

void tables_copy(struct native *n, uint64_t until)
{
	struct file *f;
	int err;

	while (now_ns() < until && (f = file_pop(n, QUEUE_COPY))) {
		if (f->stage != FILE_COPYING || !f->table || !f->head.total) {
			fail_copy(n, f);
			continue;
		}
		err = copy_table(n, f, until);
		if (err == -EAGAIN) {
			file_push(n, QUEUE_COPY, f);
			break;
		}
		if (err)
			fail_copy(n, f);
	}
	/* It must wait for chunks that were given back. */
	n->more |= file_waits(n, QUEUE_COPY) && !native_memory_unsettled(n->memory);
}
