// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_value.c - variables of frames, locks, and `with` statements, out of hostile memory.
 *
 * Input: bytes for the version and for what is special; then pokes into the memory of a process
 * with a frame whose variables have all plain types, each a u16 for where and a u16 that is written
 * there. Memory may be at every address (modulo its size), so that whatever is taken for a pointer
 * leads somewhere.
 */

#include "cpython/lock.h"
#include "cpython/taken.h"
#include "cpython/with.h"
#include "tests/fuzz/check.h"
#include "tests/unit/cpython/fake_values.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define READS 3000
#define VARIABLES 6

static struct fake_threads f;
static struct fake_types t;
static struct fake_frame frame;

/* py_local_fn */
static bool take(void *ctx, const char *name, uint32_t len, bool argument,
		 const struct py_value *value)
{
	uint32_t *cnt = ctx;

	check(len <= LOCALS_NAME_BYTES && value->len < sizeof(value->text));
	check(value->chars <= VALUE_CHARS && ++*cnt <= LOCALS_MAX);
	return true;
}

/* A value stack whose bottom may be that of a `with`. */
static void add_with(unsigned int minor)
{
	const char table[] = { (char)0x80, 63, 100, 2 << 1 | 1, (char)(0x80 | 100), 1, 0, 1 };
	const struct py_code_layout *l = py_code_layout(minor);
	uint64_t code = frame.frame.code;

	fake_code_int(&f, code, l->stacksize, 8);
	frame.at.layout.co_name = 240;
	fake_poke(&f, frame.frame.addr + 32, code + 216 + 8, 8);
	if (l->exceptions)
		fake_poke(&f, code + l->exceptions + f.head - 16,
			  fake_bytes(&f, &t, table, sizeof(table)), 8);
}

static void fill(unsigned int minor, bool big)
{
	const uint32_t digits[] = { 1, 2, 3 };
	uint64_t names[VARIABLES], objs[VARIABLES];
	unsigned int i;

	fake_threads_make(&f, minor, big);
	fake_types_make(&f, &t);
	for (i = 0; i < VARIABLES; i++)
		names[i] = fake_str(&f, &t, "name");
	objs[0] = fake_int(&f, t.integer, digits, 3, true);
	objs[1] = fake_str(&f, &t, "text");
	objs[2] = fake_list(&f, &t, objs, 2);
	objs[3] = fake_mapping(&f, &t, objs, 1);
	objs[4] = fake_set(&f, &t, objs, 2);
	objs[5] = fake_tuple(&f, &t, objs + 2, 3);
	fake_frame_make(&f, &t, &frame, names, objs, VARIABLES, 2);
	add_with(minor);
}

static void poke(const uint8_t *data, size_t size)
{
	uint16_t words[2];
	size_t i;

	for (i = 0; i + sizeof(words) <= size; i += sizeof(words)) {
		memcpy(words, data + i, sizeof(words));
		fake_poke(&f, FAKE_BASE + words[0] % f.used, words[1], 2);
	}
}

static void read_locks(struct py_walk *w)
{
	struct py_with withs[PY_WITHS_MAX];
	struct py_taken taken[PY_TAKEN_MAX];
	struct py_lock lock;
	uint32_t cnt;

	py_lock_find(w, &frame.at, frame.state, FAKE_BASE + 64, &lock);
	check(memchr(lock.module, 0, sizeof(lock.module)) != NULL);
	py_frame_withs(w, &frame.at, &frame.frame, withs, &cnt);
	check(cnt <= PY_WITHS_MAX);
	while (cnt--)
		py_lock_of(w, withs[cnt].self);
	py_lock_given_up(w, &frame.at, &frame.frame);
	py_lock_awaited(w, &frame.at, &frame.frame, &lock);
	check(!lock.addr || lock.kind < PY_LOCK_KINDS);
	py_lock_is_held(w, lock.addr);
	py_code_releases(w, frame.frame.code);
	py_frame_taken(w, &frame.at, &frame.frame, taken, &cnt);
	check(cnt <= PY_TAKEN_MAX);
}

static void read_all(void)
{
	struct py_frame frames[8];
	struct py_thread threads[8];
	struct py_walk w;
	uint32_t cnt = 0, found;
	bool whole;

	py_walk_init(&w, &f.target, &f.at.objects, READS);
	py_locals_read(&w, &frame.at, &frame.frame, take, &cnt);
	py_frames_list(&w, &frame.at, frame.state, frames, 8, &found, &whole);
	check(found <= 8);
	py_threads_list(&w, &frame.at, threads, 8, &found);
	check(found <= 8);
	read_locks(&w);
	/* Strings are read beside the count. */
	check(f.reads <= READS * 2 + 2 * LOCALS_MAX + 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	fill(6 + data[0] % 10, data[1] & 1);
	frame.at.interps = FAKE_BASE;
	frame.at.layout.ts_thread_id = 24;
	frame.at.layout.interp_threads_head = 16;
	frame.at.layout.interp_next = 8;
	if (data[1] & 2)
		f.target.read = fake_threads_everywhere;
	poke(data + 2, size - 2);
	f.reads = 0;
	read_all();
	return 0;
}
