// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_containers.c - any bytes as /proc/PID/cgroup. What comes out is terminated UTF-8
 * without control characters.
 */
#include <stdlib.h>
#include <string.h>

#include "host/containers.h"
#include "tests/fuzz/shown_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char label[CONTAINER_LABEL_BYTES];
	struct container c;

	container_of_cgroup_file((const char *)data, size, &c);
	check_shown_text(c.runtime, sizeof(c.runtime));
	check_shown_text(c.id, sizeof(c.id));
	check_shown_text(c.pod_uid, sizeof(c.pod_uid));
	check_shown_text(c.qos, sizeof(c.qos));
	check_shown_text(c.unit, sizeof(c.unit));
	check_shown_text(container_label(&c, label), sizeof(label));
	if (container_is(&c) != !!*label)
		abort();
	return 0;
}
