/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * spool_entry.h - the form of one entry of the spool: a header, followed by the payload as it will
 * be sent.
 *
 * Numbers are in this machine's byte order: an entry never leaves it. Knows no directory.
 */
#ifndef TACHBPF_SPOOL_ENTRY_H
#define TACHBPF_SPOOL_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

#define SPOOL_VERSION 1
/* Room for strings, with their NUL. */
#define SPOOL_EXPORTER_BYTES 64
#define SPOOL_TYPE_BYTES 64
#define SPOOL_ENCODING_BYTES 16

/* How the URL of a request is made, and how its answer is read. */
enum request_path {
	REQUEST_OTLP,		/* the exporter's URL; the answer is an OTLP one */
	REQUEST_PYROSCOPE,	/* the exporter's URL and Pyroscope's path for pushes */
	REQUEST_PATHS		/* number of paths */
};

/* A request without its payload. Strings end with a NUL. */
struct request_info {
	char exporter[SPOOL_EXPORTER_BYTES];	/* its owner; not empty */
	char content_type[SPOOL_TYPE_BYTES];	/* for example "application/x-protobuf" */
	char encoding[SPOOL_ENCODING_BYTES];	/* Content-Encoding; "": none */
	uint32_t path;				/* enum request_path */
	uint64_t created_ns;			/* wall clock, since 1970 */
	uint64_t begin_ns, end_ns;		/* the window, wall clock */
	uint64_t samples, weight;		/* the loss if the request is dropped */
};

/* The sizes from an entry's header. */
struct spool_sizes {
	uint64_t head_bytes, payload_bytes;
	uint32_t payload_crc;
};

/* No header is longer. */
#define SPOOL_HEAD_MAX 4096

/* Returns 0 if the info's strings are printable and terminated and its path known, or -EINVAL. */
int request_info_check(const struct request_info *info);

/*
 * Writes the header of an entry with this payload. Returns 0, and *len bytes in out; -EINVAL: see
 * request_info_check().
 */
int spool_entry_head(uint8_t out[SPOOL_HEAD_MAX], size_t *len, const struct request_info *info,
		     const void *payload, size_t payload_len);

/*
 * Reads a header: len bytes, the first of an entry, at least the whole header or SPOOL_HEAD_MAX.
 * Returns 0; -EPROTONOSUPPORT: another version; -EBADMSG: no header, or damaged. Any bytes are
 * safe.
 */
int spool_entry_parse(const uint8_t *data, size_t len, struct request_info *info,
		      struct spool_sizes *sizes);

/* Returns the checksum of a payload, or of its next part: begin with crc 0. */
uint32_t spool_entry_crc(uint32_t crc, const void *data, size_t len);

#endif
