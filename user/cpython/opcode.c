// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * opcode.c - finds the instruction that a frame is at.
 *
 * From 3.13 on the sampled offset is that of the instruction. In 3.11 and 3.12, prev_instr of a
 * calling frame points at the last inline cache entry of its CALL (CPython v3.12.0,
 * Python/bytecodes.c, JUMPBY before DISPATCH_INLINED). That entry is data. Only walking from the
 * start of the bytecode shows where the instruction begins.
 */
#include "base/util.h"
#include "cpython/code.h"
#include "cpython/opcodes.inc"
#include "model/event.h"

#define UNIT_BYTES 2u		/* opcode, oparg */
#define WINDOW 4096u
#define UNKNOWN_CACHES CODE_CACHES_UNKNOWN

static const uint8_t *const cache_units[] = {
	[11] = cache_units_311, [12] = cache_units_312, [13] = cache_units_313,
	[14] = cache_units_314, [15] = cache_units_315,
};

static uint8_t read_opcode(const struct target_mem *mem, uint64_t at)
{
	uint8_t opcode;

	return mem->read(mem->ctx, at, &opcode, 1) ? OPCODE_NONE : opcode;
}

/* Walk from the start of the bytecode to the instruction that covers lasti. */
static uint8_t step_to(const struct target_mem *mem, const uint8_t *caches, uint64_t start,
		       uint32_t lasti)
{
	uint32_t at = 0, from = 0, have = 0;
	uint8_t window[WINDOW];

	for (;;) {
		uint8_t opcode;
		uint32_t next;

		if (at >= from + have) {
			from = at;
			have = lasti - from + UNIT_BYTES;
			if (have > WINDOW)
				have = WINDOW;
			if (mem->read(mem->ctx, start + from, window, have))
				return OPCODE_NONE;
		}
		opcode = window[at - from];
		if (caches[opcode] == UNKNOWN_CACHES)
			return at == lasti ? opcode : OPCODE_NONE;
		next = at + UNIT_BYTES * (1 + caches[opcode]);
		if (lasti < next)
			return opcode;
		at = next;
	}
}

uint8_t code_opcode(const struct target_mem *mem, const struct py_layout *l, uint8_t minor,
		    uint64_t addr, uint32_t lasti)
{
	uint64_t start = addr + l->co_code;

	if (lasti % UNIT_BYTES || lasti >= CODE_TABLE_MAX)
		return OPCODE_NONE;
	/* Up to 3.10 co_code is a bytes object. */
	if (l->lasti_unit) {
		if (mem->read(mem->ctx, start, &start, sizeof(start)))
			return OPCODE_NONE;
		return read_opcode(mem, start + l->bytes_data + lasti);
	}
	if (minor == 11 || minor == 12)
		return step_to(mem, cache_units[minor], start, lasti);
	return read_opcode(mem, start + lasti);
}

uint8_t code_cache_units(uint8_t minor, uint8_t opcode)
{
	return minor < ARRAY_SIZE(cache_units) && cache_units[minor] ?
	       cache_units[minor][opcode] : 0;
}
