/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * window_pprof.h - a window as pprof (profile.proto), gzipped: one profile for each service and
 * sample type.
 *
 * Samples have no labels, because Pyroscope makes a series of each value of a label. Functions have
 * the same names as in files (pprof_encode.h).
 */
#ifndef TACHBPF_WINDOW_PPROF_H
#define TACHBPF_WINDOW_PPROF_H

#include "telemetry/window.h"

struct window_pprof {
	uint32_t service;
	enum window_kind kind;
	const void *bytes;	/* gzipped; valid during the call */
	size_t len;
	uint32_t samples;	/* in it */
	uint64_t taken, value;	/* samples that these were made of; their values */
};

struct pprof_encoder;

/* Adds comments about a service to the profile that begins (pprof_comment()). */
struct window_comments {
	void (*add)(void *ctx, uint32_t service, struct pprof_encoder *e);
	void *ctx;
};

struct window_pprof_args {
	uint64_t period_ns;	/* between two samples of a CPU; 0: not known */
	size_t max_bytes;	/* of a profile, before gzip; 0: any size */
	const struct window_comments *comments;	/* NULL: none */
	/* Called for each profile. Returns 0, or a -errno that ends window_pprof(). */
	int (*emit)(void *ctx, const struct window_pprof *profile);
	void *ctx;
};

/*
 * Encodes each series of the window that has samples, in several profiles if one would be larger
 * than max_bytes; a single sample that is larger becomes a profile, too. Values: "samples" (count)
 * and "cpu" (nanoseconds) of CPU time, else the one of window_kinds[]. Returns 0, -ENOMEM, or
 * emit's error.
 */
int window_pprof(const struct window *w, const struct window_pprof_args *args);

#endif
