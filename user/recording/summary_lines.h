/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* summary_lines.h - the lines of which a recording's summary is made. */
#ifndef TACHBPF_SUMMARY_LINES_H
#define TACHBPF_SUMMARY_LINES_H

#include <stdint.h>
#include <stdio.h>

#define SUMMARY_NAME_COLUMNS 18
#define SUMMARY_COUNT_COLUMNS 12

/* A count alone. */
void summary_count(FILE *out, const char *name, uint64_t cnt);
/* A count, and what share of `all` it is; of: what these are, and perhaps more. */
void summary_share(FILE *out, const char *name, uint64_t cnt, uint64_t all, const char *of);
/* A count with a remark. */
void summary_remark(FILE *out, const char *name, uint64_t cnt, const char *remark);
/* A part of the count in the line above. */
void summary_cause(FILE *out, uint64_t cnt, const char *text);

#endif
