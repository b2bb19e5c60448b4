// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cpython_code.c - strings, code objects and opcodes out of a made-up memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cpython/code.h"
#include "cpython/layout.h"
#include "model/event.h"

/* Two mapped pages with nothing around them. */
#define MEM_BASE  0x10000ull
#define MEM_BYTES 8192u

struct memory {
	uint8_t bytes[MEM_BYTES];
	unsigned int reads;
	unsigned int change_at;		/* before this read ... */
	uint64_t change_addr;		/* ... this byte is flipped */
};

static struct memory m;
static struct cpython_image img;

static int mem_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct memory *mem = ctx;

	if (++mem->reads == mem->change_at)
		mem->bytes[mem->change_addr - MEM_BASE] ^= 1;
	if (addr < MEM_BASE || addr - MEM_BASE > MEM_BYTES ||
	    len > MEM_BYTES - (addr - MEM_BASE))
		return -EFAULT;
	memcpy(buf, mem->bytes + (addr - MEM_BASE), len);
	return 0;
}

static const struct target_mem target = { mem_read, &m };

static void use(unsigned int minor)
{
	memset(&m, 0, sizeof(m));
	memset(&img, 0, sizeof(img));
	img.major = 3;
	img.minor = minor;
	assert_int_equal(layout_from_table(&img), 0);
}

static void poke(uint64_t addr, const void *data, size_t len)
{
	assert_true(addr >= MEM_BASE && addr + len <= MEM_BASE + MEM_BYTES);
	memcpy(m.bytes + (addr - MEM_BASE), data, len);
}

static void poke64(uint64_t addr, uint64_t v)
{
	poke(addr, &v, 8);
}

/* A str header; returns where its data goes. */
static uint64_t put_str(uint64_t addr, unsigned int kind, bool ascii, bool compact, uint64_t len)
{
	const struct py_object_layout *o = &img.objects;
	uint32_t state = kind << o->str_kind_shift;

	if (ascii)
		state |= o->str_ascii_bit;
	if (compact)
		state |= o->str_compact_bit;
	poke64(addr + o->str_length, len);
	poke(addr + o->str_state, &state, 4);
	return addr + (ascii ? o->str_ascii_data : o->str_compact_data);
}

static void put_ascii(uint64_t addr, const char *s)
{
	poke(put_str(addr, 1, true, true, strlen(s)), s, strlen(s));
}

static void check_string(uint64_t addr, const char *want, size_t want_len)
{
	uint32_t len;
	char *s;

	assert_int_equal(code_read_string(&target, &img.objects, addr, &s, &len), 0);
	assert_int_equal(len, want_len);
	assert_memory_equal(s, want, want_len);
	assert_int_equal(s[len], 0);
	free(s);
}

static void check_bad_string(uint64_t addr, int want)
{
	uint32_t len;
	char *s;

	assert_int_equal(code_read_string(&target, &img.objects, addr, &s, &len), want);
}

static void strings_of(unsigned int minor)
{
	static const uint8_t latin1[] = { 'a', 0xe9, 0xff };
	static const uint16_t ucs2[] = { 'x', 0x43f, 0x6f22 };
	static const uint32_t ucs4[] = { 0x1f600, 'y', 0x10ffff };
	uint64_t at = MEM_BASE + 64;

	use(minor);
	put_ascii(at, "spam.py");
	check_string(at, "spam.py", 7);
	assert_int_equal(m.reads, 1);
	put_ascii(at, "");
	check_string(at, "", 0);
	poke(put_str(at, 1, false, true, 3), latin1, sizeof(latin1));
	check_string(at, "a\xc3\xa9\xc3\xbf", 5);
	poke(put_str(at, 2, false, true, 3), ucs2, sizeof(ucs2));
	check_string(at, "x\xd0\xbf\xe6\xbc\xa2", 6);
	poke(put_str(at, 4, false, true, 3), ucs4, sizeof(ucs4));
	check_string(at, "\xf0\x9f\x98\x80y\xf4\x8f\xbf\xbf", 9);
	poke(put_str(at, 1, true, true, 3), "a\0b", 3);
	check_string(at, "a\0b", 3);
	/* Not compact: a pointer to the data. */
	poke64(put_str(at, 2, false, false, 3), MEM_BASE + 4096);
	poke(MEM_BASE + 4096, ucs2, sizeof(ucs2));
	check_string(at, "x\xd0\xbf\xe6\xbc\xa2", 6);
}

static void test_string_kinds(void **state)
{
	strings_of(11);
	strings_of(12);
}

/* What is not Unicode becomes U+FFFD: os.fsdecode(b'\xff') is a lone surrogate. */
static void test_string_surrogates(void **state)
{
	static const uint16_t lone[] = { '/', 0xdcff, 0xd800, '.' };
	static const uint32_t beyond[] = { 0x110000, 0xffffffff };
	static const uint8_t not_ascii[] = { 0x80 };
	uint64_t at = MEM_BASE;

	use(12);
	poke(put_str(at, 2, false, true, 4), lone, sizeof(lone));
	check_string(at, "/\xef\xbf\xbd\xef\xbf\xbd.", 8);
	poke(put_str(at, 4, false, true, 2), beyond, sizeof(beyond));
	check_string(at, "\xef\xbf\xbd\xef\xbf\xbd", 6);
	poke(put_str(at, 1, true, true, 1), not_ascii, 1);
	check_string(at, "\xc2\x80", 2);
}

static void test_string_bounds(void **state)
{
	char want[CODE_STRING_MAX];
	uint16_t ucs2[1400];
	uint64_t at;
	size_t i;

	use(12);
	memset(want, 'p', sizeof(want));
	at = MEM_BASE;
	poke(put_str(at, 1, true, true, 5000), want, sizeof(want));
	check_string(at, want, CODE_STRING_MAX);
	/* 1366 characters of 3 bytes are 4098: cut at a character, at 4095. */
	for (i = 0; i < 1400; i++) {
		ucs2[i] = 0x6f22;
		memcpy(want + (i < 1365 ? i * 3 : 0), "\xe6\xbc\xa2", 3);
	}
	poke(put_str(at, 2, false, true, 1400), ucs2, sizeof(ucs2));
	check_string(at, want, 4095);
	/* At the very end of what is mapped. */
	at = MEM_BASE + MEM_BYTES - img.objects.str_ascii_data - 1;
	put_ascii(at, "f");
	check_string(at, "f", 1);
	at = MEM_BASE + 4096 - 50;	/* the header crosses a page */
	put_ascii(at, "crossing");
	check_string(at, "crossing", 8);
}

static void test_string_nonsense(void **state)
{
	uint64_t at = MEM_BASE;

	use(12);
	check_bad_string(0, -EFAULT);
	check_bad_string(UINT64_MAX, -EFAULT);
	check_bad_string(MEM_BASE + MEM_BYTES - 8, -EFAULT);
	check_bad_string(at, -EBADMSG);		/* kind 0 */
	put_str(at, 3, false, true, 1);
	check_bad_string(at, -EBADMSG);
	put_str(at, 1, true, true, UINT64_MAX);
	check_bad_string(at, -EBADMSG);
	put_str(at, 4, false, true, UINT32_MAX);	/* 16 KiB wanted, 8 there */
	check_bad_string(at, -EFAULT);
	poke64(put_str(at, 1, false, false, 3), 0xdead0000);
	check_bad_string(at, -EFAULT);
}

/* ---- code objects ---- */

#define CODE      (MEM_BASE + 0x100)
#define FILENAME  (MEM_BASE + 0x400)
#define NAME      (MEM_BASE + 0x500)
#define QUALNAME  (MEM_BASE + 0x600)
#define LINETABLE (MEM_BASE + 0x700)

static void put_code(unsigned int minor)
{
	static const uint8_t table[] = { 0x80, 0x21, 0x80 | 11 << 3, 4, 9 };
	uint32_t firstlineno = 42, version = 77;

	use(minor);
	poke64(CODE + img.layout.co_filename, FILENAME);
	poke64(CODE + img.layout.co_name, NAME);
	poke64(CODE + img.layout.co_qualname, QUALNAME);
	poke64(CODE + img.layout.co_linetable, LINETABLE);
	poke(CODE + img.layout.co_firstlineno, &firstlineno, 4);
	if (img.layout.co_version != ABI_NO_OFF)
		poke(CODE + img.layout.co_version, &version, 4);
	put_ascii(FILENAME, "/srv/spam.py");
	put_ascii(NAME, "eggs");
	put_ascii(QUALNAME, "Spam.eggs");
	poke64(LINETABLE + img.objects.bytes_size, sizeof(table));
	poke(LINETABLE + img.objects.bytes_data, table, sizeof(table));
}

static int read_code(struct code_object *code)
{
	return code_read(&target, &img.layout, &img.objects, CODE, code);
}

static uint32_t stamp_of(const char *name)
{
	uint64_t head[STRING_HEAD / 8] = { 0 }, tail[STRING_TAIL / 8] = { 0 };
	size_t len = strlen(name);

	memcpy(head, name, len < STRING_HEAD ? len : STRING_HEAD);
	if (len > STRING_HEAD)
		memcpy(tail, name + len - STRING_TAIL, STRING_TAIL);
	return string_hash(len, head, tail);
}

/* What stands for co_version in 3.11: both names. */
static uint32_t version_of(unsigned int minor)
{
	return minor == 11 ? names_hash(stamp_of("Spam.eggs"), stamp_of("/srv/spam.py")) : 77;
}

/* string_hash() without its masks: a byte at a time. */
static uint32_t plain_hash(const unsigned char *text, size_t len)
{
	static const uint64_t factors[] = {
		0x84dc9072743fc897, 0x928be3ed19c72903, 0x978e3fb32b64b5ef, 0xabc4ac24b345f927,
		0xbd70c34f85212905, 0xfee169f1cd3f199f, 0xd9c9821134c764d9, 0xfcf0e99a35374271,
		0xadab27ddb3dec18d, 0xcf637d68744cccff,
	};
	uint64_t words[STRING_WORDS] = { 0 }, h = len;
	size_t i;

	for (i = 0; i < len && i < STRING_HEAD; i++)
		words[i / 8] |= (uint64_t)text[i] << i % 8 * 8;
	for (i = 0; i < STRING_TAIL && len > STRING_HEAD; i++)
		words[(STRING_HEAD + i) / 8] |= (uint64_t)text[len - STRING_TAIL + i] << i % 8 * 8;
	for (i = 0; i < STRING_WORDS; i++)
		h += (words[i] ^ words[i] >> 32) * factors[i];
	h = (h ^ h >> 32) * 0x9e3779b97f4a7c15ULL;
	return (uint32_t)(h >> 32) | 1;
}

/* Of each length; what is in memory behind the string does not count. */
static void test_hash_of_strings_of_all_lengths(void **state)
{
	unsigned char text[STRING_HEAD + 100];
	uint64_t head[STRING_HEAD / 8], tail[STRING_TAIL / 8];
	size_t len, i;

	for (i = 0; i < sizeof(text); i++)
		text[i] = (unsigned char)(i * 151 + 77);
	for (len = 0; len <= 100; len++) {
		memcpy(head, text, STRING_HEAD);
		memset(tail, 0xaa, sizeof(tail));
		if (len > STRING_HEAD)
			memcpy(tail, text + len - STRING_TAIL, STRING_TAIL);
		assert_int_equal(string_hash(len, head, tail), plain_hash(text, len));
	}
}

/* The same pointers, another name behind them: another code object. */
static void test_names_tell_code_apart(void **state)
{
	static const char *const names[] = {
		"f", "g", "Spam.eggs", "Spam.egg2", "Spam.bacon",
		"a_name_of_more_than_forty_eight_characters.<locals>.first",
		"a_name_of_more_than_forty_eight_characters.<locals>.third",
	};
	uint32_t seen[sizeof(names) / sizeof(names[0])];
	struct code_object code;
	size_t i, k;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		put_code(11);
		put_ascii(QUALNAME, names[i]);
		assert_int_equal(read_code(&code), 0);
		seen[i] = code.identity;
		code_free(&code);
		for (k = 0; k < i; k++)
			assert_int_not_equal(seen[i], seen[k]);
	}
}

static void test_code(void **state)
{
	struct code_object code;
	struct code_position pos;
	unsigned int minor;

	for (minor = 11; minor <= 12; minor++) {
		put_code(minor);
		assert_int_equal(read_code(&code), 0);
		assert_string_equal(code.file, "/srv/spam.py");
		assert_string_equal(code.name, "Spam.eggs");
		assert_int_equal(code.file_len, 12);
		assert_int_equal(code.name_len, 9);
		assert_int_equal(code.firstlineno, 42);
		assert_int_equal(code.linetable_len, 5);
		assert_int_equal(code.minor, minor);
		assert_int_equal(code.addr, CODE);
		assert_int_equal(code.identity, code_identity(FILENAME, NAME, QUALNAME, LINETABLE,
							      42, version_of(minor)));
		code_position(&code, 2, &pos);
		assert_int_equal(pos.line, 43);
		code_free(&code);
		/* header, file, name, line table, header; 3.11: both names' stamps, twice */
		assert_int_equal(m.reads, minor == 11 ? 13 : 5);
	}
}

/* The code object with these co_flags, in a build whose objects' heads are `more` longer. */
static bool is_coroutine(unsigned int minor, uint32_t flags, uint16_t more)
{
	struct code_object code;
	bool coroutine;

	put_code(minor);
	img.objects.str_length += more;
	img.objects.str_state += more;
	img.objects.str_ascii_data += more;
	put_ascii(FILENAME, "/srv/spam.py");
	put_ascii(QUALNAME, "Spam.eggs");
	poke(CODE + py_code_layout((uint8_t)minor)->flags + more, &flags, 4);
	assert_int_equal(read_code(&code), 0);
	coroutine = code.coroutine;
	code_free(&code);
	return coroutine;
}

/* async def, with a yield, or @types.coroutine; but neither a generator nor any other function. */
static void test_code_of_coroutines(void **state)
{
	static const uint16_t heads[] = { 0, 16 };
	unsigned int minor;
	size_t i;

	for (minor = 6; minor <= 12; minor++) {
		for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
			assert_true(is_coroutine(minor, 0x83, heads[i]));
			assert_true(is_coroutine(minor, 0x123, heads[i]));
			assert_true(is_coroutine(minor, 0x203, heads[i]));
			assert_false(is_coroutine(minor, 0x23, heads[i]));
			assert_false(is_coroutine(minor, ~0x380u, heads[i]));
		}
	}
}

/* Whenever a byte of the header changes meanwhile, what was read is not to be trusted. */
static void test_code_changes(void **state)
{
	struct code_object code;
	unsigned int read;

	for (read = 2; read <= 5; read++) {
		put_code(12);
		m.change_at = read;
		m.change_addr = CODE + img.layout.co_version;
		assert_int_equal(read_code(&code), -ESTALE);
		assert_null(code.file);
	}
	/* Gone for good: the string cannot be read, because the object is another one. */
	put_code(12);
	poke64(CODE + img.layout.co_qualname, 0xdead0000);
	m.change_at = 3;
	m.change_addr = CODE + img.layout.co_qualname;
	assert_int_equal(read_code(&code), -ESTALE);
}

static void test_code_nonsense(void **state)
{
	struct code_object code;

	use(12);
	assert_int_equal(code_read(&target, &img.layout, &img.objects, 16, &code), -EFAULT);
	assert_int_equal(read_code(&code), -EFAULT);	/* all pointers NULL */
	put_code(12);
	poke64(CODE + img.layout.co_filename, 0xdead0000);
	assert_int_equal(read_code(&code), -EFAULT);
	put_code(12);
	poke64(LINETABLE + img.objects.bytes_size, UINT64_MAX);
	assert_int_equal(read_code(&code), -EBADMSG);
}

/* A line table that is too big, or cannot be read, costs the lines, not the name. */
static void check_without_table(void)
{
	struct code_object code;
	struct code_position pos;

	assert_int_equal(read_code(&code), 0);
	assert_int_equal(code.linetable_len, 0);
	code_position(&code, 2, &pos);
	assert_int_equal(pos.line, 42);
	assert_int_equal(pos.column, COLUMN_NONE);
	code_free(&code);
}

static void test_code_without_table(void **state)
{
	put_code(12);
	poke64(LINETABLE + img.objects.bytes_size, CODE_TABLE_MAX + 1);
	check_without_table();
	poke64(LINETABLE + img.objects.bytes_size, CODE_TABLE_MAX);
	check_without_table();
	poke64(CODE + img.layout.co_linetable, 0xdead0000);
	check_without_table();
}

/* ---- opcodes ---- */

static uint8_t opcode_at(unsigned int minor, uint32_t lasti)
{
	return code_opcode(&target, &img.layout, minor, CODE, lasti);
}

/* Numbers: Include/opcode.h at v3.12.0. */
enum { RESUME_312 = 151, CALL_312 = 171, POP_TOP = 1, INSTRUMENTED_LINE_312 = 254 };

static void test_opcode_caches(void **state)
{
	/* CALL has 3 cache units; what is in them looks like instructions. */
	static const uint8_t bytecode[] = { RESUME_312, 0, CALL_312, 1, 106, 7, POP_TOP, 9, 255, 3,
					    POP_TOP, 0, INSTRUMENTED_LINE_312, 0, POP_TOP, 0 };

	use(12);
	poke(CODE + img.layout.co_code, bytecode, sizeof(bytecode));
	assert_int_equal(opcode_at(12, 0), RESUME_312);
	assert_int_equal(opcode_at(12, 2), CALL_312);
	assert_int_equal(opcode_at(12, 4), CALL_312);
	assert_int_equal(opcode_at(12, 8), CALL_312);
	assert_int_equal(opcode_at(12, 10), POP_TOP);
	assert_int_equal(opcode_at(12, 12), INSTRUMENTED_LINE_312);
	/* How long that one is only the process knows. */
	assert_int_equal(opcode_at(12, 14), OPCODE_NONE);
	/* 3.13 needs no stepping. */
	assert_int_equal(opcode_at(13, 4), 106);
	assert_int_equal(opcode_at(13, 1), OPCODE_NONE);
}

static void test_opcode_far(void **state)
{
	use(12);
	memset(m.bytes, POP_TOP, sizeof(m.bytes));
	assert_int_equal(opcode_at(12, 6000), POP_TOP);
	assert_int_equal(m.reads, 2);
	assert_int_equal(opcode_at(12, MEM_BYTES), OPCODE_NONE);
	assert_int_equal(opcode_at(12, 0xffffffff), OPCODE_NONE);
	assert_int_equal(opcode_at(12, 0xfffffffe), OPCODE_NONE);
	assert_int_equal(opcode_at(15, 0xfffffffe), OPCODE_NONE);
	assert_int_equal(opcode_at(15, 2 * MEM_BYTES), OPCODE_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_string_kinds),
		cmocka_unit_test(test_string_surrogates),
		cmocka_unit_test(test_string_bounds),
		cmocka_unit_test(test_string_nonsense),
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_code_of_coroutines),
		cmocka_unit_test(test_hash_of_strings_of_all_lengths),
		cmocka_unit_test(test_names_tell_code_apart),
		cmocka_unit_test(test_code_changes),
		cmocka_unit_test(test_code_nonsense),
		cmocka_unit_test(test_code_without_table),
		cmocka_unit_test(test_opcode_caches),
		cmocka_unit_test(test_opcode_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
