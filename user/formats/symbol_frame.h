/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbol_frame.h - frames of formats that have functions and mappings in tables: pprof and OTLP.
 */
#ifndef TACHBPF_SYMBOL_FRAME_H
#define TACHBPF_SYMBOL_FRAME_H

#include "base/string_ref.h"
#include "base/util.h"

struct intern;

/* A location has at most this many frames that count: more than an event's. */
#define SYMBOL_LOCATION_FRAMES_MAX 257
/* Of a table. An entry takes 2 bytes of a file, and some 50 here. */
#define SYMBOL_ENTRIES_MAX (1u << 22)
/* Longer texts are cut: a file can have millions of references to a long one. */
#define SYMBOL_TEXT_MAX 4096

/* Zero-initialise what is unknown. Texts are the caller's. */
struct symbol_mapping {
	struct string_ref file, build_id;	/* build_id: hexadecimal digits */
	bool noted;		/* native_library_add() was called */
};

struct symbol_function {
	struct string_ref name, file;
	int32_t first_line;
};

/*
 * Sets the function's own name; its file is set already. Of the two names a format has, that is the
 * system name if the other one only adds the module to it, as ours does (qualify.h); of C++ it is
 * the one that is demangled. Returns 0 or -ENOMEM.
 */
int symbol_choose_name(struct buf *scratch, struct string_ref name, struct string_ref system,
		       struct symbol_function *out);
/*
 * Interns a frame; of no source, it has no line either. library: where its code is; NULL: the
 * program. Returns 0 or -ENOMEM.
 */
int symbol_intern(struct intern *names, struct symbol_mapping *library,
		  const struct symbol_function *f, uint64_t line, uint32_t *id);
/* A frame that is only an address. Returns 0 or -ENOMEM. */
int symbol_intern_address(struct intern *names, struct symbol_mapping *library, uint64_t address,
			  uint32_t *id);

#endif
