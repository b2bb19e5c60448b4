/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * idle_place.h - functions in which threads wait for work: of pools, queues, event loops and
 * servers. What is there is known by file and name.
 */
#ifndef TACHBPF_IDLE_PLACE_H
#define TACHBPF_IDLE_PLACE_H

#include <stdbool.h>

#include "base/string_ref.h"

enum idle_place {
	IDLE_NO,
	IDLE_PART,	/* waits for whatever its caller waits for: Condition.wait() */
	IDLE_YES,	/* waits for work, with all that it calls */
};

enum idle_place idle_place_of(struct string_ref file, struct string_ref func);

/* Returns true for a file of the standard library. */
bool is_standard_library(struct string_ref file);

#endif
