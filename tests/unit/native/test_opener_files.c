// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_opener_files.c - what the opener opens for a process, this one, and what it refuses.
 * Without the right to use /proc/PID/map_files, tests of mappings are skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "native/opener_files.h"

static char path[128];
static struct elf_place place;
static struct elf_opened opened;

static int find_mapped(void *ctx, const struct proc_map *m)
{
	if (m->start != (uintptr_t)ctx)
		return 0;
	place = (struct elf_place){ .tgid = (uint32_t)getpid(), .uid = geteuid(),
				    .start = m->start, .end = m->end, .dev = m->dev,
				    .ino = m->inode };
	return 1;
}

/* Map a new file at path as code, at this address (NULL: anywhere). */
static void *map_at(void *at)
{
	void *mem;
	int fd;

	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(ftruncate(fd, 8192), 0);
	mem = mmap(at, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd, 0);
	assert_ptr_not_equal(mem, MAP_FAILED);
	close(fd);
	assert_int_equal(proc_maps(getpid(), find_mapped, mem), 1);
	return mem;
}

static void *map_file(void)
{
	snprintf(path, sizeof(path), "/tmp/tachbpf-opener-%d", getpid());
	return map_at(NULL);
}

/* What is opened for the place is its file. */
static void assert_opened(void)
{
	int fd = opener_mapped(&place, &opened);

	assert_true(fd >= 0);
	assert_int_equal(opened.ino, place.ino);
	close(fd);
}

static bool may_use_map_files(void)
{
	char link[128];
	struct stat st;

	snprintf(link, sizeof(link), "/proc/self/map_files/%" PRIx64 "-%" PRIx64, place.start,
		 place.end);
	return !stat(link, &st);
}

static void test_a_mapped_file(void **state)
{
	void *mem = map_file();
	struct stat st;
	int fd;

	if (!may_use_map_files())
		skip();
	unlink(path);
	fd = opener_mapped(&place, &opened);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(opened.ino, st.st_ino);
	assert_int_equal(opened.size, 8192);
	close(fd);
	munmap(mem, 8192);
	assert_int_equal(opener_mapped(&place, &opened), -ENOENT);
}

static void test_another_file_or_process(void **state)
{
	void *mem = map_file();
	struct elf_place wrong;

	if (!may_use_map_files())
		skip();
	unlink(path);
	wrong = place;
	wrong.ino++;
	assert_int_equal(opener_mapped(&wrong, &opened), -ESTALE);
	wrong = place;
	wrong.dev++;
	/* Where stat() shows another device anyway, the inode alone counts. */
	if (opener_mapped(&wrong, &opened) >= 0)
		print_message("the file system has devices of its own\n");
	wrong = place;
	wrong.start_ns = 10000000;
	assert_int_equal(opener_mapped(&wrong, &opened), -ESRCH);
	wrong = place;
	wrong.tgid = 1u << 30;
	assert_int_equal(opener_mapped(&wrong, &opened), -ESRCH);
	munmap(mem, 8192);
}

/* A place of several mappings; then only a part that is not code is left of it. */
static void test_a_file_in_pieces(void **state)
{
	char *mem = map_file();

	if (!may_use_map_files())
		skip();
	unlink(path);
	assert_int_equal(mprotect(mem + 4096, 4096, PROT_READ), 0);
	assert_opened();
	assert_int_equal(munmap(mem, 4096), 0);
	assert_opened();
	/* It was moved. */
	place.start = 0x1000;
	place.end = 0x2000;
	assert_opened();
	munmap(mem + 4096, 4096);
	assert_int_equal(opener_mapped(&place, &opened), -ENOENT);
}

/* Another file is at its address; it is mapped elsewhere. */
static void test_another_files_mapping_in_its_place(void **state)
{
	void *mem = map_file(), *moved = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
					      -1, 0);
	const struct elf_place its = place;
	char its_path[128];

	if (!may_use_map_files())
		skip();
	strcpy(its_path, path);
	assert_ptr_equal(mremap(mem, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, moved), moved);
	snprintf(path, sizeof(path), "%s.other", its_path);
	map_at(mem);
	place = its;
	assert_opened();
	munmap(moved, 8192);
	assert_int_equal(opener_mapped(&place, &opened), -ESTALE);
	munmap(mem, 8192);
	unlink(path);
	unlink(its_path);
}

/* By its path, before it is mapped: it has the numbers that its mapping will have. */
static void test_a_file_at_a_path(void **state)
{
	struct opener_found found;
	char paths[512];
	size_t len;
	int fd;

	map_file();
	len = (size_t)snprintf(paths, sizeof(paths), "/nonexistent%c/%c%s", 0, 0, path) + 1;
	fd = opener_paths(paths, len, &found, &opened);
	assert_true(fd >= 0);
	close(fd);
	assert_true(found.dev == place.dev && found.ino == place.ino);
	assert_string_equal(found.path, path);
	assert_int_equal(opened.size, 8192);
	/* A path without its end is none. */
	assert_int_equal(opener_paths(paths, len - 1, &found, &opened), -EINVAL);
	assert_int_equal(opener_paths(paths, 0, &found, &opened), -ENOENT);
	munmap((void *)place.start, 8192);
	unlink(path);
}

static void test_the_process_that_it_was(void **state)
{
	struct proc_stat st;

	assert_int_equal(proc_stat(getpid(), &st), 0);
	place = (struct elf_place){ .tgid = (uint32_t)getpid() };
	assert_int_equal(opener_same_process(&place), 0);
	place.start_ns = st.start_ticks * 10000000 + 9999999;
	assert_int_equal(opener_same_process(&place), 0);
	place.start_ns += 1;
	assert_int_equal(opener_same_process(&place), -ESRCH);
}

/* ---- perf maps ---- */

static int perf_map(void)
{
	int fd;

	place = (struct elf_place){ .tgid = (uint32_t)getpid(), .uid = geteuid() };
	fd = opener_perf_map(&place, &opened);
	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 0 : fd;
}

static void test_perf_maps(void **state)
{
	char link[140];
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	snprintf(link, sizeof(link), "%s.x", path);
	unlink(path);
	assert_int_equal(perf_map(), -ENOENT);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0644);
	assert_true(fd >= 0);
	assert_int_equal(perf_map(), 0);
	assert_int_equal(ftruncate(fd, OPENER_PERF_MAP_MAX + 1), 0);
	assert_int_equal(perf_map(), -EFBIG);
	assert_int_equal(ftruncate(fd, 0), 0);
	if (!geteuid()) {
		assert_int_equal(fchown(fd, 12345, 12345), 0);
		assert_int_equal(perf_map(), -EPERM);
		assert_int_equal(fchown(fd, 0, 0), 0);
	}
	close(fd);
	assert_int_equal(rename(path, link), 0);
	assert_int_equal(symlink(link, path), 0);
	assert_int_equal(perf_map(), -ELOOP);
	unlink(path);
	unlink(link);
	assert_int_equal(mkfifo(path, 0644), 0);
	assert_int_equal(perf_map(), -EINVAL);
	unlink(path);
}

/* ---- debug files ---- */

static void test_names_that_lead_elsewhere(void **state)
{
	static const char *const names[] = { "../passwd", "/etc/passwd", "..", ".", "", "a/b" };
	struct elf_want_debug want;
	size_t i;

	place = (struct elf_place){ .tgid = (uint32_t)getpid() };
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		want = (struct elf_want_debug){ .id_bytes = 0 };
		snprintf(want.name, sizeof(want.name), "%s", names[i]);
		assert_int_equal(opener_debug(&place, NULL, &want), -ENOENT);
	}
	want = (struct elf_want_debug){ .id_bytes = 200 };
	memset(want.name, 'x', sizeof(want.name));
	assert_int_equal(opener_debug(NULL, NULL, &want), -ENOENT);
}

/* Beside the mapped file: by the name that its .gnu_debuglink has. */
static void test_a_debug_file_beside(void **state)
{
	struct elf_want_debug want = { .id_bytes = 0 };
	void *mem = map_file();
	char debug[140];
	int fd;

	if (!may_use_map_files())
		skip();
	snprintf(debug, sizeof(debug), "%s.debug", path);
	snprintf(want.name, sizeof(want.name), "%s", strrchr(debug, '/') + 1);
	assert_int_equal(opener_debug(&place, NULL, &want), -ENOENT);
	close(open(debug, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(mprotect(mem, 4096, PROT_READ), 0);	/* now it is in pieces */
	fd = opener_debug(&place, NULL, &want);
	assert_true(fd >= 0);
	close(fd);
	unlink(debug);
	unlink(path);
	munmap(mem, 8192);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_mapped_file),
		cmocka_unit_test(test_another_file_or_process),
		cmocka_unit_test(test_a_file_in_pieces),
		cmocka_unit_test(test_another_files_mapping_in_its_place),
		cmocka_unit_test(test_a_file_at_a_path),
		cmocka_unit_test(test_the_process_that_it_was),
		cmocka_unit_test(test_perf_maps),
		cmocka_unit_test(test_names_that_lead_elsewhere),
		cmocka_unit_test(test_a_debug_file_beside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
