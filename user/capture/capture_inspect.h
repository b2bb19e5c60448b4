/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_inspect.h - inspects processes, and makes the result known to lifecycle.c.
 */
#ifndef TACHBPF_CAPTURE_INSPECT_H
#define TACHBPF_CAPTURE_INSPECT_H

#include <stdbool.h>
#include <stdint.h>

struct capture;
struct process_args;
struct proc_info;
struct tracked;

/* Fills in the members of args that are the same for all processes of the capture. */
void capture_process_args(const struct capture *s, struct process_args *args);

/* Inspects a process now, if it meets the conditions. t may be freed. */
void capture_inspect(struct capture *s, struct tracked *t);
/* Likewise, with what was just read from /proc. */
void capture_inspect_read(struct capture *s, struct tracked *t, const struct proc_info *who);

/* Inspects a process if its inspection is due. t may be freed. */
void capture_inspect_if_due(struct capture *s, struct tracked *t);

/* Inspects all processes whose inspection is due. */
void capture_inspect_due(struct capture *s);

/*
 * The process has executed another program: the one before ended at end_ns (CLOCK_MONOTONIC; 0:
 * now).
 */
void capture_end_program(struct capture *s, struct tracked *t, uint64_t end_ns);

/*
 * Call it when a process was found to have ended. Returns true if all its records were taken, too.
 * Those of a profiled process may be in the ring buffer still: false until they are taken.
 */
bool capture_took_last(const struct capture *s, struct tracked *t);

#endif
