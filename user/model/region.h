/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* region.h - a span of a thread's time that its program marked: tachbpf.region() in Python. */
#ifndef TACHBPF_REGION_H
#define TACHBPF_REGION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/string_ref.h"

struct region_attribute {
	struct string_ref name, value;	/* any bytes */
	bool is_text;			/* false: value is JSON: a number, true, false or null */
};

struct profile_region {
	struct string_ref name;		/* any bytes */
	uint64_t thread_id;		/* as samples have it */
	uint64_t begin_ns, end_ns;	/* CLOCK_MONOTONIC; the end is not before the begin */
	const struct region_attribute *attributes;
	size_t attribute_cnt;
};

#endif
