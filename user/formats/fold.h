/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fold.h - frames as the words of folded stacks: "a.py:f:3", "<GC>"; made once
 * for each, however many stacks it is in.
 *
 * Words hold no ";", no control character and no invalid UTF-8: these are
 * escaped as \xNN, ";" becomes ":".
 */
#ifndef TACHBPF_FOLD_H
#define TACHBPF_FOLD_H

#include "model/stacks.h"

struct fold {
	struct buf text;	/* all words */
	struct buf ends;	/* size_t by label: where its word ends */
};

/* Words for every label so far; with the line unless detail is DETAIL_FUNCTION. 0 or -ENOMEM. */
int fold_init(struct fold *f, const struct stacks *s, enum stack_detail detail);
void fold_free(struct fold *f);

/* Append a word of any text. 0 or -ENOMEM. */
int fold_add(struct buf *b, struct string_ref s);

static inline struct string_ref fold_word(const struct fold *f, uint32_t label)
{
	const size_t *ends = (const size_t *)(const void *)f->ends.data;
	size_t start = label ? ends[label - 1] : 0;

	return (struct string_ref){ (const char *)f->text.data + start,
				    (uint32_t)(ends[label] - start) };
}

#endif
