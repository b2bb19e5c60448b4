// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_native_live.c - the whole of user/native with its real parties, looking at this process: the
 * maps are this test's memory. Needs the rights to use /proc/PID/map_files, and build/tachbpf-elf;
 * without them it is skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "elf_helper/elf_start.h"
#include "native/native.h"

#define LIMIT_NS 60000000000ull

/* What the BPF side would have. */
static struct {
	uint8_t *slabs[NATIVE_SLABS];
	uint32_t slab_cnt;
	struct unwind_table tables[UNWIND_TABLES];
	struct native_place place;
} maps;

static int add_slab(void *ctx, uint32_t slab)
{
	assert_int_equal(slab, maps.slab_cnt);
	maps.slabs[maps.slab_cnt++] = calloc(NATIVE_SLAB_CHUNKS, NATIVE_CHUNK);
	return 0;
}

static uint8_t *chunk_at(uint32_t chunk)
{
	assert_in_range(chunk / NATIVE_SLAB_CHUNKS, 0, maps.slab_cnt - 1);
	return maps.slabs[chunk / NATIVE_SLAB_CHUNKS] + chunk % NATIVE_SLAB_CHUNKS * NATIVE_CHUNK;
}

static int put_chunk(void *ctx, uint32_t chunk, const void *bytes)
{
	memcpy(chunk_at(chunk), bytes, NATIVE_CHUNK);
	return 0;
}

static int put_table(void *ctx, uint32_t number, const struct unwind_table *table)
{
	assert_in_range(number, 1, UNWIND_TABLES - 1);
	maps.tables[number] = *table;
	return 0;
}

static int put_place(void *ctx, pid_t tgid, const struct native_place *place)
{
	assert_int_equal(tgid, getpid());
	maps.place = *place;
	return 0;
}

static int drop_place(void *ctx, pid_t tgid)
{
	maps.place = (struct native_place){ 0 };
	return 0;
}

static struct native *begin(const char *cache)
{
	const struct native_args args = {
		.maps = { NULL, add_slab, put_chunk, put_table, put_place, drop_place },
		.cache = cache,
	};
	struct native *n;
	uint32_t i;

	for (i = 0; i < maps.slab_cnt; i++)
		free(maps.slabs[i]);
	memset(&maps, 0, sizeof(maps));
	n = native_new(&args);
	assert_non_null(n);
	assert_int_equal(native_begin(n, getpid(), 0, geteuid(), 0), 0);
	return n;
}

static void poll_once(struct native *n)
{
	struct pollfd p = { .fd = native_fd(n), .events = POLLIN };

	poll(&p, 1, 1000);
	native_poll(n);
}

/* The mapping that has the address, as the BPF side finds it; NULL: none. */
static const struct native_mapping *mapping_of(uint64_t addr)
{
	uint32_t i, per_chunk = NATIVE_CHUNK / sizeof(struct native_mapping);

	for (i = 0; i < maps.place.cnt; i++) {
		const struct native_mapping *m =
			(const void *)chunk_at(maps.place.chunk + i / per_chunk);

		m += i % per_chunk;
		if (m->start <= addr && addr < m->end)
			return m;
	}
	return NULL;
}

static const struct native_mapping *wait_for_table(struct native *n, uint64_t addr)
{
	uint64_t end = now_ns() + LIMIT_NS;
	const struct native_mapping *m;

	while (now_ns() < end) {
		poll_once(n);
		m = mapping_of(addr);
		if (m && m->file && maps.tables[m->table].row_cnt)
			return m;
	}
	fail_msg("no table");
	return NULL;
}

static bool can_run(void)
{
	char path[512], program[512];
	struct stat st;
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long start, end;

	if (elf_helper_find(program, sizeof(program)))
		return false;
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lx-%lx", &start, &end), 2);
	fclose(f);
	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", start, end);
	return !stat(path, &st);
}

static const char *name_of(struct native *n, const struct native_mapping *m, uint64_t addr)
{
	static char text[512];
	struct native_name name;
	int err = native_name(n, getpid(), m->file, addr - m->bias, &name);

	if (err == -EAGAIN) {
		native_settle(n, 30000, 30000);
		err = native_name(n, getpid(), m->file, addr - m->bias, &name);
	}
	assert_int_equal(err, 0);
	assert_int_equal(name.cnt, 1);
	snprintf(text, sizeof(text), "%s", name.functions[0].name);
	return text;
}

static void test_table_and_names_of_libc(void **state)
{
	uint64_t addr = (uintptr_t)dlsym(RTLD_DEFAULT, "qsort") + 4;
	const struct native_mapping *m;
	struct native_counts counts;
	struct native *n;

	if (!can_run())
		skip();
	n = begin(NULL);
	m = wait_for_table(n, addr);
	assert_in_range(addr - m->bias - maps.tables[m->table].start, 0,
			maps.tables[m->table].bytes);
	assert_string_equal(name_of(n, m, addr), "qsort");
	assert_string_equal(native_file(n, m->file)->library, "libc.so.6");
	assert_int_equal(native_file(n, m->file)->build_id_bytes, 20);
	native_counts(n, &counts);
	assert_int_equal(counts.tables_failed, 0);
	assert_int_equal(counts.helper_restarts, 0);
	native_free(n);
}

static unsigned int entries(const char *dir)
{
	struct dirent *e;
	unsigned int cnt = 0;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d)))
		cnt += strlen(e->d_name) == 32;
	if (d)
		closedir(d);
	return cnt;
}

/* The keeper of the cache writes what was built before, in that order. */
static void wait_for_entry(struct native *n, const char *dir, uint64_t addr)
{
	uint64_t end = now_ns() + LIMIT_NS;
	struct native_counts counts;

	wait_for_table(n, addr);
	native_counts(n, &counts);
	while (entries(dir) < counts.tables && now_ns() < end)
		poll_once(n);
	assert_true(entries(dir) >= counts.tables);
}

/* The second time the table comes from the disk. */
static void test_tables_are_kept(void **state)
{
	uint64_t addr = (uintptr_t)dlsym(RTLD_DEFAULT, "qsort") + 4;
	char base[] = "/tmp/tachbpf-live-XXXXXX", dir[64], command[128];
	struct native_counts counts;
	struct native *n;

	if (!can_run())
		skip();
	assert_non_null(mkdtemp(base));
	snprintf(dir, sizeof(dir), "%s/tables", base);
	n = begin(dir);
	wait_for_entry(n, dir, addr);
	native_counts(n, &counts);
	assert_int_equal(counts.tables_cached, 0);
	native_free(n);
	n = begin(dir);
	wait_for_table(n, addr);
	native_counts(n, &counts);
	native_free(n);
	snprintf(command, sizeof(command), "rm -rf '%s'", base);
	assert_int_equal(system(command), 0);
	assert_in_range(counts.tables_cached, 1, counts.tables);
}

/* Code that is in no file, as a JIT compiler makes it, and tells perf. */
static void test_names_of_jit_code(void **state)
{
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct native_mapping *m;
	struct native_name name;
	char path[64];
	struct native *n;
	uint64_t end;
	FILE *f;

	if (!can_run())
		skip();
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "%lx 100 py::compiled code\n", (unsigned long)(uintptr_t)code);
	fclose(f);
	n = begin(NULL);
	end = now_ns() + LIMIT_NS;
	while (!(m = mapping_of((uintptr_t)code)) && now_ns() < end)
		poll_once(n);
	assert_non_null(m);
	assert_int_equal(m->file, 0);
	assert_int_equal(maps.tables[m->table].why, NATIVE_JIT);
	assert_int_equal(native_name(n, getpid(), 0, (uintptr_t)code + 16, &name), -EAGAIN);
	native_settle(n, 30000, 30000);
	assert_int_equal(native_name(n, getpid(), 0, (uintptr_t)code + 16, &name), 0);
	assert_string_equal(name.functions[0].name, "py::compiled code");
	assert_string_equal(name.library, "JIT");
	native_free(n);
	unlink(path);
	munmap(code, 4096);
}

static void test_the_vdso(void **state)
{
	const struct native_mapping *m;
	struct native *n;

	if (!can_run() || !getauxval(AT_SYSINFO_EHDR))
		skip();
	n = begin(NULL);
	m = wait_for_table(n, getauxval(AT_SYSINFO_EHDR) + 0x800);
	assert_string_equal(native_file(n, m->file)->library, "[vdso]");
	native_free(n);
}

/* The helper beside the programs, wherever the build is: build/tests/unit/native/ is this one's. */
static void find_helper(void)
{
	char path[512];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 64);

	assert_true(len > 0);
	path[len] = '\0';
	*strrchr(path, '/') = '\0';
	strcat(path, "/../../../tachbpf-elf");
	setenv("TACHBPF_ELF", path, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_and_names_of_libc),
		cmocka_unit_test(test_tables_are_kept),
		cmocka_unit_test(test_names_of_jit_code),
		cmocka_unit_test(test_the_vdso),
	};

	find_helper();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
