/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * debug_words.h - the words that CPython's debug hooks put around each block (Py_DEBUG builds,
 * PYTHONMALLOC=debug, python -X dev), by which a block tells how many bytes were requested.
 *
 * The hooks wrap any allocator: pymalloc, mimalloc, malloc. Blocks that were allocated before they
 * were installed have no words, so each block is examined by itself.
 */
#ifndef TACHBPF_CPYTHON_DEBUG_WORDS_H
#define TACHBPF_CPYTHON_DEBUG_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a block before what was requested. */
#define DEBUG_WORDS_BEFORE 16u

struct debug_words {
	uint64_t bytes;		/* that were requested */
	char domain;		/* 'o': objects, 'm': memory of Python, 'r': raw memory */
};

/*
 * Returns true if a block of block_bytes has the words; *out is filled. len of its first bytes are
 * at block; if that includes the words behind the requested bytes, they are checked, too.
 */
bool debug_words_find(const void *block, size_t len, uint64_t block_bytes,
		      struct debug_words *out);

#endif
