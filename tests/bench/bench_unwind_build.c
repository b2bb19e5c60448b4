// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bench_unwind_build.c - how long it takes to build files' unwind tables, for bench_unwind.py.
 *
 *     bench_unwind_build FILE...	prints for each: milliseconds of CPU time of the hash and of
 *					the table, functions, rows, bytes of the table, KiB of
 *					memory at most so far
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/util.h"
#include "elf/unwind_build.h"

static long memory_kib(void)
{
	struct rusage use;

	return getrusage(RUSAGE_SELF, &use) ? 0 : use.ru_maxrss;
}

static int build(const char *path, int fd)
{
	static const uint8_t secret[192] = { 1 };
	double start = cpu_time_s(), hashed, built;
	uint64_t hash[2] = { 0 };
	struct unwind_file *f;
	struct elf_file elf;
	int err = elf_file_open(&elf, fd), table;

	if (!err)
		err = unwind_hash(&elf, secret, hash);
	hashed = cpu_time_s();
	table = err ? err : unwind_build(&elf, hash);
	built = cpu_time_s();
	if (table < 0) {
		fprintf(stderr, "bench_unwind_build: %s: %s\n", path, strerror(-table));
		return 1;
	}
	f = mmap(NULL, sizeof(*f), PROT_READ, MAP_SHARED, table, 0);
	close(table);
	if (f == MAP_FAILED)
		return 1;
	printf("%.2f %.2f %u %u %lu %ld\n", 1e3 * (hashed - start), 1e3 * (built - hashed),
	       f->fdes, f->row_cnt, (unsigned long)f->total,
	       memory_kib());
	munmap(f, sizeof(*f));
	return 0;
}

int main(int argc, char **argv)
{
	int i, fd, failed = 0;

	for (i = 1; i < argc; i++) {
		fd = open(argv[i], O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			perror(argv[i]);
			return 1;
		}
		failed |= build(argv[i], fd);
		close(fd);
	}
	return failed;
}
