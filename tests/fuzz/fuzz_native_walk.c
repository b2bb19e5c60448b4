// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_native_walk.c - any mappings, tables, registers and stack through the walk of machine code,
 * compiled for the host: every walk ends within its bounds, and one that finds all of it in its
 * cache ends as the one before.
 *
 * Input: struct input, then the thread's stack; what is missing is 0.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/hostbpf/native_world.h"

#define TABLES 4
#define READS_MAX (NATIVE_STEPS * 8)	/* without a time limit */

struct input {
	u64 pc, sp, fp;
	struct native_place place;
	struct unwind_table tables[TABLES];	/* numbers 1 to TABLES */
	u8 mappings[256];	/* chunk 0 */
	u8 rows[3072];		/* chunk 1 */
	u8 stack[4096];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct world w;

static void require(bool ok)
{
	if (!ok)
		abort();
}

static void make_world(const struct input *in)
{
	u32 tgid, i;

	native_world(&w, 13, 0);
	tgid = host.task.tgid;
	memcpy(native_bytes(0, 0), in->mappings, sizeof(in->mappings));
	memcpy(native_bytes(1, 0), in->rows, sizeof(in->rows));
	for (i = 0; i < TABLES; i++)
		*table_of(i) = in->tables[i];
	require(!bpf_map_update_elem(&native_places, &tgid, &in->place, BPF_ANY));
	host_mem_write(N_STACK, in->stack, sizeof(in->stack));
	interrupted_at(in->pc, in->sp, in->fp);
}

static void walk(struct raw_native *out)
{
	const struct raw_native *r = native_tick();

	require(r && r->nframes <= RAW_NATIVE_FRAMES && r->end < NATIVE_END_CNT &&
		r->nentries <= RAW_NATIVE_ENTRIES && host.reads < READS_MAX &&
		r->nframes + r->left_out <= NATIVE_STEPS &&
		(!r->left_out || r->nframes == RAW_NATIVE_FRAMES));
	memset(out, 0, sizeof(*out));
	memcpy(out, r, offsetof(struct raw_native, slots) + 16 * (r->nentries + r->nframes));
	out->h.time_ns = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct raw_native cold, warm;
	static struct input in;

	memset(&in, 0, sizeof(in));
	memcpy(&in, data, size < sizeof(in) ? size : sizeof(in));
	make_world(&in);
	walk(&cold);
	walk(&warm);
	require(!memcmp(&cold, &warm, sizeof(cold)));
	return 0;
}
