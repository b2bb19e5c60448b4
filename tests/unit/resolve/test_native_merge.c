// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_native_merge.c - where Python frames stand among those of machine code.
 *
 * C frames are written as a text, innermost first: c is a function like any other, u one without
 * a name, e an eval frame, p plumbing, s what is before the first Python frame. C and U are in
 * another file. A result has the numbers of C frames, P for a Python frame, X where the walk ended,
 * and G for the gap.
 */
#include "tests/unit/tach_test.h"

#include <ctype.h>

#include "native/native.h"
#include "resolve/native_merge.h"

#define SP 0x7ffd00001000ull
#define FRAME_BYTES 0x40u
#define NOWHERE (-1)		/* the entry's address is not known */
#define SURE .uncertain = false
#define BEYOND 1000		/* it is further out than all frames that were walked */

struct entry {
	int frame;		/* the C frame that it lies in */
	uint32_t frames;
};

struct stack_case {
	const char *native;
	enum native_end end;
	uint32_t python;
	const char *folded, *full;
	bool uncertain;
	bool cut;		/* the Python stack is not whole */
	uint32_t unnamed;	/* frames that are left out because they have no name */
	uint32_t nentries;
	struct entry entries[4];
};

static uint8_t class_of(char c)
{
	return c == 'e' ? NATIVE_EVAL : c == 'p' ? NATIVE_PLUMBING : c == 's' ? NATIVE_START :
	       tolower(c) == 'u' ? NATIVE_UNNAMED : NATIVE_CODE;
}

static uint32_t file_of(char c)
{
	return isupper(c) ? 2 : 1;
}

static char *text_of(const struct native_merge *m, char out[4096])
{
	size_t len = 0;
	uint32_t i;

	out[0] = '\0';
	for (i = 0; i < m->cnt; i++) {
		uint16_t item = m->items[i];

		len += (size_t)snprintf(out + len, 4096 - len, i ? " " : "");
		if (item >= NATIVE_MERGE_GAP)
			len += (size_t)snprintf(out + len, 4096 - len,
						item == NATIVE_MERGE_END ? "X" :
						item == NATIVE_MERGE_GAP ? "G" : "P");
		else
			len += (size_t)snprintf(out + len, 4096 - len, "%u", item);
	}
	return out;
}

static void check(const struct stack_case *c, bool without_entries)
{
	struct raw_native raw = {
		.sp = SP, .end = (uint8_t)c->end, .nframes = (uint16_t)strlen(c->native),
		.nentries = (uint16_t)c->nentries,
	};
	uint8_t classes[RAW_NATIVE_FRAMES];
	struct native_merge_in in = {
		.raw = &raw, .classes = classes, .python = c->python, .python_whole = !c->cut,
		.without_entries = without_entries,
	};
	struct native_merge out;
	char text[4096];
	uint32_t i;

	for (i = 0; i < raw.nframes; i++) {
		classes[i] = class_of(c->native[i]);
		raw.frames[i].below = (i + 1) * FRAME_BYTES;
		raw.frames[i].file = file_of(c->native[i]);
	}
	for (i = 0; i < c->nentries; i++) {
		int frame = c->entries[i].frame;

		raw.entries[i].frames = c->entries[i].frames;
		raw.entries[i].at = frame == NOWHERE ? 0 :
				    SP + (uint64_t)frame * FRAME_BYTES + FRAME_BYTES / 2;
	}
	native_merge(&in, &out);
	assert_string_equal(text_of(&out, text), c->folded);
	assert_int_equal(out.uncertain, c->uncertain);
	assert_int_equal(out.folded, c->unnamed);
	in.full = true;
	native_merge(&in, &out);
	assert_string_equal(text_of(&out, text), c->full);
	assert_int_equal(out.uncertain, c->uncertain);
	assert_int_equal(out.folded, 0);
}

/* A handler's frames are on another stack (sigaltstack), farther away than `below` can say. */
static void test_another_stack(void **state)
{
	static const uint64_t away[] = { 0x7ffe00001000, 0x123450000, -0x7ffe00001000ull,
					 -0x5000ull };
	static const uint8_t classes[] = { NATIVE_CODE, NATIVE_CODE, NATIVE_EVAL, NATIVE_CODE,
					   NATIVE_CODE, NATIVE_START };
	struct native_merge_in in = { .classes = classes, .python = 3, .python_whole = true };
	struct raw_native raw = { .sp = SP, .end = NATIVE_WHOLE, .nframes = 6, .nentries = 2 };
	struct native_merge out;
	char text[4096];
	size_t i, j;

	(void)state;
	in.raw = &raw;
	for (i = 0; i < ARRAY_SIZE(away); i++) {
		for (j = 0; j < raw.nframes; j++)
			raw.frames[j].below = (uint32_t)((j + 1) * FRAME_BYTES +
							 (j > 0 ? away[i] : 0));
		raw.entries[0] = (struct raw_entry){ .at = SP + away[i] + 2 * FRAME_BYTES + 8,
						     .frames = 1 };
		/* Nobody knows the name of this one. */
		raw.entries[1] = (struct raw_entry){ .at = SP + away[i] + 4 * FRAME_BYTES + 8,
						     .frames = 3 };
		native_merge(&in, &out);
		assert_string_equal(text_of(&out, text), "0 1 P 3 P P");
		assert_false(out.uncertain);
	}
}

/* Up to 3.10: an eval frame for each Python frame. */
static void test_without_entries(void **state)
{
	static const struct stack_case cases[] = {
		/* A C function, called by a function that a function called; sort() called that. */
		{ "cpepecpess", NATIVE_WHOLE, 3, "0 P P 5 P", "0 1 P 2 3 P 4 5 6 P 7 8 9", SURE },
		/* Python's own instructions */
		{ "es", NATIVE_WHOLE, 1, "P", "P 0 1", SURE },
		/* The innermost eval frame has not linked its Python frame yet. */
		{ "epepes", NATIVE_WHOLE, 2, "P P", "0 1 P 2 3 P 4 5", SURE },
		{ "cepcpes", NATIVE_WHOLE, 1, "0 3 P", "0 1 2 3 4 P 5 6", SURE },
		/* ... or has none any more: _Py_CheckFunctionResult() */
		{ "ccpepces", NATIVE_WHOLE, 1, "0 1 5 P", "0 1 2 3 4 5 P 6 7", SURE },
		/* ... but here it has: it calls much. Further out is another greenlet. */
		{ "ccccepces", NATIVE_WHOLE, 1, "0 1 2 3 P", "0 1 2 3 P 4 5 6 7 8",
		  .uncertain = true },
		{ "cepepes", NATIVE_WHOLE, 1, "0 P", "0 P 1 2 3 4 5 6", .uncertain = true },
		/* Machine code that nobody can unwind, called by Python */
		{ "cc", NATIVE_JIT, 2, "0 1 X P P", "0 1 X P P", SURE },
		{ "cepc", NATIVE_NO_ROW, 2, "0 P 3 X P", "0 P 1 2 3 X P", SURE },
		/* ... and one that calls Python: folded with what is outside */
		{ "cepc", NATIVE_JIT, 1, "0 P", "0 P 1 2 3 X", SURE },
		{ "", NATIVE_NO_MAPPINGS, 2, "X P P", "X P P", SURE },
		/* The stack is deeper: nobody knows whether an eval frame has no Python frame. */
		{ "epe", NATIVE_DEPTH, 2, "P P", "P 0 1 P 2 X", SURE },
		/* Too few eval frames */
		{ "ces", NATIVE_WHOLE, 3, "0 P P P", "0 P 1 2 P P", .uncertain = true },
		{ "ccc", NATIVE_WHOLE, 2, "0 1 2 P P", "0 1 2 P P", .uncertain = true },
		/* The Python stack was cut: the outermost ones are missing. */
		{ "cepepes", NATIVE_WHOLE, 2, "0 P P", "0 P 1 2 P 3 4 5 6", .cut = true },
		{ "epepes", NATIVE_WHOLE, 2, "P P", "P 0 1 P 2 3 4 5", .cut = true },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check(&cases[i], true);
}

/* 3.11: Python calls Python in the same eval frame; the _PyCFrame lies in it. */
static void test_3_11(void **state)
{
	static const struct stack_case cases[] = {
		{ "cpepcpes", NATIVE_WHOLE, 5, "0 P P P 4 P P", "0 1 P P P 2 3 4 5 P P 6 7",
		  .nentries = 2, .entries = { { 2, 3 }, { 6, 5 } } },
		/* Only the innermost address is known, or none. */
		{ "cpepcpes", NATIVE_WHOLE, 5, "0 P P P 4 P P", "0 1 P P P 2 3 4 5 P P 6 7",
		  .nentries = 2, .entries = { { 2, 3 }, { NOWHERE, 5 } } },
		{ "cpepcpes", NATIVE_WHOLE, 5, "0 P P P 4 P P", "0 1 P P P 2 3 4 5 P P 6 7",
		  .nentries = 2, .entries = { { NOWHERE, 3 }, { NOWHERE, 5 } } },
		/* A new eval frame that is not linked yet */
		{ "epcpes", NATIVE_WHOLE, 2, "2 P P", "0 1 2 3 P P 4 5",
		  .nentries = 1, .entries = { { 4, 2 } } },
		{ "epcpes", NATIVE_WHOLE, 2, "2 P P", "0 1 2 3 P P 4 5",
		  .nentries = 1, .entries = { { NOWHERE, 2 } } },
		/* Two more than entries, of which nobody knows */
		{ "epepes", NATIVE_WHOLE, 1, "P", "P 0 1 2 3 4 5", .uncertain = true,
		  .nentries = 1, .entries = { { NOWHERE, 1 } } },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check(&cases[i], false);
}

/* From 3.12 on the shim lies in the eval frame. */
static void test_shims(void **state)
{
	static const struct stack_case cases[] = {
		/* key of sort(), called through ctypes' callback */
		{ "epccpess", NATIVE_WHOLE, 4, "P P 2 3 P P", "P P 0 1 2 3 4 P P 5 6 7",
		  .nentries = 2, .entries = { { 0, 2 }, { 5, 4 } } },
		/* sum() of a generator: gen_send_ex() is plumbing */
		{ "epcpes", NATIVE_WHOLE, 2, "P 2 P", "P 0 1 2 3 P 4 5",
		  .nentries = 2, .entries = { { 0, 1 }, { 4, 2 } } },
		/* The shim is linked, its first Python frame is not. */
		{ "epcpes", NATIVE_WHOLE, 1, "2 P", "0 1 2 3 P 4 5",
		  .nentries = 2, .entries = { { 0, 0 }, { 4, 1 } } },
		/* Not even the shim is. */
		{ "epcpes", NATIVE_WHOLE, 1, "2 P", "0 1 2 3 P 4 5",
		  .nentries = 1, .entries = { { 4, 1 } } },
		/* Nobody knows the interpreter's functions. */
		{ "ccccc", NATIVE_WHOLE, 3, "0 P P P", "0 P P P 1 2 3 4",
		  .nentries = 1, .entries = { { 1, 3 } } },
		/* A tail-calling interpreter: the instruction's function is plumbing. */
		{ "cpes", NATIVE_WHOLE, 1, "0 P", "0 1 P 2 3",
		  .nentries = 1, .entries = { { 2, 1 } } },
		/* A sub-interpreter: the other one's Python frames are not in the sample. */
		{ "cepcpes", NATIVE_WHOLE, 1, "0 P", "0 P 1 2 3 4 5 6",
		  .nentries = 1, .entries = { { 1, 1 } } },
		/* The walk ended before an eval frame. */
		{ "cepc", NATIVE_JIT, 4, "0 P 3 X P P P", "0 P 1 2 3 X P P P",
		  .nentries = 2, .entries = { { 1, 1 }, { BEYOND, 4 } } },
		{ "cc", NATIVE_UNREADABLE, 4, "0 1 X P P P P", "0 1 X P P P P",
		  .nentries = 2, .entries = { { 3, 1 }, { BEYOND, 4 } } },
		/* ... at the thread's first function: its Python is on another stack. */
		{ "ccs", NATIVE_WHOLE, 2, "0 1 P P", "0 1 2 P P", .uncertain = true,
		  .nentries = 1, .entries = { { BEYOND, 2 } } },
		/* The Python stack was cut before its second shim. */
		{ "cepcpes", NATIVE_WHOLE, 5, "0 P P 3 P P P", "0 P P 1 2 3 4 P P P 5 6",
		  .cut = true, .nentries = 1, .entries = { { 1, 2 } } },
		/* ... or its entries are missing for no reason. */
		{ "cepcpes", NATIVE_WHOLE, 5, "0 P P 3 P P P", "0 P P 1 2 3 4 P P P 5 6",
		  .uncertain = true, .nentries = 1, .entries = { { 1, 2 } } },
		{ "cepcpes", NATIVE_WHOLE, 2, "0 P P", "0 P P 1 2 3 4 5 6", .uncertain = true },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check(&cases[i], false);
}

/* A function without a name gives way to its caller in the same file, and to no other. */
static void test_without_a_name(void **state)
{
	static const struct stack_case old[] = {
		{ "uucpes", NATIVE_WHOLE, 1, "2 P", "0 1 2 3 P 4 5", .unnamed = 2 },
		/* What the interpreter itself does is done for the Python function. */
		{ "uupes", NATIVE_WHOLE, 1, "P", "0 1 2 P 3 4", .unnamed = 2 },
		{ "ues", NATIVE_WHOLE, 1, "P", "0 P 1 2", .unnamed = 1 },
		/* The outermost of each other file stays: it says which file. */
		{ "UUcpes", NATIVE_WHOLE, 1, "1 2 P", "0 1 2 3 P 4 5", .unnamed = 1 },
		{ "UUpes", NATIVE_WHOLE, 1, "1 P", "0 1 2 P 3 4", .unnamed = 1 },
		{ "UCUcCpes", NATIVE_WHOLE, 1, "1 2 3 4 P", "0 1 2 3 4 5 P 6 7", .unnamed = 1 },
		/* What is called in the interpreter's file is done for who calls it. */
		{ "uuCpes", NATIVE_WHOLE, 1, "2 P", "0 1 2 3 P 4 5", .unnamed = 2 },
		{ "UuUpes", NATIVE_WHOLE, 1, "0 2 P", "0 1 2 3 P 4 5", .unnamed = 1 },
		/* Between two Python functions */
		{ "upecucpess", NATIVE_WHOLE, 2, "P 3 5 P", "0 1 P 2 3 4 5 6 P 7 8 9",
		  .unnamed = 2 },
		/* The walk ended there: nobody knows its caller. */
		{ "uu", NATIVE_JIT, 1, "1 X P", "0 1 X P", .unnamed = 1 },
		{ "ueu", NATIVE_JIT, 1, "P", "0 P 1 2 X", .unnamed = 1 },
		/* A thread without Python */
		{ "uucU", NATIVE_WHOLE, 0, "2 3", "0 1 2 3", .unnamed = 2 },
	};
	static const struct stack_case new[] = {
		{ "upeucuecpes", NATIVE_WHOLE, 3, "P 4 P 7 P", "0 1 P 2 3 4 5 P 6 7 8 P 9 10",
		  .unnamed = 3, .nentries = 3, .entries = { { 2, 1 }, { 6, 2 }, { 9, 3 } } },
		{ "UUpecpes", NATIVE_WHOLE, 4, "1 P P 4 P P", "0 1 2 P P 3 4 5 P P 6 7",
		  .unnamed = 1, .nentries = 2, .entries = { { 3, 2 }, { 6, 4 } } },
		/* A new eval frame that is not linked yet */
		{ "uepucpes", NATIVE_WHOLE, 2, "4 P P", "0 1 2 3 4 5 P P 6 7",
		  .unnamed = 2, .nentries = 1, .entries = { { 6, 2 } } },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(old); i++)
		check(&old[i], true);
	for (i = 0; i < ARRAY_SIZE(new); i++)
		check(&new[i], false);
}

/* Without Python frames nothing is folded. */
static void test_no_python(void **state)
{
	static const struct stack_case cases[] = {
		{ "cpes", NATIVE_WHOLE, 0, "0 1 2 3", "0 1 2 3", SURE },
		{ "cc", NATIVE_NO_TABLE, 0, "0 1 X", "0 1 X", SURE },
		{ "", NATIVE_NO_REGS, 0, "X", "X", SURE },
		{ "", NATIVE_WHOLE, 0, "", "", SURE },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		check(&cases[i], true);
		check(&cases[i], false);
	}
}

/* Entries that cannot be: out of order, twice in a frame, more than there are frames. */
static void test_hostile_entries(void **state)
{
	static const struct stack_case cases[] = {
		{ "cepes", NATIVE_WHOLE, 2, "0 P P", "0 1 2 P P 3 4", .uncertain = true,
		  .nentries = 2, .entries = { { 3, 2 }, { 1, 1 } } },
		{ "cepes", NATIVE_WHOLE, 2, "0 P P", "0 P 1 2 3 4 P", .uncertain = true,
		  .nentries = 2, .entries = { { 1, 1 }, { 1, 2 } } },
		{ "cepes", NATIVE_WHOLE, 2, "0 P P", "0 P P 1 2 3 4", .uncertain = true,
		  .nentries = 2, .entries = { { 1, 9 }, { 3, 4000000000u } } },
		{ "cepes", NATIVE_JIT, 3, "0 P P X P", "0 P P 1 2 3 4 X P", .uncertain = true,
		  .nentries = 3, .entries = { { 1, 2 }, { 3, 1 }, { 3, 3 } } },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check(&cases[i], false);
}

/*
 * A deep stack. Each EVERY-th C frame is an eval frame with one Python frame: INSIDE of them are
 * before the gap, IN_GAP in it, OUTSIDE after it.
 */
#define EVERY 8
#define INSIDE (RAW_NATIVE_INNER / EVERY)
#define IN_GAP 10
#define OUTSIDE ((RAW_NATIVE_OUTER - 1) / EVERY)

static void make_deep(struct raw_native *raw, uint8_t classes[RAW_NATIVE_FRAMES])
{
	uint32_t i;

	*raw = (struct raw_native){ .sp = SP, .nframes = RAW_NATIVE_FRAMES,
				    .left_out = IN_GAP * EVERY };
	for (i = 0; i < RAW_NATIVE_FRAMES; i++) {
		/* The one that stands for the gap reaches from its inner end to its outer end. */
		uint32_t n = i < RAW_NATIVE_INNER ? i + 1 : i + raw->left_out;

		classes[i] = n % EVERY || i == RAW_NATIVE_INNER ? NATIVE_CODE : NATIVE_EVAL;
		raw->frames[i].below = n * FRAME_BYTES;
	}
	raw->nentries = INSIDE + IN_GAP + OUTSIDE;
	for (i = 0; i < raw->nentries; i++)
		raw->entries[i] = (struct raw_entry){
			.at = SP + ((i + 1) * EVERY - 1) * FRAME_BYTES + FRAME_BYTES / 2,
			.frames = i + 1,
		};
}

/* The whole result: so many Python frames are in the gap, and each call outside of it has one. */
static char *deep_text(uint32_t in_gap, uint32_t outside, char out[4096])
{
	size_t len = 0;
	uint32_t i;

	for (i = 1; i <= RAW_NATIVE_INNER; i++)
		len += (size_t)(i % EVERY ? snprintf(out + len, 4096 - len, "%u ", i - 1) :
					    snprintf(out + len, 4096 - len, "P "));
	if (in_gap + outside)
		len += (size_t)snprintf(out + len, 4096 - len, "G ");
	for (; in_gap; in_gap--)
		len += (size_t)snprintf(out + len, 4096 - len, "P ");
	for (i = 1; i <= outside * EVERY; i++)
		len += (size_t)(i % EVERY ? snprintf(out + len, 4096 - len, "%u ",
						     RAW_NATIVE_INNER + i) :
					    snprintf(out + len, 4096 - len, "P "));
	out[len - 1] = '\0';
	return out;
}

static void test_gap(void **state)
{
	uint8_t classes[RAW_NATIVE_FRAMES];
	char text[4096], expected[4096];
	struct native_merge out;
	struct raw_native raw;
	struct native_merge_in in = { .raw = &raw, .classes = classes };
	uint32_t how, i;

	/* The addresses of entries; their number, counted from both ends; no entries. */
	for (how = 0; how < 3; how++) {
		make_deep(&raw, classes);
		in.without_entries = how == 2;
		for (i = 0; how == 1 && i < raw.nentries; i++)
			raw.entries[i].at = 0;
		in.python_whole = true;
		in.python = INSIDE + IN_GAP + OUTSIDE;
		native_merge(&in, &out);
		assert_string_equal(text_of(&out, text), deep_text(IN_GAP, OUTSIDE, expected));
		assert_false(out.uncertain);
		/* No call is in the gap. */
		in.python = INSIDE + OUTSIDE;
		for (i = INSIDE; i < INSIDE + OUTSIDE; i++)
			raw.entries[i].at = how ? 0 : raw.entries[i + IN_GAP].at;
		raw.nentries = INSIDE + OUTSIDE;
		native_merge(&in, &out);
		assert_string_equal(text_of(&out, text), deep_text(0, OUTSIDE, expected));
		assert_false(out.uncertain);
		/* All calls are further in: nobody sees the gap. */
		in.python = raw.nentries = INSIDE;
		in.python_whole = false;
		native_merge(&in, &out);
		assert_string_equal(text_of(&out, text), deep_text(0, 0, expected));
		assert_false(out.uncertain);
	}
	/* The outermost Python frames are missing, or C frames are: only one end can be counted. */
	for (how = 0; how < 2; how++) {
		make_deep(&raw, classes);
		in.without_entries = true;
		in.python_whole = how;
		in.python = INSIDE + 5;
		raw.end = how ? NATIVE_TIME : NATIVE_WHOLE;
		native_merge(&in, &out);
		assert_string_equal(text_of(&out, text), deep_text(5, 0, expected));
	}
}

/* Whatever comes in: each Python frame once, C frames in their order, at most one end and gap. */
static void test_any_input(void **state)
{
	static const char kinds[] = "cpeecsuU";
	uint64_t seed = 42;
	struct native_merge out;
	struct raw_native raw;
	uint8_t classes[RAW_NATIVE_FRAMES];
	uint32_t round, i;

	for (round = 0; round < 200000; round++) {
		uint32_t n = (uint32_t)(rnd(&seed) % (round % 16 ? 8 : RAW_NATIVE_FRAMES + 1));
		struct native_merge_in in = {
			.raw = &raw, .classes = classes,
			.python = (uint32_t)(rnd(&seed) % (round % 16 ? 6 : ABI_MAX_FRAMES + 1)),
			.python_whole = rnd(&seed) % 2, .without_entries = rnd(&seed) % 3 == 0,
			.full = rnd(&seed) % 2,
		};
		uint32_t python = 0, native = 0, ends = 0, gaps = 0, next = 0;

		raw.sp = rnd(&seed) % 4 ? SP : rnd(&seed);
		raw.end = (uint8_t)(rnd(&seed) % NATIVE_END_CNT);
		raw.nframes = (uint16_t)n;
		raw.left_out = n > RAW_NATIVE_INNER && rnd(&seed) % 2;
		raw.nentries = (uint16_t)(rnd(&seed) % (round % 16 ? 4 : RAW_NATIVE_ENTRIES + 1));
		for (i = 0; i < n; i++) {
			char kind = kinds[rnd(&seed) % 8];

			classes[i] = class_of(kind);
			raw.frames[i].file = file_of(kind);
			raw.frames[i].below = rnd(&seed) % 32 ? (i + 1) * FRAME_BYTES :
					      (uint32_t)rnd(&seed);
		}
		for (i = 0; i < raw.nentries; i++) {
			raw.entries[i].at = rnd(&seed) % 4 ? raw.sp + rnd(&seed) % (n * 64 + 64) :
					    rnd(&seed) % 2 ? rnd(&seed) : 0;
			raw.entries[i].frames = (uint32_t)(rnd(&seed) % 8 ? rnd(&seed) % 8 :
							   rnd(&seed));
		}
		native_merge(&in, &out);
		assert_in_range(out.cnt, 0, NATIVE_MERGE_MAX);
		for (i = 0; i < out.cnt; i++) {
			uint32_t item = out.items[i];

			python += item == NATIVE_MERGE_PYTHON;
			ends += item == NATIVE_MERGE_END;
			gaps += item == NATIVE_MERGE_GAP;
			if (item >= NATIVE_MERGE_GAP)
				continue;
			assert_true(!raw.left_out || (item > RAW_NATIVE_INNER) == gaps);
			assert_true(item >= next && item < n && !ends);
			assert_true(in.full || !in.python || classes[item] == NATIVE_CODE ||
				    classes[item] == NATIVE_UNNAMED);
			next = item + 1;
			native++;
		}
		assert_int_equal(python, in.python);
		assert_true(ends <= (raw.end != NATIVE_WHOLE) && gaps <= raw.left_out);
		if (in.full || !in.python) {
			assert_int_equal(gaps, raw.left_out);
			assert_int_equal(native + out.folded, n - gaps);
			assert_int_equal(ends, raw.end != NATIVE_WHOLE);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_entries),
		cmocka_unit_test(test_3_11),
		cmocka_unit_test(test_shims),
		cmocka_unit_test(test_without_a_name),
		cmocka_unit_test(test_no_python),
		cmocka_unit_test(test_hostile_entries),
		cmocka_unit_test(test_another_stack),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_any_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
