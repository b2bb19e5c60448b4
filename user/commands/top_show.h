/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* top_show.h - what `tachbpf top` prints at the end of a window: a table, or a line of JSON. */
#ifndef TACHBPF_TOP_SHOW_H
#define TACHBPF_TOP_SHOW_H

#include <stddef.h>
#include <stdint.h>

#include "live/live_counts.h"

/* One window. */
struct top_window {
	struct live_total total;
	const struct live_process *list;	/* cnt of them, the busiest first */
	size_t cnt;
	size_t limit;		/* rows; 0: all */
	uint64_t ns;		/* how long it was */
	uint32_t rate_hz;
	uint64_t utc_s;		/* its end, seconds since 1970 */
};

/* Print it on stdout. */
void top_table(const struct top_window *w);
void top_json(const struct top_window *w);

#endif
