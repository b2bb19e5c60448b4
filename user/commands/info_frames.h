/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * info_frames.h - for tachbpf info: how many frames of each kind a profile has, and the libraries
 * of those in machine code.
 */
#ifndef TACHBPF_INFO_FRAMES_H
#define TACHBPF_INFO_FRAMES_H

#include "model/event.h"

struct json;

/* Write "frame_kinds": { "python": 12, ... }, "libraries": [...]. 0 or -ENOMEM. */
int info_frames_json(struct json *j, const struct profile_tables *tables);
/* Print them, at most limit libraries (0: all); nothing for Python alone. 0 or -ENOMEM. */
int info_frames_print(const struct profile_tables *tables, uint32_t limit);

#endif
