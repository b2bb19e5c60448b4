// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_pyroscope_push.c - requests for Pyroscope's push API, read as protobuf: profile types,
 * labels, limits, and halves of a request.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/pyroscope_push.h"
#include "base/proto.h"
#include "tests/unit/telemetry/window_data.h"

#define PERIOD_NS 10000000ull
#define MAX_BYTES (1u << 20)

static struct agent_services *services;
static struct service service;
static struct attrs labels;
static struct service_config config;

/* ---- what is in requests ---- */

static struct seen {
	size_t requests, series, in_request, fail_at;
	size_t largest, most_samples;	/* bytes of a request, samples of a profile */
	uint64_t taken, value, sum;	/* sum: of the samples' values */
	uint64_t last_time;
	char types[512];		/* a line for each series: its profile type id */
	char labels[65536];		/* of the last one: "name=value,..." */
	struct buf last;
} seen;

static bool next_in(struct proto_in *in, uint32_t number, struct proto_field *f)
{
	while (proto_next(in, f))
		if (f->number == number)
			return true;
	assert_false(in->bad);
	return false;
}

/* The text of a profile with this number. */
static void text_of(const struct proto_field *profile, uint64_t number, char out[64])
{
	struct proto_in in = proto_inside(profile);
	struct proto_field f;

	do
		assert_true(next_in(&in, 6, &f));
	while (number--);
	snprintf(out, 64, "%.*s", (int)f.len, (const char *)f.data);
}

/* "TYPE:UNIT" of the profile's field with this number; ":" if there is none. */
static void value_type(const struct proto_field *profile, uint32_t number, char out[160])
{
	struct proto_in in = proto_inside(profile), inside;
	char type[64] = "", unit[64] = "";
	struct proto_field f, part;

	if (next_in(&in, number, &f)) {
		inside = proto_inside(&f);
		while (proto_next(&inside, &part))
			text_of(profile, part.value, part.number == 1 ? type : unit);
		assert_false(next_in(&in, number, &f));		/* one value */
	}
	snprintf(out, 160, "%s:%s", type, unit);
}

static void look_at_samples(const struct proto_field *profile)
{
	struct proto_in in = proto_inside(profile), inside, packed;
	struct proto_field f, values;
	uint64_t value;
	size_t cnt;

	for (cnt = 0; next_in(&in, 2, &f); cnt++) {
		inside = proto_inside(&f);
		assert_true(next_in(&inside, 2, &values));
		packed = proto_inside(&values);
		assert_true(proto_next_number(&packed, &value));
		seen.sum += value;
		assert_false(proto_next_number(&packed, &value));
	}
	seen.most_samples = cnt > seen.most_samples ? cnt : seen.most_samples;
}

static void look_at_profile(const struct proto_field *profile, const char *name)
{
	char type[160], period[160];
	struct proto_in in = proto_inside(profile);
	struct proto_field time;
	size_t len = strlen(seen.types);

	look_at_samples(profile);
	assert_true(next_in(&in, 9, &time));
	assert_in_range(time.value, BEGIN_NS, BEGIN_NS + NS_PER_S);
	assert_true(time.value > seen.last_time);
	seen.last_time = time.value;
	value_type(profile, 1, type);
	value_type(profile, 11, period);
	snprintf(seen.types + len, sizeof(seen.types) - len, "%s:%s:%s\n", name, type, period);
}

/* The series' labels; name: "__name__". */
static void look_at_labels(const struct proto_field *series, char name[64])
{
	struct proto_in in = proto_inside(series), inside;
	struct proto_field f, key, value;
	size_t len = 0;

	for (seen.labels[0] = name[0] = '\0'; next_in(&in, 1, &f);) {
		inside = proto_inside(&f);
		assert_true(next_in(&inside, 1, &key));
		assert_true(next_in(&inside, 2, &value));
		if (key.len == 8 && !memcmp(key.data, "__name__", 8))
			snprintf(name, 64, "%.*s", (int)value.len, (const char *)value.data);
		else
			len += (size_t)snprintf(seen.labels + len, sizeof(seen.labels) - len,
						"%.*s=%.*s,", (int)key.len, (const char *)key.data,
						(int)value.len, (const char *)value.data);
		assert_true(len < sizeof(seen.labels));
	}
}

static int look_at_request(void *ctx, const struct pyroscope_request *r)
{
	struct proto_in in = { .p = r->bytes, .end = (const uint8_t *)r->bytes + r->len };
	struct proto_in inside;
	struct proto_field series, sample, profile;
	char name[64];

	seen.in_request = 0;
	while (next_in(&in, 1, &series)) {
		look_at_labels(&series, name);
		inside = proto_inside(&series);
		assert_true(next_in(&inside, 2, &sample));
		inside = proto_inside(&sample);
		assert_true(next_in(&inside, 1, &profile));
		look_at_profile(&profile, name);
		seen.series++;
		seen.in_request++;
	}
	seen.largest = r->len > seen.largest ? r->len : seen.largest;
	seen.taken += r->taken;
	seen.value += r->value;
	seen.last.len = 0;
	assert_int_equal(buf_add(&seen.last, r->bytes, r->len), 0);
	return ++seen.requests == seen.fail_at ? -EDQUOT : 0;
}

static int push(const struct window *w, size_t max_bytes)
{
	const struct pyroscope_args args = {
		.services = services, .config = &config, .period_ns = PERIOD_NS,
		.max_bytes = max_bytes, .emit = look_at_request,
	};
	struct buf kept = seen.last;
	size_t fail_at = seen.fail_at;

	seen = (struct seen){ .last = kept, .fail_at = fail_at };
	return pyroscope_push(w, &args);
}

/* ---- windows ---- */

static uint32_t enter(const char *name)
{
	service.id++;
	attrs_clear(&service.resource);
	assert_true(attrs_put_text(&service.resource, "service.name", name));
	return agent_services_enter(services, &service, 1);
}

/* A window with these stacks, of each of the kinds [0, kinds). */
static struct window *window_of(uint32_t number, uint32_t stacks, uint32_t kinds)
{
	struct window *w = window_new(&window_limits_default, BEGIN_NS, BEGIN_NS + NS_PER_S);
	struct fake_process p = fake_process();
	uint32_t i, f, kind;

	for (i = 0; i < stacks; i++) {
		f = python_frame(&p, "/srv/a.py", "function", (int32_t)i + 1);
		for (kind = 0; kind < kinds; kind++)
			add_stack(w, &p, number, kind, &f, 1, 1, 10 + kind);
	}
	fake_process_free(&p);
	return w;
}

/* ---- types, requests ---- */

/* What Pyroscope makes of OTLP, in one request. */
static void test_types(void **state)
{
	struct window *w = window_of(enter("web"), 2, WINDOW_KIND_CNT);

	assert_int_equal(push(w, MAX_BYTES), 0);
	assert_int_equal(seen.requests, 1);
	assert_string_equal(seen.types, "process_cpu:cpu:nanoseconds:cpu:nanoseconds\n"
					"off_cpu:off_cpu:nanoseconds::\n"
					"gil_wait:gil_wait:nanoseconds:gil_wait:nanoseconds\n"
					"exception:exception:nanoseconds:exception:nanoseconds\n"
					"memory:alloc_space:bytes:memory:bytes\n"
					"memory:inuse_space:bytes:memory:bytes\n"
					"heap:heap_objects:count:heap:count\n"
					"heap:heap_space:bytes:heap:bytes\n");
	assert_int_equal(seen.taken, 2 * WINDOW_KIND_CNT);
	assert_int_equal(seen.value, 2 * (10 + 11 + 12 + 13 + 14 + 15 + 16 + 17));
	assert_int_equal(seen.sum, seen.value);
	window_free(w);
}

/* A service is a request. */
static void test_services(void **state)
{
	struct window *w = window_of(0, 1, 2);
	struct fake_process p = fake_process();
	uint32_t f = python_frame(&p, "/srv/a.py", "f", 1);

	add_stack(w, &p, enter("first"), WINDOW_CPU, &f, 1, 1, 1);
	add_stack(w, &p, enter("last"), WINDOW_CPU, &f, 1, 1, 1);
	assert_int_equal(push(w, MAX_BYTES), 0);
	assert_int_equal(seen.requests, 3);
	assert_int_equal(seen.series, 4);
	assert_string_equal(seen.labels, "__delta__=false,service_name=last,");
	seen.fail_at = 2;
	assert_int_equal(push(w, MAX_BYTES), -EDQUOT);
	assert_int_equal(seen.requests, 2);
	seen.fail_at = 0;
	fake_process_free(&p);
	window_free(w);
	w = window_of(0, 0, 0);
	assert_int_equal(push(w, MAX_BYTES), 0);
	assert_int_equal(seen.requests, 0);
	window_free(w);
}

/* ---- labels ---- */

/* The labels of a service's series; pairs: those of the configuration. */
static const char *labels_of(uint32_t number, const char *const (*pairs)[2], size_t cnt)
{
	struct window *w = window_of(number, 1, 1);
	size_t i;

	attrs_clear(&labels);
	for (i = 0; i < cnt; i++)
		assert_true(attrs_put(&labels, pairs[i][0], strlen(pairs[i][0]), pairs[i][1],
				      strlen(pairs[i][1])));
	config.labels = &labels;
	assert_int_equal(push(w, MAX_BYTES), 0);
	config.labels = NULL;
	window_free(w);
	return seen.labels;
}

static void test_labels(void **state)
{
	static const char *const pairs[][2] = { { "env", "p,r}" }, { "host.name", "mine" },
						{ "team", "a" }, { "number", "n" } };
	uint32_t number;

	service.id++;
	attrs_clear(&service.resource);
	assert_true(attrs_put_text(&service.resource, "service.name", "w{e}b \xc3\xa9"));
	assert_true(attrs_put_text(&service.resource, "host.name", "h"));
	assert_true(attrs_put_text(&service.resource, "service.version", "1.2"));
	/* Each process has another one: no label. */
	assert_true(attrs_put_text(&service.resource, "process.executable.path", "/x"));
	assert_true(attrs_put_text(&service.resource, "team", "b"));
	assert_true(attrs_put_number(&service.resource, "number", 6, 7));
	number = agent_services_enter(services, &service, 1);
	assert_string_equal(labels_of(number, pairs, 4),
			    "__delta__=false,service_name=w{e}b \xc3\xa9,env=p,r},host_name=mine,"
			    "team=a,number=n,service_version=1.2,");
	/* What a process says: no label vanishes. */
	config.trust_processes = true;
	assert_string_equal(labels_of(number, pairs, 4),
			    "__delta__=false,service_name=w{e}b \xc3\xa9,env=p,r},host_name=h,"
			    "team=b,number=n,service_version=1.2,");
	config.trust_processes = false;
	assert_string_equal(labels_of(0, pairs, 2),
			    "__delta__=false,service_name=other,env=p,r},host_name=mine,");
}

/* Pyroscope refuses a series with the same label twice, or with a name that is none. */
static void test_names(void **state)
{
	static const char *const pairs[][2] = {
		{ "a.b", "1" }, { "a-b", "2" }, { "a_b", "3" }, { "1st", "4" }, { "_1st", "5" },
		{ "__name__", "6" }, { "..x", "7" }, { "_", "8" }, { "__", "9" },
		{ "\xc3\xa9", "" },
		{ "service.name", "10" }, { "service_name", "11" }, { "__delta__", "12" },
	};
	uint32_t number = enter("web");

	assert_string_equal(labels_of(number, pairs, ARRAY_SIZE(pairs)),
			    "__delta__=false,service_name=web,a_b=1,_1st=4,_name__=6,_x=7,_=8,"
			    "_delta__=12,");
}

static size_t count(const char *text, char c)
{
	size_t cnt = 0;

	for (; *text; text++)
		cnt += *text == c;
	return cnt;
}

/* As many labels as Pyroscope takes, "__name__" among them, those of the configuration first. */
static void test_many_labels(void **state)
{
	static char names[40][8], value[ATTR_VALUE_BYTES];
	const char *pairs[40][2];
	uint32_t number = enter("web");
	size_t i;

	for (i = 0; i < 40; i++) {
		snprintf(names[i], sizeof(names[i]), "l%zu", i);
		pairs[i][0] = names[i];
		pairs[i][1] = i ? "v" : "first";
	}
	labels_of(number, pairs, 40);
	assert_int_equal(count(seen.labels, '='), PYROSCOPE_LABELS_MAX - 1);
	assert_non_null(strstr(seen.labels, ",l0=first,"));
	assert_non_null(strstr(seen.labels, ",l26=v,"));
	/* However long they are. */
	memset(value, 'x', sizeof(value) - 1);
	for (i = 0; i < 40; i++)
		pairs[i][1] = value;
	labels_of(number, pairs, 7);
	assert_int_equal(count(seen.labels, '='), 9);
	assert_true(seen.largest < PYROSCOPE_LABEL_BYTES);
}

/* ---- limits ---- */

static void test_limits(void **state)
{
	static const size_t sizes[] = { 64 << 10, MAX_BYTES, 16 << 20 };
	struct window *w = window_of(enter("web"), 40000, 2);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_int_equal(push(w, sizes[i]), 0);
		assert_in_range(seen.largest, sizes[i] > MAX_BYTES ? MAX_BYTES : sizes[i] / 3,
				sizes[i]);
		assert_in_range(seen.most_samples, 1, PYROSCOPE_SAMPLES_MAX);
		assert_int_equal(seen.taken, 80000);
		assert_int_equal(seen.value, 40000 * (10 + 11));
		assert_int_equal(seen.sum, seen.value);
	}
	assert_int_equal(seen.requests, 1);
	assert_int_equal(seen.series, 6);
	assert_int_equal(seen.most_samples, PYROSCOPE_SAMPLES_MAX);
	window_free(w);
}

/* ---- halves ---- */

static void look_at_half(struct buf *half)
{
	const struct pyroscope_request r = { .bytes = half->data, .len = half->len };

	seen.last_time = 0;
	look_at_request(NULL, &r);
	buf_free(half);
}

static void test_halves(void **state)
{
	struct buf whole = { 0 }, parts[2] = { { 0 }, { 0 } }, none[2] = { { 0 }, { 0 } };
	struct window *w = window_of(enter("web"), 2, 5);
	size_t i;

	assert_int_equal(push(w, MAX_BYTES), 0);
	assert_int_equal(buf_add(&whole, seen.last.data, seen.last.len), 0);
	/* Of what was cut off. */
	for (i = 0; i < whole.len; i++) {
		int err = pyroscope_split(whole.data, i, none);

		assert_true(err == -EBADMSG || err == -ERANGE || !err);
		buf_free(&none[0]);
		buf_free(&none[1]);
	}
	assert_int_equal(pyroscope_split("\x08\x01", 2, none), -EBADMSG);
	assert_int_equal(pyroscope_split(whole.data, whole.len, parts), 0);
	assert_int_equal(parts[0].len + parts[1].len, whole.len);
	seen.sum = seen.series = 0;
	look_at_half(&parts[0]);
	assert_int_equal(seen.in_request, 2);
	assert_int_equal(pyroscope_split(seen.last.data, seen.last.len, none), 0);
	assert_int_equal(pyroscope_split(none[0].data, none[0].len, parts), -ERANGE);
	buf_free(&none[0]);
	buf_free(&none[1]);
	look_at_half(&parts[1]);
	assert_int_equal(seen.in_request, 3);
	assert_int_equal(seen.series, 5);
	assert_int_equal(seen.sum, 2 * (10 + 11 + 12 + 13 + 14));
	buf_free(&whole);
	window_free(w);
}

static int group_setup(void **state)
{
	services = agent_services_new(50);
	return services ? 0 : -1;
}

static int group_teardown(void **state)
{
	agent_services_free(services);
	buf_free(&seen.last);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_services),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_many_labels),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_halves),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
