/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * info_other.h - what tachbpf info prints about files in formats other than TACH: what every
 * reader provides, and what the format's reader adds.
 */
#ifndef TACHBPF_INFO_OTHER_H
#define TACHBPF_INFO_OTHER_H

#include "base/json.h"

struct reader;

/* Add members to the JSON object that is open. */
void info_other_json(struct json *j, const struct reader *r);
/* Print indented lines on stdout. */
void info_other_print(const struct reader *r);

#endif
