/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * budget.h - how much memory the names and code objects of all processes of one user may take. One
 * process has limits of its own (symbolize.c), but a user may have thousands of processes.
 */
#ifndef TACHBPF_BUDGET_H
#define TACHBPF_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory that a user's processes use now, in bytes. */
struct budget {
	uint32_t uid;
	uint32_t processes;
	size_t names;		/* names and frames: kept until the process has ended */
	size_t codes;		/* code objects: a process can forget them */
};

/*
 * Returns a user's budget and counts one more process. NULL: root, who has no limit; or no memory.
 */
struct budget *budget_join(uint32_t uid);
/* The process has ended and has given back what it took. b may be NULL here and below. */
void budget_leave(struct budget *b);

/* Return true if the limit is reached. */
bool budget_names_full(const struct budget *b);
bool budget_codes_full(const struct budget *b);

#endif
