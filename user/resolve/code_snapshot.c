// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* code_snapshot.c - see code_snapshot.h. */
#include "resolve/code_snapshot.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"

bool code_snapshot_is_whole(const struct raw_code *raw, size_t len)
{
	return len >= offsetof(struct raw_code, table) &&
	       raw->table_at.len <= len - offsetof(struct raw_code, table) &&
	       raw->head_at.len <= RAW_CODE_HEAD && raw->name_at.len <= RAW_CODE_NAME &&
	       raw->file_at.len <= RAW_CODE_FILE;
}

int code_snapshot_read(const struct raw_code *raw, uint64_t addr, void *buf, size_t len)
{
	const struct {
		const struct raw_piece *at;
		const uint8_t *data;
	} pieces[] = {
		{ &raw->head_at, raw->head },
		{ &raw->name_at, raw->name },
		{ &raw->file_at, raw->file },
		{ &raw->table_at, raw->table },
	};
	uint64_t off;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		off = addr - pieces[i].at->addr;
		if (off <= pieces[i].at->len && len <= pieces[i].at->len - off) {
			memcpy(buf, pieces[i].data + off, len);
			return 0;
		}
	}
	return -ENODATA;
}
