/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* top_screen.h - `tachbpf top` on a terminal: a screen with keys. */
#ifndef TACHBPF_TOP_SCREEN_H
#define TACHBPF_TOP_SCREEN_H

struct top_options;

/* Show it until the user ends it. 0 or -errno, which was logged. */
int top_screen_run(const struct top_options *opts);

#endif
