// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * image.c - the disguise, and how to build objects. See hostile.h.
 *
 * Built once for each minor version (-DMINOR=11 to 15; from 13 on -DOFFSETS is a
 * file with struct _Py_DebugOffsets). Prints "ready" and burns until it is killed;
 * with -DASLEEP it sleeps.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hostile.h"

#define PAGE 4096u
#define RUNTIME_BYTES 32768

/* _PyRuntime is initialised data on a page of its own; true_offsets is what we go by. */
__asm__(".section .PyRuntime, \"aw\", @progbits\n"
	".balign 4096\n"
	".globl _PyRuntime\n"
	".type _PyRuntime, @object\n"
	".size _PyRuntime, 32768\n"
	"_PyRuntime:\n"
#ifdef OFFSETS
	".incbin \"" OFFSETS "\"\n"
#else
	".quad 1\n"
#endif
	".org _PyRuntime + 32768\n"
	".section .rodata\n"
	".balign 4096\n"
	".quad 0\n"
	"true_offsets:\n"
#ifdef OFFSETS
	".incbin \"" OFFSETS "\"\n"
#endif
	".org true_offsets + 1024\n"
	".text\n");

extern uint8_t _PyRuntime[RUNTIME_BYTES];
extern const uint8_t true_offsets[1024];
extern const uint64_t Py_Version;
/* As the files with debug offsets have it. */
#define MICRO (MINOR == 13 ? 18 : MINOR == 14 ? 10 : 2)
const uint64_t Py_Version = 3ull << 24 | MINOR << 16 | MICRO << 8 | 0xf0;
uint64_t _Py_NoneStruct[4] = { 1 };

#if MINOR >= 15
__thread const void *_Py_tss_gilstate __attribute__((tls_model("local-exec")));
#ifndef NO_TLS_GETTER
const void *PyGILState_GetThisThreadState(void);
const void *PyGILState_GetThisThreadState(void)
{
	return _Py_tss_gilstate;
}
#endif
#endif

#define ROOT_CFRAME 344

struct cpython_image image;
uint8_t *tstate, *interp;
static uint8_t *cframe;
static pthread_key_t key;

uint8_t *pages(size_t n)
{
	void *at = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return at;
}

uint8_t *pages_before_hole(size_t n)
{
	uint8_t *at = pages(n + 1);

	mprotect(at + n * PAGE, PAGE, PROT_NONE);	/* and nobody gets the address */
	return at;
}

uint64_t random_u64(void)
{
	static __thread uint64_t x = 0x9e3779b97f4a7c15ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

void put64(void *at, uint32_t off, uint64_t v)
{
	memcpy((uint8_t *)at + off, &v, sizeof(v));
}

void put32(void *at, uint32_t off, uint32_t v)
{
	memcpy((uint8_t *)at + off, &v, sizeof(v));
}

void *str_at(uint8_t *at, const char *text, uint64_t length)
{
	const struct py_object_layout *o = &image.objects;

	put64(at, o->str_length, length);
	put32(at, o->str_state, 1u << o->str_kind_shift | o->str_compact_bit | o->str_ascii_bit);
	strcpy((char *)at + o->str_ascii_data, text);
	return at;
}

void *new_str(const char *text)
{
	return str_at(pages(strlen(text) / PAGE + 2), text, strlen(text));
}

void *bytes_at(uint8_t *at, const void *data, size_t len, uint64_t size)
{
	put64(at, image.objects.bytes_size, size);
	memcpy(at + image.objects.bytes_data, data, len);
	return at;
}

void *code_at(uint8_t *at, const void *name, const void *file, const void *table, int line)
{
	const struct py_layout *l = &image.layout;

	put64(at, l->co_name, (uintptr_t)name);
	put64(at, l->co_qualname, (uintptr_t)name);
	put64(at, l->co_filename, (uintptr_t)file);
	put64(at, l->co_linetable, (uintptr_t)table);
	put32(at, l->co_firstlineno, line);
	return at;
}

void *new_code(const char *name, const char *file)
{
	/* PEP 626 location table: 8 code units on the first line, no columns */
	static const uint8_t table[] = { 0x80 | 13 << 3 | 7, 0 };
	uint8_t *at = pages(2);

	return code_at(at, new_str(name), new_str(file),
		       bytes_at(at + PAGE, table, sizeof(table), sizeof(table)), 10);
}

void *frame_at(uint8_t *at, const void *code, const void *previous, int owner)
{
	const struct py_layout *l = &image.layout;

	put64(at, l->fr_code, (uintptr_t)code);
	put64(at, l->fr_previous, (uintptr_t)previous);
	put64(at, l->fr_ip, (uintptr_t)code + l->co_code + 2);
	at[l->fr_owner] = owner;
	return at;
}

void *new_frames(size_t n, const void *code)
{
	uint8_t *at = pages(n * 128 / PAGE + 2), *top = NULL;
	size_t i;

	put64(tstate, image.layout.ts_datastack, (uintptr_t)at);
	if (image.layout.end_shim)
		top = frame_at(at, NULL, NULL, OWNER_SHIM);
	for (i = 1; i <= n; i++)
		top = frame_at(at + i * 128, code, top, OWNER_THREAD);
	if (image.layout.fr_is_entry != ABI_NO_OFF)
		at[128 + image.layout.fr_is_entry] = 1;
	return top;
}

void set_top(const void *frame)
{
	if (image.layout.cframe_frame == ABI_NO_OFF) {
		put64(tstate, image.layout.ts_frame, (uintptr_t)frame);
		return;
	}
	put64(cframe, image.layout.cframe_frame, (uintptr_t)frame);
	/* .previous: the thread's first one, a part of it that is behind all that is read */
	put64(cframe, image.layout.cframe_frame + 8, (uintptr_t)tstate + ROOT_CFRAME);
	put64(tstate, image.layout.ts_frame, (uintptr_t)cframe);
}

void set_tstate(const void *ts)
{
#if MINOR >= 15
	_Py_tss_gilstate = ts;
#endif
	pthread_setspecific(key, ts);
}

void new_tstate(uint8_t *at)
{
	const struct py_layout *l = &image.layout;

	put64(at, l->ts_interp, (uintptr_t)interp);
	put64(at, l->ts_thread_id, (uint64_t)pthread_self());
	put64(at, l->ts_exc_info, (uintptr_t)at + l->ts_exc_state);
	if (l->ts_status != ABI_NO_OFF)
		put32(at, l->ts_status, TS_BOUND_GILSTATE);
}

static int read_layout(void)
{
	struct debug_offsets d;
	const char *what;

	image.major = 3;
	image.minor = MINOR;
	if (MINOR < 13)
		return layout_from_table(&image);
	return debug_offsets_read(true_offsets, sizeof(true_offsets), MINOR, &d, &what) ||
	       layout_from_debug_offsets(&image, MINOR, &d, &what);
}

static void set_up(void)
{
	const struct py_layout *l = &image.layout;

	tstate = pages(4);
	interp = pages(256);
	cframe = pages(1);
	pthread_key_create(&key, NULL);
	if (image.rt.tss_key != ABI_NO_OFF) {
		put32(_PyRuntime, image.rt.tss_key, 1);
		put32(_PyRuntime, image.rt.tss_key + 4, key);
	}
	put64(_PyRuntime, image.rt.interp_head, (uintptr_t)interp);
	put64(interp, l->interp_threads_head, (uintptr_t)tstate);
	new_tstate(tstate);
	set_tstate(tstate);
}

static void *run_other(void *arg)
{
	const struct scenario *s = arg;

	for (;;)
		s->other();
	return NULL;
}

int main(int argc, char **argv)
{
	const struct scenario *s = NULL;
	pthread_t thread;
	size_t i;

	for (i = 0; i < scenario_cnt; i++) {
		if (argc < 2)
			puts(scenarios[i].name);
		else if (!strcmp(argv[1], scenarios[i].name))
			s = &scenarios[i];
	}
	if (argc < 2)
		return 0;
	if (!s || read_layout()) {
		fprintf(stderr, "hostile: no such scenario, or no layout\n");
		return 2;
	}
	alarm(argc > 2 ? atoi(argv[2]) : 300);	/* nobody waits for us */
	set_up();
	s->set_up();
	if (s->other && pthread_create(&thread, NULL, run_other, (void *)s))
		return 1;
#ifdef SILENT_RUNTIME
	silence(_PyRuntime, RUNTIME_BYTES);
#endif
	puts("ready");
	fflush(stdout);
	for (;;) {
#ifdef ASLEEP
		pause();
#endif
		if (s->step)
			s->step();
	}
}
