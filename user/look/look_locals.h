/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * look_locals.h - the arguments and local variables of threads' frames (--locals).
 *
 * They are read after the stacks. A thread whose frames no longer match its stack has none; one
 * that ran while they were read is marked.
 */
#ifndef TACHBPF_LOOK_LOOK_LOCALS_H
#define TACHBPF_LOOK_LOOK_LOCALS_H

#include "cpython/frames.h"
#include "look/look_seen.h"

/* Per process: bytes of values; of values and names; frames and variables. Frames per thread. */
#define LOOK_VALUE_BYTES (1u << 20)
#define LOOK_TEXT_BYTES (2u << 20)
#define LOOK_FRAMES 65536u
#define LOOK_LOCALS 65536u
#define LOOK_THREAD_FRAMES 256u

/* A part of the answer's text. */
struct look_span {
	uint32_t at, len;
};

/* One request to the worker, and its answer. */
struct look_locals_answer {
	int32_t tgid;
	bool nested;		/* the process is in its own pid namespace */
	struct py_frames_at at;
	uint32_t cnt;
	struct look_frames_of {
		uint32_t tid;
		bool read;		/* found: all its frames were read */
		bool steady;		/* found: it slept all the time */
		uint32_t first, frame_cnt;	/* found: its range of frames, innermost first */
	} threads[LOOK_THREADS_MAX];
	uint32_t frame_cnt;
	struct look_found_frame {
		struct look_span function;
		uint32_t first, local_cnt;	/* its range of locals */
	} frames[LOOK_FRAMES];
	uint32_t local_cnt;
	struct look_found_local {
		struct look_span name, value;
		bool argument;
	} locals[LOOK_LOCALS];
	bool full;		/* some were not read */
	uint32_t text_len;
	char text[LOOK_TEXT_BYTES];
};

/* In the worker: fills in the answer. */
void look_locals_answer(struct look_locals_answer *s);

struct look_local {
	const char *name, *value;	/* any bytes, of hostile origin */
	uint32_t name_len, value_len;
	bool argument;
};

/* The variables of one thread. */
struct look_variables {
	bool steady;		/* it did not run meanwhile */
	/* Of each of the thread's frames (struct look_thread); synthetic ones have none. */
	struct look_frame_variables {
		const struct look_local *list;
		uint32_t cnt;
	} frames[];
};

/* Of a process; owns everything that its threads' variables point to. */
struct look_process_locals;

/*
 * Reads them, and sets variables of the threads for which they are known. *full: some did not fit,
 * or could not be read in time. Returns NULL if nothing could be read; the caller frees it.
 */
struct look_process_locals *look_locals_of(const struct process *p, struct look_thread *threads,
					   size_t cnt, bool *full);
void look_locals_free(struct look_process_locals *l);

#endif
