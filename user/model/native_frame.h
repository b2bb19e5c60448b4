/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_frame.h - what the file of a frame of machine code says.
 *
 * The file of a FRAME_NATIVE is "[libfoo.so.1]", or "[libfoo.so.1] src/foo.c" if its source is
 * known; only then has it a line. Frames of machine code that nobody could place (CPython's
 * "<native>", other profilers' addresses) have the file "~".
 */
#ifndef TACHBPF_NATIVE_FRAME_H
#define TACHBPF_NATIVE_FRAME_H

#include <stdbool.h>

#include "model/event.h"

/* Longer names of libraries are cut. */
#define NATIVE_LIBRARY_BYTES 256
/* What a profile knows of libraries: so many strings (native_library.h); more are not kept. */
#define NATIVE_LIBRARIES_MAX 4096
/* With source; longer ones are cut. */
#define NATIVE_FILE_BYTES 4096

/* The library that a file says, without its brackets; len 0: it says none. */
struct string_ref native_library(const struct string_ref *file);
/* The path of the source; len 0: the file says none. */
struct string_ref native_source(const struct string_ref *file);

/*
 * Has a frame with this kind and file a file that can be shown: a source of Python, or a library?
 * If not, its name is all there is to show.
 */
bool frame_has_file(enum frame_kind kind, const struct string_ref *file);

/* Is the frame machine code of a known library? */
bool frame_is_native(const struct profile_tables *tables, const struct frame *f);

/*
 * The file for intern_native(): "[library]", "[library] source". Brackets around library are not
 * doubled ("[vdso]"); others in it become "_".
 */
void native_file_name(const char *library, const char *source, char out[NATIVE_FILE_BYTES]);

#endif
