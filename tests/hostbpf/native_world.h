/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_world.h - machine code for tests: a process' mappings, files' tables and a stack, in a
 * world (world.h) whose walk of machine code is on.
 *
 * A file N is mapped at N_CODE + N * N_STEP, and its addresses begin at N_FILE. A row of its table
 * covers N_ROW bytes, so code_at(file, row) is an address with that row.
 */
#ifndef HOSTBPF_NATIVE_WORLD_H
#define HOSTBPF_NATIVE_WORLD_H

#include "tests/hostbpf/world.h"

#include "bpf/native.bpf.h"

#define N_CODE 0x700000000000ull
#define N_STEP 0x100000ull
#define N_FILE 0x4000ull	/* the first address that a table covers, and where it is mapped */
#define N_ROW  64u
#define N_STACK 0x7ff000000000ull
#define N_STACK_BYTES 65536ull
#define N_PLACE_CHUNK 2u	/* 32 chunks at most */
#define N_TABLE_CHUNK(file) (200u + 20u * (file))
#define N_INDEX_AT 4096u	/* in units of 4 bytes */
#define N_EXT_AT 2048u		/* in units of 16 bytes */
#define N_SHIFT 8		/* an index entry for four rows */
#define N_SLABS 2u

/* Rows as abi_native.h packs them. fp: where the caller's FP is, words below the CFA; 0: kept. */
#define ROW_SP(off, fp) ((u32)(UNWIND_SP | (off) / 8 << 3 | (fp) << 16 | 1 << 24))
#define ROW_FP(off, fp) ((u32)(UNWIND_FP | (off) / 8 << 3 | (fp) << 16 | 1 << 24))
#define ROW_EXT(number) ((u32)(UNWIND_EXT | (number) << 3))
#define ROW_PLT(from) ((u32)(UNWIND_PLT | (from) << 3))

/* len bytes of the native memory, which must lie in one chunk. */
static inline u8 *native_bytes(u32 chunk, u64 byte)
{
	u32 slab, in_slab;
	struct native_slab *chunks;

	chunk += byte / NATIVE_CHUNK;
	slab = chunk / NATIVE_SLAB_CHUNKS;
	in_slab = chunk % NATIVE_SLAB_CHUNKS;
	chunks = bpf_map_lookup_elem(&native_memory, &slab);
	assert_non_null(chunks);
	return (u8 *)bpf_map_lookup_elem(chunks, &in_slab) + byte % NATIVE_CHUNK;
}

static inline void put_mapping(u32 i, struct native_mapping m)
{
	memcpy(native_bytes(N_PLACE_CHUNK, i * sizeof(m)), &m, sizeof(m));
}

/* Mapping i is of file i (its number is i + 10), with table i + 1. */
static inline void put_file(u32 i)
{
	u64 start = N_CODE + i * N_STEP;

	put_mapping(i, (struct native_mapping){ start, start + N_STEP / 2, start - N_FILE, i + 1,
						i + 10 });
}

static inline void put_place(u32 cnt, u32 stamp)
{
	struct native_place p = { N_PLACE_CHUNK, cnt, stamp, 0 };
	u32 tgid = host.task.tgid;

	assert_int_equal(bpf_map_update_elem(&native_places, &tgid, &p, BPF_ANY), 0);
}

static inline struct unwind_table *table_of(u32 file)
{
	u32 number = file + 1;

	return bpf_map_lookup_elem(&unwind_tables, &number);
}

/* The file's table: cnt rules, each for N_ROW bytes. */
static inline void put_table(u32 file, const u32 *rules, u32 cnt, u32 stamp)
{
	u32 chunk = N_TABLE_CHUNK(file), i, per = (1 << N_SHIFT) / N_ROW;

	for (i = 0; i < cnt; i++) {
		struct unwind_row row = { i * N_ROW, rules[i] };

		memcpy(native_bytes(chunk, i * sizeof(row)), &row, sizeof(row));
	}
	for (i = 0; i <= (cnt + per - 1) / per; i++) {
		u32 first = i * per < cnt ? i * per : cnt - 1;

		memcpy(native_bytes(chunk, 4 * (N_INDEX_AT + i)), &first, 4);
	}
	*table_of(file) = (struct unwind_table){
		.start = N_FILE, .bytes = cnt * N_ROW, .chunk = chunk, .row_cnt = cnt,
		.index_at = N_INDEX_AT, .ext_at = N_EXT_AT, .shift = N_SHIFT, .stamp = stamp,
	};
}

static inline void put_long_rule(u32 file, u32 number, struct unwind_rule rule)
{
	memcpy(native_bytes(N_TABLE_CHUNK(file), 16 * (N_EXT_AT + number)), &rule, 16);
	if (table_of(file)->ext_cnt <= number)
		table_of(file)->ext_cnt = number + 1;
}

static inline u64 code_at(u32 file, u32 row)
{
	return N_CODE + file * N_STEP + row * N_ROW + 16;
}

/* The thread is interrupted in user space with these registers. */
static inline void interrupted_at(u64 pc, u64 sp, u64 fp)
{
	host.regs.cs = 0x33;
	host.regs.r[16] = pc;
	host.regs.sp = sp;
	host.regs.r[4] = fp;
}

static inline void native_switch(bool on)
{
	host_set(&cfg_native, &on, sizeof(on));
}

/* A world with `files` files and no tables, whose thread has an empty stack. */
static inline void native_world(struct world *w, int minor, u32 files)
{
	u32 i;

	world_init(w, minor);
	native_switch(true);
	host.inner_maps = N_SLABS;
	host_map_size(&native_memory, N_SLABS + 1);
	host_map_size(&unwind_tables, 64);
	host_map_size(&native_places, 64);
	host_map_size(&native_codes, NATIVE_CODES);
	host_mem_map(N_STACK, N_STACK_BYTES);
	for (i = 0; i < files; i++)
		put_file(i);
	put_place(files, 1);
	world_recurse(w, 1);
}

/* The frames of a record as it is sent: they follow its entries. */
static inline const struct raw_native_frame *native_frames_of(const struct raw_native *r)
{
	return r->slots + r->nentries;
}

/* Runs a tick. Returns the RAW_NATIVE, or NULL. */
static inline const struct raw_native *native_tick(void)
{
	const struct raw_native *r;
	size_t len;
	int i = 0;

	host_tick();
	r = host_record(RAW_NATIVE, &i, &len);
	if (r)
		assert_int_equal(len, offsetof(struct raw_native, slots) + 16 * r->nframes +
					      16 * r->nentries);
	return r;
}

/* Frame i must be at this address of code_at(), and end so many bytes above the first SP. */
static inline void check_frame(const struct raw_native *r, u32 i, u32 file, u32 row, u64 below)
{
	const struct raw_native_frame *f = &native_frames_of(r)[i];

	assert_in_range(i, 0, r->nframes - 1);
	assert_int_equal(f->file, file + 10);
	assert_in_range(f->addr, N_FILE + row * N_ROW, N_FILE + row * N_ROW + N_ROW - 1);
	assert_int_equal(f->below, below);
}

#endif
