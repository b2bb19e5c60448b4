// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cfi_entries.c - CIEs and FDEs of every form, and broken ones. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "fake_cfi.h"
#include "elf/cfi_section.h"

#define FDE_REST 0x44, 0x0e, 16	/* instructions that every test's FDE has */

struct found {
	int what;
	struct cfi_fde fde;
	struct cfi_cie cie;
};

static struct cfi_entries entries;

/* A copy that ends where the section ends, so that a sanitizer sees reads behind it. */
static void begin(const struct fake_cfi *c, struct cfi_section *s)
{
	*s = (struct cfi_section){ .bytes = malloc(c->len + !c->len), .len = c->len,
				   .vaddr = c->vaddr, .debug = !c->vaddr, .measured = true };
	assert_non_null(s->bytes);
	memcpy(s->bytes, c->bytes, c->len);
	cfi_entries_begin(&entries, s);
}

/* The only FDE of these bytes. */
static struct found only(const struct fake_cfi *c)
{
	struct found f = { 0 };
	struct cfi_section s;

	begin(c, &s);
	f.what = cfi_entries_next(&entries, &f.fde);
	if (f.what == 1) {
		f.cie = *f.fde.cie;
		/* Readers into the copy are over with it: their lengths stay. */
		assert_in_range(f.fde.program.at - s.bytes, 0, (intmax_t)s.len);
	}
	assert_int_equal(cfi_entries_next(&entries, &(struct cfi_fde){ 0 }), 0);
	cfi_section_free(&s);
	return f;
}

/* A CIE with these bytes from its version on, and an FDE of it. */
static struct found with_cie(uint64_t vaddr, const uint8_t *bytes, size_t len)
{
	struct fake_cfi c = { .vaddr = vaddr };

	fake_raw_cie(&c, bytes, len);
	fake_fde(&c, FAKE_CODE, 100, CODE(FDE_REST));
	return only(&c);
}

#define EH_CIE(...) with_cie(FAKE_BASE, CODE(__VA_ARGS__))
#define DEBUG_CIE(...) with_cie(0, CODE(__VA_ARGS__))

static void assert_function(const struct found *f)
{
	assert_int_equal(f->what, 1);
	assert_int_equal(f->fde.start, FAKE_CODE);
	assert_int_equal(f->fde.end, FAKE_CODE + 100);
}

static void gcc_x86_64(void **state)
{
	struct found f = EH_CIE(1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8);

	assert_function(&f);
	assert_int_equal(f.cie.code_align, 1);
	assert_int_equal(f.cie.data_align, -8);
	assert_int_equal(f.cie.ra, 16);
	assert_false(f.cie.signal);
	assert_int_equal(cfi_left(&f.cie.program), 3);
	assert_int_equal(cfi_left(&f.fde.program), 3);
}

static void a_personality_and_a_signal_frame(void **state)
{
	struct found f = EH_CIE(1, 'z', 'P', 'L', 'R', 'S', 0, 1, 0x78, 16, 7, 0x9b, 1, 2, 3, 4,
				0x1b, 0x1b, 0x0c, 7, 8);

	assert_function(&f);
	assert_true(f.cie.signal);
	/* As the GNU assembler writes it into .debug_frame: without data. */
	f = DEBUG_CIE(1, 'S', 0, 1, 0x78, 16);
	assert_function(&f);
	assert_true(f.cie.signal);
	f = EH_CIE(1, 'z', 'P', 'R', 'B', 0, 1, 0x78, 16, 10, 0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0x1b);
	assert_function(&f);
	f = EH_CIE(1, 'z', 'P', 'R', 0, 1, 0x78, 16, 2, 0xff, 0x1b);
	assert_function(&f);
}

static void versions(void **state)
{
	struct found f = EH_CIE(3, 'z', 'R', 0, 1, 0x78, 0x90, 0, 1, 0x1b);

	assert_function(&f);
	assert_int_equal(f.cie.ra, 16);
	f = DEBUG_CIE(1, 0, 1, 0x78, 16);
	assert_function(&f);
	f = DEBUG_CIE(3, 0, 1, 0x78, 16);
	assert_function(&f);
	f = DEBUG_CIE(4, 0, 8, 0, 1, 0x78, 16);
	assert_function(&f);
	assert_int_equal(DEBUG_CIE(4, 0, 4, 0, 1, 0x78, 16).what, -EBADMSG);	/* 32 bit */
	assert_int_equal(DEBUG_CIE(4, 0, 8, 2, 1, 0x78, 16).what, -EBADMSG);	/* segments */
	assert_int_equal(EH_CIE(4, 0, 8, 0, 1, 0x78, 16).what, -EBADMSG);
	assert_int_equal(EH_CIE(2, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b).what, -EBADMSG);
}

static void augmentations_that_are_not_known(void **state)
{
	assert_int_equal(EH_CIE(1, 'z', 'X', 'R', 0, 1, 0x78, 16, 1, 0x1b).what, -EBADMSG);
	assert_int_equal(DEBUG_CIE(1, 'R', 0, 1, 0x78, 16, 0x1b).what, -EBADMSG);
	assert_int_equal(EH_CIE(1, 'e', 'h', 0, 1, 2, 3, 4, 5, 6, 7, 8, 1, 0x78, 16).what,
			 -EBADMSG);
	assert_int_equal(EH_CIE(1, 'z', 'R', 'R', 'R', 'R', 'R', 'R').what, -EBADMSG);
	/* Less data than the letters announce, or more than there is. */
	assert_int_equal(EH_CIE(1, 'z', 'R', 0, 1, 0x78, 16, 0).what, -EBADMSG);
	assert_int_equal(EH_CIE(1, 'z', 'R', 0, 1, 0x78, 16, 100, 0x1b).what, -EBADMSG);
}

/* An FDE whose addresses have this encoding; bytes: both of them, as they stand there. */
static struct found encoded(uint8_t encoding, const uint8_t *bytes, size_t len)
{
	struct fake_cfi c = { .vaddr = FAKE_BASE };
	const uint8_t cie[] = { 1, 'z', 'R', 0, 1, 0x78, 16, 1, encoding };
	size_t at;

	fake_raw_cie(&c, cie, sizeof(cie));
	at = c.len;
	fake_uint(&c, 0, 4);
	fake_uint(&c, at + 4 - c.cie, 4);
	fake_bytes(&c, bytes, len);
	fake_uint(&c, 0, 1);
	fake_end(&c, at);
	return only(&c);
}

#define ENCODED(how, ...) encoded(how, CODE(__VA_ARGS__))

static void encodings(void **state)
{
	struct found f = ENCODED(0x00, 0, 0x80, 1, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0);

	assert_function(&f);
	f = ENCODED(0x04, 0, 0x80, 1, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0);
	assert_function(&f);
	f = ENCODED(0x0c, 0, 0x80, 1, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0);
	assert_function(&f);
	f = ENCODED(0x03, 0, 0x80, 1, 0, 100, 0, 0, 0);
	assert_function(&f);
	f = ENCODED(0x0b, 0, 0x80, 1, 0, 100, 0, 0, 0);
	assert_function(&f);
	f = ENCODED(0x01, 0x80, 0x80, 6, 100);
	assert_function(&f);
	f = ENCODED(0x09, 0x80, 0x80, 6, 0xe4, 0);
	assert_function(&f);
	/* Relative to itself: the CIE has 24 bytes, and 8 are before it. */
	f = ENCODED(0x12, 0, 1, 100, 0);
	assert_int_equal(f.fde.start, FAKE_BASE + 0x100 + 28);
	f = ENCODED(0x1a, 0xff, 0xff, 100, 0);
	assert_int_equal(f.fde.start, FAKE_BASE - 1 + 28);
	/* Relative to what is not known here, indirect, aligned, no form. */
	assert_int_equal(ENCODED(0x33, 0, 0x80, 1, 0, 100, 0, 0, 0).what, -EBADMSG);
	assert_int_equal(ENCODED(0x83, 0, 0x80, 1, 0, 100, 0, 0, 0).what, -EBADMSG);
	assert_int_equal(ENCODED(0x50, 0, 0x80, 1, 0, 100, 0, 0, 0).what, -EBADMSG);
	assert_int_equal(ENCODED(0x05, 0, 0x80, 1, 0, 100, 0, 0, 0).what, -EBADMSG);
}

static void a_function_without_an_end(void **state)
{
	struct found f = ENCODED(0x04, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x80);

	assert_int_equal(f.what, -EBADMSG);
	f = ENCODED(0x0b, 0, 0x80, 1, 0, 0xff, 0xff, 0xff, 0xff);
	assert_int_equal(f.what, -EBADMSG);
}

static void entries_of_64_bits(void **state)
{
	struct fake_cfi c = { .vaddr = 0 };
	struct found found;
	size_t cie;

	/* .debug_frame: lengths and offsets have 8 bytes. */
	fake_uint(&c, 0xffffffff, 4);
	fake_uint(&c, 8 + 5, 8);
	fake_uint(&c, UINT64_MAX, 8);
	fake_bytes(&c, CODE(1, 0, 1, 0x78, 16));
	fake_uint(&c, 0xffffffff, 4);
	fake_uint(&c, 8 + 16 + 3, 8);
	fake_uint(&c, 0, 8);
	fake_uint(&c, FAKE_CODE, 8);
	fake_uint(&c, 100, 8);
	fake_bytes(&c, CODE(FDE_REST));
	found = only(&c);
	assert_function(&found);
	/* .eh_frame: the offset has 4. */
	c = (struct fake_cfi){ .vaddr = FAKE_BASE };
	fake_cie(&c);
	cie = c.len;
	fake_uint(&c, 0xffffffff, 4);
	fake_uint(&c, 4 + 8 + 1, 8);
	fake_uint(&c, cie + 12, 4);
	fake_uint(&c, FAKE_CODE - (FAKE_BASE + c.len), 4);
	fake_uint(&c, 100, 4);
	fake_uint(&c, 0, 1);
	found = only(&c);
	assert_function(&found);
}

static void an_fde_without_a_cie(void **state)
{
	struct fake_cfi c = { .vaddr = FAKE_BASE };

	fake_cie(&c);
	c.cie += 4;	/* where no CIE is */
	fake_fde(&c, FAKE_CODE, 100, CODE(FDE_REST));
	assert_int_equal(only(&c).what, -EBADMSG);
	c = (struct fake_cfi){ .vaddr = FAKE_BASE };
	fake_cie(&c);
	c.cie = 0x100000;	/* before the section */
	fake_fde(&c, FAKE_CODE, 100, CODE(FDE_REST));
	assert_int_equal(only(&c).what, -EBADMSG);
	c = (struct fake_cfi){ .vaddr = 0 };
	fake_cie(&c);
	c.cie = 0x100000;	/* behind it */
	fake_fde(&c, FAKE_CODE, 100, CODE(FDE_REST));
	assert_int_equal(only(&c).what, -EBADMSG);
	/* An FDE of which another one says that it is a CIE. */
	c = (struct fake_cfi){ .vaddr = FAKE_BASE };
	fake_cie(&c);
	c.cie = c.len;
	fake_fde(&c, FAKE_CODE, 100, CODE(FDE_REST));
	assert_int_equal(only(&c).what, -EBADMSG);
}

static void a_long_cie_is_refused(void **state)
{
	uint8_t bytes[CFI_CIE_MAX] = { 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b };

	assert_int_equal(with_cie(FAKE_BASE, bytes, 900).what, 1);
	assert_int_equal(with_cie(FAKE_BASE, bytes, sizeof(bytes)).what, -EBADMSG);
}

/* An entry of length 0 is passed over if the section's length is known, else it is the end. */
static void terminators(void **state)
{
	struct fake_cfi c = { .vaddr = FAKE_BASE };
	struct cfi_section s;
	struct cfi_fde fde;

	fake_cie(&c);
	fake_fde(&c, FAKE_CODE, 100, CODE(FDE_REST));
	fake_uint(&c, 0, 4);
	fake_fde(&c, FAKE_CODE + 100, 100, CODE(FDE_REST));
	begin(&c, &s);
	assert_int_equal(cfi_entries_next(&entries, &fde), 1);
	assert_int_equal(cfi_entries_next(&entries, &fde), 1);
	assert_int_equal(fde.start, FAKE_CODE + 100);
	assert_int_equal(cfi_entries_next(&entries, &fde), 0);
	s.measured = false;
	cfi_entries_begin(&entries, &s);
	assert_int_equal(cfi_entries_next(&entries, &fde), 1);
	assert_int_equal(cfi_entries_next(&entries, &fde), 0);
	assert_int_equal(cfi_entries_next(&entries, &fde), 0);
	cfi_section_free(&s);
}

static void others_follow_a_broken_one(void **state)
{
	struct fake_cfi c = { .vaddr = FAKE_BASE };
	struct cfi_section s;
	struct cfi_fde fde;
	size_t good;

	fake_cie(&c);
	good = c.cie;
	fake_raw_cie(&c, CODE(99));
	fake_fde(&c, FAKE_CODE, 100, CODE(FDE_REST));
	c.cie = good;
	fake_fde(&c, FAKE_CODE + 100, 100, CODE(FDE_REST));
	begin(&c, &s);
	assert_int_equal(cfi_entries_next(&entries, &fde), -EBADMSG);
	assert_int_equal(cfi_entries_next(&entries, &fde), 1);
	assert_int_equal(cfi_entries_next(&entries, &fde), 0);
	cfi_section_free(&s);
}

/* A section that ends anywhere: no byte behind its end is read. */
static void cut_off(void **state)
{
	struct fake_cfi c = { .vaddr = FAKE_BASE }, cut;
	struct cfi_section s;
	struct cfi_fde fde;
	size_t len;
	int what, cnt;

	fake_cie(&c);
	fake_fde(&c, FAKE_CODE, 100, CODE(FDE_REST));
	fake_fde(&c, FAKE_CODE + 100, 100, CODE(FDE_REST));
	for (len = 0; len < c.len; len++) {
		cut = c;
		cut.len = len;
		begin(&cut, &s);
		for (cnt = 0; (what = cfi_entries_next(&entries, &fde)); cnt++)
			assert_true(what == 1 || what == -EBADMSG);
		assert_in_range(cnt, 0, 2);
		cfi_section_free(&s);
	}
}

/* More CIEs than the cache has places for: each FDE gets its own. */
static void many_cies(void **state)
{
	struct fake_cfi c = { .vaddr = FAKE_BASE };
	uint8_t cie[] = { 1, 'z', 'R', 0, 1, 0x78, 0, 1, 0x1b };
	size_t cies[100], i;
	struct cfi_section s;
	struct cfi_fde fde;

	for (i = 0; i < 100; i++) {
		cie[6] = (uint8_t)i;
		fake_raw_cie(&c, cie, sizeof(cie));
		cies[i] = c.cie;
	}
	for (i = 0; i < 200; i++) {
		c.cie = cies[i * 37 % 100];
		fake_fde(&c, FAKE_CODE + 100 * i, 100, CODE(FDE_REST));
	}
	begin(&c, &s);
	for (i = 0; i < 200; i++) {
		assert_int_equal(cfi_entries_next(&entries, &fde), 1);
		assert_int_equal(fde.cie->ra, i * 37 % 100);
	}
	cfi_section_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gcc_x86_64),
		cmocka_unit_test(a_personality_and_a_signal_frame),
		cmocka_unit_test(versions),
		cmocka_unit_test(augmentations_that_are_not_known),
		cmocka_unit_test(encodings),
		cmocka_unit_test(a_function_without_an_end),
		cmocka_unit_test(entries_of_64_bits),
		cmocka_unit_test(an_fde_without_a_cie),
		cmocka_unit_test(a_long_cie_is_refused),
		cmocka_unit_test(terminators),
		cmocka_unit_test(others_follow_a_broken_one),
		cmocka_unit_test(cut_off),
		cmocka_unit_test(many_cies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
