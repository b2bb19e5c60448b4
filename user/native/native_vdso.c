// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_vdso.c - see native_vdso.h. */
#include "native/native_vdso.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"

/* The mapping of this process that begins there. 0 or -ENOENT. */
static int find_end(uint64_t start, uint64_t *end)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	uint64_t from;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%" SCNx64 "-%" SCNx64, &from, end) == 2 && from == start;
	if (f)
		fclose(f);
	return found ? 0 : -ENOENT;
}

int vdso_copy(uint64_t *bytes)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR), end = 0;
	int err = start ? find_end(start, &end) : -ENOENT, fd;

	if (err)
		return err;
	*bytes = end - start;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write_all(fd, (const void *)(uintptr_t)start, *bytes);
	if (err)
		close(fd);
	return err ? err : fd;
}
