// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* used_mem.c - see used_mem.h. */
#include "cpython/used_mem.h"

#include <string.h>

/* Addresses with more bits are not those of a process. */
#define ADDRESS_MAX (1ull << CHAIN_ADDR_BITS)

void used_begin(struct used_mem *u, const struct target_mem *mem)
{
	u->mem = *mem;
	u->whole = true;
	u->part_cnt = u->byte_cnt = 0;
}

void used_part(struct used_mem *u, uint64_t addr, const void *bytes, size_t len)
{
	if (u->part_cnt == USED_PARTS_MAX || len > USED_BYTES_MAX - u->byte_cnt ||
	    addr >= ADDRESS_MAX - len)
		u->whole = false;
	if (!u->whole || !len)
		return;
	u->parts[u->part_cnt].addr = addr;
	u->parts[u->part_cnt].at = u->byte_cnt;
	u->parts[u->part_cnt++].len = (uint32_t)len;
	memcpy(u->bytes + u->byte_cnt, bytes, len);
	u->byte_cnt += (uint32_t)len;
}

int used_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct used_mem *u = ctx;
	int err = u->mem.read(u->mem.ctx, addr, buf, len);

	if (err)
		u->whole = false;
	else
		used_part(u, addr, buf, len);
	return err;
}

/* ---- ranges ---- */

/* A word that was used, or the first one of a range. at: address / 8; first: when it was used. */
struct word {
	uint64_t at;
	uint32_t first;
};

struct range {
	struct word from;
	uint32_t mask;
};

/*
 * Where this word is, or belongs, in words that are sorted by address. (qsort() may ask for the
 * size of the machine's memory, which a worker may not do.)
 */
static uint32_t place_of(const struct word *words, uint32_t cnt, uint64_t at)
{
	uint32_t low = 0, high = cnt, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (words[mid].at < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Returns false if there is no room. */
static bool add_word(struct word *words, uint32_t *cnt, uint64_t at, uint32_t first)
{
	uint32_t i = place_of(words, *cnt, at);

	if (i < *cnt && words[i].at == at)
		return true;
	if (*cnt == USED_WORDS_MAX)
		return false;
	memmove(words + i + 1, words + i, (*cnt - i) * sizeof(*words));
	words[i] = (struct word){ at, first };
	++*cnt;
	return true;
}

/* All words of all parts, sorted by address. Returns their number; USED_WORDS_MAX + 1: too many. */
static uint32_t find_words(const struct used_mem *u, struct word words[USED_WORDS_MAX])
{
	uint32_t i, cnt = 0;
	uint64_t at;

	for (i = 0; i < u->part_cnt; i++) {
		uint64_t end = (u->parts[i].addr + u->parts[i].len + 7) / 8;

		for (at = u->parts[i].addr / 8; at < end; at++)
			if (!add_word(words, &cnt, at, i))
				return USED_WORDS_MAX + 1;
	}
	return cnt;
}

static void sort_by_use(struct range *ranges, uint32_t cnt)
{
	uint32_t i, k;

	for (i = 1; i < cnt; i++) {
		struct range r = ranges[i];

		for (k = i; k && ranges[k - 1].from.first > r.from.first; k--)
			ranges[k] = ranges[k - 1];
		ranges[k] = r;
	}
}

/* Returns their number; CHAIN_RANGES + 1: too many. */
static uint32_t find_ranges(const struct used_mem *u, struct range ranges[CHAIN_RANGES])
{
	struct word words[USED_WORDS_MAX];
	uint32_t cnt = find_words(u, words), i, n = 0;

	if (cnt > USED_WORDS_MAX)
		return CHAIN_RANGES + 1;
	for (i = 0; i < cnt; i++) {
		struct range *r = n ? &ranges[n - 1] : NULL;

		if (!r || words[i].at - r->from.at >= CHAIN_RANGE_WORDS) {
			if (n == CHAIN_RANGES)
				return CHAIN_RANGES + 1;
			r = &ranges[n++];
			*r = (struct range){ .from = words[i] };
		}
		r->mask |= 1u << (words[i].at - r->from.at);
		if (words[i].first < r->from.first)
			r->from.first = words[i].first;
	}
	sort_by_use(ranges, n);
	return n;
}

/* ---- what they have now ---- */

static uint32_t words_of(uint32_t mask)
{
	return CHAIN_RANGE_WORDS - (uint32_t)__builtin_clz(mask);
}

/* All ranges, one after another. */
struct content {
	struct used_place places[CHAIN_RANGES];
	uint8_t bytes[CHAIN_RANGES * CHAIN_RANGE_WORDS * 8];
};

/* One after another. */
static int read_each(const struct used_mem *u, const struct used_place *places, uint32_t cnt,
		     uint8_t *buf)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < cnt; i++) {
		err = u->mem.read(u->mem.ctx, places[i].addr, buf, places[i].len);
		buf += places[i].len;
	}
	return err;
}

static bool read_content(const struct used_mem *u, used_gather_fn gather,
			 const struct range *ranges, uint32_t cnt, struct content *c)
{
	size_t len = 0;
	uint32_t i;

	for (i = 0; i < cnt; i++) {
		c->places[i].addr = ranges[i].from.at * 8;
		c->places[i].len = 8 * words_of(ranges[i].mask);
		len += c->places[i].len;
	}
	return !cnt || !(gather ? gather(u->mem.ctx, c->places, cnt, c->bytes, len) :
				  read_each(u, c->places, cnt, c->bytes));
}

/* Returns true if these bytes, which are in one range, are there now. */
static bool has_bytes(const struct content *c, uint32_t cnt, uint64_t addr, const uint8_t *bytes,
		      uint32_t len)
{
	size_t at = 0;
	uint32_t i;

	for (i = 0; i < cnt; i++) {
		const struct used_place *p = &c->places[i];

		if (addr >= p->addr && addr - p->addr < p->len && len <= p->len - (addr - p->addr))
			return !memcmp(c->bytes + at + (addr - p->addr), bytes, len);
		at += p->len;
	}
	return false;
}

/* A part may be in several ranges: it is compared by words. */
static bool is_same(const struct used_mem *u, const struct content *c, uint32_t cnt)
{
	uint32_t i, done, n;

	for (i = 0; i < u->part_cnt; i++)
		for (done = 0; done < u->parts[i].len; done += n) {
			uint64_t addr = u->parts[i].addr + done;

			n = 8 - (uint32_t)(addr & 7);
			if (n > u->parts[i].len - done)
				n = u->parts[i].len - done;
			if (!has_bytes(c, cnt, addr, u->bytes + u->parts[i].at + done, n))
				return false;
		}
	return true;
}

bool used_ranges_find(const struct used_mem *u, used_gather_fn gather, struct used_ranges *out)
{
	struct range ranges[CHAIN_RANGES];
	uint32_t cnt = u->whole ? find_ranges(u, ranges) : CHAIN_RANGES + 1, i;
	struct content c;
	const uint8_t *at = c.bytes;

	*out = (struct used_ranges){ .cnt = USED_NOT_KNOWN };
	if (cnt > CHAIN_RANGES || !read_content(u, gather, ranges, cnt, &c) ||
	    !is_same(u, &c, cnt))
		return false;
	for (i = 0; i < cnt; i++) {
		uint64_t words[CHAIN_RANGE_WORDS] = { 0 };

		memcpy(words, at, c.places[i].len);
		at += c.places[i].len;
		out->range[i] = chain_range(c.places[i].addr, c.places[i].len / 8);
		out->mask[i] = ranges[i].mask;
		out->sum[i] = chain_range_sum(ranges[i].mask, words);
	}
	out->cnt = cnt;
	return true;
}
