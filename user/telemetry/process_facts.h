/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process_facts.h - collects what of /proc says who a process is. Workers read (memory/reader.h,
 * target/inspector.h); so this waits for them, some 20 µs each time, at worst a part of a second.
 */
#ifndef TACHBPF_PROCESS_FACTS_H
#define TACHBPF_PROCESS_FACTS_H

#include <limits.h>
#include <stddef.h>

#include "host/otel_signs.h"
#include "host/proc.h"
#include "telemetry/program_name.h"
#include "telemetry/service.h"

/* Some 13 KiB: for one process at a time. */
struct process_facts {
	char exe[PATH_MAX];		/* "": unknown, as all others */
	char comm[PROC_COMM_MAX];
	char cmdline[PROGRAM_CMDLINE_BYTES + 1];
	size_t cmdline_len;
	struct otel_environ env;
};

/*
 * Read what is known of a process; what cannot be read stays empty. 0, or -EBUSY: a worker has not
 * answered to something, or is not asked about this process now; what is there can be used, and
 * another try may bring more. In the main process.
 */
int process_facts_read(const struct proc_info *who, struct process_facts *out);

/* Point to them; the other facts stay as they are. *facts stays valid as long as *p. */
void process_facts_fill(const struct process_facts *p, struct service_facts *facts);

#endif
