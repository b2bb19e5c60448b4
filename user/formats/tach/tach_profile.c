// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* tach_profile.c - tach_reader in the interface of reader.h. */
#include "formats/tach/tach_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/formats.h"
#include "formats/input.h"
#include "formats/tach/tach_format.h"
#include "formats/tach/tach_reader.h"
#include "model/reader.h"

struct tach_input {
	struct reader reader;
	struct tach_reader *tach;
};

/*
 * Also accepts a header of zeros, which a killed recording leaves; other formats that begin with
 * zeros have other bytes soon after them.
 */
static bool tach_probe(const struct input *in)
{
	static const uint8_t zeros[TACH_HEADER_BYTES];
	uint32_t magic;

	if (in->size < 4)
		return false;
	magic = tach_load32(in->data, false);
	return magic == TACH_MAGIC || magic == TACH_MAGIC_SWAPPED ||
	       !memcmp(in->data, zeros, in->size < sizeof(zeros) ? in->size : sizeof(zeros));
}

static struct reader *open_tach(const struct input *in, const struct reader_args *args, char *why,
				size_t why_size)
{
	struct tach_input *t = calloc(1, sizeof(*t));
	const struct tach_info *info;

	if (!t) {
		snprintf(why, why_size, "out of memory");
		return NULL;
	}
	t->tach = tach_reader_open(in->path, why, why_size);
	if (!t->tach) {
		int err = errno;

		free(t);
		errno = err;
		return NULL;
	}
	info = tach_reader_info(t->tach);
	t->reader = (struct reader){
		.ops = &reader_tach,
		.info = { .meta = info->meta, .stats = info->stats, .timed = true,
			  .event_cnt = info->sample_cnt, .weight_sum = info->sample_cnt },
		.tables = tach_reader_tables(t->tach),
		.profile_cnt = 1,
	};
	return &t->reader;
}

static int tach_run(struct reader *r, reader_event_fn on_event, void *ctx, char *why,
		    size_t why_size)
{
	struct tach_reader *tach = ((struct tach_input *)r)->tach;

	return tach_reader_run_takes(tach, r->takes, on_event, ctx, why, why_size);
}

static void free_tach(struct reader *r)
{
	struct tach_input *t = (struct tach_input *)r;

	tach_reader_free(t->tach);
	free(t);
}

const struct tach_info *reader_tach_info(const struct reader *r)
{
	if (r->ops != &reader_tach)
		return NULL;
	return tach_reader_info(((const struct tach_input *)r)->tach);
}

struct tach_reader *reader_as_tach(struct reader *r)
{
	return r->ops == &reader_tach ? ((struct tach_input *)r)->tach : NULL;
}

const struct reader_ops reader_tach = {
	.name = "tach",
	.help = "TACH, CPython's and our own binary format, in all layouts",
	.probe = tach_probe,
	.open = open_tach,
	.run = tach_run,
	.free = free_tach,
};
