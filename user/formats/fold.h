/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fold.h - frames as words of folded stacks: "a.py:f:3", "<GC>", "f ([libfoo.so.1])". Each word is
 * made once, however many stacks have it.
 *
 * Words contain no ";", no control character and no invalid UTF-8: ";" becomes ":", and the others
 * are escaped as \xNN.
 */
#ifndef TACHBPF_FOLD_H
#define TACHBPF_FOLD_H

#include "model/stacks.h"

struct fold {
	struct buf text;	/* all words */
	struct buf ends;	/* size_t by label: end of its word */
};

/*
 * Makes words for all labels so far; with the line, unless detail is DETAIL_FUNCTION. Returns 0 or
 * -ENOMEM.
 */
int fold_init(struct fold *f, const struct stacks *s, enum stack_detail detail);
void fold_free(struct fold *f);

/* Appends any text as a word. Returns 0 or -ENOMEM. */
int fold_add(struct buf *b, struct string_ref s);

static inline struct string_ref fold_word(const struct fold *f, uint32_t label)
{
	const size_t *ends = (const size_t *)(const void *)f->ends.data;
	size_t start = label ? ends[label - 1] : 0;

	return (struct string_ref){ (const char *)f->text.data + start,
				    (uint32_t)(ends[label] - start) };
}

#endif
