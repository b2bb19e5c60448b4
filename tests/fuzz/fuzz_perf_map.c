// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_perf_map.c - any bytes as a perf map. What is found at an address covers it, and its name
 * has an end.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf_helper/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addrs[] = { 0, 1, 0x1000, 0x1008, 0x7f0000001000, UINT64_MAX };
	static int fd = -1;
	char name[32];
	struct perf_map *m;
	uint64_t start;
	size_t i;

	if (fd < 0)
		fd = memfd_create("map", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	m = perf_map_read(fd);
	if (!m)
		abort();
	for (i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++)
		if (perf_map_find(m, addrs[i], name, sizeof(name), &start) &&
		    (start > addrs[i] || strnlen(name, sizeof(name)) == sizeof(name)))
			abort();
	perf_map_free(m);
	return 0;
}
