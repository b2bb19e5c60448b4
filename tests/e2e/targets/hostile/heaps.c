// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * heaps.c - traps for who takes a census: pools whose blocks are objects of thousands of types,
 * that claim to be huge, with bases and types of types in circles, and free lists without an end.
 */
#include "hostile.h"

#include <stdio.h>
#include <string.h>

#define POOL 16384u		/* of the disguises, 3.11 and later */
#define POOLS 4096u		/* 64 MiB */
#define BLOCK 64u
#define HEADER 48u
#define BLOCKS ((POOL - HEADER) / BLOCK)
#define TYPES 20000u
#define TYPE_BYTES 1024u

static uint8_t *pool_list[POOLS], *types;

static uint8_t *type_number(size_t i)
{
	return types + i % TYPES * TYPE_BYTES;
}

/* Number 0 is `type`. Every 5th has a type of type that leads to itself by a long way. */
static void make_type(size_t i)
{
	uint8_t *type = type_number(i);
	char *name = (char *)type + 512;

	snprintf(name, 64, i ? "lie.T%zu" : "type", i);
	put64(type, 0, 1);
	put64(type, 8, (uint64_t)(uintptr_t)type_number(i % 5 ? 0 : i + 5));
	put64(type, 24, (uint64_t)(uintptr_t)name);
	put64(type, 32, 16 + i % 64);
	put64(type, 40, i % 3 ? 1u << 16 : 0);		/* tp_itemsize */
	put64(type, 168, 1ull << (i ? 24 + i % 8 : 31));	/* of int, list, tuple ... or type */
	put64(type, 256, (uint64_t)(uintptr_t)type_number(i + 1));	/* a circle of bases */
}

static void make_pool(uint8_t *pool, size_t n)
{
	static const uint64_t sizes[] = { 1ull << 60, ~0ull, 1ull << 63, 1ull << 40, 5 };
	size_t i;

	memset(pool, 0, POOL);
	put32(pool, 0, BLOCKS - 1);
	put32(pool, 36, BLOCK / 16 - 1);
	put32(pool, 40, HEADER + BLOCKS * BLOCK);
	put32(pool, 44, POOL - BLOCK);
	/* One block is free. In every third pool it is its own successor. */
	put64(pool, 8, (uint64_t)(uintptr_t)pool + HEADER);
	put64(pool, HEADER, n % 3 ? 0 : (uint64_t)(uintptr_t)pool + HEADER);
	for (i = 1; i < BLOCKS; i++) {
		uint8_t *object = pool + HEADER + i * BLOCK;

		put64(object, 0, 1);
		put64(object, 8, (uint64_t)(uintptr_t)type_number(n * BLOCKS + i));
		put64(object, 16, sizes[(n + i) % 5]);
		put64(object, 24, (uint64_t)(uintptr_t)pool_list[(n * 7 + i) % POOLS]);
		put64(object, 32, sizes[(n + 2 * i) % 5]);
		put64(object, 40, (uint64_t)(uintptr_t)object);
	}
}

void heap_lies(void)
{
	uint8_t *at = pages((POOLS + 1) * (POOL / 4096));
	size_t i;

	at += POOL - (uintptr_t)at % POOL;
	types = pages(TYPES * TYPE_BYTES / 4096);
	for (i = 0; i < POOLS; i++)
		pool_list[i] = at + i * POOL;
	for (i = 0; i < TYPES; i++)
		make_type(i);
	for (i = 0; i < POOLS; i++)
		make_pool(pool_list[i], i);
	set_top(new_frames(3, new_code("level", "/app/heaps.py")));
}

/* Everything changes at full speed. */
void heap_changes(void)
{
	uint8_t *pool = pool_list[random_u64() % POOLS];

	put64(pool, (uint32_t)(random_u64() % (POOL / 8)) * 8, random_u64() % 3 ? 0 :
	      (uint64_t)(uintptr_t)pool + random_u64() % POOL);
	make_pool(pool_list[random_u64() % POOLS], (size_t)random_u64());
}
