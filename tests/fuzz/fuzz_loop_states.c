// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_loop_states.c - event loops out of hostile memory, and what several looks add up to.
 *
 * Input: a byte for the version, one for what is special; then pokes into the memory of a process
 * with a loop, each a u16 for which of its words that are not zero, and a u32 that is written
 * there: small ones as they are, others as addresses. The loop is looked at after each poke. With
 * bit 1 memory is at every address (modulo its size), so that whatever is taken for a pointer leads
 * somewhere; with bit 2 asyncio has no C part.
 */
#include <string.h>

#include "asyncio/loop_health.h"
#include "tests/fuzz/check.h"
#include "tests/unit/asyncio/fake_loop.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define S 1000000000ull
#define LOOKS_MAX 24

static struct fake_loop l;
static struct loop_states s;
static struct loop_health h;

static void check_states(uint64_t now)
{
	uint32_t i;

	check(s.cnt <= LOOPS_MAX && s.reads <= LOOP_READS_MAX);
	for (i = 0; i < s.cnt; i++) {
		const struct loop_state *one = &s.loop[i];

		check(one->addr && one->main <= 1 && one->in_task <= 1);
		check(one->busy_ns <= now || one->busy_ns == LOOP_UNKNOWN);
		check(one->late_ns <= now || one->late_ns == LOOP_UNKNOWN);
	}
}

static void check_figures(uint64_t now)
{
	struct loop_figures f;

	loop_health_figures(&h, now, 10, &f);
	check(f.longest_ns <= now || f.longest_ns == LOOP_UNKNOWN);
	check(f.lag_ns <= now || f.lag_ns == LOOP_UNKNOWN);
	check(f.lag_ns == LOOP_UNKNOWN || f.longest_ns <= now);
}

static void poke(const uint8_t *data)
{
	static uint64_t words[FAKE_BYTES / 8];
	uint64_t cnt = 0, at, word;
	uint16_t where;
	uint32_t what;

	for (at = 0; at < l.f.used; at += 8) {
		memcpy(&word, l.f.mem + at, 8);
		if (word)
			words[cnt++] = FAKE_BASE + at;
	}
	memcpy(&where, data, 2);
	memcpy(&what, data + 2, 4);
	fake_poke(&l.f, words[where % cnt], what < 4096 ? what : FAKE_BASE + what % l.f.used, 8);
}

static void look(uint64_t now)
{
	loop_states_read(&l.f.target, &l.at, now, &s);
	check_states(now);
	loop_health_add(&h, now, &s);
	check_figures(now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t now = 101 * S;
	size_t i;

	if (size < 2)
		return 0;
	memset(&h, 0, sizeof(h));
	fake_loop_make(&l, 8 + data[0] % 8, data[1] & 1);
	if (data[1] & 2)
		l.f.target.read = fake_threads_everywhere;
	if (data[1] & 4 && l.at.homes.minor) {
		l.at.homes.cnt = 1;
		l.at.homes.home[0].pure = 1;
	}
	look(now);
	for (i = 2; i + 6 <= size && i < 2 + 6 * LOOKS_MAX; i += 6) {
		poke(data + i);
		now += S / 10;
		look(now);
	}
	return 0;
}
