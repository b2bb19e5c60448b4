/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * joined.h - a sink before another: profiles of one container come out as one profile.
 *
 * What follows one another and has the same container is joined; whoever feeds it brings
 * them in that order (profile_set_order()). Knows no format.
 */
#ifndef TACHBPF_JOINED_H
#define TACHBPF_JOINED_H

#include "model/sink.h"

/* Of a profile that is in no container. */
#define JOINED_NONE "(none)"

/* inner belongs to the new sink, also if NULL is returned, with errno. */
struct sink *joined_open(struct sink *inner);

#endif
