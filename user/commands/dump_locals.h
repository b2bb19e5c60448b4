/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_locals.h - the variables of frames in `tachbpf dump --locals`. */
#ifndef TACHBPF_DUMP_LOCALS_H
#define TACHBPF_DUMP_LOCALS_H

#include "base/json.h"
#include "look/look.h"

/* Print below frame number i of a thread its arguments and locals, if they are known. */
void dump_text_locals(const struct look_thread *t, uint32_t i);
/* Print what is to be known of a thread's variables: ", variables read while it ran". */
void dump_text_locals_state(const struct look_thread *t, bool asked);

/* Write the key "locals" of frame number i: an array, or null if they are not known. */
void dump_json_locals(struct json *j, const struct look_thread *t, uint32_t i);
/* Write the key "locals_steady" of a thread: null if its variables are not known. */
void dump_json_locals_state(struct json *j, const struct look_thread *t);

#endif
