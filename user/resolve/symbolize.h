/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize.h - resolves raw frames (code object, instruction) of one process to frame ids.
 *
 * All results are cached. A code object is identified by its address and its fingerprint, so that
 * an address that is used again never gets an old name.
 */
#ifndef TACHBPF_SYMBOLIZE_H
#define TACHBPF_SYMBOLIZE_H

#include "bpf/abi.h"
#include "cpython/code.h"
#include "model/intern.h"

struct symbolizer;

struct symbolizer_stats {
	uint64_t code_cnt;		/* code objects with names */
	uint64_t without_lines;		/* code objects with names, but no line table */
	uint64_t process_reads;		/* code objects read from the process */
	uint64_t repeated;		/* records of code objects that already had names */
	uint64_t unresolved;		/* frames returned that are still <unresolved> */
	uint64_t late_coroutines;	/* samples of symbolizer_judge_later() with a coroutine */
};

/*
 * mem reads the process and is copied. image and in must outlive the symbolizer. NULL with errno.
 */
struct symbolizer *symbolizer_new(const struct cpython_image *image, struct target_mem mem,
				  struct intern *in, bool opcodes);
void symbolizer_free(struct symbolizer *sym);
/* As code_objects_leave_names(). */
size_t symbolizer_leave_names(struct symbolizer *sym);
/* Sets the process' user, to whose budget (budget.h) memory is charged. To be called first. */
void symbolizer_set_owner(struct symbolizer *sym, uint32_t uid);

/*
 * Takes the BPF side's snapshot of a code object. Afterwards its frames are resolved without the
 * process. 0; -EBADMSG: len or a length in the snapshot is wrong; -ENOMEM.
 */
int symbolizer_learn(struct symbolizer *sym, const struct raw_code *raw, size_t len);

/* Renews the number of reads allowed from the process. To be called once a second. */
void symbolizer_refill(struct symbolizer *sym);

/*
 * CPython 3.12 enters its interpreter through a frame of its own, and for a moment this frame is
 * not marked as a shim. Returns the id of these frames, so that the caller can drop them from
 * stacks; UINT32_MAX: none was seen.
 */
uint32_t symbolizer_trampoline(const struct symbolizer *sym);

/*
 * Resolves a frame. *id is its id in the intern table, or that of <unresolved>. *coroutine, which
 * may be NULL: it is known to be a coroutine's or an asynchronous generator's. 0 or -ENOMEM.
 */
int symbolizer_frame(struct symbolizer *sym, const struct raw_frame *raw, uint32_t *id,
		     bool *coroutine);

/*
 * Sets the ids of the first frames, at most n, as symbolizer_frame() would, as long as this is
 * quick. Returns their number; the next one is for symbolizer_frame(). *coroutines: how many of
 * them end with the last one of a coroutine; 0: there is none.
 */
uint32_t symbolizer_known(const struct symbolizer *sym, const struct raw_frame *raw, uint32_t n,
			  uint32_t *ids, uint32_t *coroutines);

/*
 * Resolves frames that were returned as <unresolved> because there was no time to read their code
 * object, if the process still has it. Their ids stay; their rows in the intern table change. Reads
 * while there is time. 0 or -ENOMEM.
 */
int symbolizer_retry(struct symbolizer *sym);
/*
 * Keeps in mind a sample that has these frames, of which none is known to be a coroutine's. When
 * one that waits for symbolizer_retry() is a coroutine's, stats.late_coroutines counts the sample.
 * At most 64 samples are kept; further ones are never counted.
 */
void symbolizer_judge_later(struct symbolizer *sym, const struct raw_frame *raw, uint32_t n);
/* Returns how many frames wait for symbolizer_retry(). */
uint32_t symbolizer_pending(const struct symbolizer *sym);

const struct symbolizer_stats *symbolizer_stats(const struct symbolizer *sym);

#endif
