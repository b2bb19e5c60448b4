/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process_frame.h - the outermost frame "<process PID COMM>" that identifies processes in a
 * file that several share; in a container "<process PID COMM @CONTAINER>".
 *
 * Knows the frame's name and no file: a reader decides whether its file may have these frames.
 */
#ifndef TACHBPF_PROCESS_FRAME_H
#define TACHBPF_PROCESS_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/event.h"

/* Room for a name with every byte of comm escaped. */
#define PROCESS_FRAME_BYTES (4 * PROC_COMM_MAX + CONTAINER_LABEL_BYTES + 32)

/* comm may have any bytes and is escaped; container is a container_label(), "": in none. */
void process_frame_name(char out[PROCESS_FRAME_BYTES], uint32_t tgid, const char *comm,
			const char *container);

/*
 * Parse the outermost frame of a stack. *container points into comm's buffer; "": in none.
 * Returns false if it is no process frame.
 */
bool process_frame_parse(const struct profile_tables *tables, uint32_t frame, uint32_t *tgid,
			 char comm[PROCESS_FRAME_BYTES], const char **container);

/* The result for the last stack: stacks of one process follow each other. */
struct process_root {
	const struct profile_tables *tables;	/* NULL: the profile has no process frames */
	bool known, is_process;
	uint32_t frame;			/* the frame that the other fields are about */
	uint32_t tgid;
	char comm[PROCESS_FRAME_BYTES];
	const char *container;		/* label of its container; "": none */
};

/* Is the event's outermost frame a process frame? If so, *root has the process. */
bool process_root_of(struct process_root *root, const struct event *ev);

#endif
