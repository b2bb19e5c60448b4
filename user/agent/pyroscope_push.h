/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pyroscope_push.h - a window as requests of Grafana Pyroscope's push API: push.v1.PushRequest for
 * /push.v1.PusherService/Push, which lets the client choose the series.
 *
 * A service of a window is a request: a server that refuses some of its series has taken the
 * others, which are there twice once the request is sent again. Profile types, their names and
 * function names are those that Pyroscope makes of OTLP (otlp.h).
 */
#ifndef TACHBPF_AGENT_PYROSCOPE_PUSH_H
#define TACHBPF_AGENT_PYROSCOPE_PUSH_H

#include "agent/agent_services.h"
#include "base/util.h"
#include "telemetry/window.h"

/* Pyroscope's own limits, unless its administrator changes them; what exceeds one is refused. */
#define PYROSCOPE_LABELS_MAX 30		/* validation.max-label-names-per-series */
#define PYROSCOPE_SAMPLES_MAX 16000	/* validation.max-profile-stacktrace-samples */

/* What the labels of a request take of max_bytes at most. */
#define PYROSCOPE_LABEL_BYTES 16384

struct pyroscope_request {
	const void *bytes;	/* valid during the call */
	size_t len;
	uint64_t taken, value;	/* samples in it, and the sum of their values */
};

struct pyroscope_args {
	const struct agent_services *services;
	const struct service_config *config;
	uint64_t period_ns;	/* between two samples of a CPU; 0: not known */
	size_t max_bytes;	/* of a request, more than PYROSCOPE_LABEL_BYTES */
	/* Called for each request. Returns 0, or a -errno that ends pyroscope_push(). */
	int (*emit)(void *ctx, const struct pyroscope_request *request);
	void *ctx;
};

/*
 * Encodes a window, each service in a request, or in several if one would be larger than max_bytes;
 * only a single sample that is larger makes a larger one. Labels of a series are its name, the
 * service's, those of the configuration, and attributes that many processes share, because each
 * value of a label is a series (service_labels.h); what exceeds a limit is left out. Returns 0,
 * -ENOMEM, or emit's error.
 */
int pyroscope_push(const struct window *w, const struct pyroscope_args *args);

/*
 * Cuts a request in two, each with half of its series, and appends them to parts. The bytes may be
 * anything. Returns 0; -ERANGE: it has one series only; -EBADMSG: not a request; -ENOMEM. After an
 * error, parts may have some bytes.
 */
int pyroscope_split(const void *bytes, size_t len, struct buf parts[2]);

#endif
