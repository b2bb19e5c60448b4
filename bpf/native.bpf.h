/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native.bpf.h - maps and per-CPU memory of the walk of machine code, and its limits.
 *
 * abi_native.h describes what user space writes into the maps. In the object all of them are tiny;
 * with --native (cfg_native) user space sets their sizes before it loads the programs:
 * native_memory NATIVE_SLABS, unwind_tables UNWIND_TABLES, native_places MAX_PROCS, native_codes
 * NATIVE_CODES. It puts a slab into native_memory when it needs one: a map like struct native_slab.
 */
#ifndef TACHBPF_NATIVE_BPF_H
#define TACHBPF_NATIVE_BPF_H

#include "abi_native.h"
#include "pyread.bpf.h"

/* Bytes of the stack read at once. Few functions except the interpreter's have larger frames. */
#define NATIVE_WINDOW 1024
/* No address in the target: there is no window. */
#define NATIVE_NO_WINDOW (~0ull >> 1)
/* A frame outside the window, but less than this above SP, gets a window that begins at SP. */
#define NATIVE_NEAR (NATIVE_WINDOW - 128)
/* For a frame that is farther away, the window begins this many bytes below it. */
#define NATIVE_BELOW 128
/* Frames in one call of native_steps(), and its calls in one of native_many_steps(). */
#define NATIVE_STEPS_A_CALL 8
#define NATIVE_CALLS_A_CALL 16
/* Steps of the binary searches: NATIVE_MAPPINGS, and 2^20 rows for one entry of an index. */
#define NATIVE_MAPPING_STEPS 12
#define NATIVE_ROW_STEPS 20
/* A search costs as much as this many reads; see count_reads(). */
#define NATIVE_FIND_READS 6

/* Bytes of code in which a trampoline is looked for. */
#define NATIVE_FORM_BYTES 56

struct native_slab {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, MAP_IN_USER_SPACE);	/* see offcpu_scan_walk.c; also below */
	__uint(max_entries, NATIVE_SLAB_CHUNKS);
	__type(key, u32);
	__type(value, abi_u8[NATIVE_CHUNK]);
};

/* slab -> its chunks */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);		/* see above; the same for those below */
	__type(key, u32);
	__type(value, u32);
	__array(values, struct native_slab);
} native_memory __weak SEC(".maps");

/* number -> a file's table */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, MAP_IN_USER_SPACE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unwind_table);
} unwind_tables __weak SEC(".maps");

/* tgid -> where the process' mappings are */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct native_place);
} native_places __weak SEC(".maps");

/*
 * The code at an address, as found by native_find(). Valid as long as the process has the same
 * mappings (place) and the file the same table (table_stamp).
 */
struct native_code {
	u64 pc;			/* 0: the entry is invalid */
	u64 addr;		/* in the file; file 0: pc */
	u32 place;		/* native_place.stamp */
	u32 file;
	u32 table, table_stamp;
	struct unwind_rule rule;	/* pad: enum native_end, if it leads to no CFA */
};

/* A cache, by code_slot(). */
#define NATIVE_CODES_BITS 9
_Static_assert(NATIVE_CODES == 1 << NATIVE_CODES_BITS, "a slot is a number of so many bits");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct native_code);
} native_codes __weak SEC(".maps");

/* The walk's cursor: the next frame. In map memory, as struct walk. */
struct native_walk {
	u64 pc, sp, fp, lr;
	u64 win;		/* target address of window[0] */
	u32 called;		/* 1: pc is a return address, so the call is just before it */
	u32 leaf;		/* 1: lr is valid (arm64) */
	u32 slot;		/* of the next frame in raw_native.slots */
	u32 slots_end;		/* there the ring of the outermost frames begins again */
	u32 left_out;		/* frames that are no longer in their slot */
	u32 no_window;		/* 1: a window could not be read; words are read one by one */
	u32 fault;		/* 1: a word could not be read */
	struct native_place place;
};

/* Cursor of a binary search, and what it searches. */
struct native_search {
	u64 first, cnt;
	struct unwind_table table;
	struct native_mapping mapping;	/* the last one found ... */
	u32 place;			/* ... in the list with this native_place.stamp */
	u32 pad;
};

struct native_scratch {
	struct user_regs regs;	/* where the walk begins */
	struct native_walk walk;
	struct native_search search;
	u64 cframe;		/* the next entry's _PyCFrame (3.11) */
	u8 window[NATIVE_WINDOW];
	u8 code[NATIVE_FORM_BYTES];	/* of native_trampoline() */
	struct raw_native raw;	/* s->walk.entries entries, then the frames */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct native_scratch);
} native_scratches __weak SEC(".maps");

/* Never returns NULL, but the verifier does not know that. */
static __always_inline struct native_scratch *native_scratch(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&native_scratches, &zero);
}

int note_entry(u64 at);
/*
 * The walk of the Python frames has passed the end of a call from C: all frames so far are inside
 * it. at: the shim's address (3.12+); 0: use the next _PyCFrame (3.11). Returns 0. The function has
 * external linkage, so the verifier checks it only once.
 */
__weak __noinline int note_entry(u64 at)
{
	struct native_scratch *ns;
	struct scratch *s;
	u32 zero = 0;
	u64 i;

	if (!cfg_native)
		return 0;
	s = bpf_map_lookup_elem(&scratches, &zero);
	ns = native_scratch();
	if (!s || !ns)
		return 0;
	i = s->walk.entries;
	barrier_var(i);
	if (i >= RAW_NATIVE_ENTRIES)
		return 0;
	if (!at) {
		if (!i)
			ns->cframe = s->walk.cframe;
		at = ns->cframe;
		count_reads(s, 1);
		if (at && read_user(&ns->cframe, 8, at + s->l.cframe_frame + 8))
			ns->cframe = 0;
	}
	ns->raw.entries[i].at = at;
	ns->raw.entries[i].frames = s->walk.n;
	s->walk.entries = i + 1;
	return 0;
}

#endif
