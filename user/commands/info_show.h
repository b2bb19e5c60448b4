/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * info_show.h - the parts of tachbpf info: the threads of a file and the samples of each process in
 * a file of several (info_threads.c), files in other formats (info_other.c), --verify
 * (info_verify.c).
 */
#ifndef TACHBPF_INFO_SHOW_H
#define TACHBPF_INFO_SHOW_H

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
	uint32_t cnt;
	size_t cap;
	struct process_root root;
	bool shared;			/* the file may be of several processes */
	struct id_map process_of;	/* root frame -> its number in processes */
	struct info_process *processes;	/* in the order of their root frames */
	size_t process_cnt, process_cap;
};

/*
 * Reads a file's threads, those with the most samples first, replacing the contents of t.
 * Zero-initialise it. 0 or -ENOMEM; damage is logged and set in set->failed.
 */
int info_threads_read(struct info_threads *t, struct profile_set *set,
		      const struct profile_file *file, struct reader *r);
void info_threads_free(struct info_threads *t);

/* Prints a table of at most limit threads, including the main thread; 0: all. */
void info_threads_print(const struct info_threads *t, const struct thread_names *names,
			uint32_t limit);
/* Writes the array "threads", with all of them. */
void info_threads_json(struct json *j, const struct info_threads *t,
		       const struct thread_names *names);

/* ---- info_other.c: files in other formats: common data, and what the reader adds ---- */

/* Adds members to the current JSON object. */
void info_other_json(struct json *j, const struct reader *r);
/* Prints indented lines on stdout. */
void info_other_print(const struct reader *r);

/* ---- info_verify.c ---- */

/*
 * Decodes every file of the set and compares checksums. Prints a verdict for each on stdout; for a
 * damaged file it logs a line and sets set->failed. Returns 0, or -errno if it could not continue.
 */
int info_verify(struct profile_set *set, bool as_json);

#endif
