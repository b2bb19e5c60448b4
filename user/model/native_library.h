/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_library.h - what a profile knows of the libraries of its frames.
 *
 * Each library is one of the profile's strings, which is the name of no frame: "tachbpf: library:
 * [libfoo.so.1] BUILD-ID PATH", the build id in hexadecimal digits or "-". So it is copied wherever
 * strings are: into a TACH file, its journal, and back; CPython loads it and never uses it.
 * tables->libraries lists these strings.
 */
#ifndef TACHBPF_NATIVE_LIBRARY_H
#define TACHBPF_NATIVE_LIBRARY_H

#include "base/util.h"
#include "model/event.h"
#include "model/intern.h"
#include "model/native_frame.h"

#define NATIVE_BUILD_ID_MAX 20
struct native_library {
	struct string_ref name;	/* "libfoo.so.1" */
	struct string_ref path;	/* as the process sees it; len 0: unknown */
	uint8_t build_id[NATIVE_BUILD_ID_MAX];
	uint32_t build_id_bytes;	/* 0: none, unknown, or the profile has several libraries
					 * of this name */
};

/*
 * Adds the facts about a library: call this when a frame of it is interned, and again when more is
 * known. path may be NULL, build_id_bytes 0. Returns 0 or -ENOMEM.
 */
int native_library_add(struct intern *in, const char *library, const char *path,
		       const uint8_t *build_id, uint32_t build_id_bytes);
/* Parses the string of a library; out points into it. Returns false if it is none. */
bool native_library_parse(const struct string_ref *s, struct native_library *out);
/* Writes the string of a library, cut if size is too small. Returns out. */
char *native_library_text(const struct native_library *l, char *out, size_t size);

/*
 * For readers of files: finds the strings in the tables that are libraries, and are the name of no
 * frame. Appends their ids (u32), for tables->libraries. Returns 0 or -ENOMEM.
 */
int native_libraries_find(const struct profile_tables *tables, struct buf *ids);

/* Adds all libraries of a profile. Returns 0 or -ENOMEM. */
int native_libraries_copy(const struct profile_tables *from, struct intern *into);
/*
 * Lists the libraries of a profile in *list, which the caller frees; names and paths are valid as
 * long as the tables. Returns their number, or -ENOMEM.
 */
int native_libraries(const struct profile_tables *tables, struct native_library **list);

/* All libraries of a profile's frames, known or not, and the library of each frame. */
struct native_index {
	struct native_library *list;	/* in order of their first frames */
	uint32_t cnt;
	uint32_t *of_file;	/* by string id: 1 + index in the list of the library whose
				 * frames have this file; 0: not the file of a library */
};

/* Valid as long as the tables do not change. Returns 0 or -ENOMEM. Freed by native_index_free(). */
int native_index_make(struct native_index *x, const struct profile_tables *tables);
void native_index_free(struct native_index *x);
/* Returns the number of a frame's library, from 1; 0: none. */
static inline uint32_t native_index_of(const struct native_index *x, const struct frame *f)
{
	return f->kind == FRAME_NATIVE && x->of_file ? x->of_file[f->file] : 0;
}
/* Formats the build id in hexadecimal digits; "" if there is none. Returns out. */
#define NATIVE_BUILD_ID_TEXT (2 * NATIVE_BUILD_ID_MAX + 1)
char *native_build_id_text(const struct native_library *l, char out[NATIVE_BUILD_ID_TEXT]);

#endif
