/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * window_pprof.h - a window as pprof (profile.proto), gzipped: one profile for each service and
 * sample type.
 *
 * Samples have no labels: Pyroscope makes a series of each value of a label. Names of functions
 * are qualified by their module's path below the directory of packages ("django.core.handlers.
 * base.get_response"), so that they are the same in every window and on every host; that of
 * format-pprof depends on the order of files.
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
	uint64_t taken, value;	/* samples that were taken, of which these were made; their values */
};

struct window_pprof_args {
	uint64_t period_ns;	/* between two samples of a CPU; 0: not known */
	size_t max_bytes;	/* of a profile, before gzip; 0: any size */
	/* Called for each profile. 0, or a -errno that ends window_pprof(). */
	int (*emit)(void *ctx, const struct window_pprof *profile);
	void *ctx;
};

/*
 * Encode each series of the window that has samples, in several profiles if one would be larger than
 * max_bytes; one sample that is larger alone is a profile all the same. Values: "samples" (count) and "cpu"
 * (nanoseconds) of CPU time, else the one of window_kinds[]. 0, -ENOMEM, or emit's error.
 */
int window_pprof(const struct window *w, const struct window_pprof_args *args);

/*
 * The name of a function in a file, both printable, in out, which is cut at out_bytes: "a.b.f" for
 * f in /usr/lib/python3/dist-packages/a/b.py; elsewhere the last two parts of the path count;
 * "a.b.f", too, for "<frozen a.b>". func alone if path is not one of a module: "<string>".
 */
void window_pprof_name(const char *path, const char *func, char *out, size_t out_bytes);

#endif
