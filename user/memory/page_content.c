// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* page_content.c - compares the contents of a page: see page_content.h. */
#include "memory/page_content.h"

unsigned int page_content_given(const struct page_content *c)
{
	unsigned int i, n = 0;

	for (i = 0; i < PAGE_PLACES; i++)
		n += c->states[i] >= PLACE_FREE;
	return n;
}

/* The number of hashes that are equal, of the four. */
static unsigned int equal_words(uint32_t a, uint32_t b)
{
	uint32_t diff = a ^ b;
	unsigned int i, n = 0;

	for (i = 0; i < 4; i++, diff >>= 8)
		n += !(diff & 0xff);
	return n;
}

/*
 * A block of malloc: its address is the same. If its size is not, realloc() may have made it larger
 * or smaller where it is: then its first words are the same, and not all are 0.
 */
static bool is_same_malloc(uint32_t a, uint32_t b)
{
	return (a & 0xff) == (b & 0xff) || (a >> 8 == b >> 8 && a >> 8);
}

/* Containers keep most of their fields while they live; so do tables, which are no objects. */
static bool is_same_block(uint8_t state, const struct place_mark *a, const struct place_mark *b)
{
	if (a->id != b->id)
		return false;
	switch (state) {
	case PLACE_CONTAINER:
		return equal_words(a->words, b->words) >= 2;
	case PLACE_RAW:
		return equal_words(a->words, b->words) >= 3;
	case PLACE_MALLOC:
		return is_same_malloc(a->words, b->words);
	default:
		return a->words == b->words;
	}
}

void page_content_begin(struct page_content *first)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < PAGE_PLACES; i++)
		any |= place_in_use(first->states[i]);
	for (i = 0; any && i < PAGE_PLACES; i++)
		if (first->states[i] == PLACE_FREE)
			first->states[i] = PLACE_UNKNOWN;
}

struct page_fate page_content_compare(struct page_content *first, const struct page_content *now)
{
	struct page_fate fate = { 0 };
	unsigned int i;

	for (i = 0; i < PAGE_PLACES; i++) {
		uint8_t *was = &first->states[i], is = now->states[i];

		if (*was < PLACE_FREE || is == PLACE_UNKNOWN)
			continue;
		if (place_in_use(is) && *was == is &&
		    is_same_block(is, &first->marks[i], &now->marks[i])) {
			fate.own++;
			continue;
		}
		*was = PLACE_FREE;
		fate.reused += place_in_use(is);
		fate.unused += !place_in_use(is);
	}
	return fate;
}
