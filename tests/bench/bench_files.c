// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bench_files.c - our TACH writer and reader alone, for bench_files.py.
 *
 *     bench_files write OUT SAMPLES DEPTH zstd|none   writes; prints samples per second of CPU time
 *     bench_files read FILE [TIMES]                   reads it so often; likewise
 *     bench_files huge OUT                            more than 2^32 samples, then reads them
 *
 * The samples: 8 threads, half of all samples repeat the thread's last stack,
 * the others change one to four frames at its leaf; each of 2000 frames calls
 * three others. Making them is not counted.
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
#include "formats/tach/tach_reader.h"
#include "model/intern.h"
#include "model/sink.h"
#include "tests/bench/bench_common.h"

#define THREADS 8
#define FRAMES 2000
#define CHUNK 20000	/* samples made at a time */

struct sample {
	uint32_t depth;
	uint32_t frames[EVENT_MAX_FRAMES];
};

#define CALLEES 3

static uint32_t stacks[THREADS][EVENT_MAX_FRAMES];

static struct intern *tables(void)
{
	struct intern *in = intern_new();
	char name[64];
	uint32_t i, id;

	bench_need(in != NULL, "intern");
	for (i = 0; i < FRAMES; i++) {
		struct frame f = { .line = 1 + i % 400, .end_line = 1 + i % 400,
				   .column = i % 60, .end_column = i % 60 + 12,
				   .opcode = OPCODE_NONE };

		snprintf(name, sizeof(name), "/usr/lib/python3/module_%u.py", i / 20);
		bench_need(!intern_string(in, name, strlen(name), &f.file), "string");
		snprintf(name, sizeof(name), "Class%u.method_%u", i / 40, i);
		bench_need(!intern_string(in, name, strlen(name), &f.func), "string");
		bench_need(!intern_frame(in, &f, &id), "frame");
	}
	return in;
}

static void make(struct sample *s, uint32_t cnt, uint32_t depth)
{
	uint32_t i, k, n;

	for (i = 0; i < cnt; i++) {
		uint32_t *stack = stacks[i % THREADS];

		if (bench_random(2)) {
			n = 1 + bench_random(4);
			for (k = n < depth ? n : depth - 1; k-- > 0;)
				stack[k] = (stack[k + 1] * 7919 +
					    bench_random(CALLEES) * 104729 + 13) % FRAMES;
		}
		s[i].depth = depth;
		memcpy(s[i].frames, stack, depth * sizeof(*stack));
	}
}

/* CPU time: other programs run beside this one. */
static uint64_t cpu_ns(void)
{
	return (uint64_t)(cpu_time_s() * 1e9);
}

static uint64_t put(struct sink *sink, const struct sample *s, uint32_t cnt, uint64_t first)
{
	uint64_t start = cpu_ns();
	uint32_t i;

	for (i = 0; i < cnt; i++) {
		const struct event ev = {
			.time_us = (first + i) / THREADS * 100 + 1,
			.thread_id = 1000 + i % THREADS,
			.nframes = s[i].depth,
			.frames = s[i].frames,
			.weight = 1,
			.status = 3,
		};

		bench_need(!sink->ops->event(sink, &ev), "event");
	}
	return cpu_ns() - start;
}

static void bench_write(const char *path, uint64_t total, uint32_t depth, int zstd)
{
	struct sink_args args = { .compressor = zstd ? compressor_new(COMPRESS_LEVEL) : NULL,
				  .frame_bytes = 8 << 20 };
	const struct profile_meta meta = { .python_major = 3, .python_minor = 15,
					   .interval_us = 100, .mode = MODE_CPU };
	struct sample *s = calloc(CHUNK, sizeof(*s));
	struct intern *in = tables();
	uint64_t done, ns = 0, start;
	struct sink *sink;

	args.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bench_need(args.fd >= 0, path);
	sink = sink_tach.open(&args);
	bench_need(s && sink && !sink->ops->begin(sink, &meta, intern_tables(in)), "begin");
	for (done = 0; done < THREADS; done++)
		make(s, THREADS, depth);
	for (done = 0; done < total; done += CHUNK) {
		make(s, CHUNK, depth);
		ns += put(sink, s, CHUNK, done);
	}
	start = cpu_ns();
	bench_need(!sink->ops->end(sink, NULL) && !sink->ops->close(sink), "end");
	ns += cpu_ns() - start;
	printf("%.0f\n", done * 1e9 / ns);
	compressor_free(args.compressor);
	intern_free(in);
	free(s);
	close(args.fd);
}

static int count(void *ctx, const struct event *ev)
{
	++*(uint64_t *)ctx;
	return 0;
}

static void bench_read(const char *path, int times)
{
	char why[256] = "";
	uint64_t samples = 0, start = cpu_ns();
	struct tach_reader *r;

	while (times--) {
		r = tach_reader_open(path, why, sizeof(why));
		bench_need(r && !tach_reader_run(r, count, &samples, why, sizeof(why)), why);
		tach_reader_free(r);
	}
	printf("%.0f\n", samples * 1e9 / (cpu_ns() - start));
}

/* One stack for 2^32 + 5 samples: 8.6 GB of records, which compress well. */
static void bench_huge(const char *path)
{
	struct sink_args args = { .compressor = compressor_new(1) };
	const struct profile_meta meta = { .interval_us = 1, .mode = MODE_CPU };
	struct intern *in = tables();
	const uint32_t stack[] = { 1, 2, 3 };
	const struct event ev = { .thread_id = 1, .nframes = 3, .frames = stack, .time_us = 1,
				  .weight = (1ULL << 32) + 5, .status = 3 };
	uint64_t start = now_ns(), samples = 0;
	struct tach_reader *r;
	struct sink *sink;
	char why[256] = "";

	args.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bench_need(args.fd >= 0, path);
	sink = sink_tach.open(&args);
	bench_need(sink && !sink->ops->begin(sink, &meta, intern_tables(in)), "begin");
	bench_need(!sink->ops->event(sink, &ev), "event");
	bench_need(!sink->ops->end(sink, NULL) && !sink->ops->close(sink), "end");
	printf("written in %.1f s, %lld bytes\n", (now_ns() - start) / 1e9,
	       (long long)lseek(args.fd, 0, SEEK_END));
	start = now_ns();
	r = tach_reader_open(path, why, sizeof(why));
	bench_need(r && !tach_reader_run(r, count, &samples, why, sizeof(why)), why);
	bench_need(samples == ev.weight && tach_reader_checksum(r) == TACH_CHECKSUM_RIGHT,
		   "not all");
	printf("read in %.1f s: %llu samples, checksum right\n", (now_ns() - start) / 1e9,
	       (unsigned long long)samples);
	tach_reader_free(r);
	compressor_free(args.compressor);
	intern_free(in);
	close(args.fd);
}

int main(int argc, char **argv)
{
	uint32_t depth = argc == 6 ? (uint32_t)atoi(argv[4]) : 0;

	if (argc == 6 && !strcmp(argv[1], "write") && depth >= 1 && depth <= EVENT_MAX_FRAMES) {
		bench_write(argv[2], strtoull(argv[3], NULL, 10), depth, !strcmp(argv[5], "zstd"));
	} else if (argc >= 3 && !strcmp(argv[1], "read")) {
		bench_read(argv[2], argc > 3 ? atoi(argv[3]) : 1);
	} else if (argc == 3 && !strcmp(argv[1], "huge")) {
		bench_huge(argv[2]);
	} else {
		fprintf(stderr, "usage: bench_files write OUT SAMPLES DEPTH zstd|none | "
				"read FILE [TIMES] | huge OUT\n");
		return 2;
	}
	return 0;
}
