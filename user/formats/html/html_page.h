/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * html_page.h - writes the self-contained HTML reports: a page that was put
 * together when tachbpf was built, and the data that its script draws.
 *
 * The data never is markup: it is compressed and base64 in a block that no
 * browser executes, so nothing in it needs escaping for HTML. Names are made
 * printable all the same. docs/format-flamegraph.md has the encoding.
 */
#ifndef TACHBPF_HTML_PAGE_H
#define TACHBPF_HTML_PAGE_H

#include "base/util.h"
#include "model/event.h"

struct json;

/* A page with the mark where the data goes. */
struct html_page {
	const char *start, *end;
};
extern const struct html_page html_flamegraph, html_heatmap;

/* The data while it is being made. The first error stays and later calls do nothing. */
struct html_data {
	struct buf b;
	int err;
};

void html_varint(struct html_data *d, uint64_t v);
void html_svarint(struct html_data *d, int64_t v);
/* Length and bytes. */
void html_bytes(struct html_data *d, const void *data, size_t len);
/* All of them, printable: how many, their lengths, then their bytes. */
void html_strings(struct html_data *d, const struct profile_tables *tables);
/*
 * One JSON object, whose members put() writes. It returns 0 or -errno, which
 * becomes d's error.
 */
void html_json(struct html_data *d, int (*put)(struct json *j, const void *ctx),
	       const void *ctx);

/* A string value that is printable: see escape_text(). -ENOMEM */
int html_json_text(struct json *j, const char *key, const char *s);

/* What a page says about the processes in it. Zero-initialise it. */
struct html_process {
	struct profile_meta meta;	/* comm: owned */
	struct profile_stats stats;
	uint32_t side;			/* of a comparison: 0 before, 1 after */
};
struct html_processes {
	struct html_process *list;
	size_t cnt;
};
/* Append a copy. stats may be NULL. 0 or -ENOMEM, likewise below. */
int html_processes_add(struct html_processes *ps, const struct profile_meta *meta,
		       const struct profile_stats *stats, uint32_t side);
void html_processes_free(struct html_processes *ps);
int html_json_processes(struct json *j, const struct html_processes *ps);

/* The page with the data in it into fd. d is freed. 0 or -errno, d's error included. */
int html_write(int fd, const struct html_page *page, struct html_data *d);

#endif
