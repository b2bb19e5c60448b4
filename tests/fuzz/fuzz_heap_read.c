// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_heap_read.c - any bytes as the JSON of tachbpf heap: what is read of it is within the
 * limits, the same each time, and can be shown.
 */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "commands/heap_read.h"
#include "commands/heap_show.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/shown_text.h"

static FILE *nowhere;

static void show(const struct heap_file_process *p)
{
	struct heap_screen screen = { .out = nowhere, .width = 80, .limit = 10, .next = true };
	struct heap_shown shown = { .pid = p->pid, .program = p->program, .python = p->python,
				    .census = p->census };

	check(!heap_text_census(&screen, &shown));
}

/* Returns a sum of all that a process has. */
static uint64_t sum_process(const struct heap_file_process *p)
{
	const struct heap_census *c = p->census;
	uint64_t sum = (uint64_t)p->pid + c->time_ns + c->rss + c->pools;
	uint32_t i;

	check_shown_text(p->program, strlen(p->program) + 1);
	check_shown_text(p->python, sizeof(p->python));
	check(p->pid >= 0 && c->row_cnt <= HEAP_TYPES_MAX && !c->large_cnt && c->time_ns);
	for (i = 0; i < c->row_cnt; i++) {
		check(strnlen(c->rows[i].name, HEAP_NAME_BYTES) < HEAP_NAME_BYTES);
		check(c->rows[i].objects <= INT64_MAX / 4 && c->rows[i].bytes <= INT64_MAX / 4);
		sum = sum * 31 + hash_bytes(c->rows[i].name, strlen(c->rows[i].name)) +
		      c->rows[i].objects + c->rows[i].bytes_error;
	}
	return sum;
}

static uint64_t read_all(const char *data, size_t size, bool shows)
{
	char why[HEAP_READ_WHY_BYTES] = "";
	struct heap_file f;
	uint64_t sum = (uint64_t)heap_read(data, size, &f, why);
	size_t i;

	check(f.cnt <= HEAP_FILE_PROCESSES_MAX);
	check_shown_text(why, sizeof(why));
	for (i = 0; i < f.cnt; i++) {
		sum = sum * 31 + sum_process(&f.list[i]);
		if (shows)
			show(&f.list[i]);
	}
	heap_file_free(&f);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	check(nowhere != NULL);
	heap_read_detects(text, size < 64 ? size : 64);
	check(read_all(text, size, true) == read_all(text, size, false));
	return 0;
}
