// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * elf_parts.c - see elf_parts.h.
 *
 * x86-64 code is not disassembled: each byte that may begin a jump is taken for one. The 32 bits
 * after what is no jump hardly ever lead into a part, and if so, nothing is said of that part.
 */
#include "elf_helper/elf_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/util.h"
#include "elf/cfi_machine.h"

#define CODE_BYTES_MAX (64u << 20)
#define RANGES_MAX (1u << 20)
#define STEPS_MAX (16u << 20)	/* instructions of call frame information */
#define JUMPS_MAX (2u << 20)	/* into parts, and out of them */
#define CHUNK 65536
#define JUMP_BYTES 6		/* the longest one */

/* What an FDE describes: a function, or a part of one. */
struct range {
	uint64_t start, end;
	uint64_t function;	/* of a part, if known */
	bool part, known;
	bool entered;		/* by a jump */
	bool sure, unsure;
};

struct reading {
	const struct elf_file *f;
	struct range *ranges;	/* sorted */
	size_t cnt, cap;
	uint64_t low, high;	/* parts are between these */
	uint32_t jumps;
};

/* ---- ranges ---- */

struct judged {
	const struct cfi_registers *registers;
	bool part;
	bool began;		/* there was a row */
};

/* Returns true unless the stack is that of a function that has just been called. */
static bool is_inside(const struct cfi_registers *r, const struct cfi_value *cfa)
{
	int64_t called = r->machine == EM_X86_64 ? 8 : 0;

	return cfa->how == CFI_VALUE_REG && (cfa->reg != r->sp || cfa->off != called);
}

/* Stubs (PLT) begin with something on the stack, too, but have a rule that no part has. */
static int take_row(void *ctx, uint64_t addr, const struct cfi_state *state)
{
	struct judged *j = ctx;

	j->part = j->began ? j->part && state->cfa.how != CFI_VALUE_PLT :
			     is_inside(j->registers, &state->cfa);
	j->began = true;
	return !j->part;	/* that is all */
}

/* Returns true for a part of a function; -EFBIG: too much work. */
static int is_part(struct cfi_machine *m, const struct cfi_fde *fde)
{
	struct judged j = { .registers = m->registers };
	int err;

	m->ctx = &j;
	err = fde->cie->signal ? 0 : cfi_machine_run(m, fde);
	return err == -EFBIG ? err : !err && j.part;
}

static bool is_code(const struct elf_file *f, uint64_t start, uint64_t end)
{
	unsigned int i;

	for (i = 0; i < f->load_cnt; i++) {
		const struct elf_load *l = &f->loads[i];

		if (l->executable && start >= l->vaddr && start < end &&
		    end - l->vaddr <= l->filesz)
			return true;
	}
	return false;
}

static int add_range(struct reading *r, struct cfi_machine *m, const struct cfi_fde *fde)
{
	struct range range = { .start = fde->start, .end = fde->end };
	int part;

	if (!is_code(r->f, fde->start, fde->end))
		return 0;
	if (r->cnt == RANGES_MAX)
		return -EFBIG;
	part = is_part(m, fde);
	if (part < 0)
		return part;
	range.part = part;
	if (part && range.start < r->low)
		r->low = range.start;
	if (part && range.end > r->high)
		r->high = range.end;
	return array_add(r->ranges, r->cnt, r->cap, range);
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Of ranges that overlap, the first is kept. */
static void sort_ranges(struct reading *r)
{
	size_t i, cnt = 0;

	if (r->cnt)
		qsort(r->ranges, r->cnt, sizeof(*r->ranges), by_start);
	for (i = 0; i < r->cnt; i++)
		if (!cnt || r->ranges[i].start >= r->ranges[cnt - 1].end)
			r->ranges[cnt++] = r->ranges[i];
	r->cnt = cnt;
}

static int read_ranges(struct reading *r)
{
	struct cfi_machine m = { .registers = cfi_registers_of(r->f->machine), .steps = STEPS_MAX,
				 .row = take_row };
	struct cfi_section section;
	static struct cfi_entries entries;
	struct cfi_fde fde;
	int err = m.registers ? cfi_section_read_eh(r->f, &section) : -ENOENT, found;

	if (err)
		return err;
	cfi_entries_begin(&entries, &section);
	while (!err && (found = cfi_entries_next(&entries, &fde)))
		if (found > 0)
			err = add_range(r, &m, &fde);
	cfi_section_free(&section);
	sort_ranges(r);
	return err;
}

static struct range *range_at(const struct reading *r, uint64_t addr)
{
	size_t low = 0, high = r->cnt, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (r->ranges[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->cnt && r->ranges[low].start <= addr ? &r->ranges[low] : NULL;
}

/* ---- jumps ---- */

/*
 * A jump connects the part with this range; sure: not only by the part's start, to which the empty
 * part of the function before it leads as well.
 */
static void connect_part(struct range *part, const struct range *other, bool sure)
{
	part->sure |= sure;
	part->unsure |= other->part || (part->known && part->function != other->start);
	part->function = other->start;
	part->known = true;
}

static int take_jump(struct reading *r, uint64_t from, uint64_t to)
{
	struct range *source, *target;

	if ((from < r->low || from >= r->high) && (to < r->low || to >= r->high))
		return 0;
	if (r->jumps++ == JUMPS_MAX)
		return -EFBIG;
	source = range_at(r, from);
	target = range_at(r, to);
	if (!source || !target || source == target)
		return 0;
	if (target->part) {
		target->entered = true;
		connect_part(target, source, to != target->start);
	}
	/* To the start of another function, it may be its last call. */
	if (source->part && to != target->start)
		connect_part(source, target, true);
	return 0;
}

/* Intel SDM, volume 2: JMP rel32 is E9, Jcc rel32 is 0F 80 to 0F 8F. */
static int scan_x86(struct reading *r, const uint8_t *code, size_t len, uint64_t vaddr)
{
	int32_t off;
	size_t i, at;
	int err = 0;

	for (i = 0; !err && i < len; i++) {
		if (code[i] == 0xe9)
			at = i + 1;
		else if (code[i] == 0x0f && code[i + 1] >> 4 == 8)
			at = i + 2;
		else
			continue;
		memcpy(&off, code + at, sizeof(off));
		err = take_jump(r, vaddr + i, vaddr + at + sizeof(off) + (uint64_t)(int64_t)off);
	}
	return err;
}

/* The signed number in `bits` bits of a word from bit `shift` on, in instructions. */
static uint64_t arm64_offset(uint32_t word, unsigned int shift, unsigned int bits)
{
	return (uint64_t)((int64_t)((uint64_t)word << (64 - shift - bits)) >> (64 - bits)) * 4;
}

/* Arm ARM, C4.1, branches: B; B.cond, CBZ and CBNZ; TBZ and TBNZ. */
static int scan_arm64(struct reading *r, const uint8_t *code, size_t len, uint64_t vaddr)
{
	uint64_t off;
	uint32_t word;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < len; i += sizeof(word)) {
		memcpy(&word, code + i, sizeof(word));
		if (word >> 26 == 0x05)
			off = arm64_offset(word, 0, 26);
		else if (word >> 24 == 0x54 || (word >> 24 & 0x7e) == 0x34)
			off = arm64_offset(word, 5, 19);
		else if ((word >> 24 & 0x7e) == 0x36)
			off = arm64_offset(word, 5, 14);
		else
			continue;
		err = take_jump(r, vaddr + i, vaddr + i + off);
	}
	return err;
}

static int scan_segment(struct reading *r, const struct elf_load *l)
{
	/* After the end of the code there is none. */
	static uint8_t code[CHUNK + JUMP_BYTES];
	uint64_t done;
	ssize_t n;
	size_t len;
	int err = 0;

	for (done = 0; !err && done < l->filesz; done += CHUNK) {
		memset(code, 0, sizeof(code));
		n = elf_file_read_some(r->f, l->vaddr + done, code, sizeof(code));
		if (n <= 0)
			return 0;
		len = (size_t)n < CHUNK ? (size_t)n : CHUNK;
		err = (r->f->machine == EM_X86_64 ? scan_x86 : scan_arm64)(r, code, len,
									   l->vaddr + done);
	}
	return err;
}

static int find_functions(struct reading *r)
{
	uint64_t bytes = 0;
	unsigned int i;
	int err = 0;

	for (i = 0; i < r->f->load_cnt; i++)
		if (r->f->loads[i].executable)
			bytes = add_capped(bytes, r->f->loads[i].filesz);
	if (bytes > CODE_BYTES_MAX)
		return 0;
	for (i = 0; !err && i < r->f->load_cnt; i++)
		if (r->f->loads[i].executable)
			err = scan_segment(r, &r->f->loads[i]);
	return err;
}

int elf_parts_read(const struct elf_file *f, struct elf_parts *out)
{
	struct reading r = { .f = f, .low = UINT64_MAX };
	size_t cap = 0, i;
	int err = read_ranges(&r);

	*out = (struct elf_parts){ 0 };
	if (!err && r.low < r.high)
		err = find_functions(&r);
	for (i = 0; !err && i < r.cnt; i++) {
		const struct range *p = &r.ranges[i];

		if (p->part && p->entered && p->sure && !p->unsure)
			err = array_add(out->parts, out->cnt, cap, (struct elf_part){
					p->start, p->end, p->function });
	}
	free(r.ranges);
	return err;
}

void elf_parts_free(struct elf_parts *p)
{
	free(p->parts);
	*p = (struct elf_parts){ 0 };
}
