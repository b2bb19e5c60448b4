/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * shared_profile.h - processes that lived too briefly for a file of their own: one file for
 * all of the same binary and command.
 *
 * Who is who stays known: each one's stacks have a root frame "<process PID COMM>",
 * and session.json lists the members.
 */
#ifndef TACHBPF_SHARED_PROFILE_H
#define TACHBPF_SHARED_PROFILE_H

#include <stdint.h>

#include "host/identity.h"
#include "host/proc.h"
#include "model/event.h"
#include "model/intern.h"
#include "model/sink.h"

/* One process of a merged file. Times since the recording began. */
struct shared_profile_member {
	pid_t tgid;
	uint32_t samples;
	float begin_s, end_s;
	struct identity identity;
};

/*
 * What tells files apart: the command line without the interpreter's options and the
 * script's arguments, "python3 -m pip" or "python3.11 /srv/job.py". Cut to size.
 */
void shared_profile_command(const char *command, char *out, size_t size);

/* The samples of a sink in memory as those of a member of another profile. */
struct shared_profile_pour;

/* tables: the member's; into: those of the merged profile; sink takes its samples. NULL: no memory. */
struct shared_profile_pour *shared_profile_pour_new(const struct profile_tables *tables,
						    struct intern *into, struct sink *sink,
						    pid_t tgid, const char *comm,
						    const struct container *container);
void shared_profile_pour_free(struct shared_profile_pour *p);
/* For memory_sink_replay(); ctx is the struct shared_profile_pour. 0 or -errno. */
int shared_profile_pour_event(void *ctx, const struct event *ev);

#endif
