// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* replay.c - see replay.h. */
#include "cpython/replay.h"

#include <stdlib.h>
#include <string.h>

void replay_begin(struct replay *r, const struct target_mem *mem)
{
	r->mem = *mem;
	r->whole = true;
	r->read_cnt = r->byte_cnt = 0;
}

/* The same place was read before: it must not have changed meanwhile. */
static bool is_known(struct replay *r, uint64_t addr, const void *buf, size_t len)
{
	uint32_t i;

	for (i = 0; i < r->read_cnt; i++) {
		const struct replay_read *was = &r->reads[i];

		if (was->addr != addr || was->len < len)
			continue;
		if (memcmp(r->bytes + was->at, buf, len))
			r->whole = false;
		return true;
	}
	return false;
}

int replay_read_mem(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct replay *r = ctx;
	int err = r->mem.read(r->mem.ctx, addr, buf, len);

	if (err || !r->whole || is_known(r, addr, buf, len)) {
		r->whole &= !err;
		return err;
	}
	if (r->read_cnt == REPLAY_READS_MAX || len > REPLAY_BYTES_MAX - r->byte_cnt) {
		r->whole = false;
		return 0;
	}
	r->reads[r->read_cnt++] = (struct replay_read){ addr, r->byte_cnt, (uint32_t)len };
	memcpy(r->bytes + r->byte_cnt, buf, len);
	r->byte_cnt += (uint32_t)len;
	return 0;
}

bool replay_keep(const struct replay *r, struct replay_kept *kept)
{
	size_t reads = r->read_cnt * sizeof(*r->reads);

	*kept = (struct replay_kept){ 0 };
	if (!r->whole || !r->read_cnt)
		return false;
	kept->reads = malloc(reads + r->byte_cnt);
	if (!kept->reads)
		return false;
	kept->bytes = (uint8_t *)kept->reads + reads;
	kept->read_cnt = r->read_cnt;
	kept->byte_cnt = r->byte_cnt;
	memcpy(kept->reads, r->reads, reads);
	memcpy(kept->bytes, r->bytes, r->byte_cnt);
	return true;
}

bool replay_is_same(const struct replay_kept *kept, replay_gather_fn gather, void *ctx)
{
	static uint8_t now[REPLAY_BYTES_MAX];

	return kept->read_cnt && kept->byte_cnt <= sizeof(now) &&
	       !gather(ctx, kept->reads, kept->read_cnt, now, kept->byte_cnt) &&
	       !memcmp(now, kept->bytes, kept->byte_cnt);
}

void replay_drop(struct replay_kept *kept)
{
	free(kept->reads);
	*kept = (struct replay_kept){ 0 };
}
