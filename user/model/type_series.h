/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * type_series.h - the types of a process' objects that have grown: from one count of all objects to
 * a later one, and what counts between them say.
 */
#ifndef TACHBPF_TYPE_SERIES_H
#define TACHBPF_TYPE_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#define TYPE_SERIES_TYPES 10
#define TYPE_SERIES_COUNTS 128		/* of more, some in between are left out */
#define TYPE_SERIES_NAME_BYTES 96

#define TYPE_SERIES_UNKNOWN UINT64_MAX

struct type_line {
	char name[TYPE_SERIES_NAME_BYTES];	/* any bytes, NUL-terminated */
	uint64_t objects[2];	/* in the first count, or TYPE_SERIES_UNKNOWN, and in the last */
	int64_t more_objects, more_bytes;	/* if it is unknown in the first: all */
	/* 95 % half-widths of what there is more; they cover what the first count does not name */
	uint64_t objects_error, bytes_error;
	uint64_t bytes[TYPE_SERIES_COUNTS];	/* by count, or TYPE_SERIES_UNKNOWN */
};

struct type_series {
	uint32_t cnt;				/* counts, at least two */
	uint64_t times_us[TYPE_SERIES_COUNTS];	/* since the start of the recording */
	uint32_t grown;				/* how many types grew by more than their error */
	/*
	 * Of them: the program's own type whose number of objects grew most, if any, then by bytes
	 * more, most first.
	 */
	uint32_t type_cnt;
	struct type_line types[TYPE_SERIES_TYPES];
};

#endif
