/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pprof_read.h - a gzipped profile.proto taken apart, for tests: as much of it as they ask for.
 * tests/e2e has a decoder that shares nothing with ours.
 */
#ifndef TACHBPF_PPROF_READ_H
#define TACHBPF_PPROF_READ_H

#include <stdlib.h>

#include "base/gzip.h"
#include "base/proto.h"

#define READ_MAX 64	/* of all that repeats */

/* The numbers of a message's fields, by field; of a repeated one, the last. */
struct read_message {
	uint64_t v[16];
};

struct read_sample {
	uint64_t locations[READ_MAX], values[READ_MAX];
	size_t location_cnt, value_cnt, label_cnt;
	struct read_message labels[READ_MAX];
};

struct read_profile {
	struct buf raw;
	struct read_message head;	/* of the profile's own numbers */
	struct proto_field strings[READ_MAX];
	struct read_message types[READ_MAX], mappings[READ_MAX], functions[READ_MAX];
	struct read_message locations[READ_MAX], lines[READ_MAX];
	struct read_sample samples[READ_MAX];
	size_t string_cnt, type_cnt, mapping_cnt, function_cnt, location_cnt, sample_cnt;
	char text[4096];
};

static inline struct read_message read_message(const struct proto_field *f)
{
	struct proto_in in = proto_inside(f);
	struct read_message m = { { 0 } };
	struct proto_field inner;

	while (proto_next(&in, &inner)) {
		assert_in_range(inner.number, 1, 15);
		m.v[inner.number] = inner.value;
	}
	assert_false(in.bad);
	return m;
}

static inline size_t read_numbers(const struct proto_field *f, uint64_t numbers[READ_MAX])
{
	struct proto_in in = proto_inside(f);
	size_t cnt = 0;

	while (cnt < READ_MAX && proto_next_number(&in, &numbers[cnt]))
		cnt++;
	assert_true(!in.bad && in.p == in.end);
	return cnt;
}

static inline void read_sample(const struct proto_field *f, struct read_sample *s)
{
	struct proto_in in = proto_inside(f);
	struct proto_field inner;

	while (proto_next(&in, &inner)) {
		if (inner.number == 1)
			s->location_cnt = read_numbers(&inner, s->locations);
		else if (inner.number == 2)
			s->value_cnt = read_numbers(&inner, s->values);
		else
			s->labels[s->label_cnt++] = read_message(&inner);
	}
	assert_false(in.bad);
}

static inline struct read_message read_line(const struct proto_field *location)
{
	struct proto_in in = proto_inside(location);
	struct proto_field f;

	while (proto_next(&in, &f)) {
		if (f.number == 4)
			return read_message(&f);
	}
	fail_msg("a location without a line");
	return (struct read_message){ { 0 } };
}

static inline void read_field(struct read_profile *p, const struct proto_field *f)
{
	switch (f->number) {
	case 1:
		p->types[p->type_cnt++] = read_message(f);
		break;
	case 2:
		read_sample(f, &p->samples[p->sample_cnt++]);
		break;
	case 3:
		p->mappings[p->mapping_cnt++] = read_message(f);
		break;
	case 4:
		p->lines[p->location_cnt] = read_line(f);
		p->locations[p->location_cnt++] = read_message(f);
		break;
	case 5:
		p->functions[p->function_cnt++] = read_message(f);
		break;
	case 6:
		p->strings[p->string_cnt++] = *f;
		break;
	default:
		assert_in_range(f->number, 9, 15);
		p->head.v[f->number] = f->value;
	}
}

/* Freed by read_profile_free(). */
static inline struct read_profile *read_profile(const void *zipped, size_t len)
{
	struct read_profile *p = calloc(1, sizeof(*p));
	struct proto_field f;
	struct proto_in in;

	assert_non_null(p);
	assert_int_equal(gunzip_bytes(zipped, len, 1 << 24, &p->raw), 0);
	in = (struct proto_in){ .p = p->raw.data, .end = p->raw.data + p->raw.len };
	while (proto_next(&in, &f)) {
		assert_true(p->string_cnt < READ_MAX && p->location_cnt < READ_MAX &&
			    p->sample_cnt < READ_MAX);
		read_field(p, &f);
	}
	assert_false(in.bad);
	return p;
}

static inline void read_profile_free(struct read_profile *p)
{
	buf_free(&p->raw);
	free(p);
}

/* A string of the table; valid until the next call. */
static inline const char *read_string(struct read_profile *p, uint64_t i)
{
	assert_in_range(i, 0, p->string_cnt - 1);
	assert_true(p->strings[i].len < sizeof(p->text));
	memcpy(p->text, p->strings[i].data, p->strings[i].len);
	p->text[p->strings[i].len] = '\0';
	return p->text;
}

#endif
