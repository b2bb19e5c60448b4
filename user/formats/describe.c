// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* describe.c - see describe.h. */
#include "formats/describe.h"

#include <string.h>

#include "base/util.h"

void describe_texts(struct describe *d, const char *list, const char *key, const struct buf *texts)
{
	const char *const *all = (const char *const *)(const void *)texts->data;
	size_t i;

	d->list(d, list);
	for (i = 0; i < texts->len / sizeof(*all); i++) {
		d->item(d);
		d->text(d, key, all[i], strlen(all[i]));
	}
	d->list_end(d);
}
