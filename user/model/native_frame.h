/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_frame.h - the file of a frame of machine code.
 *
 * The file of a FRAME_NATIVE is "[libfoo.so.1]", or "[libfoo.so.1] src/foo.c" if its source is
 * known; only then does it have a line. Frames of machine code in no known library (CPython's
 * "<native>", other profilers' addresses) have the file "~".
 */
#ifndef TACHBPF_NATIVE_FRAME_H
#define TACHBPF_NATIVE_FRAME_H

#include <stdbool.h>

#include "model/event.h"

/* Longer library names are cut. */
#define NATIVE_LIBRARY_BYTES 256
/* Limit for the strings with facts about libraries (native_library.h); more are not kept. */
#define NATIVE_LIBRARIES_MAX 4096
/* Including the source; longer ones are cut. */
#define NATIVE_FILE_BYTES 4096

/* Returns the library that a file names, without its brackets; len 0: none. */
struct string_ref native_library(const struct string_ref *file);
/* Returns the path of the source; len 0: the file has none. */
struct string_ref native_source(const struct string_ref *file);

/*
 * Returns true if a frame of this kind has a file that can be shown: a source of Python, or a
 * library. Otherwise its name is all there is to show.
 */
bool frame_has_file(enum frame_kind kind, const struct string_ref *file);

/* Returns true if the frame is machine code of a known library. */
bool frame_is_native(const struct profile_tables *tables, const struct frame *f);

/*
 * Makes the file for intern_native(): "[library]", "[library] source". Brackets around library are
 * not doubled ("[vdso]"); others in it become "_".
 */
void native_file_name(const char *library, const char *source, char out[NATIVE_FILE_BYTES]);

#endif
