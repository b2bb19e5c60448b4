/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * info_threads.h - what the threads of a file did, for tachbpf info; and how many samples each
 * process has in a file of several.
 */
#ifndef TACHBPF_INFO_THREADS_H
#define TACHBPF_INFO_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "commands/profile_set.h"
#include "model/id_map.h"
#include "model/process_frame.h"
#include "model/thread_names.h"

struct json;
struct reader;

/* One thread of a file, in one interpreter. */
struct info_thread {
	uint64_t id;
	uint32_t interp_id;
	bool main;
	uint64_t samples, gil, on_cpu, cpu_unknown, gil_requested, exceptions;
	uint64_t first_us, last_us;
};

/* One of the processes that share a file. */
struct info_process {
	uint32_t frame;			/* its root frame */
	uint64_t samples;
};

/* One file's threads. */
struct info_threads {
	struct thread_map *map;		/* while the file is read */
	struct info_thread *list;
	uint32_t cnt, cap;
	struct process_root root;
	bool shared;			/* the file may be of several processes */
	struct id_map process_of;	/* root frame -> its number in processes */
	struct info_process *processes;	/* in the order of their root frames */
	size_t process_cnt, process_cap;
};

/*
 * Read a file's threads, those with the most samples first; what t had is replaced. Zero-initialise
 * it. 0 or -ENOMEM; damage is logged, and in set->failed.
 */
int info_threads_read(struct info_threads *t, struct profile_set *set,
		      const struct profile_file *file, struct reader *r);
void info_threads_free(struct info_threads *t);

/* A table of at most limit threads, the main thread among them; 0: of all. */
void info_threads_print(const struct info_threads *t, const struct thread_names *names,
			uint32_t limit);
/* The array "threads", of all. */
void info_threads_json(struct json *j, const struct info_threads *t,
		       const struct thread_names *names);

#endif
