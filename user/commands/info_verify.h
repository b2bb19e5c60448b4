/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * info_verify.h - tachbpf info --verify.
 */
#ifndef TACHBPF_INFO_VERIFY_H
#define TACHBPF_INFO_VERIFY_H

#include <stdbool.h>

#include "commands/profile_set.h"

/*
 * Decode every file of the set and compare checksums. Prints a verdict for each on stdout; for
 * a file that is damaged it logs a line and sets set->failed. Returns 0, or -errno if it could
 * not go on.
 */
int info_verify(struct profile_set *set, bool as_json);

#endif
