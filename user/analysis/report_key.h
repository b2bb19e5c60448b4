/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report_key.h - which frames have a row in a report by code, and what distinguishes rows. */
#ifndef TACHBPF_REPORT_KEY_H
#define TACHBPF_REPORT_KEY_H

#include "analysis/report.h"
#include "model/stack_frame.h"

struct report_kind {
	enum report_by by;
	bool detail;		/* report_show_detail() */
	bool mine;		/* report_show_mine() */
	enum self_of self_of;
};

/* Returns true if each row is a function, a line or an expression. */
bool report_by_code(enum report_by by);
/* Returns true if the rows of different functions differ. */
bool report_by_function(enum report_by by);

/* Returns true if this frame has a row; otherwise it belongs to its nearest caller that has one. */
bool report_has_row(const struct report_kind *kind, const struct profile_tables *tables,
		    uint32_t frame);

/* Returns what distinguishes the row of this frame from others, except its names, which are 0. */
struct frame report_key_of(enum report_by by, const struct frame *f);

#endif
