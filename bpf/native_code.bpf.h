/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_code.bpf.h - looks up the code at an address in the tables.
 *
 * Knows mappings, tables and rows, and no stack. The native memory may contain anything: chunks are
 * given to other tables while a search reads them, and files are hostile. So nothing that is read
 * is used as an index without a check, and all searches are bounded.
 */
#ifndef TACHBPF_NATIVE_CODE_H
#define TACHBPF_NATIVE_CODE_H

#include "native_trampoline.bpf.h"

static __always_inline u32 code_slot(u64 pc, u32 place)
{
	return (pc ^ (u64)place << 40) * 0x9e3779b97f4a7c15ULL >> (64 - NATIVE_CODES_BITS);
}

u64 native_word(u64 chunk, u64 byte);
/*
 * The 8 bytes at this byte, rounded down to 8, counted from the start of the chunk; 0: there is no
 * chunk. The function has external linkage, so the verifier checks it only once.
 */
__weak __noinline u64 native_word(u64 chunk, u64 byte)
{
	u32 slab, in_slab;
	struct native_slab *chunks;
	u64 *words, at = byte / 8 & (NATIVE_CHUNK / 8 - 1);

	if (!cfg_native)
		return 0;
	chunk += byte / NATIVE_CHUNK;
	slab = chunk / NATIVE_SLAB_CHUNKS;
	in_slab = chunk % NATIVE_SLAB_CHUNKS;
	chunks = bpf_map_lookup_elem(&native_memory, &slab);
	if (!chunks)
		return 0;
	words = bpf_map_lookup_elem(chunks, &in_slab);
	if (!words)
		return 0;
	barrier_var(at);
	return words[at & (NATIVE_CHUNK / 8 - 1)];
}

/* Entry i of the table's index. */
static __always_inline u64 index_entry(const struct unwind_table *t, u64 i)
{
	u64 byte = 4 * (t->index_at + i);

	return (u32)(native_word(t->chunk, byte) >> (byte & 4) * 8);
}

/* Find the last mapping that does not begin after pc. Its number is in f->first. */
static __always_inline void search_mappings(struct native_search *f, const struct native_place *p,
					    u64 pc)
{
	u32 i;
	u64 half;

	f->first = 0;
	f->cnt = p->cnt;
#pragma clang loop unroll(disable)
	for (i = 0; i < NATIVE_MAPPING_STEPS; i++) {
		half = f->cnt / 2;
		if (!half)
			break;
		if (native_word(p->chunk, (f->first + half) * sizeof(struct native_mapping)) <= pc)
			f->first += half;
		f->cnt -= half;
	}
}

/* Find the mapping that contains pc: f->mapping. Usually it is the one found last. */
static __always_inline bool find_mapping(struct native_search *f, const struct native_place *p,
					 u64 pc)
{
	u64 at, word;

	if (f->place == p->stamp && pc >= f->mapping.start && pc < f->mapping.end)
		return true;
	search_mappings(f, p, pc);
	if (f->first >= p->cnt)
		return false;
	at = f->first * sizeof(struct native_mapping);
	f->place = p->stamp;
	f->mapping.start = native_word(p->chunk, at);
	f->mapping.end = native_word(p->chunk, at + 8);
	f->mapping.bias = native_word(p->chunk, at + 16);
	word = native_word(p->chunk, at + 24);
	f->mapping.table = word;
	f->mapping.file = word >> 32;
	return pc >= f->mapping.start && pc < f->mapping.end;
}

/*
 * Find the row for the address `rel` from the table's start. Returns its rule, or UNWIND_NO_ROW,
 * which a row may contain, too.
 */
static __always_inline u32 search_rows(struct native_search *f, u64 rel)
{
	const struct unwind_table *t = &f->table;
	u64 half, last, row;
	u32 i;

	if (rel >= t->bytes)
		return UNWIND_NO_ROW;
	row = rel >> (t->shift & 31);
	f->first = index_entry(t, row);
	last = index_entry(t, row + 1);
	if (last < f->first || last >= t->row_cnt)
		return UNWIND_NO_ROW;
	f->cnt = last - f->first + 1;
#pragma clang loop unroll(disable)
	for (i = 0; i < NATIVE_ROW_STEPS; i++) {
		half = f->cnt / 2;
		if (!half)
			break;
		row = native_word(t->chunk, (f->first + half) * sizeof(struct unwind_row));
		if ((u32)row <= rel)
			f->first += half;
		f->cnt -= half;
	}
	row = native_word(t->chunk, f->first * sizeof(struct unwind_row));
	return (u32)row <= rel ? row >> 32 : UNWIND_NO_ROW;
}

/* Set e's rule from a row: the rule itself, or the number of a long one. */
static __always_inline void set_rule(struct native_code *e, const struct unwind_table *t, u32 rule)
{
	u64 number = rule >> 3, byte, words[2];

	if ((rule & 7) == UNWIND_EXT) {
		if (number >= t->ext_cnt) {
			e->rule.cfa = UNWIND_UNSUPPORTED;
			return;
		}
		byte = (t->ext_at + number) * sizeof(struct unwind_rule);
		words[0] = native_word(t->chunk, byte);
		words[1] = native_word(t->chunk, byte + 8);
		__builtin_memcpy(&e->rule, words, sizeof(words));
	} else {
		unwind_unpack(rule, &e->rule);
	}
	if (e->rule.cfa == UNWIND_PLT)
		e->rule.fp = e->rule.ra = UNWIND_SAME;
#ifndef __TARGET_ARCH_arm64
	if (e->rule.ra == UNWIND_SAME) {	/* the call has pushed it */
		e->rule.ra = UNWIND_AT_CFA;
		e->rule.ra_off = -8;
	}
#endif
}

/* How a walk ends at a frame with this rule if it leads to no CFA. */
static __always_inline u32 end_by_rule(u8 cfa)
{
	switch (cfa) {
	case UNWIND_NO_ROW:
		return NATIVE_NO_ROW;
	case UNWIND_END:
		return NATIVE_WHOLE;
	case UNWIND_AT_SP:
	case UNWIND_AT_FP:
		return NATIVE_NO_PROGRESS;	/* it is 0 */
	default:
		return NATIVE_UNSUPPORTED;
	}
}

/* Set the rule of e->addr from the table. Returns enum native_end, if it leads to no CFA. */
static __always_inline u32 find_rule(struct native_search *f, struct native_code *e)
{
	struct unwind_table *t;
	u32 number = e->table, why;

	e->rule.cfa = UNWIND_NO_ROW;
	e->table_stamp = 0;
	t = bpf_map_lookup_elem(&unwind_tables, &number);
	if (!t || !number)
		return number ? NATIVE_NO_TABLE : NATIVE_NO_MAPPING;
	e->table_stamp = t->stamp;
	barrier();
	f->table = *t;
	why = f->table.why;
	if (!f->table.row_cnt)
		return why && why < NATIVE_END_CNT ? why : NATIVE_NO_TABLE;
	set_rule(e, &f->table, search_rows(f, e->addr - f->table.start));
	if (t->stamp != e->table_stamp)
		e->pc = 0;
	return end_by_rule(e->rule.cfa);
}

int native_find(u64 pc);
/*
 * Fill in the entry of native_codes for pc. If a table or the mappings change meanwhile, the entry
 * is invalid afterwards. Returns 0. The function has external linkage, so the verifier checks it
 * only once.
 */
__weak __noinline int native_find(u64 pc)
{
	struct native_scratch *ns;
	struct native_place *p;
	struct native_search *f;
	struct native_code *e;
	u32 slot, tgid;

	if (!cfg_native)
		return 0;
	ns = native_scratch();
	if (!ns)
		return 0;
	slot = code_slot(pc, ns->walk.place.stamp);
	e = bpf_map_lookup_elem(&native_codes, &slot);
	if (!e)
		return 0;
	f = &ns->search;
	p = &ns->walk.place;
	e->pc = pc;
	e->addr = pc;
	e->place = p->stamp;
	e->table = e->file = 0;
	if (find_mapping(f, p, pc)) {
		e->table = f->mapping.table;
		e->file = f->mapping.file;
		if (e->file)
			e->addr = pc - f->mapping.bias;
	}
	e->rule.pad = find_rule(f, e);
	if (!e->file && (e->rule.pad == NATIVE_JIT || e->rule.pad == NATIVE_NO_MAPPING))
		native_trampoline(slot);
	tgid = bpf_get_current_pid_tgid() >> 32;
	p = bpf_map_lookup_elem(&native_places, &tgid);
	if (!p || p->stamp != e->place) {
		e->pc = 0;
		f->mapping.end = 0;
	}
	return 0;
}

#endif
