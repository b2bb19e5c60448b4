// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_texts.c - see native_texts.h. */
#include "native/native_texts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK_BYTES 16384
#define TEXT_BYTES 512

struct text_block {
	struct text_block *next;
	uint32_t len;
	char bytes[BLOCK_BYTES];
};

const char *texts_address(struct text_block **texts, const char *library, uint64_t addr)
{
	struct text_block *b = *texts;
	char *text;

	if (!b || b->len + TEXT_BYTES > BLOCK_BYTES) {
		b = malloc(sizeof(*b));
		if (!b)
			return library;
		b->next = *texts;
		b->len = 0;
		*texts = b;
	}
	text = b->bytes + b->len;
	b->len += (uint32_t)snprintf(text, TEXT_BYTES, "%.450s+0x%" PRIx64, library, addr) + 1;
	return text;
}

void texts_forget(struct text_block **texts)
{
	struct text_block *b;

	while ((b = *texts)) {
		*texts = b->next;
		free(b);
	}
}
