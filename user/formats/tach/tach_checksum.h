/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tach_checksum.h - the 16 bytes of checksum in a TACH file's footer: XXH3-128 in its canonical
 * form, seed 0, of everything from the end of the header up to the checksum itself, and then of the
 * header, which is written last.
 */
#ifndef TACHBPF_TACH_CHECKSUM_H
#define TACHBPF_TACH_CHECKSUM_H

#include <errno.h>
#include <stdint.h>
#include <xxhash.h>

#include "formats/tach/tach_format.h"

static inline void tach_checksum_start(XXH3_state_t *h)
{
	XXH3_128bits_reset(h);
}

/* The checksum of what was added so far; the state does not change. */
static inline void tach_checksum_now(const XXH3_state_t *h, uint8_t out[TACH_CHECKSUM_BYTES])
{
	XXH128_canonical_t c;

	XXH128_canonicalFromHash(&c, XXH3_128bits_digest(h));
	__builtin_memcpy(out, c.digest, TACH_CHECKSUM_BYTES);
}

/* Adds samples, then rest_len bytes of rest, then the header. h stays. Returns 0 or -ENOMEM. */
static inline int tach_checksum_end(const XXH3_state_t *h, const void *rest, size_t rest_len,
				    const uint8_t header[TACH_HEADER_BYTES],
				    uint8_t out[TACH_CHECKSUM_BYTES])
{
	XXH3_state_t *copy = XXH3_createState();

	if (!copy)
		return -ENOMEM;
	XXH3_copyState(copy, h);
	XXH3_128bits_update(copy, rest, rest_len);
	XXH3_128bits_update(copy, header, TACH_HEADER_BYTES);
	tach_checksum_now(copy, out);
	XXH3_freeState(copy);
	return 0;
}

#endif
