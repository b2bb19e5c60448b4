// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * work_count.c - counts what a program does, whatever the machine is busy with: the branches that
 * it takes (the compiler calls us at each, -fsanitize-coverage=trace-pc), and the words that it
 * sets, copies and allocates (the linker leads those calls here, --wrap). At its end the sum is
 * written to the file that WORK_COUNT names. For build/work/tachbpf; see the Makefile.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD 8

static uint64_t work;

/* From any thread. */
static void add(uint64_t n)
{
	__atomic_fetch_add(&work, n, __ATOMIC_RELAXED);
}

void __sanitizer_cov_trace_pc(void);
void *__real_memset(void *to, int c, size_t n);
void *__wrap_memset(void *to, int c, size_t n);
void *__real_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__real_memmove(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_calloc(size_t cnt, size_t n);
void *__wrap_calloc(size_t cnt, size_t n);
void *__real_realloc(void *old, size_t n);
void *__wrap_realloc(void *old, size_t n);
void *__real_reallocarray(void *old, size_t cnt, size_t n);
void *__wrap_reallocarray(void *old, size_t cnt, size_t n);

void __sanitizer_cov_trace_pc(void)
{
	add(1);
}

void *__wrap_memset(void *to, int c, size_t n)
{
	add(n / WORD);
	return __real_memset(to, c, n);
}

void *__wrap_memcpy(void *to, const void *from, size_t n)
{
	add(n / WORD);
	return __real_memcpy(to, from, n);
}

void *__wrap_memmove(void *to, const void *from, size_t n)
{
	add(n / WORD);
	return __real_memmove(to, from, n);
}

void *__wrap_malloc(size_t n)
{
	add(n / WORD);
	return __real_malloc(n);
}

void *__wrap_calloc(size_t cnt, size_t n)
{
	add(cnt * n / WORD);
	return __real_calloc(cnt, n);
}

void *__wrap_realloc(void *old, size_t n)
{
	add(n / WORD);
	return __real_realloc(old, n);
}

void *__wrap_reallocarray(void *old, size_t cnt, size_t n)
{
	add(cnt * n / WORD);
	return __real_reallocarray(old, cnt, n);
}

static __attribute__((destructor)) void report(void)
{
	const char *path = getenv("WORK_COUNT");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!f)
		return;
	fprintf(f, "%llu\n", (unsigned long long)work);
	fclose(f);
}
