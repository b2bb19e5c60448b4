/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* census_test.h - looks for a type in a census of a .mlyze file. */
#ifndef TACHBPF_CENSUS_TEST_H
#define TACHBPF_CENSUS_TEST_H

#include <string.h>

#include "formats/mlyze/mlyze_types.h"

/* The type of this name; "": the rest; NULL: it has none. */
static inline const struct mlyze_type_row *census_find(const struct mlyze_types *t,
						       const struct mlyze_census *c,
						       const char *name)
{
	const struct mlyze_type_row *rows = mlyze_census_types(t, c);
	uint32_t i;

	for (i = 0; i < c->cnt; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

#endif
