/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * info_verify.h - tachbpf info --verify.
 */
#ifndef TACHBPF_INFO_VERIFY_H
#define TACHBPF_INFO_VERIFY_H

#include <stdbool.h>

#include "commands/profile_set.h"

/*
 * Decode every file of the set and compare checksums. A verdict for each on stdout, a
 * line on stderr and set->failed for a file that is not sound. 0, or -errno: could
 * not look on.
 */
int info_verify(struct profile_set *set, bool as_json);

#endif
