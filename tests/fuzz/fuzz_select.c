// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_select.c - any bytes as conditions and as what they are compared with: the first byte
 * says of which kind, the first line is the condition, each other one a path and a name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/containers.h"
#include "target/select.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(struct selection *s, const char *line)
{
	uint32_t bits = select_judge_comm(s, line) | select_judge_exe(s, line);
	struct container c;

	container_of_cgroup(line, &c);
	bits |= select_judge_cgroup(s, 0, line, &c);
	if (bits & SELECT_EXCLUDED && select_meets(s, ~0u, bits))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct selection s = { .rules = NULL };
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
	if (line && data[0] % SELECT_KINDS != SELECT_UID &&
	    !select_add(&s, data[0] % SELECT_KINDS, data[0] & 0x80, line)) {
		if (select_text(&s, &text))
			abort();
		while ((line = strtok_r(NULL, "\n", &save)))
			judge(&s, line);
	}
	buf_free(&text);
	selection_free(&s);
	free(copy);
	stderr = terminal;
	return 0;
}
