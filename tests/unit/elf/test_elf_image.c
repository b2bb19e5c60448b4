// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_elf_image.c - data as the dynamic linker leaves it, of files made here; relocations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "elf/elf_image.h"
#include "elf/elf_relocs.h"
#include "tests/unit/elf/made_elf.h"

static struct elf_file f;
static struct elf_image image;

static void load(void)
{
	int fd = made_end();

	assert_int_equal(elf_file_open(&f, fd), 0);
	assert_int_equal(elf_image_read(&f, &image), 0);
}

static void unload(void)
{
	elf_image_free(&image);
	assert_int_equal(image.part_cnt, 0);
	close(f.fd);
}

static uint64_t word(uint64_t vaddr)
{
	size_t cnt = 0;
	const uint64_t *w = elf_image_at(&image, vaddr, &cnt);

	assert_non_null(w);
	assert_int_equal(cnt, (MADE_AT(data) + sizeof(made.data) - vaddr) / 8);
	return *w;
}

/* However the file says it, a pointer is an address in the file. */
static void test_pointers(void **state)
{
	uint32_t how, i;

	for (how = 0; how < MADE_HOW_CNT; how++) {
		made_begin(how);
		for (i = 0; i < 300; i++)	/* more than are read at once */
			made_address(made_function(i % MADE_FUNCTIONS));
		made_word(42);
		load();
		for (i = 0; i < 300; i++)
			assert_int_equal(word(made_word_at(i)),
					 made_function(i % MADE_FUNCTIONS));
		assert_int_equal(word(made_word_at(300)), 42);
		assert_int_equal(word(made_word_at(MADE_WORDS - 1)), 0);
		unload();
	}
}

static void test_elsewhere(void **state)
{
	made_begin(MADE_PLAIN);
	made_elsewhere();
	made_relocate(made_word(7), MADE_SYMBOL, 0);
	/* Its symbol is outside of the file. */
	made_relocate(made_word(0), MADE_SYMBOL, 1);
	made.relas[2].r_info = ELF64_R_INFO(UINT32_MAX, ELF64_R_TYPE(made.relas[2].r_info));
	/* One that is none of ours: the word stays. */
	made_relocate(made_word(8), MADE_RELATIVE, 1);
	made.relas[3].r_info = 0;
	load();
	assert_int_equal(word(made_word_at(0)), ELF_IMAGE_ELSEWHERE);
	assert_int_equal(word(made_word_at(1)), ELF_IMAGE_ELSEWHERE);
	assert_int_equal(word(made_word_at(2)), ELF_IMAGE_ELSEWHERE);
	assert_int_equal(word(made_word_at(3)), 8);
	unload();
}

/* Addresses that are in no word of the data: between two, before, behind, in code. */
static void test_where_there_is_none(void **state)
{
	static const uint64_t none[] = {
		0, MADE_BASE, MADE_AT(text), MADE_AT(data) - 8, MADE_AT(data) + 4,
		MADE_AT(data) + sizeof(made.data), UINT64_MAX, UINT64_MAX - 7,
	};
	size_t cnt, i;

	made_begin(MADE_PLAIN);
	for (i = 0; i < ARRAY_SIZE(none); i++) {
		/* A relocation of each is ignored. */
		made_relocate(0, MADE_RELATIVE, 99);
		made.relas[i].r_offset = none[i];
	}
	load();
	for (i = 0; i < ARRAY_SIZE(none); i++)
		assert_null(elf_image_at(&image, none[i], &cnt));
	assert_int_equal(word(MADE_AT(data)), 0);
	unload();
}

/* Opens the file after the program header of its data was changed. */
static int read_with(uint64_t vaddr, uint64_t off, uint64_t filesz)
{
	int fd = made_end(), err;
	const Elf64_Phdr ph = { .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_vaddr = vaddr,
				.p_offset = off, .p_filesz = filesz, .p_memsz = filesz };

	assert_int_equal(pwrite(fd, &ph, sizeof(ph), offsetof(struct made_elf, ph[2])),
			 sizeof(ph));
	assert_int_equal(elf_file_open(&f, fd), 0);
	err = elf_image_read(&f, &image);
	return err;
}

static void test_segments(void **state)
{
	const uint64_t off = offsetof(struct made_elf, data);
	size_t cnt = 0;

	made_begin(MADE_PLAIN);
	made_word(0x1111111111111111);
	made_word(0x2222222222222222);
	/* It begins within a word, and ends in one. */
	assert_int_equal(read_with(MADE_AT(data) + 3, off + 3, 22), 0);
	assert_null(elf_image_at(&image, MADE_AT(data), &cnt));
	assert_int_equal(*elf_image_at(&image, MADE_AT(data) + 8, &cnt), 0x2222222222222222);
	assert_int_equal(cnt, 2);
	unload();
	assert_int_equal(read_with(MADE_AT(data) + 3, off + 3, 7), 0);
	assert_int_equal(image.part_cnt, 0);
	unload();
	/* The file is shorter than it says, or overflows. */
	assert_int_equal(read_with(MADE_AT(data), sizeof(made) - 8, 4096), 0);
	assert_int_equal(image.part_cnt, 0);
	unload();
	assert_int_equal(read_with(MADE_AT(data), UINT64_MAX - 8, 4096), 0);
	assert_int_equal(image.part_cnt, 0);
	unload();
	assert_int_equal(read_with(UINT64_MAX - 3, off, UINT64_MAX), 0);
	assert_int_equal(image.part_cnt, 0);
	unload();
}

/* No more than the limit is read, of all segments together. */
static void test_a_large_file(void **state)
{
	const uint64_t large = ELF_IMAGE_BYTES_MAX / 8 * 5;
	const Elf64_Phdr ph[] = {
		made_segment(PT_LOAD, MADE_AT(data), large, PF_R | PF_W),
		made_segment(PT_LOAD, MADE_AT(data) + large, large, PF_R | PF_W),
		made_segment(PT_LOAD, MADE_AT(data) + 2 * large, large, PF_R | PF_W),
	};
	size_t cnt = 0;
	int fd;

	made_begin(MADE_PLAIN);
	fd = made_end();
	assert_int_equal(ftruncate(fd, (off_t)(sizeof(made) + 3 * large)), 0);
	assert_int_equal(pwrite(fd, ph, sizeof(ph), offsetof(struct made_elf, ph[2])), sizeof(ph));
	assert_int_equal(elf_file_open(&f, fd), 0);
	assert_int_equal(elf_image_read(&f, &image), 0);
	assert_int_equal(image.part_cnt, 2);
	assert_int_equal((image.parts[0].cnt + image.parts[1].cnt) * 8, ELF_IMAGE_BYTES_MAX);
	assert_non_null(elf_image_at(&image, MADE_AT(data) + ELF_IMAGE_BYTES_MAX - 8, &cnt));
	assert_int_equal(cnt, 1);
	assert_null(elf_image_at(&image, MADE_AT(data) + ELF_IMAGE_BYTES_MAX, &cnt));
	unload();
}

static bool count_three(void *ctx, const Elf64_Rela *r)
{
	uint64_t *addends = ctx;

	addends[addends[0]++] = (uint64_t)r->r_addend;
	return addends[0] <= 3;
}

static bool count_all(void *ctx, const Elf64_Rela *r)
{
	(*(uint64_t *)ctx)++;
	return true;
}

static void test_relocations(void **state)
{
	uint64_t addends[8] = { 1 }, left = 1000, cnt = 0;
	uint32_t i;

	made_begin(MADE_RELATIVE);
	for (i = 0; i < 600; i++)
		made_address(1000 + i);
	load();
	elf_relocs_each(&f, f.dyn.rela, f.dyn.rela_bytes, 500, &left, count_three, addends);
	assert_int_equal(addends[1], 1500);
	assert_int_equal(addends[3], 1502);
	assert_int_equal(left, 900);
	elf_relocs_each(&f, f.dyn.rela, f.dyn.rela_bytes, 0, &left, count_all, &cnt);
	assert_int_equal(cnt, 600);
	elf_relocs_each(&f, f.dyn.rela, f.dyn.rela_bytes, 0, &left, count_all, &cnt);
	assert_int_equal(cnt, 900);
	assert_int_equal(left, 0);
	/* None at all; a table that ends with the segment. */
	left = UINT64_MAX;
	elf_relocs_each(&f, 0, 24, 0, &left, count_all, &cnt);
	elf_relocs_each(&f, f.dyn.rela, 23, 0, &left, count_all, &cnt);
	elf_relocs_each(&f, f.dyn.rela, f.dyn.rela_bytes, 601, &left, count_all, &cnt);
	elf_relocs_each(&f, MADE_AT(text) - 70, UINT64_MAX, 0, &left, count_all, &cnt);
	assert_int_equal(cnt, 902);
	unload();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pointers),
		cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_where_there_is_none),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_a_large_file),
		cmocka_unit_test(test_relocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
