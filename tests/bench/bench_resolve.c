// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bench_resolve.c - what user space needs for a sample, from its record to the file: for
 * bench_resolve.py.
 *
 *     bench_resolve CASE DEPTH SAMPLES nothing    what comes of a record goes nowhere
 *     bench_resolve CASE DEPTH SAMPLES tree       it goes to a call tree, as in tachbpf top
 *     bench_resolve CASE DEPTH SAMPLES FILE       it goes to a TACH file, as in a recording
 *
 * Prints the CPU time of a sample in ns. Records of THREADS threads in turn; CASE is how much of a
 * thread's stack changes from one to its next:
 *
 *     same       nothing
 *     line       the innermost frame's instruction
 *     top        the innermost 5 frames, of recursive functions
 *     all        every frame
 *     switch     every frame, but to one of a few stacks that the thread had before
 *
 * The records are made first, a BATCH at a time, as they lie in the ring buffer; that is not
 * counted. The same CASE, DEPTH and SAMPLES always make the same records, and so the same FILE.
 */
#define GOLDEN_DIR ""		/* what tests read: not used here */

#include <fcntl.h>
#include <sched.h>
#include <time.h>

#include "base/compress.h"
#include "base/util.h"
#include "formats/formats.h"
#include "model/sink.h"
#include "model/stack_tree.h"
#include "resolve/observer.h"
#include "resolve/process.h"
#include "tests/unit/resolve/fake_code.h"

#define CODES 400
#define THREADS 4
#define RECURSIVE 8		/* functions that call each other */
#define TOP 5
#define SITES 10		/* instructions of a function that are seen */
#define STACKS 16		/* that a thread switches between */
#define BATCH (1u << 20)	/* bytes */

enum change { SAME, LINE, ALL, TOP_FRAMES, SWITCH };
static const char *const changes[] = { "same", "line", "all", "top", "switch" };

static struct fake_codes fake;
static struct raw_frame known[CODES][SITES];
static struct raw_frame stacks[THREADS][STACKS][ABI_MAX_FRAMES];
static struct sink *sink;
static struct stack_tree *tree;
static uint64_t state = 88172645463325252ULL, frames;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(rnd(&state) >> 33) % n;
}

static int take_event(struct observer *o, struct process *p, const struct event *ev)
{
	frames += ev->nframes;
	if (tree)
		return stack_tree_event(tree, ev);
	return sink ? sink->ops->event(sink, ev) : 0;
}

static const struct observer_ops ops = { .event = take_event };
static struct observer observer = { &ops };

static void fill(struct raw_frame *stack, uint32_t n, uint32_t codes)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		stack[i] = known[below(codes)][below(SITES)];
}

static void begin_stacks(enum change change, uint32_t depth)
{
	uint32_t i, k;

	for (i = 0; i < CODES; i++)
		for (k = 0; k < SITES; k++)
			known[i][k] = fake_frame(&fake, i, 16 * k);
	for (i = 0; i < THREADS; i++)
		for (k = 0; k < STACKS; k++)
			fill(stacks[i][k], depth, change == TOP_FRAMES ? RECURSIVE : CODES);
}

/* The next stack of a thread. */
static const struct raw_frame *next(uint32_t thread, enum change change, uint32_t depth)
{
	struct raw_frame *stack = stacks[thread][change == SWITCH ? below(STACKS) : 0];

	if (change == LINE)
		stack->lasti = 2 * below(8 * SITES);
	if (change == TOP_FRAMES)
		fill(stack, depth < TOP ? depth : TOP, RECURSIVE);
	if (change == ALL)
		fill(stack, depth, CODES);
	return stack;
}

/* Make at most cnt records from number first on; returns how many fitted. */
static uint64_t make(uint8_t *batch, enum change change, uint32_t depth, uint64_t first,
		     uint64_t cnt)
{
	size_t len = raw_sample_bytes((uint16_t)depth, 0);
	struct raw_head head = { .h = { .kind = RAW_SAMPLE, .tgid = (uint32_t)getpid(),
					.rate_hz = 10000 },
				 .nframes = (uint16_t)depth,
				 .status = STATUS_ON_CPU | STATUS_HAS_GIL };
	uint64_t i;

	for (i = 0; i < cnt && (i + 1) * len <= BATCH; i++) {
		uint32_t thread = (uint32_t)(first + i) % THREADS;

		head.tid = 1000 + thread;
		head.h.time_ns = (first + i) * 100000 / THREADS;
		memcpy(batch + i * len, &head, sizeof(head));
		memcpy(batch + i * len + sizeof(head), next(thread, change, depth),
		       depth * sizeof(struct raw_frame));
	}
	return i;
}

/* The CPU time of this process, ns. */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static uint64_t take(struct process *p, const uint8_t *batch, uint32_t depth, uint64_t cnt)
{
	size_t len = raw_sample_bytes((uint16_t)depth, 0);
	uint64_t start = cpu_ns(), i;

	for (i = 0; i < cnt; i++)
		assert_int_equal(process_take(p, (const void *)(batch + i * len), len), 0);
	return cpu_ns() - start;
}

static void open_file(const char *path, struct compressor *compressor, struct process *p)
{
	static const struct profile_meta meta = { .python_major = 3, .python_minor = 12,
						  .interval_us = 100, .mode = MODE_CPU };
	const struct sink_args args = { .compressor = compressor, .live = true,
					.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC,
						   0600) };

	assert_true(args.fd >= 0);
	sink = sink_tach.open(&args);
	assert_non_null(sink);
	assert_int_equal(sink->ops->begin(sink, &meta, process_tables(p)), 0);
}

/* Go to one of the CPUs that this process may use: the first (0) or the last (1). */
static void move(const cpu_set_t *cpus, int which)
{
	cpu_set_t one;
	int cpu, found = -1;

	for (cpu = 0; cpu < CPU_SETSIZE && (which || found < 0); cpu++)
		if (CPU_ISSET(cpu, cpus))
			found = cpu;
	CPU_ZERO(&one);
	CPU_SET(found, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

static void begin_tree(struct process *p)
{
	tree = stack_tree_new(DETAIL_LINE);
	assert_non_null(tree);
	assert_int_equal(stack_tree_begin(tree, process_tables(p)), 0);
}

static uint64_t run(struct process *p, enum change change, uint32_t depth, uint64_t samples)
{
	uint8_t *batch = aligned_alloc(8, BATCH);
	uint64_t done, cnt, ns = 0;
	cpu_set_t cpus;

	assert_non_null(batch);
	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	for (done = 0; done < samples; done += cnt) {
		move(&cpus, 1);
		cnt = make(batch, change, depth, done, samples - done);
		move(&cpus, 0);
		ns += take(p, batch, depth, cnt);
	}
	free(batch);
	return ns;
}

static void measure(enum change change, uint32_t depth, uint64_t samples, const char *to)
{
	struct process *p = process_new(&(struct process_args){
		.tgid = getpid(), .comm = "bench", .image = &fake.img, .observer = &observer,
	});
	struct compressor *compressor = compressor_new(3);
	uint64_t ns;

	assert_non_null(p);
	assert_non_null(compressor);
	if (!strcmp(to, "tree"))
		begin_tree(p);
	else if (strcmp(to, "nothing"))
		open_file(to, compressor, p);
	begin_stacks(change, depth);
	ns = run(p, change, depth, samples);
	assert_true(frames == samples * depth);
	if (sink) {
		assert_int_equal(sink->ops->end(sink, NULL), 0);
		assert_int_equal(sink->ops->close(sink), 0);
	}
	stack_tree_free(tree);
	printf("%.1f\n", (double)ns / (double)samples);
	process_free(p);
	compressor_free(compressor);
}

int main(int argc, char **argv)
{
	uint32_t change, depth = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
	uint64_t samples = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;

	for (change = 0; argc == 5 && change < ARRAY_SIZE(changes); change++)
		if (!strcmp(argv[1], changes[change]))
			break;
	if (argc != 5 || change == ARRAY_SIZE(changes) || !depth || depth > ABI_MAX_FRAMES ||
	    !samples) {
		fprintf(stderr, "usage: bench_resolve same|line|top|all|switch DEPTH SAMPLES "
			"nothing|tree|FILE\n");
		return 2;
	}
	fake_codes_in_self(&fake, CODES);
	measure(change, depth, samples, argv[4]);
	fake_codes_free(&fake);
	return 0;
}
