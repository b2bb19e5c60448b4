// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* otlp_head.c - see otlp_head.h. Owns nothing. */
#include "formats/otlp/otlp_head.h"

#include "formats/otlp/otlp_fields.h"

static const struct value_type no_type = { { "", 0 }, { "", 0 } };

static bool read_type(const struct otlp_strings *s, const struct proto_field *f,
		      struct value_type *out)
{
	struct proto_in in = proto_inside(f);
	struct proto_field inner;

	while (proto_next(&in, &inner)) {
		if (inner.number == VALUE_TYPE_TYPE)
			out->type = otlp_string_at(s, inner.value);
		else if (inner.number == VALUE_TYPE_UNIT)
			out->unit = otlp_string_at(s, inner.value);
	}
	return !in.bad;
}

/* Beyond an int64_t there is no sensible time. */
static uint64_t time_of(const struct proto_field *f)
{
	return f->value <= INT64_MAX ? f->value : 0;
}

int otlp_head_read(const struct otlp_strings *s, const struct proto_field *profile, uint64_t at,
		   struct otlp_head *h, const struct reason *why)
{
	struct proto_in in = proto_inside(profile);
	struct proto_field f;
	bool good = true;

	*h = (struct otlp_head){ .type = no_type, .period_type = no_type };
	while (good && proto_next(&in, &f)) {
		if (f.number == PROFILE_SAMPLE_TYPE)
			good = read_type(s, &f, &h->type);
		else if (f.number == PROFILE_PERIOD_TYPE)
			good = read_type(s, &f, &h->period_type);
		else if (f.number == PROFILE_PERIOD)
			h->period = f.value;
		else if (f.number == PROFILE_TIME)
			h->time_ns = time_of(&f);
		else if (f.number == PROFILE_DURATION)
			h->duration_ns = time_of(&f);
	}
	if (!good)
		return reason_at(why, at, "a type that is no message");
	return in.bad ? reason_at(why, at, "a profile that is no message") : 0;
}

struct otlp_shown otlp_shown_of(const struct otlp_head *h, const struct reader_args *args)
{
	struct otlp_shown s = { .type = h->type, .scale = value_scale_of(&h->type) };
	uint64_t period_ns = value_period_ns(&h->period_type, h->period);

	if (s.scale.unit != UNIT_SAMPLES || !period_ns || args->value == VALUE_SAMPLES ||
	    (args->type && ref_is(h->type.type, args->type)))
		return s;
	return (struct otlp_shown){
		.type = { h->period_type.type, string_of("nanoseconds") },
		.scale = { UNIT_NANOSECONDS, period_ns }, .made = true,
	};
}
