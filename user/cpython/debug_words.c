// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * debug_words.c - see debug_words.h.
 *
 * CPython, Objects/obmalloc.c, _PyMem_DebugRawAlloc(): the requested size, big-endian; the domain's
 * letter; seven forbidden bytes; the requested bytes; eight forbidden bytes; up to 3.7 a serial
 * number. The forbidden byte is 0xfb up to 3.7 and 0xfd from 3.8 on (Include/internal/pycore_pymem.h).
 */
#include "cpython/debug_words.h"

#include <string.h>

#define WORD 8u
#define FORBIDDEN 0xfd
#define FORBIDDEN_TO_37 0xfb

static uint64_t big_endian(const uint8_t *at)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < WORD; i++)
		n = n << 8 | at[i];
	return n;
}

static bool all_are(const uint8_t *at, size_t len, uint8_t byte)
{
	while (len && *at == byte)
		at++, len--;
	return !len;
}

bool debug_words_find(const void *block, size_t len, uint64_t block_bytes,
		      struct debug_words *out)
{
	const uint8_t *at = block;
	uint8_t forbidden;
	uint64_t bytes;

	if (len < DEBUG_WORDS_BEFORE || block_bytes < DEBUG_WORDS_BEFORE + WORD)
		return false;
	forbidden = at[WORD + 1];
	if ((forbidden != FORBIDDEN && forbidden != FORBIDDEN_TO_37) ||
	    !all_are(at + WORD + 1, WORD - 1, forbidden) || !at[WORD] ||
	    !strchr("omr", at[WORD]))
		return false;
	bytes = big_endian(at);
	if (bytes > block_bytes - DEBUG_WORDS_BEFORE - WORD)
		return false;
	if (len >= DEBUG_WORDS_BEFORE + WORD && bytes <= len - DEBUG_WORDS_BEFORE - WORD &&
	    !all_are(at + DEBUG_WORDS_BEFORE + bytes, WORD, forbidden))
		return false;
	out->bytes = bytes;
	out->domain = (char)at[WORD];
	return true;
}
