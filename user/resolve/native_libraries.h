/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_libraries.h - which libraries a process' frames of machine code are in: each is entered
 * into the profile's strings once, and once more when its build id becomes known.
 */
#ifndef TACHBPF_NATIVE_LIBRARIES_H
#define TACHBPF_NATIVE_LIBRARIES_H

#include "base/u64map.h"

struct intern;
struct native;

/* Zero-initialise. */
struct native_libraries {
	struct u64map by_file;
};

void native_libraries_free(struct native_libraries *l);
/* A frame is in the file. 0 or -ENOMEM. Beyond NATIVE_LIBRARIES_MAX nothing is entered. */
int native_libraries_note(struct native_libraries *l, const struct native *native, uint32_t file,
			  struct intern *in);

#endif
