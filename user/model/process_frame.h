/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process_frame.h - the outermost frame "<process PID COMM>" that identifies processes in a file
 * that several share; in a container "<process PID COMM @CONTAINER>".
 *
 * Knows only the frame's name: a reader decides whether its file may have these frames.
 */
#ifndef TACHBPF_PROCESS_FRAME_H
#define TACHBPF_PROCESS_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/event.h"

/* Room for a name with every byte of comm escaped. */
#define PROCESS_FRAME_BYTES (4 * PROC_COMM_MAX + CONTAINER_LABEL_BYTES + 32)

/* comm may have any bytes and is escaped; container is a container_label(), "": none. */
void process_frame_name(char out[PROCESS_FRAME_BYTES], uint32_t tgid, const char *comm,
			const char *container);

/*
 * Parses the outermost frame of a stack. *container points into comm's buffer; "": none. Returns
 * false if it is no process frame.
 */
bool process_frame_parse(const struct profile_tables *tables, uint32_t frame, uint32_t *tgid,
			 char comm[PROCESS_FRAME_BYTES], const char **container);

/* The result for the last stack: the stacks of a process are mostly consecutive. */
struct process_root {
	const struct profile_tables *tables;	/* NULL: the profile has no process frames */
	bool known, is_process;
	uint32_t frame;			/* the frame that the other fields describe */
	uint32_t tgid;
	char comm[PROCESS_FRAME_BYTES];
	const char *container;		/* label of its container; "": none */
};

/* Returns true if the event's outermost frame is a process frame; *root then has the process. */
bool process_root_of(struct process_root *root, const struct event *ev);

#endif
