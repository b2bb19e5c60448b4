/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * intern.h - gives dense ids from 0 to the strings and frames of one profile.
 *
 * Ids are in order of first occurrence and never change, so a writer can write the tables as they
 * are. The frame of an id changes at most once: see intern_later().
 */
#ifndef TACHBPF_INTERN_H
#define TACHBPF_INTERN_H

#include "model/event.h"

struct intern;

/* Returns NULL with errno. Freed by intern_free(). */
struct intern *intern_new(void);
void intern_free(struct intern *in);
/* Returns approximately how many bytes it uses. */
size_t intern_bytes(const struct intern *in);

/* Copies the bytes and sets *id. Returns 0 or -ENOMEM. */
int intern_string(struct intern *in, const char *s, size_t len, uint32_t *id);

/* Adds a string with the facts about a library: for native_library.h. Returns 0 or -ENOMEM. */
int intern_library(struct intern *in, const char *s, size_t len);

/* Finds the id of a string. Returns false if it is not in the table. */
bool intern_find_string(const struct intern *in, const char *s, size_t len, uint32_t *id);

/* Copies the frame, whose file and func are ids of this table. Returns 0 or -ENOMEM. */
int intern_frame(struct intern *in, const struct frame *f, uint32_t *id);

/* Finds the id of a frame. Returns false if it is not in the table. */
bool intern_find_frame(const struct intern *in, const struct frame *f, uint32_t *id);

/*
 * Adds a frame that is not Python code, of any kind except FRAME_PYTHON: file "~", no line. name:
 * "<GC>", "<kernel schedule>" ... Returns 0 or -ENOMEM; *id: its id.
 */
int intern_synthetic(struct intern *in, enum frame_kind kind, const char *name, uint32_t *id);

/*
 * Adds the frame of a function in machine code: name in library ("libfoo.so.1", "[vdso]", "JIT"),
 * at a line of source; source NULL: unknown, LINE_NONE or 0: no line. native_frame.h describes its
 * file. Returns 0 or -ENOMEM; *id: its id.
 */
int intern_native(struct intern *in, const char *library, const char *source, const char *name,
		  int32_t line, uint32_t *id);

/*
 * Adds a frame whose name may become known later. Until intern_name_later() defines it, it is a
 * copy of frame as, a synthetic one. It always gets a new id. Returns 0 or -ENOMEM.
 */
int intern_later(struct intern *in, uint32_t as, uint32_t *id);
/* Defines the frame of an id from intern_later(): a copy of frame as. */
void intern_name_later(struct intern *in, uint32_t id, uint32_t as);

/*
 * Returns the current tables. The pointer is valid until intern_free(); every intern_*() call may
 * change what it points to.
 */
const struct profile_tables *intern_tables(const struct intern *in);

#endif
