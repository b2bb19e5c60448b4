/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * otlp_dictionary.h - the dictionary of one OTLP request: strings, functions, locations, stacks and
 * links of a window, each added on first use. No two entries are equal, and each is used.
 *
 * The first error is kept (otlp_dictionary_error()); indices are meaningless then.
 */
#ifndef TACHBPF_OTLP_DICTIONARY_H
#define TACHBPF_OTLP_DICTIONARY_H

#include "base/hash_index.h"
#include "base/proto.h"
#include "model/native_library.h"
#include "telemetry/otlp.h"
#include "formats/otlp/otlp_fields.h"

/* One of the tables. */
struct otlp_entries {
	struct proto_out out;		/* the entries, with their keys */
	struct buf begins;		/* u32: where each begins in out, if index is used */
	struct hash_index index;	/* entries by their bytes */
	struct id_map ids;		/* the window's id -> index in the table */
	uint32_t cnt;
};

struct otlp_dictionary {
	const struct window *w;
	const struct otlp_link *links;
	uint32_t link_cnt;
	const struct otlp_sample_attribute *attributes;
	uint32_t attribute_cnt;
	const struct profile_tables *names, *functions;
	const uint32_t *function_of;
	struct native_index libraries;		/* of names */
	struct buf name;			/* scratch */
	int err;
	uint64_t seed;
	/* Of the request: */
	struct otlp_entries tables[TABLE_CNT];
	uint32_t frame_types[FRAME_SYNTHETIC];	/* the attribute of each kind; 0: not there yet */
	uint32_t other_stack;
};

/* d: zeroed. The window, the links and the attributes of args must outlive it. Begins a request. */
void otlp_dictionary_init(struct otlp_dictionary *d, const struct window *w,
			  const struct otlp_args *args);
void otlp_dictionary_free(struct otlp_dictionary *d);

/* Begins another request: only the zero values are there. */
void otlp_dictionary_begin(struct otlp_dictionary *d);

/* The index of one of our texts. */
uint32_t otlp_text(struct otlp_dictionary *d, const char *text);
/* The index of a stack of the window. */
uint32_t otlp_stack(struct otlp_dictionary *d, uint32_t id);
/* The index of the stack <other>, which needs no room in the window's names. */
uint32_t otlp_other_stack(struct otlp_dictionary *d);
/* The index of a sample's link (window_place.link); 0: none. */
uint32_t otlp_link(struct otlp_dictionary *d, uint32_t link);

/*
 * The indices of the attributes of a sample with this link. Returns their number, at most
 * OTLP_LINK_ATTRIBUTES_MAX.
 */
uint32_t otlp_link_attributes(struct otlp_dictionary *d, uint32_t link, uint32_t *indices);

/* Writes entry 0 of a table. A link's has ids of zeros, because some readers check lengths. */
void otlp_put_zero(struct proto_out *o, enum otlp_table table);

/* Total bytes of all tables. */
size_t otlp_dictionary_bytes(const struct otlp_dictionary *d);

/*
 * Removes what was added since the mark. Only otlp_dictionary_put() may follow, and then
 * otlp_dictionary_begin(), because removed entries keep their indices.
 */
struct otlp_dictionary_mark {
	size_t bytes[TABLE_CNT];
};
struct otlp_dictionary_mark otlp_dictionary_mark(const struct otlp_dictionary *d);
void otlp_dictionary_cut(struct otlp_dictionary *d, const struct otlp_dictionary_mark *m);

/* Writes it as the request's field. */
void otlp_dictionary_put(const struct otlp_dictionary *d, struct proto_out *out);
/* Returns 0 or -ENOMEM. */
int otlp_dictionary_error(const struct otlp_dictionary *d);

#endif
