/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * qualify.h - "json.decoder.JSONDecoder.raw_decode": names of functions for readers that take
 * functions with the same name for the same, as all of pprof's do.
 *
 * A name is made of a function's path and its own name, and of nothing else, so that it is the same
 * in every file, in every window and on every host (docs/format-pprof.md has the rule).
 */
#ifndef TACHBPF_QUALIFY_H
#define TACHBPF_QUALIFY_H

#include "base/string_ref.h"
#include "base/util.h"

/*
 * Put the name of func in the file `path` into out, in place of what was there: any bytes, as the
 * two are, with a NUL behind out->len. It is func alone if the path says no module. 0 or -ENOMEM.
 */
int qualify_name(struct buf *out, struct string_ref path, struct string_ref func);

#endif
