/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * shared_profile.h - one file for several short-lived processes of the same binary and command (a
 * merged file).
 *
 * The processes can still be distinguished: the stacks of each have a root frame
 * "<process PID COMM>", and session.json lists the members.
 */
#ifndef TACHBPF_SHARED_PROFILE_H
#define TACHBPF_SHARED_PROFILE_H

#include <stdint.h>

#include "host/identity.h"
#include "host/proc.h"
#include "model/event.h"
#include "model/intern.h"
#include "model/sink.h"
#include "resolve/losses.h"

/* One process of a merged file. Times are since the recording began. */
struct shared_profile_member {
	pid_t tgid;
	uint32_t samples;
	float begin_s, end_s;
	struct identity identity;
	uint32_t lost[LOSS_CNT];	/* by enum loss_cause; not what was lost with the file */
};

/*
 * The part of a command line by which processes share a file: without the interpreter's options
 * and the script's arguments, "python3 -m pip" or "python3.11 /srv/job.py". Cut to size.
 */
void shared_profile_command(const char *command, char *out, size_t size);

/* Copies the events of one process to a merged file. */
struct shared_profile_pour;

/*
 * tables: of the process. into: the tables of the merged file. sink: writes the merged file.
 * container: NULL if there is none. NULL: no memory.
 */
struct shared_profile_pour *shared_profile_pour_new(const struct profile_tables *tables,
						    struct intern *into, struct sink *sink,
						    pid_t tgid, const char *comm,
						    const struct container *container);
void shared_profile_pour_free(struct shared_profile_pour *p);
/* Copy one event: for memory_sink_replay(), with the pour as ctx. 0 or -errno. */
int shared_profile_pour_event(void *ctx, const struct event *ev);
/* All its events were written. 0 or -ENOMEM. */
int shared_profile_pour_end(struct shared_profile_pour *p);

#endif
