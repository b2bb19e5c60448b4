/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * window_links.h - the spans and attributes of a window's samples: a limited table that turns what
 * threads said that they worked on (struct trace_context), and their names, into OTLP's links.
 *
 * A link is a trace id, a span id and the attributes that the thread gave then; a span whose
 * attributes change has several. Without a trace, the ids are zeros, and there are attributes.
 * Empty it with each window. Attributes (names by the process's key
 * map, both made printable) are kept once each. All of it comes from targets.
 *
 * Used from one thread. It calls nothing that waits. A child after fork() may read its copy.
 */
#ifndef TACHBPF_WINDOW_LINKS_H
#define TACHBPF_WINDOW_LINKS_H

#include "model/trace_context.h"
#include "telemetry/otlp.h"
#include "telemetry/process_ctx.h"

/* 2 MiB in total, resident only as far as there are links. */
#define WINDOW_LINKS_MAX 16384
#define WINDOW_LINK_ATTRIBUTES_MAX 16		/* of a link; further ones are dropped */
#define WINDOW_ATTRIBUTES_MAX 8192		/* different ones */
#define WINDOW_ATTRIBUTE_KEYS_MAX 256		/* different keys of them */
#define WINDOW_THREAD_NAMES_MAX 512		/* different ones; they are attributes, too */
#define WINDOW_ATTRIBUTE_NUMBERS_MAX 65536	/* of all links */
#define WINDOW_ATTRIBUTE_BYTES_MAX (512 * 1024)	/* of keys and values */

struct window_links;

/* attributes: whether to keep them; without, each span is one link. NULL with errno on failure. */
struct window_links *window_links_new(bool attributes);
void window_links_free(struct window_links *l);
/* Call it with window_reset(). */
void window_links_reset(struct window_links *l);

/*
 * The link of an event, for window_place.link. t: the event's; NULL: none. keys: the key map of its
 * process's context; NULL: unknown, so it has no attributes. thread: its thread's name (any bytes),
 * which becomes the attribute thread.name; NULL: none. Returns 0 if there is neither a trace nor a
 * name, or if the table is full, which is counted. 100 ns to 300 ns.
 */
uint32_t window_links_add(struct window_links *l, const struct trace_context *t,
			  const struct thread_keys *keys, const char *thread);

/* Fills in the links and attributes of args; valid until the next call that changes the table. */
void window_links_table(const struct window_links *l, struct otlp_args *args);

/* Events without their link, or their thread's name, since window_links_new(). */
uint64_t window_links_beyond(const struct window_links *l);

#endif
