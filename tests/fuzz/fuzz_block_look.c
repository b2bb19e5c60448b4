// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_block_look.c - any words around blocks of any addresses and sizes: looks end, read no more
 * than a few words, and judge them alike each time.
 *
 * Input: places, each with a byte for its kind, an offset of two bytes and a size of four; a byte
 * 0 ends them. What follows is the memory, repeated.
 */
#include <string.h>

#include "memory/block_look.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY 0x7f0000000000ull
#define MEMORY_BYTES 65536u
#define PLACES 64u
#define PLACE_BYTES 7u
/* Of a place's kind; without any of them, it is a block in the memory. */
#define IS_MAPPING 2u
#define IS_HIGH 4u	/* at the end of all addresses */
#define IS_LOW 8u	/* at their beginning */
#define IS_LARGE 16u	/* its size is one of 2^64 */
/* Reads of one place. */
#define READS_MAX 4u

static uint8_t memory[MEMORY_BYTES];
static unsigned int reads;

static int read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	(void)ctx;
	reads++;
	check(len <= 24);
	if (addr < MEMORY || addr - MEMORY > MEMORY_BYTES - len)
		return -1;
	memcpy(buf, memory + (addr - MEMORY), len);
	return 0;
}

static struct block_place place_of(const uint8_t *d)
{
	uint16_t off;
	uint32_t bytes;

	memcpy(&off, d + 1, sizeof(off));
	memcpy(&bytes, d + 3, sizeof(bytes));
	return (struct block_place){
		.addr = (d[0] & IS_HIGH ? UINT64_MAX - off :
			 d[0] & IS_LOW ? off : MEMORY + off) & ~1ull,
		.bytes = d[0] & IS_LARGE ? UINT64_MAX - bytes : bytes,
		.mapping = d[0] & IS_MAPPING,
	};
}

static void fill(const uint8_t *data, size_t size)
{
	size_t i;

	memset(memory, 0, sizeof(memory));
	for (i = 0; size && i < sizeof(memory); i += size)
		memcpy(memory + i, data, size < sizeof(memory) - i ? size : sizeof(memory) - i);
}

static void check_place(const struct block_place *p, const struct block_words *w)
{
	int i;

	check(w->read || block_is_gone(ALLOCATOR_UNKNOWN, p, w));
	for (i = 0; i < ALLOCATOR_CNT; i++) {
		if (!w->read)
			check(block_is_gone(i, p, w));
		else if (p->mapping || i == ALLOCATOR_UNKNOWN)
			check(!block_is_gone(i, p, w));
	}
}

static void check_judge(const struct block_judge *j)
{
	enum block_allocator says = block_judge_says(j);
	int i;

	check(!j->fits[ALLOCATOR_UNKNOWN] && says < ALLOCATOR_CNT);
	for (i = 0; i < ALLOCATOR_CNT; i++)
		check(j->fits[i] <= j->seen);
	if (says != ALLOCATOR_UNKNOWN)
		check(j->seen >= BLOCK_JUDGE_LEAST &&
		      j->fits[says] * 100 >= j->seen * BLOCK_JUDGE_PERCENT);
	check(strlen(block_allocator_name(says)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct block_words words[PLACES], again[PLACES];
	struct block_place places[PLACES];
	struct block_judge judge = { 0 };
	const struct target_mem mem = { read_memory, NULL };
	size_t cnt = 0, i;

	while (size >= PLACE_BYTES && data[0] && cnt < PLACES) {
		places[cnt++] = place_of(data);
		data += PLACE_BYTES;
		size -= PLACE_BYTES;
	}
	if (size) {	/* the byte that ends them */
		data++;
		size--;
	}
	fill(data, size);
	reads = 0;
	block_words_read(&mem, places, cnt, words);
	check(reads <= READS_MAX * cnt);
	block_words_read(&mem, places, cnt, again);
	check(!memcmp(words, again, cnt * sizeof(*words)));
	for (i = 0; i < cnt; i++) {
		check_place(&places[i], &words[i]);
		block_judge_take(&judge, &places[i], &words[i]);
	}
	check_judge(&judge);
	return 0;
}
