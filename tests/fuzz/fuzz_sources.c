// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_sources.c - any bytes as a recording's source texts: what is read of them is within the
 * limits, and the same each time.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "recording/sources_file.h"

/* Reads the file. Returns a sum of all that it has. */
static uint64_t read_all(const char *name)
{
	struct saved_sources s = { 0 };
	uint64_t sum = (uint64_t)saved_sources_read(&s, AT_FDCWD, name), bytes = 0;
	size_t i;

	if (s.cnt > SAVED_SOURCES_MAX || s.bytes > SAVED_SOURCES_BYTES)
		abort();
	for (i = 0; i < s.cnt; i++) {
		const struct saved_source *one = &s.list[i];

		if (!one->path.len || one->text.len > SAVED_SOURCE_BYTES ||
		    one->pid_cnt > SAVED_PIDS_MAX)
			abort();
		bytes += one->text.len;
		sum = sum * 31 + hash_bytes(one->path.data, one->path.len) + one->changed +
		      hash_bytes(one->text.data, one->text.len) +
		      hash_bytes(one->pids, one->pid_cnt * sizeof(*one->pids));
	}
	if (bytes != s.bytes)
		abort();
	saved_sources_free(&s);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char name[32];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("sources", MFD_CLOEXEC);
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	}
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size ||
	    read_all(name) != read_all(name))
		abort();
	return 0;
}
