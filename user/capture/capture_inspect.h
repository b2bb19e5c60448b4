/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_inspect.h - inspects processes, and makes the result known to lifecycle.c.
 */
#ifndef TACHBPF_CAPTURE_INSPECT_H
#define TACHBPF_CAPTURE_INSPECT_H

#include <stdbool.h>

struct capture;
struct process_args;
struct proc_info;
struct tracked;

/* Fill in the members of args that are the same for all processes of the capture. */
void capture_process_args(const struct capture *s, struct process_args *args);

/* Inspect a process now, if it meets the conditions. t may be freed. */
void capture_inspect(struct capture *s, struct tracked *t);
/* The same of which /proc was read just now. */
void capture_inspect_read(struct capture *s, struct tracked *t, const struct proc_info *who);

/* Inspect a process if its inspection is due. t may be freed. */
void capture_inspect_if_due(struct capture *s, struct tracked *t);

/* Inspect all processes whose inspection is due. */
void capture_inspect_due(struct capture *s);

/*
 * To be called when a process was found to have ended. Were all its records taken, too? Those of a
 * profiled process may be in the ring buffer still: then the answer is false until they are taken.
 */
bool capture_took_last(const struct capture *s, struct tracked *t);

#endif
