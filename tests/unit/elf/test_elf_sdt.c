// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_elf_sdt.c - USDT probes of this program, which has notes of its own, and notes that are
 * broken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/elf_sdt.h"

unsigned short sdt_test_semaphore __attribute__((section(".probes"), used)) = 0x5a5a;

/* As <sys/sdt.h>; without .stapsdt.base, which only prelink needs. A mark follows the nop. */
#define PROBE(NAME, SEMAPHORE)                                                                     \
	__asm__ volatile("990: nop\n"                                                              \
			 ".pushsection .note.stapsdt, \"\", %%note\n"                              \
			 ".balign 4\n"                                                             \
			 ".4byte 8, 994f - 993f, 3\n"                                              \
			 ".asciz \"stapsdt\"\n"                                                    \
			 "993: .8byte 990b, 0, " SEMAPHORE "\n"                                    \
			 ".asciz \"unit\"\n"                                                       \
			 ".asciz \"" NAME "\"\n"                                                   \
			 ".asciz \"\"\n"                                                           \
			 "994: .balign 4\n"                                                        \
			 ".popsection\n" ::)

void function_with_probes(void);

__attribute__((noinline, used)) void function_with_probes(void)
{
	PROBE("twice", "0");
	PROBE("twice", "0");
	PROBE("guarded", "sdt_test_semaphore");
}

static struct elf_file file;
static struct elf_sdt_place places[ELF_SDT_PLACES_MAX];
static uint32_t cnt;
static int fd;

static int open_self(void **state)
{
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : elf_file_open(&file, fd);
}

static int close_self(void **state)
{
	return close(fd);
}

static void test_places(void **state)
{
	uint16_t semaphore = 0;

	assert_int_equal(elf_sdt_find(&file, "unit", "twice", places, &cnt), 0);
	assert_int_equal(cnt, 2);
	assert_true(places[0].offset && places[1].offset > places[0].offset);
	assert_int_equal(places[0].semaphore, 0);
	assert_int_equal(elf_sdt_find(&file, "unit", "guarded", places, &cnt), 0);
	assert_int_equal(cnt, 1);
	assert_int_equal(pread(fd, &semaphore, 2, (off_t)places[0].semaphore), 2);
	assert_int_equal(semaphore, 0x5a5a);
}

static void test_none(void **state)
{
	assert_int_equal(elf_sdt_find(&file, "unit", "twic", places, &cnt), -ENOENT);
	assert_int_equal(elf_sdt_find(&file, "uni", "twice", places, &cnt), -ENOENT);
	assert_int_equal(elf_sdt_find(&file, "twice", "unit", places, &cnt), -ENOENT);
	assert_int_equal(cnt, 0);
}

/* A copy of this program whose notes begin at *notes in it. */
static uint8_t *copy_of(int *copy, struct elf_range *notes, struct stat *st)
{
	uint8_t *text;

	assert_int_equal(elf_file_section(&file, ".note.stapsdt", notes), 0);
	assert_int_equal(fstat(fd, st), 0);
	*copy = memfd_create("copy", MFD_CLOEXEC);
	assert_int_equal(ftruncate(*copy, st->st_size), 0);
	text = mmap(NULL, (size_t)st->st_size, PROT_READ | PROT_WRITE, MAP_SHARED, *copy, 0);
	assert_ptr_not_equal(text, MAP_FAILED);
	assert_int_equal(pread(fd, text, (size_t)st->st_size, 0), st->st_size);
	return text;
}

/* Each byte of the notes is another one: what is found lies in the file. */
static void test_broken_notes(void **state)
{
	struct elf_file broken;
	struct elf_range notes;
	struct stat st;
	uint64_t at;
	uint32_t i;
	int copy;
	uint8_t *text = copy_of(&copy, &notes, &st);

	assert_int_equal(elf_file_open(&broken, copy), 0);
	for (at = notes.off; at < notes.off + notes.size; at++) {
		text[at] ^= 0xff;
		elf_sdt_find(&broken, "unit", "twice", places, &cnt);
		assert_true(cnt <= 3);
		for (i = 0; i < cnt; i++)
			assert_true(places[i].offset && places[i].offset < (uint64_t)st.st_size);
		text[at] ^= 0xff;
	}
	assert_int_equal(elf_sdt_find(&broken, "unit", "twice", places, &cnt), 0);
	memset(text + notes.off, 0xff, notes.size);
	assert_int_equal(elf_sdt_find(&broken, "unit", "twice", places, &cnt), -ENOENT);
	munmap(text, (size_t)st.st_size);
	close(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places), cmocka_unit_test(test_none),
		cmocka_unit_test(test_broken_notes),
	};

	return cmocka_run_group_tests(tests, open_self, close_self);
}
