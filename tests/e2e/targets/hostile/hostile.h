/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * hostile.h - a program that passes for CPython and whose memory is a trap.
 *
 * image.c is the disguise: the symbols that give a CPython away, a thread state
 * where CPython keeps it, and the means to build frames, code objects and strings.
 * scenarios.c has the traps, heaps.c those of a census, maps.c addresses that nobody should read.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stddef.h>
#include <stdint.h>

#include "cpython/layout.h"

enum { OWNER_THREAD = 0, OWNER_GENERATOR = 1, OWNER_SHIM = 3 };

struct scenario {
	const char *name;
	void (*set_up)(void);
	void (*step)(void);	/* what the thread does while it burns; NULL: nothing */
	void (*other)(void);	/* what another thread does meanwhile; NULL: there is none */
};
extern const struct scenario scenarios[];
extern const size_t scenario_cnt;

extern struct cpython_image image;
extern uint8_t *tstate, *interp;

/* Fresh zeroed memory; ends with the program. */
uint8_t *pages(size_t n);
/* The same, and what is behind is not mapped. */
uint8_t *pages_before_hole(size_t n);
uint64_t random_u64(void);

void put64(void *at, uint32_t off, uint64_t v);
void put32(void *at, uint32_t off, uint32_t v);

/* A compact ASCII str that claims to have length characters; at has 128 bytes or more. */
void *str_at(uint8_t *at, const char *text, uint64_t length);
void *new_str(const char *text);
/* A bytes object that claims to have size bytes. */
void *bytes_at(uint8_t *at, const void *data, size_t len, uint64_t size);
/* A code object; with version 0 the names have to stand in for it. */
void *code_at(uint8_t *at, const void *name, const void *file, const void *table, int line);
void *new_code(const char *name, const char *file);
void *frame_at(uint8_t *at, const void *code, const void *previous, int owner);
/* n frames of that code in a row, the last one ends the chain as it should. Returns the newest. */
void *new_frames(size_t n, const void *code);
/* The thread's current frame. */
void set_top(const void *frame);
/* This thread's state, wherever this CPython keeps it. */
void set_tstate(const void *ts);
/* Threads of Python come with a thread state of their own. */
void new_tstate(uint8_t *at);

/* Traps for a census (heaps.c): 64 MiB of pools that lie; and each call changes some of them. */
void heap_lies(void);
void heap_changes(void);

/* From now on whoever reads this memory waits for ever; ends the program if that cannot be had. */
void silence(void *at, size_t bytes);
/* Addresses that are strange, from NULL to device-like mappings: how many. */
size_t strange_addresses(uint64_t *out, size_t max);

#endif
