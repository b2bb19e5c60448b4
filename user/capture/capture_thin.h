/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_thin.h - a burst: which processes are walked at every tick (capture_thin() in capture.h).
 */
#ifndef TACHBPF_CAPTURE_THIN_H
#define TACHBPF_CAPTURE_THIN_H

struct capture;

/* Judge the processes that were not judged yet. To be called about once a second. */
void capture_thin_more(struct capture *s);

#endif
