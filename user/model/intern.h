/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * intern.h - gives dense ids from 0 to the strings and frames of one profile.
 *
 * Ids are in order of first occurrence and never change, so a writer can write the tables
 * as they are. The frame of an id changes at most once: see intern_later().
 */
#ifndef TACHBPF_INTERN_H
#define TACHBPF_INTERN_H

#include "model/event.h"

struct intern;

/* NULL with errno. Freed by intern_free(). */
struct intern *intern_new(void);
void intern_free(struct intern *in);
/* About how many bytes it takes. */
size_t intern_bytes(const struct intern *in);

/* Copy the bytes and set *id. 0 or -ENOMEM. */
int intern_string(struct intern *in, const char *s, size_t len, uint32_t *id);

/* A string that says what is known of a library: for native_library.h. 0 or -ENOMEM. */
int intern_library(struct intern *in, const char *s, size_t len);

/* The id of a string that is there. Returns false if it is not. */
bool intern_find_string(const struct intern *in, const char *s, size_t len, uint32_t *id);

/* Copies the frame, whose file and func are ids of this table. 0 or -ENOMEM. */
int intern_frame(struct intern *in, const struct frame *f, uint32_t *id);

/* The id of a frame that is there. Returns false if it is not. */
bool intern_find_frame(const struct intern *in, const struct frame *f, uint32_t *id);

/*
 * The frame of something that is not Python code, of any kind but FRAME_PYTHON: file "~", no
 * line. name: "<GC>", "<kernel schedule>" ... The id in *id; 0 or -ENOMEM.
 */
int intern_synthetic(struct intern *in, enum frame_kind kind, const char *name, uint32_t *id);

/*
 * The frame of a function in machine code: name in library ("libfoo.so.1", "[vdso]", "JIT"), at a
 * line of source; source NULL: not known, LINE_NONE or 0: no line. native_frame.h says what its
 * file is. The id in *id; 0 or -ENOMEM.
 */
int intern_native(struct intern *in, const char *library, const char *source, const char *name,
		  int32_t line, uint32_t *id);

/*
 * Add a frame whose name may become known later. Until intern_name_later() defines it, it is a
 * copy of frame as, a synthetic one. It always gets an id of its own. 0 or -ENOMEM.
 */
int intern_later(struct intern *in, uint32_t as, uint32_t *id);
/* Define the frame of an id from intern_later(): a copy of frame as. */
void intern_name_later(struct intern *in, uint32_t id, uint32_t as);

/*
 * The current tables. The pointer is valid until intern_free(); every intern_*() call may
 * change what it points to.
 */
const struct profile_tables *intern_tables(const struct intern *in);

#endif
