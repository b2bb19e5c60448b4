/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_inspect.h - which processes are Python: looks at them, and what that changes.
 */
#ifndef TACHBPF_CAPTURE_INSPECT_H
#define TACHBPF_CAPTURE_INSPECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct capture;
struct process_args;
struct tracked;

/* Fill in what is the same for all processes of the capture. */
void capture_process_args(const struct capture *s, struct process_args *args);

/* Did the kernel admit the process at its exec, and has found nothing wrong with it so far? */
bool capture_is_admitted(struct capture *s, pid_t tgid, uint64_t start_ns);

/* Look at a process now. t may be freed. */
void capture_inspect(struct capture *s, struct tracked *t);

/* Look if it is due. t may be freed. */
void capture_inspect_if_due(struct capture *s, struct tracked *t);

/* Look at all that are due. */
void capture_inspect_due(struct capture *s);

/* Look at all processes of the host. 0 or -errno. */
int capture_inspect_all(struct capture *s);

#endif
