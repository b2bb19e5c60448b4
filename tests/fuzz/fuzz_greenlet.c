// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_greenlet.c - greenlets out of hostile memory.
 *
 * Input: a byte for the version and for what is special; then pokes into the memory of a process
 * with some greenlets, each a u16 for which of its words that are not zero, and a u32 that is
 * written there: small ones as they are, others as addresses. With bit 5 memory is at every
 * address.
 */
#include <stdlib.h>

#include "tests/fuzz/check.h"
#include "tests/unit/cpython/fake_greenlets.h"

#define FRAMES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fake_greenlets f;

static void poke(const uint8_t *data, size_t size)
{
	static uint64_t words[FAKE_BYTES / 8];
	uint64_t cnt = 0, at;
	uint16_t where;
	uint32_t what;
	size_t i;

	for (at = FAKE_BASE; at < FAKE_BASE + f.t.used; at += 8)
		if (fake_word_of(&f, at))
			words[cnt++] = at;
	for (i = 0; i + 6 <= size; i += 6) {
		memcpy(&where, data + i, 2);
		memcpy(&what, data + i + 2, 4);
		fake_poke(&f.t, words[where % cnt],
			  what < 4096 ? what : FAKE_BASE + what % f.t.used, 8);
	}
}

static void read_one(struct py_walk *w, struct py_greenlet_kind *k, uint64_t addr)
{
	struct py_frame frames[FRAMES];
	struct py_greenlet g;
	uint32_t cnt;
	bool whole;

	if (py_greenlet_read(w, k, addr, &g))
		return;
	py_greenlet_learn(k, &g);
	check(k->self_at + 3u < PY_GREENLET_WORDS);
	py_greenlet_parent(k, &g);
	py_greenlet_frames(w, &f.layout, k, &g, frames, FRAMES, &cnt, &whole);
	check(cnt <= FRAMES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct py_greenlet_kind kind;
	struct py_walk w;
	uint64_t copy, frame, one, other;

	if (size < 1)
		return 0;
	fake_greenlets_make(&f, 6 + (data[0] & 15) % 10, data[0] & 16,
			    (enum fake_release)((data[0] >> 6) % 3));
	copy = fake_take(&f.t, 256);
	frame = fake_python_frame(&f, 0x2000, fake_python_frame(&f, 0x1000, 0));
	one = fake_greenlet(&f, f.main, FAKE_STACK, FAKE_STACK + 256, copy, 256,
			    fake_frame_object(&f, frame));
	other = fake_greenlet(&f, one, 0, 0, 0, 0, 0);
	poke(data + 1, size - 1);
	if (data[0] & 32)
		f.target = (struct target_mem){ fake_threads_everywhere, &f.t };
	py_walk_init(&w, &f.target, &f.t.at.objects, 10000);
	if (py_greenlet_kind_of(&w, f.type, &kind))
		return 0;
	read_one(&w, &kind, f.main);
	read_one(&w, &kind, one);
	read_one(&w, &kind, other);
	return 0;
}
