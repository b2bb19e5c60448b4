/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * heap_processes.h - the processes that tachbpf heap is asked about: found, and with what is needed
 * to read their objects; and why one cannot be read, in words.
 */
#ifndef TACHBPF_HEAP_PROCESSES_H
#define TACHBPF_HEAP_PROCESSES_H

#include <stddef.h>

#include "commands/options.h"
#include "heap/census.h"
#include "target/pythons.h"
#include "telemetry/command_label.h"

struct identities;

/* Limit on processes; further ones are left out, which is logged. */
#define HEAP_PROCESSES_MAX 4096

struct heap_process {
	struct python python;		/* its found is NULL */
	char program[COMMAND_LABEL_BYTES];
	struct heap_target target;
};

struct heap_processes {
	struct heap_process *list;
	size_t cnt, cap;
	size_t failed;		/* that were named and cannot be read; each was logged */
	size_t left_out;	/* beyond HEAP_PROCESSES_MAX */
};

/*
 * Finds the selected processes. Python processes that cannot be read are logged. 0 or -errno, which
 * was logged. The caller must call heap_processes_free() in any case.
 */
int heap_processes_find(const struct select_options *select, struct identities *ids,
			struct heap_processes *out);
void heap_processes_free(struct heap_processes *l);

/*
 * Logs why a process of the list cannot be read: err of heap_worker.h. It counts as failed if it
 * was named; otherwise it is only a warning, and nothing if it has ended.
 */
void heap_process_refuse(struct heap_processes *l, const struct heap_process *p, int err,
			 bool named);

#endif
