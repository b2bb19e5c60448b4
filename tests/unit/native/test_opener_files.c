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

#include "bpf/abi_native.h"
#include "native/file_opener.h"
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

/* Map a new file as code. */
static void *map_file(void)
{
	void *mem;
	int fd;

	snprintf(path, sizeof(path), "/tmp/tachbpf-opener-%d", getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(ftruncate(fd, 8192), 0);
	mem = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(mem, MAP_FAILED);
	close(fd);
	assert_int_equal(proc_maps(getpid(), find_mapped, mem), 1);
	return mem;
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
		assert_int_equal(opener_debug(&place, &want), -ENOENT);
	}
	want = (struct elf_want_debug){ .id_bytes = 200 };
	memset(want.name, 'x', sizeof(want.name));
	assert_int_equal(opener_debug(NULL, &want), -ENOENT);
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
	assert_int_equal(opener_debug(&place, &want), -ENOENT);
	close(open(debug, O_CREAT | O_WRONLY, 0600));
	fd = opener_debug(&place, &want);
	assert_true(fd >= 0);
	close(fd);
	unlink(debug);
	unlink(path);
	munmap(mem, 8192);
}

/* ---- mappings ---- */

static struct elf_message last;
static unsigned int messages, found;
static uint64_t wanted;

static int take(const struct elf_message *m, const void *data)
{
	uint32_t at = 0, i;
	const char *its;

	assert_true(opener_maps_ok(m, data));
	for (i = 0; i < m->cnt; i++) {
		const struct opener_map *map = opener_maps_next(data, &at, &its);

		if (map->start == wanted) {
			found++;
			assert_int_equal(map->end - map->start, 8192);
		}
	}
	last = *m;
	messages++;
	return 0;
}

static void test_mappings_with_code(void **state)
{
	const struct elf_message asked = { .file = (uint32_t)getpid(), .request = 9 };
	struct elf_place self = { .tgid = (uint32_t)getpid() };
	void *mem = map_file(), *data, *code;

	unlink(path);
	wanted = (uintptr_t)mem;
	messages = found = 0;
	assert_int_equal(opener_maps(&asked, &self, take), 0);
	assert_int_equal(found, 1);
	assert_int_equal(last.kind, MAPS);
	assert_int_equal(last.request, 9);
	assert_int_equal(last.more, 0);
	assert_int_equal(last.result, 0);
	/* Memory with code, and memory without. */
	code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	data = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	wanted = (uintptr_t)code;
	found = 0;
	opener_maps(&asked, &self, take);
	assert_int_equal(found, 1);
	wanted = (uintptr_t)data;
	found = 0;
	opener_maps(&asked, &self, take);
	assert_int_equal(found, 0);
	self.start_ns = 1;
	opener_maps(&asked, &self, take);
	assert_int_equal(last.result, -ESRCH);
	munmap(mem, 8192);
	munmap(data, 8192);
	munmap(code, 8192);
}

/* Pages that cannot be merged: each second one is not code. */
static void test_too_many_mappings(void **state)
{
	const struct elf_message asked = { .file = (uint32_t)getpid() };
	struct elf_place self = { .tgid = (uint32_t)getpid() };
	size_t bytes = (2 * NATIVE_MAPPINGS + 2) * 4096ull, at;
	char *mem = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(mem, MAP_FAILED);
	for (at = 0; at < bytes; at += 8192)
		assert_int_equal(mprotect(mem + at, 4096, PROT_READ | PROT_EXEC), 0);
	wanted = 0;
	messages = 0;
	opener_maps(&asked, &self, take);
	assert_int_equal(last.result, -E2BIG);
	assert_in_range(messages, 2, 100);
	munmap(mem, bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_mapped_file),
		cmocka_unit_test(test_another_file_or_process),
		cmocka_unit_test(test_the_process_that_it_was),
		cmocka_unit_test(test_perf_maps),
		cmocka_unit_test(test_names_that_lead_elsewhere),
		cmocka_unit_test(test_a_debug_file_beside),
		cmocka_unit_test(test_mappings_with_code),
		cmocka_unit_test(test_too_many_mappings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
