// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_maps.c - any bytes as /proc/PID/maps. Input: a line with AT_PHDR (hexadecimal) and the
 * executable's path, then the list. What comes out is within its bounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/mapped_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_index(const struct mapped_files *m, size_t at)
{
	if (at != MAPPED_NOWHERE && at >= m->cnt)
		abort();
}

static void check(const struct mapped_files *m)
{
	size_t i;

	if (m->cnt > MAPPED_MAX)
		abort();
	check_index(m, m->exe_at);
	check_index(m, m->libc_at);
	for (i = 0; i < m->cnt; i++) {
		const struct mapped *f = &m->files[i];

		if (f->map.path != f->path || f->path[0] != '/' || f->map.offset ||
		    strnlen(f->path, sizeof(f->path)) == sizeof(f->path))
			abort();
		mapped_files_is_other_view(m, f);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mapped_files m, again;
	static char path[64];
	static int fd = -1;
	char exe[128] = "";
	const uint8_t *end = memchr(data, '\n', size);
	size_t head = end ? (size_t)(end - data) : 0;
	char line[sizeof(exe)] = "", *rest;
	uint64_t phdr;
	int err;

	if (fd < 0) {
		fd = memfd_create("maps", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	memcpy(line, data, head < sizeof(line) - 1 ? head : sizeof(line) - 1);
	phdr = strtoull(line, &rest, 16);
	snprintf(exe, sizeof(exe), "%s", rest + strspn(rest, " "));
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data + head, size - head, 0) < 0)
		return 0;
	err = mapped_files_read_text(&m, path, exe, phdr);
	if (err)
		abort();
	check(&m);
	if (mapped_files_read_text(&again, path, exe, phdr) || again.hash != m.hash ||
	    again.cnt != m.cnt || again.exe_at != m.exe_at)
		abort();
	return 0;
}
