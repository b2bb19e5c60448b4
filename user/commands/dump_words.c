// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* dump_words.c - see dump_words.h. */
#include "commands/dump_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "model/thread_names.h"
#include "resolve/process.h"

#define TEXT_BYTES 1024
#define SHOWN_BYTES (4 * TEXT_BYTES)

void dump_text_escaped(const char *text, size_t len)
{
	char shown[SHOWN_BYTES];

	fputs(escape_text(text, len, shown, sizeof(shown)), stdout);
}

void dump_text_task(const struct task *task)
{
	if (*task->name)
		dump_text_escaped(task->name, strlen(task->name));
	else
		printf("0x%" PRIx64, task->addr);
}

void dump_text_thread(const struct look_process *p, const struct look_thread *t)
{
	const char *name = thread_names_find(process_thread_names(p->process), t->tid);

	printf("%" PRIu64, t->tid);
	if (!name || !*name)
		return;
	printf(" \"");
	dump_text_escaped(name, strlen(name));
	printf("\"");
}
