// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* summary_lines.c - see summary_lines.h. */
#include "recording/summary_lines.h"

#include "base/arith.h"

static void print_begin(FILE *out, const char *name, uint64_t cnt)
{
	fprintf(out, "  %-*s %*llu", SUMMARY_NAME_COLUMNS, name, SUMMARY_COUNT_COLUMNS,
		(unsigned long long)cnt);
}

void summary_count(FILE *out, const char *name, uint64_t cnt)
{
	print_begin(out, name, cnt);
	fputc('\n', out);
}

void summary_share(FILE *out, const char *name, uint64_t cnt, uint64_t all, const char *of)
{
	print_begin(out, name, cnt);
	fprintf(out, "  %7.3f %% of %s\n", percent(cnt, all), of);
}

void summary_remark(FILE *out, const char *name, uint64_t cnt, const char *remark)
{
	print_begin(out, name, cnt);
	fprintf(out, "  %s\n", remark);
}

void summary_cause(FILE *out, uint64_t cnt, const char *text)
{
	fprintf(out, "    %*llu  %s\n", SUMMARY_COUNT_COLUMNS, (unsigned long long)cnt, text);
}
