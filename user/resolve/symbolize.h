/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbolize.h - (code object, instruction) of one process -> interned frame.
 *
 * Remembers every answer. A code object is known by its address and its
 * fingerprint, so an address that is used again never gets an old name.
 */
#ifndef TACHBPF_SYMBOLIZE_H
#define TACHBPF_SYMBOLIZE_H

#include "bpf/abi.h"
#include "cpython/code.h"
#include "model/intern.h"

struct symbolizer;

/* Counted in frames, not samples. */
struct symbolizer_stats {
	uint64_t code_cnt;		/* code objects with names */
	uint64_t without_lines;		/* of them: names, but no line table */
	uint64_t process_reads;		/* names that had to be read from the process */
	uint64_t repeated;		/* records of what was known already */
	uint64_t unresolved;		/* frames that are <unresolved> by now */
};

/* image and in outlive the symbolizer; mem is copied. NULL with errno. */
struct symbolizer *symbolizer_new(const struct cpython_image *image, struct target_mem mem,
				  struct intern *in, bool opcodes);
void symbolizer_free(struct symbolizer *sym);

/*
 * The kernel's snapshot of a code object (len bytes, checked here): from now on
 * its frames have names whatever becomes of the process. 0 or -errno.
 */
int symbolizer_learn(struct symbolizer *sym, const struct raw_code *raw, size_t len);

/* The process' memory is gone: answer from what is known. */
void symbolizer_target_gone(struct symbolizer *sym);

/* Once a second: so much may be read from the process again. */
void symbolizer_refill(struct symbolizer *sym);

/*
 * CPython 3.12 enters its interpreter by a frame of its own, and links it before it has
 * marked it as such. The id that such frames get, which are none of the program;
 * UINT32_MAX: none has been seen.
 */
uint32_t symbolizer_trampoline(const struct symbolizer *sym);

/* The frame's id in the intern table. 0 or -ENOMEM. */
int symbolizer_frame(struct symbolizer *sym, const struct raw_frame *raw, uint32_t *id);

/*
 * Frames that were told as <unresolved> because there was no time to read their code get
 * their names, if the process still has it: what was told of them changes in the table.
 * Reads as long as there is time. 0 or -ENOMEM.
 */
int symbolizer_retry(struct symbolizer *sym);

const struct symbolizer_stats *symbolizer_stats(const struct symbolizer *sym);

#endif
