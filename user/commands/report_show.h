/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report_show.h - what report's tables, annotated source and JSON have in common. Only for
 * cmd_report.c, report_show.c and annotate_show.c.
 */
#ifndef TACHBPF_REPORT_SHOW_H
#define TACHBPF_REPORT_SHOW_H

#include "base/json.h"
#include "commands/options.h"
#include "commands/report_read.h"

/* Prints which profiles these are, of what mode, and how many samples they have. 0 or -ENOMEM. */
int report_print_head(const struct report_options *opts, const struct report_read *read);
/* Prints a percentage in this many columns, in a colour if it is large. */
void report_print_share(double share, int width);
/* Prints what self includes, what no row has (a number of samples), and the losses. */
void report_print_foot(const struct report_options *opts, const struct report_read *read,
		       uint64_t outside);

/* Write the members in front of the rows and behind them. outside: as above. */
void report_json_head(struct json *j, const struct report_read *read);
void report_json_foot(struct json *j, const struct report_options *opts,
		      const struct report_read *read, uint64_t outside);

/*
 * report --annotate, of the reports that report_read() made by source line. 0, -ENOMEM, or -ENOENT
 * after logging that nothing has the name in opts->annotate.
 */
int annotate_show(const struct report_options *opts, struct report_read *read);

#endif
