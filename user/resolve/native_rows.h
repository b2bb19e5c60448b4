/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_rows.h - the rows of machine code in a process' intern table, and what they take. Names
 * are those of files that a target chooses. Rows stay until the process has ended, so a process has
 * a number of them, and its user a budget (budget.h).
 */
#ifndef TACHBPF_NATIVE_ROWS_H
#define TACHBPF_NATIVE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resolve/native_libraries.h"

struct budget;
struct native_function;

struct native_rows {
	struct intern *in;
	struct budget *budget;		/* of the process' user; NULL: none */
	size_t budget_names;		/* what this process has taken of it */
	struct native_libraries libraries;
	uint32_t rows;			/* added to in */
	size_t name_bytes;		/* that names added to in take */
};

/* in must stay valid. uid: the process' user. */
void native_rows_init(struct native_rows *r, struct intern *in, uint32_t uid);
void native_rows_free(struct native_rows *r);

bool native_rows_have_room(const struct native_rows *r);
/* The row of a function in a library. This and the following functions: 0 or -ENOMEM. */
int native_rows_add(struct native_rows *r, const char *library, const struct native_function *f,
		    uint32_t *id);
/* The row of all of a library's code that has no name; without room, of all machine code. */
int native_rows_library(struct native_rows *r, const char *library, uint32_t *id);
/* A row of its own, which is a copy of the row `as`: see intern_later(). */
int native_rows_later(struct native_rows *r, uint32_t as, uint32_t *id);
/* Rows of this file's code are to come: enter what is known of the file. */
int native_rows_note_file(struct native_rows *r, const struct native *native, uint32_t file);

#endif
