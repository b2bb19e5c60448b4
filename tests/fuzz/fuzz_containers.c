// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_containers.c - any bytes as /proc/PID/cgroup. What comes out is terminated UTF-8
 * without control characters.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "host/containers.h"

static void check(const char *s, size_t size)
{
	size_t len = strnlen(s, size), n;
	uint32_t cp;

	if (len == size)
		abort();
	for (; len; s += n, len -= n) {
		n = utf8_char(s, len, &cp);
		if (!n || !utf8_printable(cp))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char label[CONTAINER_LABEL_BYTES];
	struct container c;

	container_of_cgroup_file((const char *)data, size, &c);
	check(c.runtime, sizeof(c.runtime));
	check(c.id, sizeof(c.id));
	check(c.pod_uid, sizeof(c.pod_uid));
	check(c.qos, sizeof(c.qos));
	check(c.unit, sizeof(c.unit));
	check(container_label(&c, label), sizeof(label));
	if (container_is(&c) != !!*label)
		abort();
	return 0;
}
