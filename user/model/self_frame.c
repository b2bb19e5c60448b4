// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* self_frame.c - see self_frame.h. */
#include "model/self_frame.h"

#include <string.h>

#include "base/util.h"
#include "model/native_frame.h"

/* How their names begin. Other profilers' frames without a file have names like any function. */
static const char *const details[] = {
	"<GC>", "<native>", "<blocked in ", "<exception ", "<kernel ", "<waiting for ",
	"<unwound no further",
};

bool frame_is_detail(const struct profile_tables *tables, uint32_t frame, enum self_of of)
{
	const struct frame *f = &tables->frames[frame];
	const struct string_ref *name = &tables->strings[f->func];
	size_t i;

	if (frame_is_native(tables, f))
		return of == SELF_OF_PYTHON;
	for (i = 0; f->kind != FRAME_PYTHON && i < ARRAY_SIZE(details); i++)
		if (name->len >= strlen(details[i]) &&
		    !memcmp(name->data, details[i], strlen(details[i])))
			return true;
	return false;
}

uint32_t self_frame(const struct profile_tables *tables, const uint32_t *frames, uint32_t n,
		    enum self_of of)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (!frame_is_detail(tables, frames[i], of))
			return i;
	return n ? n - 1 : 0;
}
