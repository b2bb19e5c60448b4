// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * austin.c - see austin.h.
 */
#include "formats/collapsed/austin.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "formats/input.h"
#include "formats/thread_clocks.h"

/* Longer heads are not read to their end. */
#define HEAD_BYTES 4096
/* A period of a day or more is not believed, as in gperftools' profiles. */
#define INTERVAL_MAX_US 86400000000

static void read_line(struct austin *a, const char *line)
{
	unsigned long long interval;
	char mode[16];

	if (sscanf(line, "# interval: %19llu", &interval) == 1 && interval &&
	    interval < INTERVAL_MAX_US)
		a->interval_us = interval;
	if (sscanf(line, "# mode: %15s", mode) != 1)
		return;
	if (!strcmp(mode, "memory")) {
		a->unit = UNIT_BYTES;
		a->mode = MODE_UNKNOWN;
		a->factor = 1;
	} else {
		a->mode = !strcmp(mode, "cpu") ? MODE_CPU : MODE_WALL;
	}
}

struct austin austin_head(const struct input *in)
{
	struct austin a = { .unit = UNIT_SAMPLES, .mode = MODE_UNKNOWN, .factor = 1,
			    .interval_us = NOMINAL_INTERVAL_US };
	char head[HEAD_BYTES], *line = head, *end;
	size_t n = in->size < sizeof(head) - 1 ? in->size : sizeof(head) - 1;

	memcpy(head, in->data, n);
	head[n] = '\0';
	if (strncmp(head, "# austin: ", 10))
		return a;
	a = (struct austin){ .known = true, .unit = UNIT_NANOSECONDS, .mode = MODE_WALL,
			     .factor = 1000, .interval_us = 100 };
	for (; *line == '#' && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		read_line(&a, line);
	}
	return a;
}

bool austin_process(const struct string_ref *s, uint64_t *tgid)
{
	return s->len > 1 && *s->data == 'P' && parse_decimal(s->data + 1, s->len - 1, tgid) &&
	       *tgid <= UINT32_MAX;
}

bool austin_thread(const struct string_ref *s, uint64_t *tid)
{
	const char *colon = s->len ? memrchr(s->data, ':', s->len) : NULL;
	const char *number = colon ? colon + 1 : s->data + 1;

	return s->len > 1 && *s->data == 'T' &&
	       parse_decimal(number, s->data + s->len - number, tid);
}
