/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * parquet_rows.h - writes rows as parquet_script.py reads them: columns of numbers in this
 * machine's byte order, which pyarrow uses as they are, and tables that the numbers refer to.
 *
 *	"tachrow1"
 *	strings: count, int32 ends[count + 1] from 0, their bytes (UTF-8)
 *	frames:  count, int32 function[count], file[count], line[count]
 *	series:  count, int64 begin_us[count], duration_ns[count],
 *	         int32 text[SERIES_TEXTS][count]
 *	batches: rows, frames; int32 series[rows], int64 value[rows], samples[rows],
 *	         int32 leaf[rows], ends[rows + 1] from 0, frame[frames]
 *	0
 *
 * Counts are int64. -1: unknown.
 */
#ifndef TACHBPF_PARQUET_ROWS_H
#define TACHBPF_PARQUET_ROWS_H

#include "base/writer.h"
#include "model/intern.h"
#include "model/profile_service.h"
#include "model/stacks.h"

/* The texts of a series: those of its service, then these. */
enum { SERIES_TYPE = SERVICE_PART_CNT, SERIES_UNIT, SERIES_TEXTS };
#define TEXT_NONE UINT32_MAX

/* What rows have in common; a process of the stacks. */
struct parquet_series {
	uint32_t text[SERIES_TEXTS];	/* ids in `texts`; TEXT_NONE: unknown */
	uint32_t held_type;		/* type of rows with STATUS_HELD; otherwise TEXT_NONE */
	uint64_t begin_ns, end_ns;	/* time of day; 0: unknown */
	uint64_t factor;		/* value of a weight of 1 */
	bool counted;			/* weights are samples */
};

struct parquet_rows {
	const struct stacks *stacks;	/* by status: STATUS_HELD or 0 */
	const struct intern *texts;
	const struct parquet_series *series;
	bool lines;			/* frames have a line */
	bool apart;			/* a batch has rows of one day and service */
};

/* Writes all rows, ordered by service and day. Returns 0 or -errno; -EOVERFLOW: too many. */
int parquet_rows_write(const struct parquet_rows *r, struct writer *w);

#endif
