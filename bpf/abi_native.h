/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * abi_native.h - machine code: the tables from which the BPF side unwinds it, and the record that
 * it sends. Like abi.h, it knows no kernel type, and all fields have fixed widths.
 *
 * User space (user/native) writes all tables, the BPF side (native*.bpf.h) reads them. The code at
 * an address is found in three steps: the process' mapping that contains it (struct
 * native_mapping), the row of the mapped file's table that covers it (struct unwind_row), and the
 * rule in that row, which locates the caller's frame.
 *
 * Mappings and rows are in the native memory: chunks of NATIVE_CHUNK bytes with numbers from 0, in
 * slabs (inner arrays of the map native_memory). A stale chunk number leads to meaningless data,
 * but never outside the chunks.
 */
#ifndef TACHBPF_ABI_NATIVE_H
#define TACHBPF_ABI_NATIVE_H

#include "abi.h"

#define NATIVE_CHUNK 4096u	/* bytes; value size of a slab, one map element per chunk */
#define NATIVE_SLAB_CHUNKS 1024u	/* 4 MiB */
#define NATIVE_SLABS 64u	/* at most 256 MiB; without --native 1, and no slab */

/* How the canonical frame address (CFA, DWARF 5, 6.4) is computed: the caller's SP. */
enum unwind_cfa {
	UNWIND_NO_ROW = 0,	/* the file contains nothing about these addresses */
	UNWIND_SP = 1,		/* SP + cfa_off                                             */
	UNWIND_FP = 2,		/* FP + cfa_off (x86-64: rbp; arm64: x29)                   */
	UNWIND_EXT = 3,		/* in a row only: the rule is in the table's list of long rules */
	UNWIND_SIGNAL = 4,	/* a signal frame: the registers are in the ucontext at SP  */
	UNWIND_END = 5,		/* the thread's first function: it has no caller            */
	UNWIND_UNSUPPORTED = 6,	/* a rule that cannot be expressed here */
	UNWIND_PLT = 7,		/* x86-64: SP + 8, and 8 more if (pc & 15) >= cfa_off       */
	UNWIND_AT_SP = 8,	/* *(SP + cfa_off) + cfa_add; only as a long rule           */
	UNWIND_AT_FP = 9,	/* *(FP + cfa_off) + cfa_add: functions that align their
				 * stack (DRAP); only as a long rule                        */
};

/* Where a register of the caller is. */
enum unwind_reg {
	UNWIND_SAME = 0,	/* FP: not changed; RA: still in LR (arm64, innermost only) */
	UNWIND_AT_CFA = 1,	/* *(CFA + off)                                             */
	UNWIND_AT_FRAME = 2,	/* *(FP + off), FP being the callee's                       */
	UNWIND_LOST = 3,	/* undefined                                                */
};

/* A rule with all its fields: an unpacked row, and a long rule as it is stored. */
struct unwind_rule {
	abi_u8 cfa;		/* enum unwind_cfa, never UNWIND_EXT */
	abi_u8 fp, ra;		/* enum unwind_reg; x86-64: ra is AT_CFA */
	abi_u8 pad;
	abi_s32 cfa_off;	/* bytes */
	abi_s16 fp_off, ra_off;	/* bytes; x86-64: ra_off is -8 */
	abi_s32 cfa_add;	/* bytes; AT_SP, AT_FP */
};
_Static_assert(sizeof(struct unwind_rule) == 16, "unwind_rule has no hidden padding");

/*
 * A row: the rule from addr on, up to the next row's. The lowest three bits of rule are its enum
 * unwind_cfa. For UNWIND_EXT the others are the number of the long rule. For UNWIND_SP and
 * UNWIND_FP they are, from the lowest: cfa_off / 8 (13 bits); fp: 0 is SAME, else AT_CFA at -8 *
 * (value) (8 bits); ra: 0 is SAME, else AT_CFA at -8 * (value) (8 bits). For UNWIND_PLT: cfa_off.
 */
struct unwind_row {
	abi_u32 addr;		/* bytes from the table's start */
	abi_u32 rule;
};

static inline void unwind_unpack(abi_u32 rule, struct unwind_rule *out)
{
	abi_u32 fp = rule >> 16 & 255, ra = rule >> 24 & 255;

	out->cfa = rule & 7;
	out->pad = 0;
	out->fp = fp ? UNWIND_AT_CFA : UNWIND_SAME;
	out->ra = ra ? UNWIND_AT_CFA : UNWIND_SAME;
	out->fp_off = (abi_s16)(-8 * (int)fp);
	out->ra_off = (abi_s16)(-8 * (int)ra);
	out->cfa_off = (abi_s32)((rule >> 3 & 0x1fff) * 8);
	out->cfa_add = 0;
	if (out->cfa == UNWIND_PLT)
		out->cfa_off = (abi_s32)(rule >> 3);
}

/*
 * A file's table: value of the map unwind_tables, whose key is the table's number. Its parts are in
 * consecutive chunks from `chunk` on, each part's elements aligned to their size: rows from byte 0,
 * then the index, then the long rules. The index contains, for each 2^shift bytes of addresses from
 * start on, the number of the last row that is not after them (0 if there is none), and one more
 * entry for the end; so a row is searched for between index[i] and index[i + 1].
 */
struct unwind_table {
	abi_u64 start;		/* first address of the file that it covers (as its program headers
				 * count, p_vaddr) */
	abi_u32 bytes;		/* length of the covered range */
	abi_u32 chunk;		/* first chunk */
	abi_u32 row_cnt;	/* 0: there is no table, for the reason in why */
	abi_u32 index_at;	/* of the first index entry, in 4-byte units from the first chunk */
	abi_u32 ext_at, ext_cnt;	/* of the first long rule, in units of 16 bytes; number */
	abi_u16 shift;
	abi_u8 why;		/* enum native_end, if row_cnt is 0: NO_TABLE, JIT, NO_ROW */
	abi_u8 pad;
	abi_u32 stamp;		/* changes whenever this number gets another table */
};
_Static_assert(sizeof(struct unwind_table) == 40, "unwind_table has no hidden padding");
#define UNWIND_TABLES 8192u	/* without --native 1; number 0 is not used: why NO_MAPPING */

/* A mapping with code. Those of a process are sorted, disjoint, and in consecutive chunks. */
struct native_mapping {
	abi_u64 start, end;	/* addresses in the process */
	abi_u64 bias;		/* address in the process minus address in the file */
	abi_u32 table;		/* its number in unwind_tables */
	abi_u32 file;		/* user space's number of the file, which it never reuses */
};
_Static_assert(sizeof(struct native_mapping) == 32, "native_mapping has no hidden padding");
#define NATIVE_MAPPINGS 4096u	/* limit per process; those beyond it are NO_MAPPING */

/* Addresses whose rules a CPU caches: elements of the map native_codes. Without --native 1. */
#define NATIVE_CODES 512u

/*
 * Value of the map native_places, whose key is the tgid: where the process' mappings are. User
 * space writes it; on_fork() copies it for the child, on_exec() and on_exit() delete it.
 */
struct native_place {
	abi_u32 chunk;		/* first chunk */
	abi_u32 cnt;		/* mappings */
	abi_u32 stamp;		/* of this list; no two lists have the same: for caches */
	abi_u32 pad;
};

/* How the walk of a thread's machine code ended. Each is counted by process. */
enum native_end {
	NATIVE_WHOLE = 0,	/* at the thread's first function                           */
	NATIVE_DEPTH,		/* deeper than NATIVE_STEPS                                 */
	NATIVE_NO_REGS,		/* the thread's registers are unknown */
	NATIVE_NO_MAPPINGS,	/* the process' mappings are not known yet */
	NATIVE_NO_MAPPING,	/* the address is in no mapping with code                   */
	NATIVE_JIT,		/* code that is in no file                                  */
	NATIVE_NO_TABLE,	/* the file's table has not been built yet, or did not fit */
	NATIVE_NO_ROW,		/* the file contains nothing about this code: assembly */
	NATIVE_UNSUPPORTED,	/* UNWIND_UNSUPPORTED                                       */
	NATIVE_UNREADABLE,	/* the stack could not be read                              */
	NATIVE_NO_PROGRESS,	/* the caller's frame is not further out */
	NATIVE_TIME,		/* the sample's time limit has passed                       */
	NATIVE_END_CNT
};

/*
 * RAW_NATIVE: sent immediately before the RAW_SAMPLE, RAW_SWITCH_OUT or RAW_NO_STACK with the same
 * time, tid and CPU (and before its RAW_EXTRA, if there is one): the machine code's frames of the
 * thread, and where Python frames are among them.
 */
#define RAW_NATIVE_INNER 256	/* of a deeper stack these frames are sent, the innermost ... */
#define RAW_NATIVE_OUTER 256	/* ... and the outermost that were walked; a power of two */
#define RAW_NATIVE_FRAMES (RAW_NATIVE_INNER + RAW_NATIVE_OUTER)
#define RAW_NATIVE_ENTRIES 256
#define NATIVE_STEPS 4096u	/* frames that a walk visits at most */

/*
 * raw_native_frame.file: a trampoline, through which CPython calls a Python function (-X perf). It
 * is in no file.
 */
#define NATIVE_FILE_TRAMPOLINE 0xffffffffu

/*
 * A frame, innermost first. Except in the first frame and in frames that a signal interrupted, addr
 * is the return address minus 1, so it is inside the calling instruction.
 */
struct raw_native_frame {
	abi_u64 addr;		/* in the file; file 0, NATIVE_FILE_TRAMPOLINE: in the process */
	abi_u32 below;		/* the frame's CFA minus SP of the innermost frame, bytes, modulo
				 * 2^32. The frame consists of the bytes from the `below` of the
				 * previous frame (0 for the first) up to here. If the CFA is
				 * unknown, SP: then it has no bytes */
	abi_u32 file;		/* native_mapping.file; 0: no file */
};
_Static_assert(sizeof(struct raw_native_frame) == 16, "raw_native_frame has no hidden padding");

/*
 * One call of the interpreter from C, innermost first: `frames` of the sample's Python frames
 * (counted over all, innermost first, including those of earlier entries) are inside it. Their C
 * frame is that of the evaluation function that runs them. Up to 3.10 each Python frame is a
 * separate entry, and none is sent.
 */
struct raw_entry {
	abi_u64 at;		/* an address in the C frame of the evaluation function: of the
				 * shim (3.12+), of the _PyCFrame (3.11); 0: unknown */
	abi_u32 frames;
	abi_u32 pad;
};

struct raw_native {
	struct raw_header h;
	abi_u32 tid;
	abi_u32 interp_id;
	abi_u64 sp;		/* of the innermost frame */
	abi_u16 cpu;
	abi_u16 nframes, nentries;
	abi_u8 end;		/* enum native_end */
	abi_u8 pad;
	abi_u32 left_out;	/* frames that were walked and are not sent. If there are any, the
				 * frames sent from RAW_NATIVE_INNER on are a ring: the walk's
				 * frame i is at RAW_NATIVE_INNER + i % RAW_NATIVE_OUTER */
	abi_u32 pad2;
	union {
		/* As it is sent: nentries entries, then nframes frames. */
		struct raw_native_frame slots[RAW_NATIVE_ENTRIES + RAW_NATIVE_FRAMES];
		/* As user space takes it apart: native_records.h. */
		struct {
			struct raw_entry entries[RAW_NATIVE_ENTRIES];
			struct raw_native_frame frames[RAW_NATIVE_FRAMES];
		};
	};
};
_Static_assert(sizeof(struct raw_entry) == sizeof(struct raw_native_frame), "both fill a slot");
_Static_assert(sizeof(struct raw_native) == 56 + 16 * (RAW_NATIVE_FRAMES + RAW_NATIVE_ENTRIES),
	       "raw_native has no hidden padding");

#endif
