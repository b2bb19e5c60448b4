/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* page_types.h - the types of objects that grew, for the page of memory of one process. */
#ifndef TACHBPF_PAGE_TYPES_H
#define TACHBPF_PAGE_TYPES_H

#include "base/json.h"
#include "model/type_series.h"

/*
 * Writes the member "types", as docs/format-flamegraph.md has it. s NULL: nothing. Returns 0 or
 * -ENOMEM.
 */
int page_types_json(struct json *j, const struct type_series *s);

#endif
