/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * source_lookup.h - the source text of a profile's files, for pages: the caller knows what a
 * recording has kept, and which files of this machine are those that ran.
 */
#ifndef TACHBPF_SOURCE_LOOKUP_H
#define TACHBPF_SOURCE_LOOKUP_H

#include "base/string_ref.h"

struct source_lookup {
	/*
	 * Finds the text of a file by the path that a frame has. Returns 0 and *text, which is
	 * valid as long as ctx; a positive enum source_state (formats/source_text.h): there is
	 * none; -ENOMEM.
	 */
	int (*find)(void *ctx, struct string_ref path, struct string_ref *text);
	void *ctx;
};

#endif
