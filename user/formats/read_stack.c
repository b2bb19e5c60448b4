// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * read_stack.c - see read_stack.h.
 */
#include "formats/read_stack.h"

#include "model/intern.h"
#include "model/native_frame.h"

int stack_fit(struct intern *in, const struct buf *ids, bool root_first,
	      uint32_t out[EVENT_MAX_FRAMES], uint32_t *nframes, bool *cut)
{
	const uint32_t *all = (const uint32_t *)(const void *)ids->data;
	size_t n = ids->len / sizeof(*all), keep = n, i;

	*cut = n > EVENT_MAX_FRAMES;
	if (*cut)
		keep = EVENT_MAX_FRAMES - 1;
	for (i = 0; i < keep; i++)
		out[i] = all[root_first ? n - 1 - i : i];
	*nframes = (uint32_t)keep;
	if (!*cut)
		return 0;
	return intern_synthetic(in, FRAME_SYNTHETIC, "<truncated>", &out[(*nframes)++]);
}

int intern_place(struct intern *in, const struct string_ref *file, const struct string_ref *func,
		 int32_t line, int32_t column, int32_t first_line, uint32_t *id)
{
	struct frame f = {
		.line = line > 0 ? line : LINE_NONE,
		.end_line = line > 0 ? line : LINE_NONE,
		.column = line > 0 && column >= 0 ? column : COLUMN_NONE,
		.first_line = first_line > 0 ? first_line : 0,
		.opcode = OPCODE_NONE,
		.kind = frame_kind_of_names(file, func, line),
	};
	int err;

	f.end_column = f.column;
	err = intern_string(in, file->data, file->len, &f.file);
	if (!err)
		err = intern_string(in, func->data, func->len, &f.func);
	return err ? err : intern_frame(in, &f, id);
}
