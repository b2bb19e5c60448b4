/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_machine.h - for tests of process.h with machine code: makes the RAW_NATIVE before a
 * sample, frame by frame, in `machine`.
 */
#ifndef TACHBPF_NATIVE_MACHINE_H
#define TACHBPF_NATIVE_MACHINE_H

#include "tests/unit/resolve/fake_native.h"
#include "tests/unit/resolve/process_test.h"

#define SP 0x7ffd00001000ull
#define EVAL 2			/* the file that has eval frames, see fake_native.h */

static struct raw_native machine;

static inline void begin_native(struct process_args args)
{
	fake_native = (struct native){ .later = false };
	more_args = args;
	more_args.native = &fake_native;
	begin();
}

/* machine: no frame; for the record of this thread and time on this CPU. */
static inline void native(uint32_t tid, uint64_t time_ms, uint16_t cpu, enum native_end end)
{
	machine = (struct raw_native){
		.h = { .kind = RAW_NATIVE, .tgid = getpid(), .time_ns = time_ms * 1000000,
		       .start_ns = 9 },
		.tid = tid, .cpu = cpu, .sp = SP, .end = (uint8_t)end,
	};
}

static inline void add(uint32_t file, uint64_t addr)
{
	machine.frames[machine.nframes] = (struct raw_native_frame){
		.addr = addr, .file = file, .below = 64u * (machine.nframes + 1),
	};
	machine.nframes++;
}

/* A function of libfoo, and one of the interpreter. */
static inline void foo(uint32_t function)
{
	add(1, 0x1000ull * function);
}

static inline void python(enum native_class class)
{
	add(EVAL, 0x10000 + class);
}

/* An eval frame that has so many Python frames, including those further in. */
static inline void eval(uint32_t frames)
{
	machine.entries[machine.nentries++] = (struct raw_entry){
		.at = SP + 64ull * machine.nframes + 8, .frames = frames,
	};
	python(NATIVE_EVAL);
}

/* The record as it is in the ring buffer; returns its length. */
static inline size_t packed(uint8_t out[sizeof(struct raw_native)])
{
	size_t head = offsetof(struct raw_native, entries) + machine.nentries * 16u;

	memcpy(out, &machine, head);
	memcpy(out + head, machine.frames, machine.nframes * 16u);
	return head + machine.nframes * 16u;
}

static inline void pass_native(void)
{
	_Alignas(8) uint8_t bytes[sizeof(struct raw_native)];
	size_t len = packed(bytes);

	assert_int_equal(process_take(p, (const struct raw_native *)bytes, len), 0);
}

static inline void sample(uint32_t tid, uint64_t time_ms, uint16_t cpu, uint32_t n, uint32_t first)
{
	stack(tid, n, first);
	raw.h.time_ns = time_ms * 1000000;
	raw.cpu = cpu;
}

static inline void no_stack(enum counter why, uint64_t time_ms)
{
	struct raw_no_stack r = {
		.h = { .kind = RAW_NO_STACK, .tgid = getpid(), .time_ns = time_ms * 1000000,
		       .start_ns = 9 },
		.tid = 8, .cpu = 3, .status = STATUS_ON_CPU, .end = (uint8_t)why, .comm = "blas",
	};

	assert_int_equal(process_take(p, &r, sizeof(r)), 0);
}

#endif
