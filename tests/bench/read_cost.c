// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * read_cost.c - what a read of a process' memory takes in a BPF program at a tick: cold and warm.
 *
 * read_cost OBJECT CPU: a child process spins on that CPU; read_cost.bpf.c, attached to a clock of
 * it, chases pointers through its memory. Prints JSON, a line for each kind of read: ns a read, the
 * fastest and the median of RUNS_MAX runs of READS reads. Other times of the same machine are
 * divided by "warm".
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "tests/bench/read_cost.h"

#define LINE_WORDS 8			/* 64 bytes */
/* More than caches hold, and 12 times what all runs read: no line is read twice. */
#define COLD_BYTES (96u << 20)
#define LINES (COLD_BYTES / 64)
#define RATE 10000
#define PATIENCE_S 60

static uint64_t random_state = 88172645463325252u;

/* xorshift64: the same order in each run. */
static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* One circle through cnt places in random order: each holds the address of the next (Sattolo). */
static void link_places(uint64_t *memory, uint32_t cnt, size_t words)
{
	uint32_t *order = malloc(cnt * sizeof(*order)), i, j, swap;

	if (!order)
		exit(1);
	for (i = 0; i < cnt; i++)
		order[i] = i;
	for (i = cnt - 1; i > 0; i--) {
		j = next_random() % i;
		swap = order[i];
		order[i] = order[j];
		order[j] = swap;
	}
	for (i = 0; i < cnt; i++)
		memory[order[i] * words] = (uintptr_t)&memory[order[(i + 1) % cnt] * words];
	free(order);
}

static uint64_t *cold_memory(void)
{
	uint64_t *memory = mmap(NULL, COLD_BYTES, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, COLD_BYTES, MADV_NOHUGEPAGE);	/* as the heap of a Python */
	link_places(memory, LINES, LINE_WORDS);
	return memory;
}

/* The child: it only computes, so that each tick of its clock finds it. */
static void spin(int cpu)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET(cpu, &only);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sched_setaffinity(0, sizeof(only), &only))
		_exit(1);
	for (;;)
		__asm__ volatile("" ::: "memory");
}

static struct bpf_link *attach(struct bpf_program *prog, pid_t pid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = RATE,
	};
	int fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? NULL : bpf_program__attach_perf_event(prog, fd);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static const char *const names[READ_KINDS] = {
	[READ_WARM] = "warm",
	[READ_COLD] = "cold",
	[READ_WARM_8] = "warm_8",
	[READ_WARM_64] = "warm_64",
	[READ_WARM_128] = "warm_128",
	[READ_WARM_352] = "warm_352",
	[READ_WARM_2048] = "warm_2048",
	[READ_OBJECTS] = "objects",
	[READ_OBJECTS_WORD] = "objects_word",
	[READ_OBJECTS_AHEAD] = "objects_ahead",
	[READ_NONE] = "step",
};

static void print_kind(const struct read_state *s, enum read_kind kind, const char *before)
{
	static double ns[RUNS_MAX];
	unsigned int i;

	for (i = 0; i < s->runs; i++)
		ns[i] = (double)s->ns[i][kind] / READS;
	qsort(ns, s->runs, sizeof(ns[0]), by_size);
	printf("%s\"%s\": {\"least\": %.2f, \"median\": %.2f}", before, names[kind], ns[0],
	       ns[s->runs / 2]);
}

/* Until all runs are noted; the child gets no CPU for ever if that takes longer than PATIENCE_S. */
static int wait_runs(struct bpf_map *map, struct read_state *s)
{
	struct timespec turn = { .tv_nsec = 10000000 };
	uint32_t zero = 0;
	int i;

	for (i = 0; i < PATIENCE_S * 100; i++) {
		if (bpf_map__lookup_elem(map, &zero, sizeof(zero), s, sizeof(*s), 0))
			return -errno;
		if (s->runs == RUNS_MAX)
			return 0;
		nanosleep(&turn, NULL);
	}
	return -ETIMEDOUT;
}

static int measure(struct bpf_object *obj, pid_t pid, struct read_state *s)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, "state");
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, "time_reads");
	struct bpf_link *link;
	uint32_t zero = 0;
	int err;

	if (!map || !prog)
		return -ENOENT;
	err = bpf_map__update_elem(map, &zero, sizeof(zero), s, sizeof(*s), 0);
	if (err)
		return err;
	link = attach(prog, pid);
	if (!link)
		return -errno;
	err = wait_runs(map, s);
	bpf_link__destroy(link);
	return err ? err : s->failed ? -EFAULT : 0;
}

int main(int argc, char **argv)
{
	static struct read_state s;
	static uint64_t warm[READ_LARGEST / 8] __attribute__((aligned(64)));
	static uint64_t objects[OBJECTS * OBJECT_APART / 8];
	struct bpf_object *obj;
	uint64_t *cold = cold_memory();
	pid_t child;
	int err, i;

	if (argc != 3 || !cold) {
		fprintf(stderr, "usage: read_cost OBJECT CPU\n");
		return 2;
	}
	memset(warm, 1, sizeof(warm));	/* so that its pages are there */
	warm[0] = (uintptr_t)warm;
	link_places(objects, OBJECTS, OBJECT_APART / 8);
	for (i = 0; i < READ_KINDS; i++)
		s.next[i] = i < READ_OBJECTS ? (uintptr_t)warm : (uintptr_t)objects;
	s.next[READ_COLD] = (uintptr_t)cold;
	child = fork();
	if (!child)
		spin(atoi(argv[2]));
	obj = bpf_object__open_file(argv[1], NULL);
	err = !obj || bpf_object__load(obj) ? -errno : measure(obj, child, &s);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	if (err) {
		fprintf(stderr, "read_cost: %s\n", strerror(-err));
		return 1;
	}
	for (i = 0; i < READ_KINDS; i++)
		print_kind(&s, i, i ? ",\n " : "{");
	printf("}\n");
	bpf_object__close(obj);
	return 0;
}
