// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_opener_maps.c - the mappings with code that the opener reports of a process, this one: those
 * in pieces, with pages that were written, with memory in place of a part of a file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "bpf/abi_native.h"
#include "native/native_wire.h"
#include "native/opener_maps.h"

#define PAGE 4096ull
#define PAGES 8
#define RX (PROT_READ | PROT_EXEC)

static struct elf_message last;
static unsigned int messages;

/* What was reported of the addresses of the last map_file(): "0-2 3-5! 7-8?": pages, and ! for
 * changed, ? for memory without a file.
 */
static char text[256];
static char *code;

static void note_map(const struct opener_map *map)
{
	uint64_t from = (uintptr_t)code, to = from + PAGES * PAGE;
	size_t len = strlen(text);

	if (map->start < from || map->start >= to)
		return;
	assert_true(map->end <= to);
	if (map->ino)
		assert_int_equal(map->offset, map->start - from);
	snprintf(text + len, sizeof(text) - len, "%s%d-%d%s", len ? " " : "",
		 (int)((map->start - from) / PAGE), (int)((map->end - from) / PAGE),
		 !map->ino ? "?" : map->flags & OPENER_CHANGED ? "!" : "");
}

static int take(const struct elf_message *m, const void *data)
{
	const char *path;
	uint32_t at = 0, i;

	assert_true(opener_maps_ok(m, data));
	for (i = 0; i < m->cnt; i++)
		note_map(opener_maps_next(data, &at, &path));
	last = *m;
	messages++;
	return 0;
}

static void read_maps(void)
{
	const struct elf_message asked = { .file = (uint32_t)getpid(), .request = 9 };
	const struct elf_place self = { .tgid = (uint32_t)getpid() };

	*text = '\0';
	messages = 0;
	opener_maps(&asked, &self, take);
}

static void expect(const char *wanted)
{
	read_maps();
	assert_int_equal(last.result, 0);
	assert_string_equal(text, wanted);
}

static void map_fd(int fd)
{
	assert_int_equal(ftruncate(fd, PAGES * PAGE), 0);
	code = mmap(NULL, PAGES * PAGE, RX, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	close(fd);
}

/* Map a new file of PAGES pages as code. */
static void map_file(void)
{
	char path[] = "/tmp/tachbpf-maps-XXXXXX";

	map_fd(mkstemp(path));
	unlink(path);
}

static void protect(int page, int cnt, int prot)
{
	assert_int_equal(mprotect(code + page * PAGE, cnt * PAGE, prot), 0);
}

static void unmap(void)
{
	munmap(code, PAGES * PAGE);
}

static void test_what_a_message_says(void **state)
{
	map_file();
	expect("0-8");
	assert_int_equal(last.kind, MAPS);
	assert_int_equal(last.request, 9);
	assert_int_equal(last.more, 0);
	unmap();
	expect("");
}

static void test_another_process(void **state)
{
	const struct elf_message asked = { .request = 9 };
	const struct elf_place other = { .tgid = (uint32_t)getpid(), .start_ns = 1 };

	opener_maps(&asked, &other, take);
	assert_int_equal(last.result, -ESRCH);
}

static void test_memory_without_a_file(void **state)
{
	code = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	expect("");
	protect(2, 3, RX);
	expect("2-5?");
	protect(3, 1, RX | PROT_WRITE);
	expect("2-5?");
	unmap();
}

/* As long as nothing was written, a file's pieces are one mapping. */
static void test_pieces(void **state)
{
	map_file();
	if (mlock(code + 2 * PAGE, PAGE))
		print_message("mlock() is not allowed\n");
	expect("0-8");
	assert_int_equal(madvise(code + 4 * PAGE, PAGE, MADV_DONTFORK), 0);
	expect("0-8");
	protect(6, 1, RX | PROT_WRITE);
	expect("0-8");
	protect(6, 1, RX);
	expect("0-8");
	protect(1, 1, PROT_READ);
	expect("0-1 2-8");
	munmap(code + 5 * PAGE, PAGE);
	expect("0-1 2-5 6-8");
	unmap();
}

/* A hook over the beginning of a function; more of them; one that was left writable. */
static void test_pages_that_were_written(void **state)
{
	map_file();
	protect(2, 1, RX | PROT_WRITE);
	code[2 * PAGE + 16] = (char)0xe9;
	expect("0-2 2-3! 3-8");
	protect(2, 1, RX);
	expect("0-2 2-3! 3-8");
	protect(2, 4, RX | PROT_WRITE);
	code[3 * PAGE] = code[5 * PAGE] = 1;
	protect(2, 4, RX);
	expect("0-2 2-4! 4-5 5-6! 6-8");
	/* What it reads is still the file's. */
	protect(7, 1, RX | PROT_WRITE);
	assert_int_equal(code[7 * PAGE], 0);
	expect("0-2 2-4! 4-5 5-6! 6-8");
	/* It drops its own copies. */
	assert_int_equal(madvise(code, PAGES * PAGE, MADV_DONTNEED), 0);
	expect("0-8");
	unmap();
}

/* What is written to a shared mapping is in the file. */
static void test_a_shared_mapping(void **state)
{
	char path[] = "/tmp/tachbpf-maps-XXXXXX";
	int fd = mkstemp(path);

	assert_int_equal(ftruncate(fd, PAGES * PAGE), 0);
	code = mmap(NULL, PAGES * PAGE, RX | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	code[2 * PAGE] = 1;
	expect("0-8");
	protect(1, 2, RX);
	expect("0-8");
	unmap();
	close(fd);
	unlink(path);
}

static void put_memory(int page, int cnt, int prot)
{
	void *at = code + page * PAGE;

	assert_ptr_equal(mmap(at, cnt * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 at);
}

/* Code that was copied to other pages, in place. */
static void test_memory_in_place_of_a_part(void **state)
{
	map_file();
	put_memory(2, 3, RX);
	expect("0-2 2-5! 5-8");
	/* In several pieces */
	put_memory(3, 1, RX | PROT_WRITE);
	expect("0-2 2-5! 5-8");
	/* Between parts that are not code: all of the code was copied. */
	protect(0, 2, PROT_READ);
	protect(5, 3, PROT_READ);
	expect("2-5!");
	/* At the end of the file's mapping: nothing says that it is the file's. */
	put_memory(5, 3, RX);
	expect("2-8?");
	unmap();
}

/* The file continues, but not where the memory ends. */
static void test_memory_beside_a_file(void **state)
{
	map_file();
	munmap(code + 4 * PAGE, PAGE);
	put_memory(3, 1, RX);
	expect("0-3 3-4? 5-8");
	unmap();
}

/* Its address is another one, its place in the file is not. */
static void test_code_that_was_moved(void **state)
{
	char *before, *to = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	map_file();
	before = code;
	assert_ptr_equal(mremap(code, PAGES * PAGE, PAGES * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
				to), to);
	expect("");
	code = to;
	expect("0-8");
	assert_ptr_not_equal(before, to);
	unmap();
}

static void test_a_memfd(void **state)
{
	map_fd(memfd_create("code", MFD_CLOEXEC));
	expect("0-8");
	protect(3, 1, RX | PROT_WRITE);
	code[3 * PAGE] = 1;
	protect(3, 1, RX);
	expect("0-3 3-4! 4-8");
	unmap();
}

/* Pages that cannot be merged: each second one is not code. */
static void test_too_many_mappings(void **state)
{
	size_t bytes = (2 * NATIVE_MAPPINGS + 2) * PAGE, at;
	char *mem = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(mem, MAP_FAILED);
	for (at = 0; at < bytes; at += 2 * PAGE)
		assert_int_equal(mprotect(mem + at, PAGE, RX), 0);
	read_maps();
	assert_int_equal(last.result, -E2BIG);
	assert_in_range(messages, 2, 100);
	munmap(mem, bytes);
}

/* Each second page was written: from a limit on, the rest counts as the last one. */
static void test_too_many_changes(void **state)
{
	char path[] = "/tmp/tachbpf-maps-XXXXXX", *mem;
	size_t bytes = 2 * NATIVE_MAPPINGS * PAGE, at;
	int fd = mkstemp(path);

	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	mem = mmap(NULL, bytes, RX | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(mem, MAP_FAILED);
	for (at = 0; at < bytes; at += 2 * PAGE)
		mem[at] = 1;
	read_maps();
	assert_int_equal(last.result, 0);
	assert_in_range(messages, 1, 3);
	munmap(mem, bytes);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_message_says),
		cmocka_unit_test(test_another_process),
		cmocka_unit_test(test_memory_without_a_file),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_pages_that_were_written),
		cmocka_unit_test(test_a_shared_mapping),
		cmocka_unit_test(test_memory_in_place_of_a_part),
		cmocka_unit_test(test_memory_beside_a_file),
		cmocka_unit_test(test_code_that_was_moved),
		cmocka_unit_test(test_a_memfd),
		cmocka_unit_test(test_too_many_mappings),
		cmocka_unit_test(test_too_many_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
