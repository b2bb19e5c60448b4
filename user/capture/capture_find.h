/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_find.h - the processes that are there when a capture begins: with -a all of the host are
 * inspected.
 *
 * An inspection takes some 0.2 ms, and a host may have tens of thousands of processes. Where only
 * processes that run are sampled, the ticks begin after FIND_FIRST of them, or FIND_FIRST_NS if that
 * comes later; the others are inspected while it records. One that runs meanwhile is inspected at its
 * first tick, which counts as lost (late_discovery).
 */
#ifndef TACHBPF_CAPTURE_FIND_H
#define TACHBPF_CAPTURE_FIND_H

#include <stdbool.h>

struct capture;
struct record_mode_def;

#define FIND_FIRST 256
#define FIND_FIRST_NS 50000000ull
/* So long at a time while it records. */
#define FIND_SLICE_NS 5000000ull

/* Do the ticks of this mode begin before all processes are inspected? */
bool capture_finds_late(const struct record_mode_def *mode);
/* List all processes of the host, and inspect the first ones, or all. 0 or -errno. */
int capture_find(struct capture *s);
/* Inspect some more. */
void capture_find_more(struct capture *s);
/* Are there more? */
bool capture_finds(const struct capture *s);
void capture_find_free(struct capture *s);

#endif
