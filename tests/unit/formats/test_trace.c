// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_trace.c - timelines: the same slices in both formats, where they begin and end, states,
 * tasks, counters, events, regions. tests/python reads Perfetto's with its own descriptors.
 */
#include "base/proto.h"
#include "bpf/abi.h"
#include "formats/formats.h"
#include "model/region.h"
#include "tests/unit/export_test.h"

#define IIDS 64

/* A trace as lines of text: what each packet is, with names for the numbers. */
struct dump {
	struct buf text;
	char names[IIDS][64];
};

static void say(struct dump *d, const char *text)
{
	assert_int_equal(buf_add(&d->text, text, strlen(text)), 0);
}

static void copy(char out[64], const struct proto_field *f)
{
	assert_true(f->len < 64);
	memcpy(out, f->data, f->len);
	out[f->len] = 0;
}

static void read_interned(struct dump *d, const struct proto_field *interned)
{
	struct proto_in in = proto_inside(interned), one;
	struct proto_field f, part;
	uint64_t iid = 0;

	while (proto_next(&in, &f)) {
		for (one = proto_inside(&f); proto_next(&one, &part);) {
			if (part.number == 1)
				iid = part.value;
			assert_true(iid && iid < IIDS);
			if (f.number == 2 && part.number == 2)
				copy(d->names[iid], &part);
		}
		assert_false(one.bad);
	}
	assert_false(in.bad);
}

static void read_track(struct dump *d, const struct proto_field *track)
{
	struct proto_in in = proto_inside(track), one;
	uint64_t uuid = 0, parent = 0;
	char name[64] = "", line[256];
	struct proto_field f, part;

	while (proto_next(&in, &f)) {
		uuid = f.number == 1 ? f.value : uuid;
		parent = f.number == 5 ? f.value : parent;
		if (f.number == 2)
			copy(name, &f);
		if (f.number != 3 && f.number != 4)
			continue;
		for (one = proto_inside(&f); proto_next(&one, &part);)
			if (part.number == (f.number == 3 ? 6 : 5))
				copy(name, &part);
	}
	assert_false(in.bad);
	snprintf(line, sizeof(line), "track %d of %d: %s\n", (int)uuid, (int)parent, name);
	say(d, line);
}

static void read_event(struct dump *d, const struct proto_field *event, uint64_t ns)
{
	static const char *const types[] = { "?", "begin", "end", "instant", "counter" };
	struct proto_in in = proto_inside(event);
	uint64_t v[64] = { 0 };
	struct proto_field f;
	char line[256];

	while (proto_next(&in, &f))
		if (f.number < 64)
			v[f.number] = f.wire == WIRE_VARINT ? f.value : v[f.number] + 1;
	assert_false(in.bad);
	assert_true(v[9] < ARRAY_SIZE(types) && v[10] < IIDS);
	snprintf(line, sizeof(line), "%d %d %s", (int)(ns / 1000), (int)v[11], types[v[9]]);
	say(d, line);
	if (v[9] == 4)
		snprintf(line, sizeof(line), " %d\n", (int)v[30]);
	else
		snprintf(line, sizeof(line), "%s%s%s\n", v[10] ? " " : "", d->names[v[10]],
			 v[4] ? " with facts" : "");
	say(d, line);
}

static void read_packet(struct dump *d, const struct proto_field *packet)
{
	struct proto_in in = proto_inside(packet);
	struct proto_field f;
	uint64_t ns = 0;

	while (proto_next(&in, &f)) {
		if (f.number == 8)
			ns = f.value;
		else if (f.number == 12)
			read_interned(d, &f);
		else if (f.number == 60)
			read_track(d, &f);
		else if (f.number == 11)
			read_event(d, &f, ns);
	}
	assert_false(in.bad);
}

static void assert_trace(struct export_test *t, const char *want)
{
	struct buf b = export_close(t);
	struct dump d = { 0 };
	struct proto_in in = { .p = b.data, .end = b.data + b.len };
	struct proto_field f;

	while (proto_next(&in, &f)) {
		assert_int_equal(f.number, 1);
		read_packet(&d, &f);
	}
	assert_false(in.bad);
	say(&d, "");
	assert_int_equal(buf_add(&d.text, "", 1), 0);
	assert_string_equal((char *)d.text.data, want);
	buf_free(&d.text);
	buf_free(&b);
}

static struct export_test started(const struct sink_ops *ops, enum profile_mode mode)
{
	struct export_test t = { .meta = { .interval_us = 1000, .mode = mode, .tgid = 7,
					   .start_us = 5000 } };

	export_open(&t, ops);
	return t;
}

static void test_calls(void **state)
{
	check_calls(&sink_perfetto);
	check_calls(&sink_chrome);
}

/* What both stacks have goes on; a gap of more than 1.5 intervals ends everything. */
static void add_gaps(struct export_test *t)
{
	uint32_t f = export_frame(t, "/x/a.py", "f", 3), g = export_frame(t, "/x/a.py", "g", 9);

	export_begin(t);
	export_event(t, 7, 6000, 1, 1, &f);
	export_event(t, 7, 7500, 1, 2, (uint32_t[]){ g, f });	/* the sample was late */
	export_event(t, 7, 9001, 1, 2, (uint32_t[]){ g, f });	/* 501 were off */
	export_event(t, 7, 8000, 1, 1, &f);			/* back in time: no time */
}

static void test_cpu_gaps(void **state)
{
	struct export_test t = started(&sink_perfetto, MODE_UNKNOWN);

	add_gaps(&t);
	assert_trace(&t, "track 1 of 0: 7\ntrack 2 of 0: thread 7\n6000 2 begin f\n"
			 "7500 2 begin g\n8500 2 end\n8500 2 end\n9001 2 begin f\n"
			 "9001 2 begin g\n9001 2 end\n10001 2 end\n"
			 "5000 1 instant profile with facts\n");
}

static void assert_event(struct json_doc *o, int i, const char *name, const char *ts,
			 const char *dur)
{
	char path[64], want[64];

	snprintf(path, sizeof(path), "traceEvents.%d.name", i);
	snprintf(want, sizeof(want), "\"%s\"", name);
	assert_json(o, path, want);
	snprintf(path, sizeof(path), "traceEvents.%d.ts", i);
	assert_json(o, path, ts);
	snprintf(path, sizeof(path), "traceEvents.%d.dur", i);
	assert_json(o, path, dur);
}

/* The same slices: each begins a nanosecond later than its caller's. */
static void test_chrome(void **state)
{
	struct export_test t = started(&sink_chrome, MODE_UNKNOWN);
	struct json_doc *o;
	struct buf b;

	add_gaps(&t);
	b = export_close(&t);
	o = parse_json(&b);
	assert_int_equal(json_length(o, "traceEvents"), 8);
	assert_json(o, "traceEvents.0", "{\"ph\":\"M\",\"pid\":7,\"tid\":7,"
					"\"name\":\"process_name\",\"args\":{\"name\":\"7\"}}");
	assert_event(o, 3, "g", "7500.001", "999.999");
	assert_event(o, 4, "f", "6000", "2500");
	assert_json(o, "traceEvents.4.args", "{\"file\":\"/x/a.py\",\"line\":3}");
	assert_event(o, 5, "g", "9001", "0");
	assert_event(o, 6, "f", "9001", "1000");
	buf_free(&b);
	free(o);
}

/* With wall-clock samples a gap is the profiler's; states are a lane of their own. */
static void test_states(void **state)
{
	struct export_test t = started(&sink_perfetto, MODE_WALL);
	uint32_t f = export_frame(&t, "a.py", "f", 3), gc[2] = { 0, f };

	assert_int_equal(intern_synthetic(t.in, FRAME_SYNTHETIC, "<GC>", &gc[0]), 0);
	export_begin(&t);
	t.status = STATUS_HAS_GIL | STATUS_ON_CPU;
	export_event(&t, 8, 5000, 1, 1, &f);
	export_event(&t, 8, 6000, 1, 2, gc);
	t.status = STATUS_GIL_REQUESTED;
	export_event(&t, 8, 7000, 40, 1, &f);
	t.status = 0;
	export_event(&t, 8, 50000, 2, 1, &f);
	assert_trace(&t,
		     "track 1 of 0: 7\ntrack 2 of 0: thread 8\ntrack 3 of 2: state\n"
		     "5000 2 begin f\n5000 3 begin on CPU, GIL held\n"
		     "6000 2 begin <GC>\n6000 3 end\n6000 3 begin garbage collection\n"
		     "7000 2 end\n7000 3 end\n7000 3 begin waiting for the GIL\n"
		     "50000 3 end\n50000 3 begin waiting\n52000 2 end\n52000 3 end\n"
		     "track 4 of 1: GIL held\n5000 4 counter 4\n52000 4 counter 0\n"
		     "5000 1 instant profile with facts\n");
}

/* A named task has a lane, in which its outermost coroutine runs. */
static void test_tasks(void **state)
{
	struct export_test t = started(&sink_perfetto, MODE_UNKNOWN);
	uint32_t f = export_frame(&t, "a.py", "f", 3), main = export_frame(&t, "a.py", "main", 9);
	uint32_t a[] = { f, 0, main }, b[] = { f, 0, main };

	assert_int_equal(intern_synthetic(t.in, FRAME_SYNTHETIC, "<task a>", &a[1]), 0);
	assert_int_equal(intern_synthetic(t.in, FRAME_SYNTHETIC, "<task b>", &b[1]), 0);
	export_begin(&t);
	export_event(&t, 7, 5000, 1, 3, a);
	export_event(&t, 7, 6000, 1, 3, b);
	assert_trace(&t, "track 1 of 0: 7\ntrack 2 of 0: thread 7\n"
			 "5000 2 begin main\n5000 2 begin <task a>\n5000 2 begin f\n"
			 "track 3 of 2: <task a>\n"
			 "5000 3 begin f\n6000 2 end\n6000 2 end\n6000 2 begin <task b>\n"
			 "6000 2 begin f\ntrack 4 of 2: <task b>\n6000 3 end\n6000 4 begin f\n"
			 "7000 2 end\n7000 2 end\n7000 2 end\n7000 4 end\n"
			 "5000 1 instant profile with facts\n");
}

/* Samples of events last no time. */
static void test_events(void **state)
{
	struct export_test t = started(&sink_perfetto, MODE_CPU);
	uint32_t f = export_frame(&t, "a.py", "f", 3);

	t.meta.event = "openat\n";
	export_begin(&t);
	export_event(&t, 7, 6000, 1, 1, &f);
	export_event(&t, 7, 6500, 3, 0, NULL);
	assert_trace(&t, "track 1 of 0: 7\ntrack 2 of 0: thread 7\n"
			 "6000 2 instant openat\\x0a\n"
			 "6500 2 instant openat\\x0a with facts\n"
			 "5000 1 instant profile with facts\n");
}

static void test_no_bytes(void **state)
{
	struct export_test t = { .meta = { .unit = UNIT_BYTES } };

	export_open(&t, &sink_perfetto);
	assert_int_equal(t.s->ops->begin(t.s, &t.meta, intern_tables(t.in)), SINK_REPORTED);
	assert_int_equal(t.s->ops->close(t.s), SINK_REPORTED);
	close(t.args.fd);
	intern_free(t.in);
}

/* Names are hostile, times are those of a damaged file: Chrome's is still JSON, and printable. */
static void test_hostile(void **state)
{
	struct export_test t = { .meta = { .interval_us = UINT64_MAX, .mode = MODE_WALL,
					   .start_us = UINT64_MAX, .comm = HOSTILE } };
	struct json_doc *o;
	struct buf b;
	uint32_t f;

	export_open(&t, &sink_chrome);
	f = export_frame(&t, HOSTILE, HOSTILE, 3);
	export_begin(&t);
	t.status = STATUS_HAS_GIL;
	export_event(&t, UINT64_MAX, UINT64_MAX, UINT64_MAX, 1, &f);
	export_event(&t, UINT64_MAX, 0, UINT64_MAX, 1, &f);
	b = export_close(&t);
	o = parse_json(&b);
	assert_printable(&b);
	buf_free(&b);
	free(o);
}

/* Memory does not depend on the number of samples; nor does a stack that stays cost anything. */
static void test_many(void **state)
{
	struct export_test t = started(&sink_perfetto, MODE_WALL);
	uint32_t f = export_frame(&t, "a.py", "f", 3), i;
	struct buf b;

	export_begin(&t);
	for (i = 0; i < 100000; i++)
		export_event(&t, 7, 6000 + i * 1000, 1, 1, &f);
	b = export_close(&t);
	assert_true(b.len < 1000);
	buf_free(&b);
}

/* ---- regions ---- */

static void add_region(struct export_test *t, const char *name, uint64_t tid, uint64_t begin_us,
		       uint64_t end_us, size_t cnt, const struct region_attribute *attributes)
{
	const struct profile_region r = { string_of(name), tid, begin_us * 1000, end_us * 1000,
					  attributes, cnt };

	assert_int_equal(t->s->ops->region(t->s, &r), 0);
}

static void add_regions(struct export_test *t)
{
	const struct region_attribute attributes[] = {
		{ string_of("file"), string_of("a\"\n"), true },
		{ string_of("rows"), string_of("-7"), false },
		{ string_of("share"), string_of("2.5"), false },
		{ string_of("last"), string_of("true"), false },
		{ string_of("none"), string_of("null"), false },
	};
	uint32_t f = export_frame(t, "a.py", "f", 3);

	export_begin(t);
	add_region(t, "outer", 7, 5000, 9000, 0, NULL);
	add_region(t, "inner", 7, 5000, 6000, 5, attributes);
	add_region(t, "empty", 7, 6000, 6000, 0, NULL);
	add_region(t, "other", 7, 7000, 9500, 0, NULL);	/* ends after outer: not inside */
	add_region(t, "again", 7, 9000, 9600, 0, NULL);
	export_event(t, 7, 6000, 1, 1, &f);
}

/* Nested slices of the exact times; what overlaps is in another lane. Threads have their own. */
static void test_regions(void **state)
{
	struct export_test t = started(&sink_perfetto, MODE_UNKNOWN);

	add_regions(&t);
	assert_trace(&t, "track 1 of 0: 7\ntrack 2 of 0: thread 7\ntrack 3 of 2: regions\n"
			 "5000 3 begin outer\n5000 3 begin inner with facts\n6000 3 end\n"
			 "6000 3 begin empty\n6000 3 end\ntrack 4 of 2: regions 2\n"
			 "7000 4 begin other\n9000 3 end\n9000 3 begin again\n"
			 "6000 2 begin f\n9600 3 end\n9500 4 end\n7000 2 end\n"
			 "5000 1 instant profile with facts\n");
}

/* Two threads, the second one without a sample; and no stats of a process without regions. */
static void test_regions_of_threads(void **state)
{
	struct export_test t = started(&sink_perfetto, MODE_UNKNOWN);

	export_begin(&t);
	add_region(&t, "a", 7, 5000, 9000, 0, NULL);
	add_region(&t, "a", 8, 6000, 9500, 0, NULL);
	assert_trace(&t, "track 1 of 0: 7\ntrack 2 of 0: thread 7\ntrack 3 of 2: regions\n"
			 "5000 3 begin a\ntrack 4 of 0: thread 8\ntrack 5 of 4: regions\n"
			 "6000 5 begin a\n9000 3 end\n9500 5 end\n"
			 "5000 1 instant profile with facts\n");
}

static void test_regions_in_chrome(void **state)
{
	struct export_test t = started(&sink_chrome, MODE_UNKNOWN);
	struct json_doc *o;
	struct buf b;

	add_regions(&t);
	b = export_close(&t);
	o = parse_json(&b);
	assert_json(o, "traceEvents.3.args.name", "\"thread 7: regions\"");
	assert_event(o, 5, "outer", "5000", "4000");
	assert_event(o, 6, "inner", "5000.001", "999.999");
	assert_json(o, "traceEvents.6.args", "{\"file\":\"a\\\"\\\\x0a\",\"rows\":-7,"
					     "\"share\":2.5,\"last\":true,\"none\":null}");
	assert_event(o, 7, "empty", "6000", "0");
	assert_json(o, "traceEvents.8.args.name", "\"thread 7: regions 2\"");
	assert_event(o, 10, "other", "7000", "2500");
	assert_event(o, 11, "again", "9000", "600");
	assert_event(o, 12, "f", "6000", "1000");
	buf_free(&b);
	free(o);
}

/* A thousand that all overlap: a bounded number of lanes, and the rest is counted. */
static void test_too_many_overlap(void **state)
{
	struct export_test t = started(&sink_chrome, MODE_UNKNOWN);
	const struct profile_stats stats = { .lost_regions = 9 };
	struct json_doc *o;
	struct buf b;
	uint32_t i;

	export_begin(&t);
	for (i = 0; i < 1000; i++)
		add_region(&t, HOSTILE, 7, 5000 + i, INT64_MAX / 2000 - 2000 + i, 0, NULL);
	assert_int_equal(t.s->ops->end(t.s, &stats), 0);
	assert_int_equal(t.s->ops->close(t.s), 0);
	b = file_bytes(t.path);
	o = parse_json(&b);
	assert_printable(&b);
	i = (uint32_t)json_length(o, "traceEvents");
	assert_int_equal(i, 3 + 64 * 3 + 1);
	assert_non_null(memmem(b.data, b.len, "\"regions_of_more_rows\":936", 26));
	assert_non_null(memmem(b.data, b.len, "\"lost_regions\":9", 16));
	buf_free(&b);
	free(o);
	close(t.args.fd);
	intern_free(t.in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls), cmocka_unit_test(test_cpu_gaps),
		cmocka_unit_test(test_chrome), cmocka_unit_test(test_states),
		cmocka_unit_test(test_tasks), cmocka_unit_test(test_events),
		cmocka_unit_test(test_no_bytes), cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_regions), cmocka_unit_test(test_regions_of_threads),
		cmocka_unit_test(test_regions_in_chrome), cmocka_unit_test(test_too_many_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
