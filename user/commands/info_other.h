/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * info_other.h - what tachbpf info says of files in formats other than TACH: what
 * all readers know, and what the format tells about itself.
 */
#ifndef TACHBPF_INFO_OTHER_H
#define TACHBPF_INFO_OTHER_H

#include "base/json.h"

struct reader;

/* Members of the object that is open. */
void info_other_json(struct json *j, const struct reader *r);
/* Indented lines on stdout. */
void info_other_print(const struct reader *r);

#endif
