/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * hash_secret.h - hashes of bytes that others choose: with a secret seed (getrandom), nobody can
 * choose bytes that all have the same hash.
 */
#ifndef TACHBPF_HASH_SECRET_H
#define TACHBPF_HASH_SECRET_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#define HASH_SECRET_A 0xa0761d6478bd642fULL
#define HASH_SECRET_B 0xe7037ed1a0b428dbULL

/* Multiplies to 128 bits and folds: the mixing step of wyhash (public domain). */
static inline uint64_t hash_secret_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 r = (unsigned __int128)a * b;

	return (uint64_t)r ^ (uint64_t)(r >> 64);
}

static inline uint64_t hash_secret_load(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Returns a seed. Without entropy it is 0: slower under attack, never wrong. */
static inline uint64_t hash_secret_seed(void)
{
	uint64_t seed;

	return getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed) ? seed : 0;
}

/* Returns the hash of len bytes; bytes may be NULL if len is 0. */
static inline uint64_t hash_secret(uint64_t seed, const void *bytes, size_t len)
{
	uint64_t h = seed ^ hash_secret_mix(len ^ HASH_SECRET_A, HASH_SECRET_B);
	const uint8_t *p = bytes;
	char tail[16] = { 0 };

	for (; len > 16; p += 16, len -= 16)
		h = hash_secret_mix(hash_secret_load(p) ^ HASH_SECRET_A,
				    hash_secret_load(p + 8) ^ h);
	if (len)
		memcpy(tail, p, len);
	h = hash_secret_mix(hash_secret_load(tail) ^ HASH_SECRET_A,
			    hash_secret_load(tail + 8) ^ h);
	return hash_secret_mix(h ^ seed, HASH_SECRET_B);
}

#endif
