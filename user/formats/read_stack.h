/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * read_stack.h - converts the frames of a file to our frames and stacks, for readers of formats
 * whose stacks have any depth and whose frames have only names and a line.
 */
#ifndef TACHBPF_READ_STACK_H
#define TACHBPF_READ_STACK_H

#include "base/util.h"
#include "model/event.h"

struct intern;

/*
 * Converts any number of frame ids (struct buf of uint32_t), outermost first if root_first, to an
 * event's stack: innermost first, and if it is too deep, only the innermost frames with
 * "<truncated>" as the root; *cut says whether it was. Returns 0 or -ENOMEM.
 */
int stack_fit(struct intern *in, const struct buf *ids, bool root_first,
	      uint32_t out[EVENT_MAX_FRAMES], uint32_t *nframes, bool *cut);

/*
 * Interns a frame with these names and this place; its kind follows from them. line < 1, column <
 * 0, first_line (of the function) < 1: unknown. Returns 0 or -ENOMEM.
 */
int intern_place(struct intern *in, const struct string_ref *file, const struct string_ref *func,
		 int32_t line, int32_t column, int32_t first_line, uint32_t *id);

#endif
