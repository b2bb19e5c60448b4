// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_unwind_build.c - files become tables: which sections count, what of them, and the hash. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <zlib.h>

#include "fake_cfi.h"
#include "unwind_lookup.h"

#define PUSH 0x41, 0x0e, 16	/* one byte later CFA is rsp+16 */

static struct fake_unwind f;

static int begin(void **state)
{
	fake_begin(&f, EM_X86_64);
	return 0;
}

/* The table of f, which has one. */
static struct lookup build(void)
{
	struct lookup l;
	int fd, err;

	fake_make(&f);
	fd = fake_file(&f);
	assert_true(fd >= 0);
	err = lookup_build(&l, fd);
	if (err)
		fail_msg("%s", strerror(-err));
	close(fd);
	assert_true(unwind_file_is_valid(l.file, l.len));
	return l;
}

static int build_error(void)
{
	struct lookup l;
	int fd, err;

	fake_make(&f);
	fd = fake_file(&f);
	assert_true(fd >= 0);
	err = lookup_build(&l, fd);
	close(fd);
	return err;
}

static void assert_cfa(const struct lookup *l, uint64_t addr, unsigned int cfa, int off)
{
	assert_int_equal(lookup_rule(l, addr).cfa, cfa);
	assert_int_equal(lookup_rule(l, addr).cfa_off, off);
}

/* A function of 0x100 bytes, in .eh_frame. */
static void one_function(void)
{
	fake_cie(&f.eh);
	fake_fde(&f.eh, FAKE_CODE, 0x100, CODE(PUSH));
}

static void assert_one_function(const struct lookup *l)
{
	assert_int_equal(l->file->fdes, 1);
	assert_int_equal(l->file->machine, EM_X86_64);
	assert_int_equal(l->file->start, FAKE_BASE);
	assert_int_equal(l->file->bytes, FAKE_CODE + 0x100 - FAKE_BASE);
	assert_int_equal(l->file->hash[0], 1);
	assert_int_equal(l->file->hash[1], 2);
	assert_cfa(l, FAKE_CODE - 1, UNWIND_NO_ROW, 0);
	assert_cfa(l, FAKE_CODE, UNWIND_SP, 8);
	assert_cfa(l, FAKE_CODE + 1, UNWIND_SP, 16);
	assert_cfa(l, FAKE_CODE + 0xff, UNWIND_SP, 16);
	assert_cfa(l, FAKE_CODE + 0x100, UNWIND_NO_ROW, 0);
}

static void a_function(void **state)
{
	struct lookup l;

	one_function();
	l = build();
	assert_one_function(&l);
	assert_int_equal(l.file->fdes_bad, 0);
	lookup_free(&l);
}

static void without_a_section_table(void **state)
{
	struct lookup l;

	one_function();
	fake_uint(&f.eh, 0, 4);
	fake_uint(&f.eh, UINT64_MAX, 8);	/* what follows is no entry */
	f.no_sections = true;
	l = build();
	assert_one_function(&l);
	assert_int_equal(l.file->fdes_bad, 0);
	lookup_free(&l);
}

static void debug_frame_alone(void **state)
{
	struct lookup l;

	fake_cie(&f.debug);
	fake_fde(&f.debug, FAKE_CODE, 0x100, CODE(PUSH));
	l = build();
	assert_one_function(&l);
	lookup_free(&l);
}

static void debug_frame_only_for_what_eh_frame_does_not_have(void **state)
{
	struct lookup l;

	one_function();
	fake_cie(&f.debug);
	fake_fde(&f.debug, FAKE_CODE + 0x80, 0x100, CODE(0x0e, 64));
	fake_fde(&f.debug, FAKE_CODE - 0x100, 0x101, CODE(0x0e, 64));
	fake_fde(&f.debug, FAKE_CODE + 0x100, 0x100, CODE(0x0e, 48));
	fake_fde(&f.debug, 0, FAKE_BASE * 2, CODE(0x0e, 64));	/* removed by the linker */
	l = build();
	assert_int_equal(l.file->fdes, 2);
	assert_cfa(&l, FAKE_CODE - 1, UNWIND_NO_ROW, 0);
	assert_cfa(&l, FAKE_CODE + 0xff, UNWIND_SP, 16);
	assert_cfa(&l, FAKE_CODE + 0x100, UNWIND_SP, 48);
	lookup_free(&l);
}

/* .debug_frame as gcc -gz leaves it; size: what its header says. */
static void compress_debug_frame(uint64_t size, uint32_t how)
{
	const Elf64_Chdr head = { .ch_type = how, .ch_size = size, .ch_addralign = 8 };
	struct fake_cfi plain = f.debug;
	uLongf len = sizeof(f.debug.bytes) - sizeof(head);

	assert_int_equal(compress(f.debug.bytes + sizeof(head), &len, plain.bytes, plain.len),
			 Z_OK);
	memcpy(f.debug.bytes, &head, sizeof(head));
	f.debug.len = sizeof(head) + len;
	f.debug_flags = SHF_COMPRESSED;
}

static void compressed_debug_frame(void **state)
{
	struct fake_cfi plain = { 0 };
	struct lookup l;

	fake_cie(&plain);
	fake_fde(&plain, FAKE_CODE, 0x100, CODE(PUSH));
	f.debug = plain;
	compress_debug_frame(plain.len, ELFCOMPRESS_ZLIB);
	l = build();
	assert_one_function(&l);
	lookup_free(&l);
	f.debug = plain;
	compress_debug_frame(plain.len - 1, ELFCOMPRESS_ZLIB);
	assert_int_equal(build_error(), -EBADMSG);
	f.debug = plain;
	compress_debug_frame(plain.len + 1, ELFCOMPRESS_ZLIB);
	assert_int_equal(build_error(), -EBADMSG);
	f.debug = plain;
	compress_debug_frame(1ull << 40, ELFCOMPRESS_ZLIB);
	assert_int_equal(build_error(), -EFBIG);
	f.debug = plain;
	compress_debug_frame(plain.len, 2);
	assert_int_equal(build_error(), -EBADMSG);
	f.debug.len = 10;	/* less than the header */
	assert_int_equal(build_error(), -EBADMSG);
}

static void a_debug_frame_that_is_too_long_does_not_count(void **state)
{
	struct lookup l;

	one_function();
	fake_cie(&f.debug);
	compress_debug_frame(1ull << 40, ELFCOMPRESS_ZLIB);
	l = build();
	assert_one_function(&l);
	lookup_free(&l);
}

static void the_kernel_calls_signal_frames(void **state)
{
	struct lookup l;

	fake_raw_cie(&f.eh, CODE(1, 'z', 'R', 'S', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8));
	fake_fde(&f.eh, FAKE_CODE, 16, CODE(0x0f, 4, 0x77, 0xa0, 1, 6));
	l = build();
	assert_cfa(&l, FAKE_CODE, UNWIND_SIGNAL, 0);
	assert_cfa(&l, FAKE_CODE + 15, UNWIND_SIGNAL, 0);
	lookup_free(&l);
}

static void another_column_has_the_return_address(void **state)
{
	struct lookup l;

	fake_raw_cie(&f.eh, CODE(1, 'z', 'R', 0, 1, 0x78, 3, 1, 0x1b, 0x0c, 7, 8, 0x90, 1));
	fake_fde(&f.eh, FAKE_CODE, 16, CODE(0));
	l = build();
	assert_cfa(&l, FAKE_CODE, UNWIND_UNSUPPORTED, 0);
	assert_int_equal(l.file->rows_unsupported, 1);
	lookup_free(&l);
}

static void a_broken_function_is_left_out(void **state)
{
	struct lookup l;

	one_function();
	fake_fde(&f.eh, FAKE_CODE + 0x100, 0x100, CODE(PUSH, 0x3f));
	fake_fde(&f.eh, FAKE_CODE + 0x200, 0x100, CODE(PUSH));
	l = build();
	assert_int_equal(l.file->fdes, 2);
	assert_int_equal(l.file->fdes_bad, 1);
	assert_cfa(&l, FAKE_CODE + 0x100, UNWIND_NO_ROW, 0);
	assert_cfa(&l, FAKE_CODE + 0x201, UNWIND_SP, 16);
	lookup_free(&l);
}

static void outside_of_the_code(void **state)
{
	struct lookup l;

	one_function();
	fake_fde(&f.eh, 0, 0x100, CODE(PUSH));
	fake_fde(&f.eh, FAKE_BASE + FAKE_BYTES, 0x100, CODE(PUSH));
	fake_fde(&f.eh, FAKE_CODE, 0, CODE(PUSH));
	fake_fde(&f.eh, FAKE_BASE + FAKE_BYTES - 0x10, 0x100, CODE(0));
	l = build();
	assert_int_equal(l.file->fdes, 2);
	assert_int_equal(l.file->fdes_bad, 0);
	assert_int_equal(l.file->bytes, FAKE_BYTES);	/* the last one is cut off */
	assert_cfa(&l, FAKE_CODE + 1, UNWIND_SP, 16);
	lookup_free(&l);
}

static void long_rules(void **state)
{
	struct lookup l;

	fake_cie(&f.eh);
	fake_fde(&f.eh, FAKE_CODE, 0x100,
		 CODE(0x0c, 10, 0, 0x45, 0x10, 6, 2, 0x76, 0, 0x43, 0x0f, 3, 0x76, 0x78, 6));
	l = build();
	assert_cfa(&l, FAKE_CODE, UNWIND_UNSUPPORTED, 0);
	assert_cfa(&l, FAKE_CODE + 8, UNWIND_AT_FP, -8);
	assert_int_equal(lookup_rule(&l, FAKE_CODE + 8).fp, UNWIND_AT_FRAME);
	assert_int_equal(l.file->ext_cnt, 1);
	lookup_free(&l);
}

static void arm64(void **state)
{
	struct lookup l;

	f.machine = EM_AARCH64;
	fake_cie_arm64(&f.eh);
	fake_fde(&f.eh, FAKE_CODE, 0x100, CODE(0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3));
	l = build();
	assert_int_equal(l.file->machine, EM_AARCH64);
	assert_cfa(&l, FAKE_CODE + 3, UNWIND_SP, 0);
	assert_int_equal(lookup_rule(&l, FAKE_CODE).ra, UNWIND_SAME);
	assert_cfa(&l, FAKE_CODE + 4, UNWIND_SP, 32);
	assert_int_equal(lookup_rule(&l, FAKE_CODE + 4).ra_off, -24);
	lookup_free(&l);
}

static void files_without_tables(void **state)
{
	Elf64_Phdr *load = (Elf64_Phdr *)(f.elf + sizeof(Elf64_Ehdr));
	struct elf_file elf;
	int fd;

	f.no_sections = true;
	assert_int_equal(build_error(), -EBADMSG);	/* .eh_frame_hdr leads to nothing */
	f.no_sections = false;
	memset(f.elf, 0, sizeof(f.elf));
	fake_make(&f);
	load[1].p_type = PT_NULL;
	fd = fake_file(&f);
	assert_int_equal(elf_file_open(&elf, fd), 0);
	assert_int_equal(unwind_build(&elf, (const uint64_t[]){ 1, 2 }), -ENOENT);
	load[0].p_flags = PF_R;		/* no code */
	assert_int_equal(pwrite(fd, f.elf, sizeof(f.elf), 0), sizeof(f.elf));
	assert_int_equal(elf_file_open(&elf, fd), 0);
	assert_int_equal(unwind_build(&elf, (const uint64_t[]){ 1, 2 }), -ENOENT);
	close(fd);
	fake_begin(&f, EM_RISCV);
	one_function();
	assert_int_equal(build_error(), -ENOEXEC);
	fake_begin(&f, EM_X86_64);
	fake_cie(&f.eh);
	assert_int_equal(build_error(), -EBADMSG);	/* no function */
}

static void a_section_that_is_too_long(void **state)
{
	Elf64_Shdr *sections = (Elf64_Shdr *)(f.elf + FAKE_SHDRS);
	struct elf_file elf;
	int fd;

	one_function();
	fake_make(&f);
	sections[1].sh_size = 300ull << 20;
	fd = fake_file(&f);
	assert_int_equal(elf_file_open(&elf, fd), 0);
	/* Beyond the file's end, it is none. */
	assert_int_equal(unwind_build(&elf, (const uint64_t[]){ 1, 2 }), -ENOENT);
	assert_int_equal(ftruncate(fd, 400 << 20), 0);
	assert_int_equal(elf_file_open(&elf, fd), 0);
	assert_int_equal(unwind_build(&elf, (const uint64_t[]){ 1, 2 }), -EFBIG);
	close(fd);
}

/* One function of endless instructions, as often as its CIE allows. */
static void too_much_work(void **state)
{
	const off_t at = 1 << 20, len = 100 << 20;
	Elf64_Shdr *sections = (Elf64_Shdr *)(f.elf + FAKE_SHDRS);
	struct fake_cfi c = { .vaddr = FAKE_BASE + (1 << 20) };
	struct elf_file elf;
	uint32_t fde_len;
	size_t fde;
	int fd;

	fake_cie(&c);
	fde = c.len;
	fake_fde(&c, FAKE_CODE, 0x100, CODE(0));
	fde_len = (uint32_t)((size_t)len - fde - 4);
	memcpy(c.bytes + fde, &fde_len, sizeof(fde_len));
	fake_make(&f);
	sections[1].sh_addr = c.vaddr;
	sections[1].sh_offset = (uint64_t)at;
	sections[1].sh_size = (uint64_t)len;
	fd = fake_file(&f);
	assert_int_equal(ftruncate(fd, at + len), 0);	/* zeros: DW_CFA_nop */
	assert_int_equal(pwrite(fd, c.bytes, c.len, at), c.len);
	assert_int_equal(elf_file_open(&elf, fd), 0);
	assert_int_equal(unwind_build(&elf, (const uint64_t[]){ 1, 2 }), -EFBIG);
	close(fd);
}

static void nobody_can_change_a_table(void **state)
{
	struct elf_file elf;
	int fd, table;

	one_function();
	fake_make(&f);
	fd = fake_file(&f);
	assert_int_equal(elf_file_open(&elf, fd), 0);
	table = unwind_build(&elf, (const uint64_t[]){ 1, 2 });
	assert_true(table >= 0);
	assert_int_equal(fcntl(table, F_GET_SEALS),
			 F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	assert_int_equal(pwrite(table, "", 1, 0), -1);
	close(table);
	close(fd);
}

static void hash_of(uint64_t hash[2], uint8_t secret_byte)
{
	uint8_t secret[192];
	struct elf_file elf;
	int fd;

	memset(secret, secret_byte, sizeof(secret));
	fake_make(&f);
	fd = fake_file(&f);
	assert_int_equal(elf_file_open(&elf, fd), 0);
	assert_int_equal(unwind_hash(&elf, secret, hash), 0);
	close(fd);
}

static void assert_other_hash(const uint64_t than[2])
{
	uint64_t hash[2];

	hash_of(hash, 1);
	assert_memory_not_equal(hash, than, sizeof(hash));
}

static void the_hash_depends_on_all_that_the_table_does(void **state)
{
	uint64_t first[2], again[2];

	one_function();
	hash_of(first, 1);
	f.elf[FAKE_CODE - FAKE_BASE] = 1;	/* the code does not count */
	hash_of(again, 1);
	assert_memory_equal(again, first, sizeof(first));
	hash_of(again, 2);
	assert_memory_not_equal(again, first, sizeof(first));
	f.machine = EM_AARCH64;
	assert_other_hash(first);
	f.machine = EM_X86_64;
	f.eh.bytes[f.eh.len - 1] ^= 1;
	assert_other_hash(first);
	f.eh.bytes[f.eh.len - 1] ^= 1;
	f.eh.vaddr += 8;
	assert_other_hash(first);
	f.eh.vaddr -= 8;
	fake_cie(&f.debug);
	assert_other_hash(first);
}

static void the_hash_of_no_table(void **state)
{
	static const uint8_t secret[192];
	uint64_t hash[2];
	struct elf_file elf;
	int fd;

	fake_make(&f);
	((Elf64_Phdr *)(f.elf + sizeof(Elf64_Ehdr)))[1].p_type = PT_NULL;
	fd = fake_file(&f);
	assert_int_equal(elf_file_open(&elf, fd), 0);
	assert_int_equal(unwind_hash(&elf, secret, hash), -ENOENT);
	close(fd);
}

/* arm64's vDSO: no call frame information, but where the handlers of signals return to. */
static int open_vdso(struct elf_file *elf, uint16_t machine, uint32_t first)
{
	/* nop; mov x8, #139; svc #0 */
	const uint32_t code[] = { 0xd503201f, first, 0xd4000001 };
	int fd;

	f.machine = machine;
	fake_make(&f);
	((Elf64_Phdr *)(f.elf + sizeof(Elf64_Ehdr)))[1].p_type = PT_NULL;
	memcpy(f.elf + FAKE_CODE - FAKE_BASE, code, sizeof(code));
	fd = fake_file(&f);
	assert_int_equal(elf_file_open(elf, fd), 0);
	return fd;
}

static void a_trampoline_is_known_by_its_code(void **state)
{
	static const uint8_t secret[192];
	uint64_t hash[2];
	struct elf_file elf;
	struct lookup l;
	int fd = open_vdso(&elf, EM_AARCH64, 0xd2801168);

	assert_int_equal(unwind_hash(&elf, secret, hash), 0);
	assert_int_equal(lookup_build(&l, fd), 0);
	assert_cfa(&l, FAKE_CODE - 1, UNWIND_NO_ROW, 0);
	assert_cfa(&l, FAKE_CODE, UNWIND_SIGNAL, 0);
	assert_cfa(&l, FAKE_CODE + 11, UNWIND_SIGNAL, 0);
	assert_cfa(&l, FAKE_CODE + 12, UNWIND_NO_ROW, 0);
	lookup_free(&l);
	close(fd);
}

static void what_looks_like_a_trampoline(void **state)
{
	static const uint8_t secret[192];
	uint64_t hash[2];
	struct elf_file elf;
	struct lookup l;
	int fd = open_vdso(&elf, EM_X86_64, 0xd2801168);

	assert_int_equal(unwind_hash(&elf, secret, hash), -ENOENT);
	assert_int_equal(lookup_build(&l, fd), -ENOENT);
	close(fd);
	fd = open_vdso(&elf, EM_AARCH64, 0xd2801169);
	assert_int_equal(unwind_hash(&elf, secret, hash), -ENOENT);
	assert_int_equal(lookup_build(&l, fd), -ENOENT);
	close(fd);
}

#define TEST(t) cmocka_unit_test_setup(t, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_function),
		TEST(without_a_section_table),
		TEST(debug_frame_alone),
		TEST(debug_frame_only_for_what_eh_frame_does_not_have),
		TEST(compressed_debug_frame),
		TEST(a_debug_frame_that_is_too_long_does_not_count),
		TEST(the_kernel_calls_signal_frames),
		TEST(another_column_has_the_return_address),
		TEST(a_broken_function_is_left_out),
		TEST(outside_of_the_code),
		TEST(long_rules),
		TEST(arm64),
		TEST(files_without_tables),
		TEST(a_section_that_is_too_long),
		TEST(too_much_work),
		TEST(nobody_can_change_a_table),
		TEST(the_hash_depends_on_all_that_the_table_does),
		TEST(the_hash_of_no_table),
		TEST(a_trampoline_is_known_by_its_code),
		TEST(what_looks_like_a_trampoline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
