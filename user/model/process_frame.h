/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process_frame.h - the outermost frame "<process PID COMM>" that tells processes
 * apart in a file that several share; of one in a container "<process PID COMM @CONTAINER>".
 *
 * Knows the name, no file: whether a file may hold such frames is for its reader to say.
 */
#ifndef TACHBPF_PROCESS_FRAME_H
#define TACHBPF_PROCESS_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/event.h"

/* Room for a name with every byte of comm escaped. */
#define PROCESS_FRAME_BYTES (4 * PROC_COMM_MAX + CONTAINER_LABEL_BYTES + 32)

/* comm, hostile, is escaped; container is a container_label(), "": in none. */
void process_frame_name(char out[PROCESS_FRAME_BYTES], uint32_t tgid, const char *comm,
			const char *container);

/*
 * Whose stacks are those with this frame outermost? *container points into comm's buffer, to
 * "" if it is in none. false: it is no such frame.
 */
bool process_frame_parse(const struct profile_tables *tables, uint32_t frame, uint32_t *tgid,
			 char comm[PROCESS_FRAME_BYTES], const char **container);

/* The last answer: stacks of a process come one after the other. */
struct process_root {
	const struct profile_tables *tables;	/* NULL: there are no such frames */
	bool known, is_process;
	uint32_t frame;			/* that the rest is of */
	uint32_t tgid;
	char comm[PROCESS_FRAME_BYTES];
	const char *container;		/* its label; "": none */
};

/* Is the event's outermost frame a process'? Then *root says whose. */
bool process_root_of(struct process_root *root, const struct event *ev);

#endif
