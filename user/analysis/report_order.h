/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report_order.h - the order of a report's rows, and which are one: those with one label. */
#ifndef TACHBPF_REPORT_ORDER_H
#define TACHBPF_REPORT_ORDER_H

#include <stddef.h>

#include "analysis/report.h"

/* Joins rows that have the same label (func). Returns the number of rows left. */
size_t report_join_rows(struct report_row *rows, size_t cnt);
void report_sort_rows(struct report_row *rows, size_t cnt, enum report_sort sort);

#endif
