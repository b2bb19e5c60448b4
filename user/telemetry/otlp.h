/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * otlp.h - a window as OTLP profiles: messages ExportProfilesServiceRequest, in protobuf.
 *
 * A service is a ResourceProfiles, and each of its sample types a Profile; all share the message's
 * dictionary. No sample has a process or thread id: a server would make a series of each. It calls
 * nothing that waits, and may run in a child that was forked from the agent.
 */
#ifndef TACHBPF_OTLP_H
#define TACHBPF_OTLP_H

#include "base/util.h"
#include "telemetry/window.h"

/* The least size of a request: a service without samples must fit. */
#define OTLP_BYTES_MIN (64 * 1024)
/* The encoded attributes of a service; further ones are dropped, and their number is sent. */
#define OTLP_ATTRIBUTE_BYTES_MAX (16 * 1024)

/* A resource attribute. key and text: any bytes, made printable. */
struct otlp_attribute {
	const char *key;
	const char *text;	/* NULL: the value is the number */
	int64_t number;
	bool is_list;		/* the value is a list of the text */
};

struct otlp_service {
	const struct otlp_attribute *attributes;
	uint32_t attribute_cnt;
};

/* An attribute of samples: printable UTF-8. */
struct otlp_sample_attribute {
	const char *key, *text;
};

/* The identity of a trace's span (zeros: none), and the attributes of samples with this link. */
struct otlp_link {
	uint8_t trace_id[16], span_id[8];
	const uint32_t *attributes;	/* indices in otlp_args.sample_attributes; each key once */
	uint32_t attribute_cnt;		/* at most OTLP_LINK_ATTRIBUTES_MAX */
	uint32_t same_as;	/* index + 1 of an earlier link with these ids; 0: none */
};
#define OTLP_LINK_ATTRIBUTES_MAX 32

struct otlp_request {
	const void *bytes;		/* valid during the call; not compressed */
	size_t len;
	uint32_t profiles, samples;	/* in it */
	uint64_t taken;			/* samples that these were made of */
	uint64_t time_ns;		/* the sum of their times */
};

struct otlp_args {
	/* By number; a service beyond service_cnt only has the service.name unknown_service. */
	const struct otlp_service *services;
	uint32_t service_cnt;
	const struct otlp_link *links;	/* indexed by window_place.link - 1 */
	uint32_t link_cnt;
	const struct otlp_sample_attribute *sample_attributes;
	uint32_t sample_attribute_cnt;
	const char *version;		/* of tachbpf */
	/*
	 * Between two samples of a CPU. Time on CPU is sent as "samples" of this period, as other
	 * profilers do and servers expect; 0: unknown, and it is sent in nanoseconds.
	 */
	uint64_t period_ns;
	size_t max_bytes;		/* of an uncompressed request; at least OTLP_BYTES_MIN */
	/*
	 * Called for each request. Returns 0, or a -errno that ends otlp_encode(). Each Profile has
	 * a random profile_id of its own: sending a request again sends the same bytes.
	 */
	int (*emit)(void *ctx, const struct otlp_request *request);
	void *ctx;
};

struct otlp_result {
	uint32_t requests, profiles, samples;
	/* Samples whose stack was larger than max_bytes: they are at <other>. */
	uint32_t too_large;
};

/*
 * Encodes the window. If it does not fit into one request, it is cut between services or samples;
 * the requests' sums are the window's. Values above INT64_MAX become INT64_MAX. *result may be
 * NULL. Nothing is emitted for an empty window. Returns 0, -EINVAL for invalid arguments, -ENOMEM,
 * -EIO (no random bytes), or emit's error.
 */
int otlp_encode(const struct window *w, const struct otlp_args *args, struct otlp_result *result);

/*
 * Cuts an encoded request (any bytes) in two, with about half of its samples each and a dictionary
 * of what each half needs: for a server that says 413. A profile that is cut gets another
 * profile_id in each half, computed from its own, so that cutting again gives the same. Takes
 * memory of up to 14 times len, which the caller must limit. The halves are appended to parts,
 * which are unchanged after an error. Returns 0; -ERANGE: it has at most one sample; -EBADMSG: it
 * is no OTLP request; -ENOMEM.
 */
int otlp_split(const void *bytes, size_t len, struct buf parts[2]);

#endif
