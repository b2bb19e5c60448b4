/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * html_page.h - writes the self-contained HTML reports: a page that was assembled when tachbpf was
 * built, and the data that its script draws.
 *
 * The data is never markup: it is compressed and base64-encoded in a block that no browser
 * executes, so it needs no escaping for HTML. Names are made printable nevertheless.
 * docs/format-flamegraph.md describes the encoding.
 */
#ifndef TACHBPF_HTML_PAGE_H
#define TACHBPF_HTML_PAGE_H

#include "base/util.h"
#include "model/event.h"

struct json;

/* A page with a placeholder for the data. */
struct html_page {
	const char *start, *end;
};
extern const struct html_page html_flamegraph, html_heatmap, html_gil;

/* The data that is being built. An error is kept, and later calls do nothing. */
struct html_data {
	struct buf b;
	int err;
};

/* Adds a number as a varint; see util.h. */
void html_varint(struct html_data *d, uint64_t v);
void html_svarint(struct html_data *d, int64_t v);
/* Adds length and bytes. */
void html_bytes(struct html_data *d, const void *data, size_t len);
/* Adds all strings, printable: their number, their lengths, then their bytes. */
void html_strings(struct html_data *d, const struct profile_tables *tables);
/*
 * Adds one JSON object, whose members put() writes. If put() returns -errno, it becomes d's error.
 */
void html_json(struct html_data *d, int (*put)(struct json *j, const void *ctx),
	       const void *ctx);

/* Writes a string value in printable form: see escape_text(). Returns 0 or -ENOMEM. */
int html_json_text(struct json *j, const char *key, const char *s);

/* What a page shows about its processes. Zero-initialise. */
struct html_process {
	struct profile_meta meta;	/* the copy owns comm */
	struct profile_stats stats;
	uint32_t side;			/* in a comparison: 0 before, 1 after */
};
struct html_processes {
	struct html_process *list;
	size_t cnt, cap;
};
/* Appends a copy. stats may be NULL. This and the following functions return 0 or -ENOMEM. */
int html_processes_add(struct html_processes *ps, const struct profile_meta *meta,
		       const struct profile_stats *stats, uint32_t side);
/* Appends those of src, which is empty then. */
int html_processes_join(struct html_processes *ps, struct html_processes *src);
void html_processes_free(struct html_processes *ps);
/* Writes the member "processes". Returns 0 or -ENOMEM. */
int html_json_processes(struct json *j, const struct html_processes *ps);

/* Writes the page with its data to fd, and frees d. Returns 0 or -errno, including d's error. */
int html_write(int fd, const struct html_page *page, struct html_data *d);

#endif
