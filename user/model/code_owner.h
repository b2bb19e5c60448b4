/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * code_owner.h - whose a Python file is, as its path tells: the project's or somebody else's.
 *
 * ownerOf() in formats/html/pages/common.js has the same rule.
 */
#ifndef TACHBPF_CODE_OWNER_H
#define TACHBPF_CODE_OWNER_H

#include "base/string_ref.h"

enum code_owner {
	CODE_OWN,	/* everything else: the project's */
	CODE_PACKAGE,	/* below site-packages/ or dist-packages/: installed */
	CODE_STANDARD,	/* below lib/pythonX or lib64/pythonX, in pythonXY.zip, or frozen */
	CODE_SYSTEM,	/* a program of the system: below /usr/bin, /usr/share, /snap and similar */
};

/* file: as frames of Python code have it, any bytes. */
enum code_owner code_owner_of(struct string_ref file);

#endif
