// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_unwind_truth.c - the tables of real files say of every address what libdw says, which reads
 * the same call frame information with code of its own.
 *
 *     test_unwind_truth [FILE...]	other files than those that are found here
 */
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <cmocka.h>

#include <dwarf.h>

#include "unwind_lookup.h"

/* What is compared, and what was found. */
struct truth {
	const char *path;
	struct lookup table;
	Dwarf_CFI *eh, *debug;	/* .eh_frame; .debug_frame, or NULL */
	unsigned int sp, fp, ra;	/* DWARF's numbers */
	unsigned long rows, wrong, padding, unsupported, lost;
};

static bool register_and_offset(const Dwarf_Op *op, unsigned int *reg, int64_t *off)
{
	if (op->atom == DW_OP_bregx) {
		*reg = (unsigned int)op->number;
		*off = (int64_t)op->number2;
		return true;
	}
	if (op->atom < DW_OP_breg0 || op->atom > DW_OP_breg31)
		return false;
	*reg = op->atom - DW_OP_breg0;
	*off = (int64_t)op->number;
	return true;
}

static bool is_plt(const Dwarf_Op *ops, size_t cnt)
{
	static const uint8_t atoms[] = { DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0,
					 DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	size_t i;

	if (cnt != sizeof(atoms) || ops[0].number != 8 || ops[1].number)
		return false;
	for (i = 0; i < cnt; i++)
		if (atoms[i] && ops[i].atom != atoms[i])
			return false;
	return ops[4].atom >= DW_OP_lit0 && ops[4].atom <= DW_OP_lit15;
}

static bool expect_cfa(const struct truth *t, Dwarf_Frame *frame, struct unwind_rule *rule)
{
	unsigned int reg;
	int64_t off;
	Dwarf_Op *ops;
	size_t cnt;
	bool at;

	if (dwarf_frame_cfa(frame, &ops, &cnt) || !cnt)
		return false;
	if (t->table.elf.machine == EM_X86_64 && is_plt(ops, cnt)) {
		rule->cfa = UNWIND_PLT;
		rule->cfa_off = ops[4].atom - DW_OP_lit0;
		return true;
	}
	at = cnt > 1 && ops[1].atom == DW_OP_deref;
	if (!register_and_offset(&ops[0], &reg, &off) || cnt > 1u + at + 1)
		return false;
	if (cnt == 1u + at + 1) {
		if (ops[1 + at].atom != DW_OP_plus_uconst)
			return false;
		*(at ? &rule->cfa_add : &rule->cfa_off) = (int32_t)ops[1 + at].number;
	}
	rule->cfa_off += (int32_t)off;
	if (reg == t->sp)
		rule->cfa = at ? UNWIND_AT_SP : UNWIND_SP;
	else if (reg == t->fp)
		rule->cfa = at ? UNWIND_AT_FP : UNWIND_FP;
	return reg == t->sp || reg == t->fp;
}

/* Where the caller's register is: an enum unwind_reg, and UNDEFINED. */
enum { UNDEFINED = 100 };

static int expect_register(const struct truth *t, Dwarf_Frame *frame, unsigned int number,
			   abi_s16 *off)
{
	Dwarf_Op memory[3], *ops;
	unsigned int reg;
	int64_t at = 0;
	size_t cnt, used = 1;

	*off = 0;
	if (dwarf_frame_register(frame, (int)number, memory, &ops, &cnt))
		return UNWIND_LOST;
	if (!cnt)
		return ops ? UNDEFINED : UNWIND_SAME;
	if (ops[0].atom == DW_OP_call_frame_cfa && cnt > 1 && ops[1].atom == DW_OP_plus_uconst) {
		at = (int64_t)ops[1].number;
		used = 2;
	} else if (cnt > 1 && ops[0].atom == DW_OP_call_frame_cfa) {
		if (!register_and_offset(&ops[1], &reg, &at) || reg != t->fp || cnt != 2)
			return UNWIND_LOST;
		*off = (abi_s16)at;
		return UNWIND_AT_FRAME;
	} else if (ops[0].atom != DW_OP_call_frame_cfa) {
		return UNWIND_LOST;
	}
	if (cnt != used || at != (abi_s16)at)
		return UNWIND_LOST;
	*off = (abi_s16)at;
	return UNWIND_AT_CFA;
}

static struct unwind_rule expect(const struct truth *t, Dwarf_Frame *frame, bool signal)
{
	struct unwind_rule rule = { 0 }, none = { .cfa = UNWIND_UNSUPPORTED };
	bool said = expect_cfa(t, frame, &rule);
	int ra = expect_register(t, frame, t->ra, &rule.ra_off);
	int fp = expect_register(t, frame, t->fp, &rule.fp_off);

	if (signal)
		return (struct unwind_rule){ .cfa = UNWIND_SIGNAL };
	if (ra == UNDEFINED)
		return (struct unwind_rule){ .cfa = UNWIND_END };
	if (!said || ra == UNWIND_LOST || ra == UNWIND_AT_FRAME)
		return none;
	if (t->table.elf.machine == EM_X86_64 && (ra != UNWIND_AT_CFA || rule.ra_off != -8))
		return none;
	rule.ra = (abi_u8)ra;
	rule.fp = fp == UNDEFINED ? UNWIND_LOST : (abi_u8)fp;
	return rule;
}

/* How a row says UNWIND_PLT and the rules without fields. */
static struct unwind_rule plain(struct unwind_rule rule)
{
	if (rule.cfa == UNWIND_PLT)
		return (struct unwind_rule){ .cfa = UNWIND_PLT, .cfa_off = rule.cfa_off };
	if (rule.cfa != UNWIND_SP && rule.cfa != UNWIND_FP && rule.cfa != UNWIND_AT_SP &&
	    rule.cfa != UNWIND_AT_FP)
		return (struct unwind_rule){ .cfa = rule.cfa };
	return rule;
}

static bool same(struct unwind_rule a, struct unwind_rule b)
{
	return !memcmp(&a, &b, sizeof(a));
}

static void print_rule(const char *who, struct unwind_rule r)
{
	print_message("    %s cfa %u%+d%+d fp %u%+d ra %u%+d\n", who, r.cfa, r.cfa_off, r.cfa_add,
		      r.fp, r.fp_off, r.ra, r.ra_off);
}

/* What libdw knows of an address; to be freed. NULL: nothing. */
static Dwarf_Frame *frame_at(const struct truth *t, uint64_t addr)
{
	Dwarf_Frame *frame;

	if (!dwarf_cfi_addrframe(t->eh, addr, &frame))
		return frame;
	return t->debug && !dwarf_cfi_addrframe(t->debug, addr, &frame) ? frame : NULL;
}

static bool is_known(const struct truth *t, uint64_t addr)
{
	Dwarf_Frame *frame = frame_at(t, addr);

	free(frame);
	return frame;
}

/* libdw knows nothing of the address: is it padding that continues both of its neighbours? */
static bool is_padding(const struct truth *t, uint64_t addr)
{
	uint64_t before = addr, after = addr;

	while (before > addr - 16 && !is_known(t, before))
		before--;
	while (after < addr + 16 && !is_known(t, after))
		after++;
	return after - before <= 16 &&
	       same(lookup_rule(&t->table, before), lookup_rule(&t->table, after));
}

/* Compare one address. Returns the end of libdw's row, or 0. */
static uint64_t compare(struct truth *t, uint64_t addr)
{
	struct unwind_rule have = plain(lookup_rule(&t->table, addr)), want = { 0 };
	Dwarf_Frame *frame = frame_at(t, addr);
	Dwarf_Addr start, end = 0;
	bool signal;
	int ra;

	if (frame) {
		ra = dwarf_frame_info(frame, &start, &end, &signal);
		want = plain(expect(t, frame, signal));
		if (ra != (int)t->ra)
			want = (struct unwind_rule){ .cfa = UNWIND_UNSUPPORTED };
		free(frame);
	}
	if (same(have, want))
		return end;
	if (!end && is_padding(t, addr)) {
		t->padding++;
		return end;
	}
	if (!t->wrong++) {
		print_message("  %s: %#lx\n", t->path, (unsigned long)addr);
		print_rule("table", have);
		print_rule("libdw", want);
	}
	return end;
}

/* Each row: its first address, its last one, and where libdw's row ends. */
static void compare_rows(struct truth *t)
{
	const struct unwind_file *f = t->table.file;
	const struct unwind_row *rows = lookup_rows(&t->table);
	struct unwind_rule rule;
	uint64_t start, end, libdw;
	uint32_t i;

	for (i = 0; i < f->row_cnt; i++) {
		start = f->start + rows[i].addr;
		end = f->start + (i + 1 < f->row_cnt ? rows[i + 1].addr : f->bytes);
		libdw = compare(t, start);
		compare(t, end - 1);
		/* A row of ours may be several of libdw's that say the same. */
		while (libdw && libdw < end)
			libdw = compare(t, libdw);
		lookup_unpack(&t->table, rows[i].rule, &rule);
		t->unsupported += rule.cfa == UNWIND_UNSUPPORTED;
		t->lost += rule.fp == UNWIND_LOST;
		t->rows++;
	}
}

/* Each function that .eh_frame_hdr has: none is missing. */
static void compare_functions(struct truth *t)
{
	const struct elf_file *elf = &t->table.elf;
	uint64_t at = elf->eh_frame_hdr;
	uint32_t cnt, i;
	int32_t start;
	uint8_t hdr[4];

	if (!at || elf_file_read(elf, at, hdr, sizeof(hdr)) || hdr[2] != 0x03 || hdr[3] != 0x3b)
		return;
	assert_int_equal(elf_file_read(elf, at + 8, &cnt, sizeof(cnt)), 0);
	for (i = 0; i < cnt; i++) {
		assert_int_equal(elf_file_read(elf, at + 12 + 8ull * i, &start, sizeof(start)), 0);
		compare(t, at + (uint64_t)(int64_t)start);
	}
}

static bool know_registers(struct truth *t)
{
	switch (t->table.elf.machine) {
	case EM_X86_64:
		t->sp = 7, t->fp = 6, t->ra = 16;
		return true;
	case EM_AARCH64:
		t->sp = 31, t->fp = 29, t->ra = 30;
		return true;
	}
	return false;
}

static unsigned long compare_fd(const char *path, int fd)
{
	struct truth t = { .path = path };
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	int err = lookup_build(&t.table, fd);

	assert_non_null(elf);
	if (err)
		fail_msg("%s: %s", path, strerror(-err));
	assert_true(unwind_file_is_valid(t.table.file, t.table.len));
	assert_true(know_registers(&t));
	t.eh = dwarf_getcfi_elf(elf);
	t.debug = dwarf ? dwarf_getcfi(dwarf) : NULL;
	assert_non_null(t.eh);
	compare_rows(&t);
	compare_functions(&t);
	print_message("  %s: %u functions (%u bad), %lu rows (%lu unsupported, %lu lose FP, %lu "
		      "addresses of padding): %lu wrong\n", path, t.table.file->fdes,
		      t.table.file->fdes_bad, t.rows, t.unsupported, t.lost, t.padding, t.wrong);
	assert_int_equal(t.table.file->fdes_bad, 0);
	dwarf_cfi_end(t.eh);
	dwarf_end(dwarf);
	elf_end(elf);
	lookup_free(&t.table);
	return t.wrong;
}

/* Not of another architecture, as libc6-i386 brings them. */
static bool has_64_bits(int fd)
{
	unsigned char ident[EI_NIDENT];

	return pread(fd, ident, sizeof(ident), 0) == sizeof(ident) &&
	       ident[EI_CLASS] == ELFCLASS64;
}

static unsigned long compare_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned long wrong;

	if (fd < 0)
		return 0;
	wrong = has_64_bits(fd) ? compare_fd(path, fd) : 0;
	close(fd);
	return wrong;
}

static int given_cnt;
static char **given;

static void compare_files(const char *const *patterns, size_t cnt)
{
	unsigned long wrong = 0;
	glob_t found = { 0 };
	size_t i;

	for (i = 0; i < cnt; i++)
		glob(patterns[i], GLOB_TILDE | (i ? GLOB_APPEND : 0), NULL, &found);
	for (i = 0; i < found.gl_pathc; i++)
		wrong += compare_path(found.gl_pathv[i]);
	globfree(&found);
	assert_int_equal(wrong, 0);
}

static void own_program_and_libraries(void **state)
{
	static const char *const files[] = {
		"/proc/self/exe", "/lib/*/libc.so.6", "/lib*/ld-linux*", "/usr/lib/*/libelf.so.1",
		"/usr/lib/*/libstdc++.so.6", "/usr/lib/*/libgcc_s.so.1", "/usr/lib/*/libffi.so.8",
	};

	compare_files(files, sizeof(files) / sizeof(files[0]));
}

static void pythons(void **state)
{
	static const char *const files[] = {
		"/usr/bin/python3", "/usr/lib/*/libpython3*.so.1.0",
		"~/.pyenv/versions/3.1[03].*/lib/libpython3*.so.1.0",
	};

	compare_files(files, sizeof(files) / sizeof(files[0]));
}

/* Much assembly: expressions, frames in other registers. */
static void assembly(void **state)
{
	static const char *const files[] = { "/usr/lib/*/libcrypto.so.3",
					     "/usr/lib/*/libgmp.so.10" };

	compare_files(files, sizeof(files) / sizeof(files[0]));
}

/* Of the machine type that this one is not. */
static void other_machine(void **state)
{
	static const char *const files[] = {
		"/usr/aarch64-linux-gnu/lib/libc.so.6", "/usr/aarch64-linux-gnu/lib/libstdc++.so.6",
		"/usr/x86_64-linux-gnu/lib/libc.so.6", "/usr/x86_64-linux-gnu/lib/libstdc++.so.6",
	};

	compare_files(files, sizeof(files) / sizeof(files[0]));
}

static void vdso(void **state)
{
	unsigned long at = getauxval(AT_SYSINFO_EHDR);
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	ssize_t len;

	if (!at)
		skip();
	assert_true(fd >= 0);
	/* Its pages: the section table lies behind all that is loaded. */
	for (len = 0; write(fd, (const void *)(at + (size_t)len), 4096) == 4096; len += 4096)
		;
	assert_true(len > 0);
	assert_int_equal(compare_fd("vdso", fd), 0);
	close(fd);
}

/* PT_GNU_EH_FRAME leads to the same table as the section table. */
static void without_a_section_table(void **state)
{
	int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("own", MFD_CLOEXEC);
	struct lookup with, without;
	static uint8_t bytes[65536];
	const uint16_t none = 0;
	ssize_t len;

	assert_true(own >= 0 && fd >= 0);
	while ((len = read(own, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(fd, bytes, (size_t)len), len);
	assert_int_equal(lookup_build(&with, fd), 0);
	assert_int_equal(pwrite(fd, &none, sizeof(none), offsetof(Elf64_Ehdr, e_shnum)), 2);
	assert_int_equal(lookup_build(&without, fd), 0);
	assert_int_equal(without.elf.shnum, 0);
	assert_int_equal(with.file->fdes_bad | without.file->fdes_bad, 0);
	assert_int_equal(with.len, without.len);
	assert_memory_equal(with.file, without.file, with.len);
	lookup_free(&with);
	lookup_free(&without);
	close(own);
	close(fd);
}

static void given_files(void **state)
{
	compare_files((const char *const *)given, (size_t)given_cnt);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_program_and_libraries),
		cmocka_unit_test(pythons),
		cmocka_unit_test(assembly),
		cmocka_unit_test(other_machine),
		cmocka_unit_test(vdso),
		cmocka_unit_test(without_a_section_table),
	};
	const struct CMUnitTest those[] = { cmocka_unit_test(given_files) };

	elf_version(EV_CURRENT);
	given_cnt = argc - 1;
	given = argv + 1;
	return given_cnt ? cmocka_run_group_tests(those, NULL, NULL) :
	       cmocka_run_group_tests(tests, NULL, NULL);
}
