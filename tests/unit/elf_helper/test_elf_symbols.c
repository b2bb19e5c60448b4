// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_elf_symbols.c - which of a file's symbols is the name of an address, of files made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "elf_helper/elf_symbols.h"

#define TEXT 0x1000
#define TEXT_BYTES 0x1000

struct symbol {
	const char *name;
	uint64_t value, size;
	uint8_t type, bind;
	uint16_t section;	/* 1: .text, 2: data */
};

/* A file with a segment, .text, .data, .symtab and .strtab. */
struct file {
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	Elf64_Shdr sh[5];
	Elf64_Sym syms[64];
	char names[4096];
};

static int make_file(const struct symbol *symbols, size_t cnt, uint16_t machine)
{
	static struct file f;
	int fd = memfd_create("elf", MFD_CLOEXEC);
	size_t i, at = 1;

	memset(&f, 0, sizeof(f));
	memcpy(f.eh.e_ident, ELFMAG, SELFMAG);
	f.eh.e_ident[EI_CLASS] = ELFCLASS64;
	f.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	f.eh.e_type = ET_DYN;
	f.eh.e_machine = machine;
	f.eh.e_phoff = offsetof(struct file, ph);
	f.eh.e_phnum = 1;
	f.eh.e_phentsize = sizeof(f.ph);
	f.eh.e_shoff = offsetof(struct file, sh);
	f.eh.e_shnum = ARRAY_SIZE(f.sh);
	f.eh.e_shentsize = sizeof(f.sh[0]);
	f.eh.e_shstrndx = 4;
	f.ph = (Elf64_Phdr){ .p_type = PT_LOAD, .p_filesz = sizeof(f), .p_memsz = sizeof(f) };
	f.sh[1] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_flags = SHF_EXECINSTR,
				.sh_addr = TEXT, .sh_size = TEXT_BYTES };
	f.sh[2] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_addr = 0x8000, .sh_size = 0x1000 };
	f.sh[3] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_offset = offsetof(struct file, syms),
				.sh_size = cnt * sizeof(f.syms[0]), .sh_link = 4,
				.sh_entsize = sizeof(f.syms[0]) };
	f.sh[4] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct file, names),
				.sh_size = sizeof(f.names) };
	for (i = 0; i < cnt; i++) {
		f.syms[i] = (Elf64_Sym){
			.st_name = (Elf64_Word)at, .st_shndx = symbols[i].section,
			.st_info = ELF64_ST_INFO(symbols[i].bind, symbols[i].type),
			.st_value = symbols[i].value, .st_size = symbols[i].size,
		};
		strcpy(f.names + at, symbols[i].name);
		at += strlen(symbols[i].name) + 1;
	}
	assert_int_equal(write(fd, &f, sizeof(f)), sizeof(f));
	return fd;
}

static struct elf_symbols *load(int fd)
{
	struct elf_symbols *s = elf_symbols_new();

	assert_non_null(s);
	assert_true(elf_symbols_add(s, fd, SHT_SYMTAB) >= 0);
	elf_symbols_sort(s);
	return s;
}

/* The name at an address, "" if there is none; checks where it starts. */
static void is_named(const struct elf_symbols *s, uint64_t addr, const char *name, uint64_t start)
{
	char got[ELF_MANGLED_BYTES] = "";
	uint64_t at = 0;

	elf_symbols_find(s, addr, got, &at);
	assert_string_equal(got, name);
	assert_int_equal(at, start);
}

static void test_of_one_address(void **state)
{
	static const struct symbol symbols[] = {
		{ "local", 0x1000, 16, STT_FUNC, STB_LOCAL, 1 },
		{ "weak", 0x1000, 16, STT_FUNC, STB_WEAK, 1 },
		{ "global", 0x1000, 16, STT_FUNC, STB_GLOBAL, 1 },
		{ "weaker", 0x1010, 16, STT_FUNC, STB_WEAK, 1 },
		{ "label", 0x1020, 0, STT_NOTYPE, STB_GLOBAL, 1 },
		{ "sized", 0x1020, 16, STT_FUNC, STB_LOCAL, 1 },
		{ "untyped", 0x1030, 16, STT_NOTYPE, STB_GLOBAL, 1 },
		{ "typed", 0x1030, 16, STT_FUNC, STB_LOCAL, 1 },
	};
	int fd = make_file(symbols, ARRAY_SIZE(symbols), EM_X86_64);
	struct elf_symbols *s = load(fd);

	is_named(s, 0xfff, "", 0);
	is_named(s, 0x1000, "global", 0x1000);
	is_named(s, 0x100f, "global", 0x1000);
	is_named(s, 0x1010, "weaker", 0x1010);
	is_named(s, 0x102f, "sized", 0x1020);
	is_named(s, 0x103f, "typed", 0x1030);
	is_named(s, 0x1040, "", 0);
	elf_symbols_free(s);
	close(fd);
}

static void test_without_a_size(void **state)
{
	static const struct symbol symbols[] = {
		{ "whole", 0x1100, 0x100, STT_FUNC, STB_GLOBAL, 1 },
		{ "inside", 0x1180, 0, STT_NOTYPE, STB_LOCAL, 1 },
		{ "first", 0x1200, 0, STT_FUNC, STB_GLOBAL, 1 },
		{ "second", 0x1280, 0, STT_FUNC, STB_GLOBAL, 1 },
	};
	int fd = make_file(symbols, ARRAY_SIZE(symbols), EM_X86_64);
	struct elf_symbols *s = load(fd);

	is_named(s, 0x1190, "whole", 0x1100);
	is_named(s, 0x127f, "first", 0x1200);
	/* Up to the end of its section. */
	is_named(s, 0x1fff, "second", 0x1280);
	is_named(s, 0x2000, "", 0);
	elf_symbols_free(s);
	close(fd);
}

static void test_functions_in_functions(void **state)
{
	static const struct symbol symbols[] = {
		{ "outer", 0x1000, 0x100, STT_FUNC, STB_GLOBAL, 1 },
		{ "inner", 0x1040, 0x10, STT_FUNC, STB_LOCAL, 1 },
	};
	int fd = make_file(symbols, ARRAY_SIZE(symbols), EM_X86_64);
	struct elf_symbols *s = load(fd);

	is_named(s, 0x1048, "inner", 0x1040);
	is_named(s, 0x1050, "outer", 0x1000);
	elf_symbols_free(s);
	close(fd);
}

static void test_what_is_no_function(void **state)
{
	static const struct symbol symbols[] = {
		{ "data", 0x8000, 16, STT_OBJECT, STB_GLOBAL, 2 },
		{ "object", 0x1000, 16, STT_OBJECT, STB_GLOBAL, 1 },
		{ "elsewhere", 0x3000, 16, STT_FUNC, STB_GLOBAL, 1 },
		{ "undefined", 0x1000, 16, STT_FUNC, STB_GLOBAL, SHN_UNDEF },
		{ "absolute", 0x1000, 16, STT_FUNC, STB_GLOBAL, SHN_ABS },
		{ "", 0x1000, 16, STT_FUNC, STB_GLOBAL, 1 },
		{ "memcpy@@GLIBC_2.14", 0x1100, 16, STT_FUNC, STB_GLOBAL, 1 },
		{ "$x", 0x1200, 0, STT_NOTYPE, STB_LOCAL, 1 },
	};
	int fd = make_file(symbols, ARRAY_SIZE(symbols), EM_AARCH64);
	struct elf_symbols *s = load(fd);

	is_named(s, 0x8000, "", 0);
	is_named(s, 0x1000, "", 0);
	is_named(s, 0x3000, "", 0);
	is_named(s, 0x1100, "memcpy", 0x1100);
	is_named(s, 0x1200, "", 0);
	elf_symbols_free(s);
	close(fd);
}

static void test_match(void **state)
{
	static const struct symbol symbols[] = {
		{ "eval.cold", 0x1800, 8, STT_FUNC, STB_LOCAL, 1 },
		{ "eval", 0x1000, 16, STT_FUNC, STB_GLOBAL, 1 },
		{ "other", 0x1010, 16, STT_FUNC, STB_GLOBAL, 1 },
		{ "call", 0x1020, 16, STT_FUNC, STB_GLOBAL, 1 },
		{ "alias", 0x1020, 16, STT_FUNC, STB_GLOBAL, 1 },
	};
	int fd = make_file(symbols, ARRAY_SIZE(symbols), EM_X86_64);
	struct elf_symbols *s = load(fd);
	struct elf_match *found;

	assert_int_equal(elf_symbols_match(s, "alias\0eval*\0eva", 3, false, &found), 3);
	assert_int_equal(found[0].start, 0x1000);
	assert_int_equal(found[0].end, 0x1010);
	assert_int_equal(found[0].pattern, 1);
	assert_int_equal(found[1].start, 0x1020);
	assert_int_equal(found[1].pattern, 0);
	assert_int_equal(found[2].start, 0x1800);
	assert_int_equal(found[2].end, 0x1808);
	free(found);
	elf_symbols_free(s);
	close(fd);
}

/* With others: those that match nothing, too. */
static void test_match_others(void **state)
{
	static const struct symbol symbols[] = {
		{ "eval", 0x1000, 16, STT_FUNC, STB_GLOBAL, 1 },
		{ "other", 0x1010, 16, STT_FUNC, STB_GLOBAL, 1 },
		{ "alias", 0x1000, 16, STT_FUNC, STB_GLOBAL, 1 },
	};
	int fd = make_file(symbols, ARRAY_SIZE(symbols), EM_X86_64);
	struct elf_symbols *s = load(fd);
	struct elf_match *found;
	bool evals = false;
	int i;

	assert_int_equal(elf_symbols_match(s, "none\0eval", 2, true, &found), 3);
	for (i = 0; i < 3; i++) {
		assert_int_equal(found[i].start, i < 2 ? 0x1000 : 0x1010);
		assert_true(found[i].pattern == 2 || (i < 2 && found[i].pattern == 1));
		evals |= found[i].pattern == 1;
	}
	assert_true(evals);
	free(found);
	elf_symbols_free(s);
	close(fd);
}

/* Names of methods: a symbol goes first; only those with an owner are what patterns mean. */
static void test_methods(void **state)
{
	static const struct symbol symbols[] = {
		{ "symbol", 0x1000, 16, STT_FUNC, STB_GLOBAL, 1 },
	};
	static const struct elf_method functions[] = {
		{ 0x1000, 0x1010, 0 }, { 0x1010, 0x1020, 0 }, { 0x1020, 0x1030, 4 },
	};
	static const char text[] = "m.f\0call";
	int fd = make_file(symbols, ARRAY_SIZE(symbols), EM_X86_64);
	struct elf_symbols *s = elf_symbols_new();
	struct elf_methods m = { .cnt = ARRAY_SIZE(functions), .text_bytes = sizeof(text) };
	size_t bytes = elf_symbols_bytes(s);
	struct elf_match *found;

	m.functions = malloc(sizeof(functions));
	memcpy(m.functions, functions, sizeof(functions));
	m.text = malloc(sizeof(text));
	memcpy(m.text, text, sizeof(text));
	assert_true(elf_symbols_add(s, fd, SHT_SYMTAB) > 0);
	assert_int_equal(elf_symbols_add_methods(s, &m), 0);
	assert_null(m.text);
	elf_methods_free(&m);
	elf_symbols_sort(s);
	is_named(s, 0x100f, "symbol", 0x1000);
	is_named(s, 0x101f, "m.f", 0x1010);
	is_named(s, 0x102f, "call", 0x1020);
	is_named(s, 0x1030, "", 0);
	assert_true(elf_symbols_bytes(s) >= bytes + sizeof(text));
	assert_int_equal(elf_symbols_match(s, "call\0m.*", 2, false, &found), 2);
	assert_int_equal(found[0].start, 0x1000);
	assert_int_equal(found[1].start, 0x1010);
	free(found);
	elf_symbols_free(s);
	close(fd);
}

static struct elf_symbols *many_functions(size_t cnt)
{
	struct elf_methods m = { .functions = calloc(cnt, sizeof(*m.functions)), .cnt = cnt };
	struct elf_symbols *s = elf_symbols_new();
	size_t i;

	m.text = strdup("m.f");
	m.text_bytes = 4;
	for (i = 0; i < cnt; i++)
		m.functions[i] = (struct elf_method){ 0x1000 + 16 * i, 0x1010 + 16 * i, 0 };
	assert_int_equal(elf_symbols_add_methods(s, &m), 0);
	elf_methods_free(&m);
	elf_symbols_sort(s);
	return s;
}

/* As large as PyTorch's. */
static void test_a_large_library(void **state)
{
	struct elf_symbols *s = many_functions(60000);
	struct elf_match *found = NULL;

	assert_int_equal(elf_symbols_match(s, "none", 1, true, &found), 60000);
	assert_int_equal(found[59999].start, 0x1000 + 16 * 59999);
	free(found);
	elf_symbols_free(s);
}

static void test_too_many_matches(void **state)
{
	struct elf_symbols *s = many_functions(ELF_MATCHES_MAX + 1);
	struct elf_match *found = NULL;

	assert_int_equal(elf_symbols_match(s, "none", 1, true, &found), -E2BIG);
	assert_null(found);
	assert_int_equal(elf_symbols_match(s, "none", 1, false, &found), 0);
	free(found);
	elf_symbols_free(s);
}

static void test_no_symbols(void **state)
{
	struct elf_symbols *s = elf_symbols_new();
	int fd = memfd_create("empty", MFD_CLOEXEC);

	assert_true(elf_symbols_add(s, fd, SHT_SYMTAB) < 0);
	elf_symbols_sort(s);
	is_named(s, 0x1000, "", 0);
	elf_symbols_free(s);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_one_address),
		cmocka_unit_test(test_without_a_size),
		cmocka_unit_test(test_functions_in_functions),
		cmocka_unit_test(test_what_is_no_function),
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_match_others),
		cmocka_unit_test(test_methods),
		cmocka_unit_test(test_a_large_library),
		cmocka_unit_test(test_too_many_matches),
		cmocka_unit_test(test_no_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
