/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mlyze_growth.h - the types that grew in a .mlyze file, over all its censuses, for the profile
 * that it is read as.
 */
#ifndef TACHBPF_MLYZE_GROWTH_H
#define TACHBPF_MLYZE_GROWTH_H

#include "formats/mlyze/mlyze_notes.h"
#include "model/type_series.h"

/*
 * Compares the censuses up to until_us; start_us: when the recording began. *out, to be freed, is
 * NULL if there are fewer than two. Returns 0 or -ENOMEM.
 */
int mlyze_growth_read(const struct mlyze_notes *notes, uint64_t start_us, uint64_t until_us,
		      struct type_series **out);

#endif
