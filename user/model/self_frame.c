// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* self_frame.c - see self_frame.h. */
#include "model/self_frame.h"

#include <string.h>

#include "base/util.h"

/* resolve/ and model/remap.c make these. */
static const char *const python_functions[] = {
	"<unresolved>", "<unreadable frame>", "<lost frame>", "<truncated>", "<switching>",
};

bool frame_is_detail(const struct profile_tables *tables, uint32_t frame)
{
	const struct frame *f = &tables->frames[frame];
	const struct string_ref *name = &tables->strings[f->func];
	size_t i;

	if (f->kind == FRAME_PYTHON)
		return false;
	for (i = 0; f->kind == FRAME_SYNTHETIC && i < ARRAY_SIZE(python_functions); i++)
		if (name->len == strlen(python_functions[i]) &&
		    !memcmp(name->data, python_functions[i], name->len))
			return false;
	return true;
}

uint32_t self_frame(const struct profile_tables *tables, const uint32_t *frames, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (!frame_is_detail(tables, frames[i]))
			return i;
	return n ? n - 1 : 0;
}
