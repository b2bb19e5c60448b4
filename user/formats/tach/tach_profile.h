/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tach_profile.h - what is only known about TACH files. */
#ifndef TACHBPF_TACH_PROFILE_H
#define TACHBPF_TACH_PROFILE_H

#include "model/reader.h"

struct tach_info;
struct tach_reader;

/* NULL: the file is not in TACH. */
const struct tach_info *reader_tach_info(const struct reader *r);
struct tach_reader *reader_as_tach(struct reader *r);

#endif
