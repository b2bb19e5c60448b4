// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * large_files.c - a large recording's directory, for bench_large.py.
 *
 *     large_files DIRECTORY PROCESSES BYTES       with BYTES bytes in all
 *     large_files DIRECTORY PROCESSES BYTES small with BYTES bytes of samples, 60 functions each
 *
 * PROCESSES processes of 20 programs, as a recording writes them. A program has 2,000 functions in
 * 40 files, each calls three others, from lines of their own, and 5,000 stacks, 8 to 40 deep. A
 * process has 4 threads, one of which runs at each tick, 999 times a second. A third of the samples
 * are at the stack of the thread's last one; most others are at one near it, which has its outer
 * frames, too; times vary by some microseconds. A sample takes about as many bytes as in a
 * recording of tests/bench/mixed.py (22 before compression, 5 after it).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compress.h"
#include "base/util.h"
#include "formats/formats.h"
#include "formats/tach/tach_write.h"
#include "model/intern.h"
#include "model/sink.h"
#include "tests/bench/bench_common.h"

#define PROGRAMS 20
#define FUNCTIONS 2000
#define FILES 40
#define CALLEES 3
#define STACKS 5000
#define NEAR 30
#define THREADS 4
#define DEPTH_MIN 8
#define DEPTH_MAX 40
#define TICK_US 1001
#define JITTER_US 100
#define SMALL 60	/* functions of a small program */
#define SAMPLE_BYTES 5

struct stack {
	uint32_t depth;
	uint32_t frames[DEPTH_MAX];	/* the outermost first */
};

static struct stack pool[STACKS];
static uint32_t functions = FUNCTIONS;

/* Frame CALLEES * f + c: function f at the line where it calls its callee c. */
static struct intern *tables(uint32_t program)
{
	struct intern *in = intern_new();
	char name[80];
	uint32_t i, c, id;

	bench_need(in != NULL, "intern");
	for (i = 0; i < functions; i++) {
		struct frame f = { .opcode = OPCODE_NONE,
				   .first_line = (int32_t)(1 + i % 50 * 20) };

		snprintf(name, sizeof(name), "/srv/program%u/lib/module_%u.py", program, i % FILES);
		bench_need(!intern_string(in, name, strlen(name), &f.file), "string");
		snprintf(name, sizeof(name), "Class%u.method_%u", i / 7, i);
		bench_need(!intern_string(in, name, strlen(name), &f.func), "string");
		for (c = 0; c < CALLEES; c++) {
			f.line = f.end_line = f.first_line + 1 + 4 * (int32_t)c;
			f.column = 4;
			f.end_column = 20 + (int32_t)(i % 30);
			bench_need(!intern_frame(in, &f, &id), "frame");
		}
	}
	return in;
}

static uint32_t callee(uint32_t frame)
{
	return (uint32_t)(hash_u64(frame + 1) % functions) * CALLEES +
	       bench_random(bench_random(2) ? 1 : CALLEES);
}

/* Return from some functions, of which most are at the leaf, and call others. */
static void step(struct stack *s)
{
	uint32_t popped = 1, pushed = bench_random(4);

	while (bench_random(2) && popped < s->depth)
		popped++;
	s->depth -= popped < s->depth ? popped : s->depth;
	if (!s->depth)
		s->frames[s->depth++] = 0;
	while (s->depth < DEPTH_MAX && (pushed || s->depth < DEPTH_MIN)) {
		s->frames[s->depth] = callee(s->frames[s->depth - 1]);
		s->depth++;
		pushed -= pushed > 0;
	}
}

/* Where a program's threads can be: in the order of a walk, so that neighbours are alike. */
static void make_pool(void)
{
	struct stack s = { 0 };
	uint32_t i;

	for (i = 0; i < STACKS; i++) {
		step(&s);
		pool[i] = s;
	}
}

static uint32_t next_stack(uint32_t at)
{
	uint32_t kind = bench_random(30);

	if (kind < 10)
		return at;
	return kind ? (at + STACKS - NEAR / 2 + bench_random(NEAR)) % STACKS : bench_random(STACKS);
}

static void put(struct sink *sink, uint32_t thread, const struct stack *s, uint64_t tick)
{
	uint32_t frames[DEPTH_MAX], i;
	struct event ev = { .thread_id = 5000 + thread, .nframes = s->depth, .frames = frames,
			    .weight = 1, .status = thread ? 3 : 35 };

	for (i = 0; i < s->depth; i++)
		frames[i] = s->frames[s->depth - 1 - i];
	ev.time_us = 1000000 + tick * TICK_US + bench_random(JITTER_US);
	bench_need(!sink->ops->event(sink, &ev), "event");
}

/* Returns how many samples it has. */
static uint64_t write_process(int fd, const struct intern *in, struct compressor *c, uint64_t bytes)
{
	const struct sink_args args = { .fd = fd, .compressor = c, .live = true };
	const struct profile_meta meta = { .python_major = 3, .python_minor = 12,
					   .start_us = 1000000,
					   .interval_us = TICK_US, .mode = MODE_CPU };
	uint32_t at[THREADS] = { 0, 1000, 2000, 3000 };
	struct sink *sink = sink_tach.open(&args);
	uint64_t tick = 0;
	uint32_t thread = 0;

	bench_need(sink && !sink->ops->begin(sink, &meta, intern_tables(in)), "begin");
	while (functions == FUNCTIONS ? tach_bytes(sink) < bytes : tick < bytes / SAMPLE_BYTES) {
		if (!bench_random(5))
			thread = bench_random(THREADS);
		at[thread] = next_stack(at[thread]);
		put(sink, thread, &pool[at[thread]], tick++);
	}
	bench_need(!sink->ops->end(sink, NULL) && !sink->ops->close(sink), "end");
	return tick;
}

int main(int argc, char **argv)
{
	struct compressor *c = compressor_new(3);
	uint64_t samples = 0;
	uint32_t i, cnt;

	if (argc < 4) {
		fprintf(stderr, "usage: large_files DIRECTORY PROCESSES BYTES [small]\n");
		return 2;
	}
	bench_need(c != NULL && !chdir(argv[1]), argv[1]);
	cnt = (uint32_t)atoi(argv[2]);
	if (argc > 4)
		functions = SMALL;
	for (i = 0; i < cnt; i++) {
		struct intern *in = tables(i % PROGRAMS);
		char name[64];
		int fd;

		snprintf(name, sizeof(name), "%u-program%u.tach", 1000 + i, i % PROGRAMS);
		fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		bench_need(fd >= 0, name);
		bench_state = 88172645463325252ULL + i % PROGRAMS;
		make_pool();
		bench_state += i;
		samples += write_process(fd, in, c, strtoull(argv[3], NULL, 10) / cnt);
		close(fd);
		intern_free(in);
	}
	compressor_free(c);
	printf("%llu\n", (unsigned long long)samples);
	return 0;
}
