/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * joined.h - a sink that passes events on to another sink, and joins the profiles of one container
 * into one.
 *
 * Consecutive profiles with the same container are joined; the caller must order them by container
 * (profile_set_order()). Knows no format.
 */
#ifndef TACHBPF_JOINED_H
#define TACHBPF_JOINED_H

#include "model/sink.h"

/* Label of profiles without a container. */
#define JOINED_NONE "(none)"

/* Takes ownership of inner, also on error. Returns NULL with errno. */
struct sink *joined_open(struct sink *inner);

#endif
