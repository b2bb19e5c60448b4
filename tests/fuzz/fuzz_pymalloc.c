// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_pymalloc.c - pools, types and objects out of hostile memory, as a census reads them.
 *
 * Input: bytes for the version and for what is special; then changes of a pool with objects of all
 * kinds, and of the memory with their types and what they own: each a byte that selects one of the
 * two, a u16 for where and a u16 that is written there. Memory may be at every address (modulo its
 * size), so that whatever is taken for a pointer leads somewhere.
 */
#include "tests/fuzz/check.h"
#include "tests/unit/cpython/fake_heap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum special { BIG = 1, EVERYWHERE = 2, DEBUG_WORDS = 4, LONG_BLOCKS = 8 };

#define ADDR 0x7f0000004000ull
#define READS_MAX (1u << 20)
#define MORE_MAX 8

static struct fake_heap h;
static uint8_t pool[PYMALLOC_POOL_MAX];
static uint64_t extra[8];
static uint32_t extra_cnt;

static uint64_t add_type(const char *name, uint64_t basic, uint64_t flags)
{
	uint64_t type = fake_named_type(&h.f, name, flags);

	fake_complete(&h, type, basic + h.f.head - 16, 0);
	return type;
}

static void add_types(void)
{
	extra_cnt = 0;
	extra[extra_cnt++] = add_type("bytearray", 56, 0);
	extra[extra_cnt++] = add_type("array.array", 64, 0);
	extra[extra_cnt++] = add_type("collections.deque", 200, FAKE_HAVE_GC);
	extra[extra_cnt++] = add_type("collections.OrderedDict", 112, FAKE_HAVE_GC);
	extra[extra_cnt++] = add_type("numpy.ndarray", 88, 0);
	extra[extra_cnt++] = add_type("generator", 64, FAKE_HAVE_GC);
}

/* Pointers and sizes after an object's head, all of which lead into the memory. */
static void put_object(uint8_t *block, uint64_t type, uint32_t block_bytes, bool debug)
{
	const struct heap_type *t = heap_types_at(h.types, type);
	uint32_t at = t ? t->before : 0, i;
	uint64_t word;

	if (debug) {
		memcpy(block, (uint8_t[]){ 0, 0, 0, 0, 0, 0, 0, (uint8_t)(block_bytes - 24), 'o',
					   0xfd, 0xfd, 0xfd, 0xfd, 0xfd, 0xfd, 0xfd }, 16);
		at += 16;
	}
	if (at + h.f.head > block_bytes)
		return;
	fake_head(&h, block + at, type);
	for (i = 0; at + h.f.head + 8 * i + 8 <= block_bytes; i++) {
		word = i % 3 ? FAKE_BASE + 64 + 64 * i : i + 3;
		memcpy(block + at + h.f.head + 8 * i, &word, 8);
	}
}

static void fill(unsigned int minor, unsigned int special)
{
	uint32_t bytes = pymalloc_pool_bytes((uint8_t)minor);
	uint32_t block = special & LONG_BLOCKS ? 512 : 144;
	uint32_t cnt = (bytes - PYMALLOC_HEADER_BYTES) / block, i;
	uint64_t types[24];

	fake_heap_make(&h, minor, special & BIG);
	add_types();
	memcpy(types, (uint64_t[]){ h.t.list, h.t.tuple, h.t.dict, h.t.set, h.t.bytes, h.t.integer,
				    h.t.text, h.t.real, h.session, h.type }, 80);
	memcpy(types + 10, extra, sizeof(extra));
	if (special & EVERYWHERE)
		h.f.target.read = fake_threads_everywhere;
	fake_pool(pool, bytes, block, cnt);
	for (i = 0; i < cnt; i++)
		put_object(pool + PYMALLOC_HEADER_BYTES + i * block, types[i % (10 + extra_cnt)],
			   block, special & DEBUG_WORDS);
	for (i = 1; i < cnt; i += 5)
		fake_free(pool, ADDR, block, i);
	/* What is known of the types so far was before the changes. */
	heap_types_free(h.types);
	h.types = heap_types_new(&h.f.target, &h.build);
}

static void change(const uint8_t *data, size_t size)
{
	uint16_t words[2];
	size_t i;

	for (i = 0; i + 5 <= size; i += 5) {
		memcpy(words, data + i + 1, sizeof(words));
		if (data[i] & 1)
			memcpy(pool + words[0] % (sizeof(pool) - 2), &words[1], 2);
		else
			fake_poke(&h.f, FAKE_BASE + words[0] % h.f.used, words[1], 2);
	}
}

static void check_size(const struct heap_type *type, const struct heap_size *s)
{
	char text[40];

	check(s->bytes <= 2 * HEAP_BYTES_MAX && s->owned <= 2 * HEAP_BYTES_MAX);
	check(s->at_bytes <= HEAP_BYTES_MAX && s->more_bytes <= HEAP_MORE_BYTES);
	heap_size_text(type, s, text, sizeof(text));
	check(memchr(text, 0, sizeof(text)) != NULL);
}

static void measure(const struct heap_object *o, uint64_t addr, const uint8_t *bytes, uint32_t len)
{
	uint8_t more[HEAP_MORE_BYTES] = { 0 };
	struct heap_size s;
	int i;

	check(memchr(o->type->name, 0, sizeof(o->type->name)) != NULL && o->type->name[0]);
	check(o->type->kind < HEAP_KIND_CNT && o->refs);
	heap_size_begin(&h.build, o->type, addr, bytes, o->off, len, &s);
	check_size(o->type, &s);
	for (i = 0; i < MORE_MAX && s.more_bytes; i++) {
		if (h.f.target.read(h.f.target.ctx, s.more, more, s.more_bytes))
			return;
		heap_size_more(&h.build, o->type, more, &s);
		check_size(o->type, &s);
	}
	check(i < MORE_MAX);
}

static void read_block(const struct pymalloc_pool *p, uint32_t i)
{
	const uint8_t *bytes = pool + pymalloc_block_off(p, i);
	uint32_t len, words = pymalloc_debug_bytes(bytes, p->block, &len);
	struct heap_object o;

	check(words + len <= p->block);
	bytes += words;
	if (heap_object_in_block(h.types, bytes, len, &o) == HEAP_OBJECT) {
		check(o.off + h.f.head <= len);
		measure(&o, p->addr + pymalloc_block_off(p, i) + words + o.off, bytes + o.off,
			len - o.off);
	}
	if (heap_seems_object(h.types, bytes) && heap_object_at(h.types, bytes, len, &o))
		measure(&o, p->addr, bytes, len);
}

static void read_pool(uint32_t bytes)
{
	uint64_t used[PYMALLOC_USED_WORDS];
	struct pymalloc_pool p;
	int cnt, seen = 0;
	uint32_t i;

	if (!pymalloc_pool_parse(pool, ADDR, bytes, &p))
		return;
	check(p.carved <= PYMALLOC_BLOCKS_MAX && pymalloc_pool_extent(&p) <= bytes);
	cnt = pymalloc_pool_used(&p, pool, used);
	check(cnt <= (int)p.carved && (cnt >= 0 || cnt == -EBADMSG || cnt == -ELOOP));
	for (i = 0; cnt != -ELOOP && i < p.carved; i++) {
		if (!(used[i / 64] >> i % 64 & 1))
			continue;
		seen++;
		read_block(&p, i);
	}
	check(cnt < 0 || seen == cnt);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int minor;

	if (size < 2)
		return 0;
	minor = 6 + data[0] % 10;
	fill(minor, data[1]);
	change(data + 2, size - 2);
	h.f.reads = 0;
	read_pool(pymalloc_pool_bytes((uint8_t)minor));
	check(h.f.reads < READS_MAX);
	fake_heap_end(&h);
	return 0;
}
