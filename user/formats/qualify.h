/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * qualify.h - "json.decoder.JSONDecoder.raw_decode": names of functions for readers that merge
 * functions of the same name, as all of pprof's do.
 *
 * A name consists of a function's path and its own name, and of nothing else, so that it is the
 * same in every file, in every window and on every host (docs/format-pprof.md has the rule).
 */
#ifndef TACHBPF_QUALIFY_H
#define TACHBPF_QUALIFY_H

#include "base/string_ref.h"
#include "base/util.h"

/*
 * Replaces the content of out by the name of func in the file `path`: any bytes, as both are, with
 * a NUL after out->len. It is func alone if the path names no module. Returns 0 or -ENOMEM.
 */
int qualify_name(struct buf *out, struct string_ref path, struct string_ref func);

#endif
