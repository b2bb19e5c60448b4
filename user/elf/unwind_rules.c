// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* unwind_rules.c - see unwind_rules.h. */
#include "elf/unwind_rules.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash_secret.h"
#include "base/util.h"

#define CFA_OFF_MAX (8 * 0x1fff)	/* limits of a row */
#define REG_OFF_MIN (-8 * 255)

void unwind_rules_begin(struct unwind_rules *r, const struct cfi_registers *registers,
			uint64_t seed)
{
	*r = (struct unwind_rules){ .registers = registers, .seed = seed };
}

void unwind_rules_free(struct unwind_rules *r)
{
	free(r->long_rules);
	hash_index_free(&r->index);
}

static bool fits_bits(int64_t v, int bits)
{
	return v >= -(1ll << (bits - 1)) && v < 1ll << (bits - 1);
}

static struct unwind_rule plain_rule(enum unwind_cfa cfa)
{
	return (struct unwind_rule){ .cfa = (abi_u8)cfa };
}

/* The computation of the CFA. Returns false if no rule can express it. */
static bool say_cfa(const struct cfi_registers *known, const struct cfi_value *v,
		    struct unwind_rule *rule)
{
	bool sp = v->reg == known->sp, at = v->how == CFI_VALUE_AT_REG;

	if (!fits_bits(v->off, 32) || !fits_bits(v->add, 32))
		return false;
	rule->cfa_off = (abi_s32)v->off;
	if (v->how == CFI_VALUE_PLT) {
		rule->cfa = UNWIND_PLT;
		return known->machine == EM_X86_64;
	}
	if (!at && v->how != CFI_VALUE_REG)
		return false;
	rule->cfa = at ? (sp ? UNWIND_AT_SP : UNWIND_AT_FP) : (sp ? UNWIND_SP : UNWIND_FP);
	rule->cfa_add = (abi_s32)v->add;
	return sp || v->reg == known->fp;
}

/* An address as an offset from the CFA. */
static bool from_cfa(const struct cfi_registers *known, const struct cfi_value *cfa,
		     const struct cfi_value *v, int64_t *off)
{
	*off = v->off;
	if (v->how == CFI_VALUE_CFA)
		return true;
	if (v->how != CFI_VALUE_REG || v->reg != known->sp || cfa->how != CFI_VALUE_REG ||
	    cfa->reg != known->sp)
		return false;
	return !__builtin_sub_overflow(v->off, cfa->off, off);
}

/* Set where the caller's FP or RA is. */
static void say_register(const struct cfi_registers *known, const struct cfi_value *cfa,
			 const struct cfi_register *reg, abi_u8 *where, abi_s16 *off)
{
	int64_t from;

	*where = UNWIND_LOST;
	*off = 0;
	if (reg->where == CFI_UNSAID || reg->where == CFI_UNCHANGED)
		*where = UNWIND_SAME;
	if (reg->where != CFI_AT)
		return;
	if (from_cfa(known, cfa, &reg->value, &from)) {
		*where = UNWIND_AT_CFA;
	} else if (reg->value.how == CFI_VALUE_REG && reg->value.reg == known->fp) {
		*where = UNWIND_AT_FRAME;
		from = reg->value.off;
	}
	if (*where == UNWIND_LOST || !fits_bits(from, 16)) {
		*where = UNWIND_LOST;
		return;
	}
	*off = (abi_s16)from;
}

/* Returns true if the caller's SP is the CFA, as the walk assumes. */
static bool sp_is_cfa(const struct cfi_register *sp)
{
	return sp->where == CFI_UNSAID ||
	       (sp->where == CFI_IS && sp->value.how == CFI_VALUE_CFA && !sp->value.off);
}

/* On x86-64 the call has pushed the return address. On arm64 it is in LR, until saved. */
static bool ra_can_be_said(const struct cfi_registers *known, const struct unwind_rule *rule)
{
	if (known->machine == EM_X86_64)
		return rule->ra == UNWIND_AT_CFA && rule->ra_off == -8;
	return rule->ra == UNWIND_SAME || rule->ra == UNWIND_AT_CFA;
}

/* The rule that a state means; UNWIND_UNSUPPORTED if there is none for it. */
static struct unwind_rule unwind_rule_of(const struct cfi_registers *registers,
					 const struct cfi_state *state)
{
	struct unwind_rule rule = { 0 };

	if (state->ra.where == CFI_UNDEFINED)
		return plain_rule(UNWIND_END);
	if (!sp_is_cfa(&state->sp) || !say_cfa(registers, &state->cfa, &rule))
		return plain_rule(UNWIND_UNSUPPORTED);
	say_register(registers, &state->cfa, &state->fp, &rule.fp, &rule.fp_off);
	say_register(registers, &state->cfa, &state->ra, &rule.ra, &rule.ra_off);
	return ra_can_be_said(registers, &rule) ? rule : plain_rule(UNWIND_UNSUPPORTED);
}

/* A row's number for the location of a register; -1: a row cannot express it. */
static int short_register(abi_u8 where, abi_s16 off)
{
	if (where == UNWIND_SAME)
		return 0;
	return where == UNWIND_AT_CFA && off < 0 && off >= REG_OFF_MIN && off % 8 == 0 ?
	       -off / 8 : -1;
}

/* Returns true if a row can express the rule without a long rule. */
static bool pack_short(const struct unwind_rule *rule, uint32_t *packed)
{
	int fp = short_register(rule->fp, rule->fp_off);
	int ra = short_register(rule->ra, rule->ra_off);
	uint32_t off = (uint32_t)rule->cfa_off;

	switch (rule->cfa) {
	case UNWIND_END:
	case UNWIND_UNSUPPORTED:
		*packed = rule->cfa;
		return true;
	case UNWIND_PLT:
		*packed = UNWIND_PLT | off << 3;
		return rule->fp == UNWIND_SAME;
	case UNWIND_SP:
	case UNWIND_FP:
		if (fp < 0 || ra < 0 || off > CFA_OFF_MAX || off % 8)
			return false;
		*packed = rule->cfa | off / 8 << 3 | (uint32_t)fp << 16 | (uint32_t)ra << 24;
		return true;
	}
	return false;
}

static bool rule_equal(const void *array, uint32_t number, const void *key)
{
	const struct unwind_rule *rules = array;

	return !memcmp(&rules[number], key, sizeof(rules[number]));
}

static int pack_long(struct unwind_rules *r, const struct unwind_rule *rule, uint32_t *packed)
{
	uint32_t hash = (uint32_t)hash_secret(r->seed, rule, sizeof(*rule)), number;
	struct unwind_rule *grown;

	if (hash_index_find(&r->index, hash, rule_equal, r->long_rules, rule, &number)) {
		*packed = UNWIND_EXT | number << 3;
		return 0;
	}
	*packed = UNWIND_UNSUPPORTED;
	if (r->long_cnt == UNWIND_LONG_RULES_MAX)
		return 0;
	grown = array_grow(r->long_rules, r->long_cnt, &r->long_cap, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	r->long_rules = grown;
	if (hash_index_reserve(&r->index))
		return -ENOMEM;
	number = (uint32_t)r->long_cnt++;
	grown[number] = *rule;
	hash_index_fill(&r->index, hash_index_slot_of(&r->index, hash, rule_equal, grown, rule),
			hash, number);
	*packed = UNWIND_EXT | number << 3;
	return 0;
}

int unwind_rules_pack(struct unwind_rules *r, const struct cfi_state *state, uint32_t *packed)
{
	struct unwind_rule rule = unwind_rule_of(r->registers, state);

	return pack_short(&rule, packed) ? 0 : pack_long(r, &rule, packed);
}
