// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * section.c - decodes and validates struct Py_AsyncioModuleDebugOffsets.
 *
 * Its fields and their order: Modules/_asynciomodule.c at tags v3.14.0 (symbol _AsyncioDebug) and
 * v3.15.0 (_Py_AsyncioDebug). The symbol is local and not needed: it is alone in its section.
 */
#include "asyncio/section.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/util.h"

#define SECTION_NAME ".AsyncioDebug"
#define POINTER 8
#define LLIST_NODE 16		/* next, prev: Include/internal/pycore_llist.h */

enum word {
	TASK_BYTES, TASK_NAME, TASK_AWAITED_BY, TASK_IS_TASK, TASK_IS_SET, TASK_CORO, TASK_NODE,
	INTERP_BYTES, INTERP_HEAD,
	TS_BYTES, TS_LOOP, TS_TASK, TS_HEAD,
	WORD_CNT,
};
_Static_assert(WORD_CNT * sizeof(uint64_t) == ASYNCIO_SECTION_BYTES, "13 words");

/* Sizes of structs, and fields, which are inside their struct. */
static const struct {
	enum word word, in;
	uint16_t bytes;		/* of the field; its alignment, up to a pointer's size */
} fields[] = {
	{ TASK_NAME, TASK_BYTES, POINTER },   { TASK_AWAITED_BY, TASK_BYTES, POINTER },
	{ TASK_IS_TASK, TASK_BYTES, 1 },      { TASK_IS_SET, TASK_BYTES, 1 },
	{ TASK_CORO, TASK_BYTES, POINTER },   { TASK_NODE, TASK_BYTES, LLIST_NODE },
	{ INTERP_HEAD, INTERP_BYTES, LLIST_NODE },
	{ TS_LOOP, TS_BYTES, POINTER },	      { TS_TASK, TS_BYTES, POINTER },
	{ TS_HEAD, TS_BYTES, LLIST_NODE },
};

static bool sizes_are_bounded(const uint64_t w[WORD_CNT])
{
	return w[TASK_BYTES] <= ASYNCIO_TASK_BYTES_MAX &&
	       w[INTERP_BYTES] <= ASYNCIO_INTERP_BYTES_MAX &&
	       w[TS_BYTES] <= ASYNCIO_TSTATE_BYTES_MAX;
}

static bool fields_are_inside(const uint64_t w[WORD_CNT])
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		uint64_t off = w[fields[i].word], bytes = fields[i].bytes, size = w[fields[i].in];

		/* No field is at 0: every struct begins with a head or a pointer of its own. */
		if (!off || size < bytes || off > size - bytes ||
		    off % (bytes < POINTER ? bytes : POINTER))
			return false;
	}
	return true;
}

int asyncio_section_parse(const uint8_t *bytes, size_t len, struct async_tasks_layout *out)
{
	uint64_t w[WORD_CNT];

	if (len < sizeof(w))
		return -EBADMSG;
	memcpy(w, bytes, sizeof(w));
	if (!sizes_are_bounded(w) || !fields_are_inside(w))
		return -EBADMSG;
	*out = (struct async_tasks_layout){
		.interp_tasks_head = (uint32_t)w[INTERP_HEAD],
		.ts_running_loop = (uint16_t)w[TS_LOOP],
		.ts_running_task = (uint16_t)w[TS_TASK],
		.ts_tasks_head = (uint16_t)w[TS_HEAD],
		.task_name = (uint16_t)w[TASK_NAME],
		.task_awaited_by = (uint16_t)w[TASK_AWAITED_BY],
		.task_is_task = (uint16_t)w[TASK_IS_TASK],
		.task_awaited_by_is_set = (uint16_t)w[TASK_IS_SET],
		.task_coro = (uint16_t)w[TASK_CORO],
		.task_node = (uint16_t)w[TASK_NODE],
		.task_bytes = (uint16_t)w[TASK_BYTES],
	};
	return 0;
}

int asyncio_section_read(const struct elf_file *f, struct async_tasks_layout *out)
{
	uint8_t bytes[ASYNCIO_SECTION_BYTES];
	struct elf_range r;
	int err = elf_file_section(f, SECTION_NAME, &r);

	if (err)
		return err;
	if (r.size != sizeof(bytes))
		return -EBADMSG;
	err = elf_file_pread(f, r.off, bytes, sizeof(bytes));
	return err ? err : asyncio_section_parse(bytes, sizeof(bytes), out);
}
