/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* otlp_head.h - what a profile of OTLP says of itself: its values' type, its period, its time. */
#ifndef TACHBPF_OTLP_HEAD_H
#define TACHBPF_OTLP_HEAD_H

#include "formats/otlp/otlp_pair.h"
#include "formats/read_error.h"
#include "formats/value_type.h"

/* Texts are in the message. Times: 0: unknown; below 2^63 each. */
struct otlp_head {
	struct value_type type, period_type;
	uint64_t period, time_ns, duration_ns;
};

/* at: the position, for messages. Returns 0, or -EBADMSG with a reason. */
int otlp_head_read(const struct otlp_strings *s, const struct proto_field *profile, uint64_t at,
		   struct otlp_head *h, const struct reason *why);

/* What a profile's values are here. */
struct otlp_shown {
	struct value_type type;
	struct value_scale scale;
	bool made;		/* of counts: each stands for a period of time */
};

/* Counts whose period is a time are that time, as in pprof, unless args asks for them. */
struct otlp_shown otlp_shown_of(const struct otlp_head *h, const struct reader_args *args);

#endif
