// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * common.c - see common.h. Knows no format.
 */
#include "formats/common.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "model/frame_names.h"
#include "model/intern.h"
#include "model/thread_map.h"

int reason_at(const struct reason *why, uint64_t off, const char *fmt, ...)
{
	va_list ap;
	int n;

	n = snprintf(why->why, why->size, "damaged at byte %llu: ", (unsigned long long)off);
	va_start(ap, fmt);
	if (n > 0 && (size_t)n < why->size)
		vsnprintf(why->why + n, why->size - n, fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

int reason_memory(const struct reason *why)
{
	snprintf(why->why, why->size, "out of memory");
	return -ENOMEM;
}

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
		 int32_t line, int32_t column, uint32_t *id)
{
	struct frame f = {
		.line = line > 0 ? line : LINE_NONE,
		.end_line = line > 0 ? line : LINE_NONE,
		.column = line > 0 && column >= 0 ? column : COLUMN_NONE,
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

int clocks_tick(struct clocks *c, uint64_t thread_id, uint64_t weight, uint64_t step_us,
		uint64_t *now)
{
	static const uint64_t zero;
	uint64_t *times;
	uint32_t index;
	int err = 0;

	if (!c->map)
		c->map = thread_map_new();
	if (!c->map)
		return -ENOMEM;
	err = thread_map_get(c->map, thread_id, 0, &index);
	if (!err && index == c->times.len / sizeof(zero))
		err = buf_add(&c->times, &zero, sizeof(zero));
	if (err)
		return err;
	times = (uint64_t *)(void *)c->times.data;
	*now = times[index];
	/* The end of time: everything after it is at it. */
	times[index] = add_capped(times[index], mul_capped(weight, step_us));
	return 0;
}

void clocks_free(struct clocks *c)
{
	thread_map_free(c->map);
	buf_free(&c->times);
	memset(c, 0, sizeof(*c));
}

bool parse_decimal(const char *s, size_t len, uint64_t *v)
{
	size_t i;

	if (!len || (*s == '0' && len > 1))
		return false;
	for (*v = 0, i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9' || __builtin_mul_overflow(*v, 10, v) ||
		    __builtin_add_overflow(*v, (uint64_t)(s[i] - '0'), v))
			return false;
	}
	return true;
}
