// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * heap_work.c - a library that allocates and keeps a book of it, for test_heap.py. It uses each
 * function of the C library that gives memory, from several threads; some calls fail.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 512
#define THREADS_MAX 16

struct slot {
	void *addr;
	size_t bytes;
	int mapped;
};

static struct worker {
	struct slot slots[SLOTS];
	unsigned long long seed, allocs, calls;
	unsigned int rounds;
} workers[THREADS_MAX];

/* So many bytes that compilers know nothing of. */
static volatile size_t huge = (size_t)1 << 62;
static void *volatile sink;

static unsigned int draw(struct worker *w)
{
	w->seed = w->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned int)(w->seed >> 33);
}

/* 1 byte to some pages; seldom so large that malloc() maps it. */
static size_t some_bytes(struct worker *w)
{
	unsigned int r = draw(w);

	return r % 16 ? 1 + r / 16 % 5000 : 200000 + r / 16 % 100000;
}

static void *allocate(struct worker *w, size_t bytes)
{
	void *addr = NULL;

	switch (draw(w) % 9) {
	case 0:
		return calloc(1, bytes);
	case 1:
		return calloc(bytes, 1);
	case 2:
		return posix_memalign(&addr, 256, bytes) ? NULL : addr;
	case 3:
		return aligned_alloc(64, bytes);
	case 4:
		return memalign(128, bytes);
	case 5:
		return realloc(NULL, bytes);
	case 6:
		return reallocarray(NULL, bytes, 1);
	case 7:
		return valloc(bytes);
	default:
		return malloc(bytes);
	}
}

static void take(struct worker *w, struct slot *s)
{
	s->bytes = some_bytes(w);
	s->mapped = draw(w) % 24 == 0;
	if (s->mapped)
		s->addr = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
	else
		s->addr = allocate(w, s->bytes);
	w->allocs++;
}

static void give_back(struct worker *w, struct slot *s)
{
	if (s->mapped)
		munmap(s->addr, s->bytes);
	else
		free(s->addr);
	s->addr = NULL;
}

/* Another size; one time in some, a size that nobody gets: the block stays. */
static void change(struct worker *w, struct slot *s)
{
	size_t bytes = some_bytes(w);
	void *addr;

	if (draw(w) % 8 == 0) {
		sink = s->mapped ? NULL : realloc(s->addr, huge);
		sink = malloc(huge);
		sink = calloc(huge, 16);
		sink = s->mapped ? NULL : reallocarray(s->addr, huge, 16);
		return;
	}
	if (s->mapped)
		addr = mremap(s->addr, s->bytes, bytes, MREMAP_MAYMOVE);
	else
		addr = draw(w) % 2 ? realloc(s->addr, bytes) : reallocarray(s->addr, bytes, 1);
	s->addr = addr;
	s->bytes = bytes;
	w->allocs++;
}

static void *work(void *ctx)
{
	struct worker *w = ctx;
	unsigned int i;

	for (i = 0; i < w->rounds; i++) {
		struct slot *s = &w->slots[draw(w) % SLOTS];

		if (!s->addr)
			take(w, s);
		else if (draw(w) % 2)
			change(w, s);
		else
			give_back(w, s);
	}
	return NULL;
}

/* In so many threads. A Python thread calls it: the others have no Python stack. */
void heap_work(unsigned int threads, unsigned int rounds)
{
	pthread_t ids[THREADS_MAX];
	unsigned int i;

	for (i = 0; i < threads && i < THREADS_MAX; i++) {
		workers[i].seed += i + 1;
		workers[i].rounds = rounds;
		if (i + 1 < threads)
			pthread_create(&ids[i], NULL, work, &workers[i]);
		else
			work(&workers[i]);
	}
	for (i = 0; i + 1 < threads && i < THREADS_MAX; i++)
		pthread_join(ids[i], NULL);
}

/* What lives, a line each: address, bytes, and whether it is a mapping. */
int heap_book(const char *path, unsigned int min)
{
	FILE *f = fopen(path, "w");
	int t, i;

	for (t = 0; f && t < THREADS_MAX; t++)
		for (i = 0; i < SLOTS; i++)
			if (workers[t].slots[i].addr &&
			    (workers[t].slots[i].mapped || workers[t].slots[i].bytes >= min))
				fprintf(f, "%lx %zu %d\n", (unsigned long)workers[t].slots[i].addr,
					workers[t].slots[i].bytes, workers[t].slots[i].mapped);
	return f ? fclose(f) : -1;
}

/* A child that allocates as well, and says nothing. */
int heap_fork(unsigned int rounds)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		heap_work(1, rounds);
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* So many blocks that stay. Returns the last one. */
void *heap_many(unsigned int cnt, size_t bytes)
{
	while (cnt--)
		sink = malloc(bytes);
	return sink;
}
