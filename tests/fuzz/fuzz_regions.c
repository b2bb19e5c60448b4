// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_regions.c - any bytes as a recording's regions: what is read of them is within the limits,
 * in order, and the same each time.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recording/regions_file.h"

struct sum {
	uint64_t hash, begin_ns;
	size_t cnt;
};

static int add(void *ctx, const struct profile_region *r)
{
	struct sum *s = ctx;
	size_t i;

	if (r->end_ns < r->begin_ns || r->begin_ns < s->begin_ns ||
	    r->name.len > REGION_NAME_BYTES || r->attribute_cnt > REGION_ATTRIBUTES_MAX)
		abort();
	s->begin_ns = r->begin_ns;
	s->cnt++;
	s->hash = s->hash * 31 + hash_bytes(r->name.data, r->name.len) + r->thread_id + r->end_ns;
	for (i = 0; i < r->attribute_cnt; i++) {
		const struct region_attribute *a = &r->attributes[i];

		if (a->name.len > REGION_VALUE_BYTES || a->value.len > REGION_VALUE_BYTES)
			abort();
		s->hash = s->hash * 31 + hash_bytes(a->name.data, a->name.len) + a->is_text +
			  hash_bytes(a->value.data, a->value.len);
	}
	return 0;
}

static uint64_t read_all(const char *name)
{
	struct sum s = { 0 };
	struct regions r;
	char why[128];

	if (!regions_read(&r, AT_FDCWD, name, why, sizeof(why)) &&
	    (regions_each(&r, add, &s) || s.cnt != r.cnt))
		abort();
	regions_free(&r);
	return s.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char name[32];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("regions", MFD_CLOEXEC);
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	}
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size ||
	    read_all(name) != read_all(name))
		abort();
	return 0;
}
