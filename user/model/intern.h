/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * intern.h - strings and frames of one profile become dense ids from 0.
 *
 * Ids are given in order of first sight and never change, so a writer can dump
 * the tables as they are. What a frame is changes at most once: intern_later().
 */
#ifndef TACHBPF_INTERN_H
#define TACHBPF_INTERN_H

#include "model/event.h"

struct intern;

/* NULL with errno. */
struct intern *intern_new(void);
void intern_free(struct intern *in);

/* Copies the bytes. The id in *id; 0 or -ENOMEM. */
int intern_string(struct intern *in, const char *s, size_t len, uint32_t *id);

/* The id of a string that is there. Returns false if it is not. */
bool intern_find_string(const struct intern *in, const char *s, size_t len, uint32_t *id);

/* Copies the frame, whose file and func are ids of this table. 0 or -ENOMEM. */
int intern_frame(struct intern *in, const struct frame *f, uint32_t *id);

/* A frame that is not Python code: file "~", no line. name: "<GC>", "<truncated>" ... */
int intern_synthetic(struct intern *in, const char *name, uint32_t *id);

/*
 * A frame of its own whose name may be known later: until intern_settle() says what it is,
 * it is as frame as says, a synthetic one. Others of the same content have ids of their own.
 */
int intern_later(struct intern *in, uint32_t as, uint32_t *id);
void intern_settle(struct intern *in, uint32_t id, uint32_t as);

/*
 * The tables as they are now. The pointer stays valid until intern_free(); what
 * it points to is updated by every intern_*() call.
 */
const struct profile_tables *intern_tables(const struct intern *in);

#endif
