// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_proc_filter.c - any bytes as conditions and as what they are compared with: the first byte
 * says of which kind, the first line is the condition, each other one a path and a name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/containers.h"
#include "target/proc_filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(struct proc_filter *s, const char *line)
{
	uint32_t bits = proc_filter_judge_comm(s, line) | proc_filter_judge_exe(s, line);
	struct container c;

	container_of_cgroup(line, &c);
	bits |= proc_filter_judge_cgroup(s, 0, line, &c);
	if (bits & FILTER_EXCLUDED && proc_filter_meets(s, ~0u, bits))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proc_filter s = { .rules = NULL };
	struct buf text = { .data = NULL };
	static FILE *nowhere;
	FILE *terminal = stderr;
	char *copy, *line, *save;

	/* What is wrong with each condition need not be seen. */
	nowhere = nowhere ? nowhere : fopen("/dev/null", "we");
	if (!size || !nowhere)
		return 0;
	stderr = nowhere;
	copy = strndup((const char *)data + 1, size - 1);
	if (!copy)
		abort();
	line = strtok_r(copy, "\n", &save);
	/* Not users: that would ask the host's name service. */
	if (line && data[0] % FILTER_KINDS != FILTER_UID &&
	    !proc_filter_add(&s, data[0] % FILTER_KINDS, data[0] & 0x80, line)) {
		if (proc_filter_text(&s, &text))
			abort();
		while ((line = strtok_r(NULL, "\n", &save)))
			judge(&s, line);
	}
	buf_free(&text);
	proc_filter_free(&s);
	free(copy);
	stderr = terminal;
	return 0;
}
