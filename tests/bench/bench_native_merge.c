// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bench_native_merge.c - what machine code costs user space for each sample: a stack of 20 Python
 * frames, with 0, 20 and 60 frames of machine code among them. Prints the CPU time of a sample.
 */
#define GOLDEN_DIR ""		/* what tests read: not used here */

#include <time.h>

#include "base/util.h"
#include "resolve/observer.h"
#include "resolve/process.h"
#include "tests/unit/resolve/fake_code.h"
#include "tests/unit/resolve/fake_native.h"

#define PYTHON 20
#define CALLS 4			/* of the interpreter from C */
#define SAMPLES 1000000
#define ADDRESSES 5000		/* of the innermost functions, in turn */

static struct fake_codes fake;
static uint64_t frames;

static int take_event(struct observer *o, struct process *p, const struct event *ev)
{
	frames += ev->nframes;
	return 0;
}

static const struct observer_ops ops = { .event = take_event };
static struct observer observer = { &ops };

/* Fill raw and bytes, the record as it is in the ring buffer; returns its length. */
static size_t record(struct raw_native *raw, uint16_t native, uint8_t bytes[sizeof(*raw)])
{
	size_t head = offsetof(struct raw_native, slots) + CALLS * sizeof(raw->entries[0]);
	uint32_t i, each = native / CALLS;

	*raw = (struct raw_native){
		.h = { .kind = RAW_NATIVE, .tgid = getpid() }, .tid = 7, .sp = 0x7ffd00001000ull,
		.nframes = native, .nentries = CALLS,
	};
	for (i = 0; i < native; i++) {
		bool eval = i % each == each - 1;

		raw->frames[i] = (struct raw_native_frame){
			.addr = 0x1000ull * (i + 1) + eval, .below = 64 * (i + 1),
			.file = eval ? 2 : 1,
		};
	}
	for (i = 0; i < CALLS; i++)
		raw->entries[i] = (struct raw_entry){
			.at = raw->sp + 64ull * each * (i + 1) - 8,
			.frames = PYTHON / CALLS * (i + 1),
		};
	memcpy(bytes, raw, head);
	memcpy(bytes + head, raw->frames, sizeof(raw->frames[0]) * native);
	return head + sizeof(raw->frames[0]) * native;
}

/* The CPU time of this process, ns. */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static double measure(uint16_t native)
{
	static _Alignas(8) uint8_t bytes[sizeof(struct raw_native)];
	static struct raw_sample sample;
	static struct raw_native raw;
	struct raw_native *r = (struct raw_native *)bytes;
	struct process *p = process_new(&(struct process_args){
		.tgid = getpid(), .comm = "bench", .image = &fake.img, .observer = &observer,
		.native = &fake_native,
	});
	size_t len = native ? record(&raw, native, bytes) : 0;
	uint64_t before = 0;
	uint32_t i;

	assert_non_null(p);
	sample = (struct raw_sample){ .h = { .kind = RAW_SAMPLE, .tgid = getpid() }, .tid = 7,
				      .nframes = PYTHON };
	for (i = 0; i < PYTHON; i++)
		sample.frames[i] = fake_frame(&fake, i, 2);
	for (i = 0; i < SAMPLES + ADDRESSES; i++) {
		if (i == ADDRESSES)
			before = cpu_ns();
		sample.h.time_ns = r->h.time_ns = i + 1;
		r->slots[r->nentries].addr = 0x1000000ull + 4 * (i % ADDRESSES);
		if (len)
			assert_int_equal(process_take(p, r, len), 0);
		assert_int_equal(process_take(p, &sample, raw_sample_bytes(PYTHON, 0)), 0);
	}
	before = cpu_ns() - before;
	process_free(p);
	return (double)before / SAMPLES;
}

int main(void)
{
	static const uint16_t native[] = { 0, 20, 60 };
	size_t i;

	fake_codes_in_self(&fake, PYTHON);
	for (i = 0; i < ARRAY_SIZE(native); i++)
		printf("%2d Python frames, %2u of machine code: %6.0f ns a sample\n", PYTHON,
		       native[i], measure(native[i]));
	fake_codes_free(&fake);
	return 0;
}
