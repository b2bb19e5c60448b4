// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_readers.c - every format against golden files of independent scripts, cut
 * and damaged at every byte, and through sinks and back.
 */
#include "tests/unit/formats/reader_test.h"

#include <dirent.h>

#include "formats/formats.h"
#include "formats/input.h"
#include "formats/readers.h"
#include "formats/tach/tach_profile.h"

static const struct {
	const char *format, *suffix;
} formats[] = {
	{ "collapsed", ".folded" },
	{ "speedscope", ".json" },
	{ "gperftools", ".prof" },
	{ "mlyze", ".mlyze" },
	{ "pprof", ".pb" },
	{ "otlp", ".otlp" },
};

static const struct {
	const char *name;
	enum reader_value value;
} values[] = { { "live", VALUE_LIVE }, { "allocated", VALUE_ALLOCATED }, { "peak", VALUE_PEAK } };

/* Call each() for every golden file of a format; how many there were. */
static int each_golden(size_t format, void (*each)(size_t format, const char *path, char *stem))
{
	char dir_path[512], path[512], stem[512];
	const char *suffix = formats[format].suffix;
	struct dirent *d;
	int cnt = 0;
	DIR *dir = opendir(format_path(formats[format].format, ".", dir_path));

	assert_non_null(dir);
	while ((d = readdir(dir))) {
		size_t len = strlen(d->d_name), tail = strlen(suffix);

		/* "x.sums.json" belongs to another format. */
		if (len <= tail || strcmp(d->d_name + len - tail, suffix))
			continue;
		format_path(formats[format].format, d->d_name, path);
		snprintf(stem, sizeof(stem), "%.*s", (int)(strlen(path) - tail), path);
		each(format, path, stem);
		cnt++;
	}
	closedir(dir);
	return cnt;
}

static void assert_golden(const char *path, const char *answer, const struct reader_args *args)
{
	struct buf want = file_bytes(answer);
	char *got = dump_file(path, args);

	if (strlen(got) != want.len || memcmp(got, want.data, want.len))
		fail_msg("%s is not %s:\n%.2000s", path, answer, got);
	free(got);
	buf_free(&want);
}

static void check_golden(size_t format, const char *path, char *stem)
{
	struct reader_args args = { 0 };
	char answer[600];
	size_t i;

	if (strcmp(formats[format].format, "mlyze")) {
		snprintf(answer, sizeof(answer), "%s.txt", stem);
		assert_golden(path, answer, NULL);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		snprintf(answer, sizeof(answer), "%s.%s.txt", stem, values[i].name);
		args.value = values[i].value;
		assert_golden(path, answer, &args);
	}
}

static void test_golden(void **state)
{
	static const int at_least[] = { 5, 11, 8, 4, 5, 5 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++)
		assert_true(each_golden(i, check_golden) >= at_least[i]);
}

/* ---- which format ---- */

static void check_probes(size_t format, const char *path, char *stem)
{
	char why[256];
	struct input *in = input_map(path, why, sizeof(why));
	const struct reader_ops *ops;
	size_t i;

	assert_non_null(in);
	for (i = 0; (ops = reader_at(i)); i++) {
		if (ops->probe(in) != !strcmp(ops->name, formats[format].format))
			fail_msg("%s: probe of %s", path, ops->name);
	}
	input_unmap(in);
}

static void test_probes(void **state)
{
	static const char *const others[] = { "a", "a b\n", "{", "[]", " 12\n", "a\0b 1\n", "\n\n",
					      "# 12\n", "PK\3\4", "TACX" };
	char path[PATH_BYTES], tach[512], why[256];
	int fd = memory_file(path);
	struct reader *r;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++)
		each_golden(i, check_probes);
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		set_file(fd, others[i], strlen(others[i]) + (others[i][0] == 'a'));
		assert_null(reader_open(path, NULL, why, sizeof(why)));
		assert_int_equal(errno, EBADMSG);
		assert_true(*why);
	}
	r = reader_open(golden_path("wall_zstd.draft2.swapped.bin", tach), NULL, why, sizeof(why));
	assert_non_null(r);
	assert_string_equal(reader_format(r), "tach");
	assert_non_null(reader_tach_info(r));
	assert_int_equal(reader_profile_cnt(r), 1);
	reader_free(r);
	close(fd);
}

/* The name given counts, not the looks. */
static void test_input_format(void **state)
{
	struct reader_args args = { .format = "collapsed" };
	char path[512], why[256];

	assert_null(reader_open(format_path("speedscope", "none.json", path), &args, why,
				sizeof(why)));
	assert_non_null(strstr(why, "byte 0"));
	args.format = "tach";
	assert_null(reader_open(path, &args, why, sizeof(why)));
	assert_non_null(strstr(why, "not a TACH file"));
}

/* ---- damage ---- */

struct sane {
	const struct profile_tables *tables;
	uint64_t cnt;
};

static int check_event(void *ctx, const struct event *ev)
{
	struct sane *s = ctx;
	uint32_t i;

	assert_true(ev->nframes <= EVENT_MAX_FRAMES && ev->weight);
	for (i = 0; i < ev->nframes; i++) {
		const struct frame *f;

		assert_true(ev->frames[i] < s->tables->frame_cnt);
		f = &s->tables->frames[ev->frames[i]];
		assert_true(f->file < s->tables->string_cnt && f->func < s->tables->string_cnt);
	}
	s->cnt++;
	return 0;
}

/* Accepted, or refused with a reason that names an offset. */
static void try_file(const char *path, const struct reader_args *args)
{
	char why[256] = "";
	struct reader *r = reader_open(path, args, why, sizeof(why));
	uint32_t i;

	if (!r) {
		assert_int_equal(errno, EBADMSG);
		if (!strstr(why, "byte ") && !strstr(why, "the file is empty"))
			fail_msg("no offset: %s", why);
		return;
	}
	for (i = 0; i < reader_profile_cnt(r); i++) {
		struct sane s = { .tables = reader_tables(r) };
		int err;

		reader_select(r, i);
		err = reader_run(r, check_event, &s, why, sizeof(why));
		if (err) {
			assert_int_equal(err, -EBADMSG);
			assert_true(strstr(why, "byte ") || strstr(why, "63 bits"));
		} else if (args->value != VALUE_LIVE) {
			assert_true(s.cnt <= reader_info(r)->event_cnt);
		}
	}
	reader_free(r);
}

static void damage(size_t format, const char *golden, char *stem)
{
	static const uint8_t flips[] = { 0x01, 0x80, 0xff, 0x20 };
	struct reader_args args = { .format = formats[format].format };
	struct buf whole = file_bytes(golden);
	char path[PATH_BYTES];
	int fd = memory_file(path);
	/* Some 300 places; fuzzing takes the others. */
	size_t i, j, step = 1 + whole.len / 300;

	for (i = 0; i < whole.len; i += step) {
		set_file(fd, whole.data, i);
		try_file(path, &args);
	}
	for (i = 0; i < whole.len; i += step) {
		for (j = 0; j < ARRAY_SIZE(flips); j++) {
			args.value = values[j % ARRAY_SIZE(values)].value;
			whole.data[i] ^= flips[j];
			set_file(fd, whole.data, whole.len);
			try_file(path, &args);
			whole.data[i] ^= flips[j];
		}
	}
	buf_free(&whole);
	close(fd);
}

static void test_damage(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++)
		each_golden(i, damage);
}

/* Each with where it is noticed and what is said. */
#define WORDS(...) ((const char *)(const uint64_t[]){ __VA_ARGS__ }),                              \
		   sizeof((uint64_t[]){ __VA_ARGS__ })
#define TEXT(s) (s), sizeof(s) - 1
#define SPEEDSCOPE(profile)                                                                        \
	TEXT("{\"shared\":{\"frames\":[{\"name\":\"f\"}]},\"profiles\":[" profile "]}")
#define EVENTED(events)                                                                            \
	SPEEDSCOPE("{\"type\":\"evented\",\"unit\":\"none\",\"startValue\":1,"           \
		   "\"events\":[" events "]}")
#define EVENT(type, frame, at) "{\"type\":\"" type "\",\"frame\":" frame ",\"at\":" at "}"
#define TIMES16(s) s s s s s s s s s s s s s s s s
#define SAMPLED(unit, samples, weights)                                                            \
	SPEEDSCOPE("{\"type\":\"sampled\",\"unit\":\"" unit "\",\"samples\":" samples              \
		   ",\"weights\":" weights "}")
static const struct {
	const char *format, *data;
	size_t len;
	const char *why;
} refusals[] = {
	{ "collapsed", TEXT("a 1\nb\n"), "byte 4: a line without" },
	{ "collapsed", TEXT("a 18446744073709551616"), "byte 2: '18446744073709551616'" },
	{ "collapsed", TEXT("a 9223372036854775807\nb 1\n"),
	  "byte 22: counts that add up" },
	{ "collapsed", TEXT("#\n\n"), "byte 0: no line with a stack" },
	{ "collapsed", TEXT("a 1.5"), "byte 0: a line without" },
	{ "gperftools", WORDS(0, 3, 0, 100, 0, 1), "byte 40: the file ends without" },
	{ "gperftools", WORDS(0, 3, 2, 100, 0), "byte 0: no header" },
	{ "gperftools", WORDS(0, 4, 0, 100, 0), "byte 8: a header of 4 slots" },
	{ "gperftools", WORDS(0, 3, 0, 0, 0, 0, 1, 0), "byte 24: a sampling period of 0" },
	{ "gperftools", WORDS(0, 3, 0, 1, 0, 1, 0, 7), "byte 48: a stack of 0" },
	{ "gperftools", WORDS(0, 3, 0, 1, 0, 1, UINT64_MAX, 7),
	  "byte 48: a stack of 18446744073709" },
	{ "gperftools", WORDS(0, 3, 0, 1, 0, 0, 1, 7), "byte 40: a record of 0 samples" },
	{ "gperftools", WORDS(0, 3, 0, 1, 0, UINT64_MAX, 1, 7, 0, 1, 0),
	  "byte 40: counts that add" },
	{ "speedscope", TEXT("{}"), "byte 2: expected a profile" },
	{ "speedscope", TEXT("{\"profiles\":3}"), "byte 12: expected an array" },
	{ "speedscope", TEXT("[1]"), "byte 0: expected an object" },
	{ "speedscope", TEXT("{} x"), "byte 3: expected nothing more" },
	{ "speedscope", SPEEDSCOPE("{\"type\":\"x\"}"),
	  "byte 56: expected a profile of type" },
	{ "speedscope", SPEEDSCOPE("{\"type\":\"evented\",\"unit\":\"none\",\"samples\":[],"
				   "\"weights\":[]}"), "expected a profile with type" },
	{ "speedscope", EVENTED("3"), "expected an object" },
	{ "speedscope", EVENTED("{}"), "expected an event with type" },
	{ "speedscope", EVENTED(EVENT("X", "0", "1")), "byte 113: expected an event of type" },
	{ "speedscope", EVENTED(EVENT("O", "1", "1")), "byte 125: expected an index" },
	{ "speedscope", EVENTED(EVENT("O", "0", "0.4")), "expected a time that is not before" },
	{ "speedscope", EVENTED(EVENT("O", "0", "1e30")), "expected a time that is not before" },
	{ "speedscope", EVENTED(EVENT("C", "0", "1")), "expected an event before this that cl" },
	{ "speedscope", EVENTED(EVENT("O", "0", "3") "," EVENT("C", "0", "2")),
	  "not earlier than the one" },
	{ "speedscope", EVENTED(TIMES16(TIMES16(TIMES16(EVENT("O", "0", "1") ",")))
				EVENT("O", "0", "1")), "at most 4096 open frames" },
	{ "speedscope", EVENTED(EVENT("O", "0", "3")), "expected as many frames closed" },
	{ "speedscope", SPEEDSCOPE("{}"), "byte 50: expected a profile with" },
	{ "speedscope", SPEEDSCOPE("{\"type\":\"sampled\",\"unit\":\"none\","
				   "\"startValue\":2,\"endValue\":1,\"samples\":[],"
				   "\"weights\":[]}"),
	  "does not end before it starts" },
	{ "speedscope", SAMPLED("parsecs", "[]", "[]"), "expected a unit" },
	{ "speedscope", SAMPLED("none", "[[1]]", "[1]"), "byte 92: expected an index" },
	{ "speedscope", SAMPLED("none", "[[-1]]", "[1]"),
	  "byte 92: expected a whole number" },
	{ "speedscope", SAMPLED("none", "[[0]]", "[]"),
	  "byte 108: expected as many weights" },
	{ "speedscope", SAMPLED("none", "[]", "[1]"), "as many weights" },
	{ "speedscope", SAMPLED("none", "[[0]]", "[-1]"), "byte 107: expected a weight" },
	{ "speedscope", SAMPLED("seconds", "[[0]]", "[1e30]"), "expected a weight" },
	{ "speedscope", SAMPLED("none", "[[0],[0]]", "[9223372036854775807,1]"), "add up" },
};

static void test_refusals(void **state)
{
	struct reader_args args = { 0 };
	char path[PATH_BYTES], why[256];
	int fd = memory_file(path);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct reader *r;

		set_file(fd, refusals[i].data, refusals[i].len);
		args.format = refusals[i].format;
		strcpy(why, "");
		r = reader_open(path, &args, why, sizeof(why));
		if (r || errno != EBADMSG || !strstr(why, refusals[i].why))
			fail_msg("case %zu: '%s', wanted '%s'", i, why, refusals[i].why);
	}
	close(fd);
}

/* What comes before damage counts. */
static void test_salvage(void **state)
{
	static const uint64_t words[] = { 0, 3, 0, 100, 0, 5, 1, 0x10, 1, 2, 3 };
	char path[PATH_BYTES], why[256] = "";
	int fd = memory_file(path);
	struct sane s = { 0 };
	struct reader *r;

	set_file(fd, words, sizeof(words));
	r = reader_open(path, NULL, why, sizeof(why));
	assert_non_null(r);
	s.tables = reader_tables(r);
	assert_int_equal(reader_run(r, check_event, &s, why, sizeof(why)), -EBADMSG);
	assert_int_equal(s.cnt, 1);
	assert_string_equal(why, "damaged at byte 72: a stack of 2 addresses, 8 bytes are left");
	reader_free(r);
	close(fd);
}

/* ---- into sinks ---- */

static void into_sink(const char *from, const struct reader_args *rargs, struct sink *s)
{
	char why[256] = "";
	struct reader *r = reader_open(from, rargs, why, sizeof(why));
	uint32_t i;

	if (!r)
		fail_msg("%s: %s", from, why);
	for (i = 0; i < reader_profile_cnt(r); i++) {
		reader_select(r, i);
		assert_int_equal(s->ops->begin(s, &reader_info(r)->meta, reader_tables(r)), 0);
		assert_int_equal(reader_run(r, feed_event, s, why, sizeof(why)), 0);
		assert_int_equal(s->ops->end(s, &reader_info(r)->stats), 0);
	}
	reader_free(r);
}

static uint64_t tach_samples(const char *path)
{
	struct tach_reader *t = open_ok(path);
	struct events e = { 0 };
	uint64_t cnt;

	run_ok(t, &e);
	cnt = tach_reader_info(t)->sample_cnt;
	assert_int_equal(e.cnt, cnt);
	events_free(&e);
	tach_reader_free(t);
	return cnt;
}

/* Weighted stacks, and time cut into samples, become TACH files that are sound. */
static void test_into_tach(void **state)
{
	static const struct {
		const char *format, *name;
		uint64_t samples;
	} cases[] = {
		{ "gperftools", "go.prof", 18 },
		{ "collapsed", "deep.folded", 255 + 256 + 257 + 400 },
		{ "speedscope", "none.json", 3 + 2 * 0 + 2 + 4 },
		/* 3 + 2.25 + 0.4 s; 3 stacks and a pause: the mean is 1.883333 s. */
		{ "speedscope", "seconds.json", 3 },
	};
	struct reader_args args = { .value = VALUE_SAMPLES };
	char from[512], path[PATH_BYTES];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sink_args sargs = { .fd = memory_file(path) };
		struct sink *s = sink_tach.open(&sargs);

		into_sink(format_path(cases[i].format, cases[i].name, from), &args, s);
		assert_int_equal(s->ops->close(s), 0);
		assert_int_equal(tach_samples(path), cases[i].samples);
		close(sargs.fd);
	}
}

/* A profile without a sample is one, in every format that is read and in TACH. */
static void test_empty(void **state)
{
	static const struct {
		const char *format, *name;
	} empty[] = { { "speedscope", "empty.json" }, { "mlyze", "empty.mlyze" } };
	char path[PATH_BYTES], from[512], why[256];
	struct reader_args as_samples = { .value = VALUE_SAMPLES };
	struct sink_args args = { .fd = memory_file(path) };
	struct sink *s = sink_tach.open(&args);
	size_t i;

	into_sink(format_path("speedscope", "empty.json", from), &as_samples, s);
	assert_int_equal(s->ops->close(s), 0);
	assert_int_equal(tach_samples(path), 0);
	close(args.fd);
	for (i = 0; i < ARRAY_SIZE(empty); i++) {
		struct reader *r = reader_open(format_path(empty[i].format, empty[i].name, from),
					       NULL, why, sizeof(why));

		assert_non_null(r);
		assert_int_equal(reader_info(r)->event_cnt, 0);
		assert_int_equal(reader_run(r, feed_event, NULL, why, sizeof(why)), 0);
		reader_free(r);
	}
}

static uint32_t random_frame(struct intern *in, uint64_t *seed)
{
	static const char *const names[] = { "f", "<GC>", "a.py", "/x/y z.py", "b;c", "n\nl", "ü",
					     "", "<frozen x>", "1", "a:b", " ", "q (r", "s)" };
	struct frame f = { .line = rnd(seed) % 4 ? (int32_t)(rnd(seed) % 5000 + 1) : LINE_NONE };
	const char *file = names[rnd(seed) % ARRAY_SIZE(names)];
	const char *func = names[rnd(seed) % ARRAY_SIZE(names)];
	uint32_t id;

	/* An element without a character is no frame. */
	if (!(rnd(seed) % 6) && *func) {
		assert_int_equal(intern_synthetic(in, FRAME_SYNTHETIC, func, &id), 0);
		return id;
	}
	f.end_line = f.line;
	assert_int_equal(intern_string(in, file, strlen(file), &f.file), 0);
	assert_int_equal(intern_string(in, func, strlen(func), &f.func), 0);
	assert_int_equal(intern_frame(in, &f, &id), 0);
	return id;
}

static void random_profile(struct sink *s, struct intern *in, uint64_t *seed, uint32_t tgid)
{
	static const char *const comms[] = { NULL, "app", "a b", "x;y", "" };
	struct profile_meta meta = { .tgid = tgid, .comm = comms[rnd(seed) % 5] };
	uint32_t frames[EVENT_MAX_FRAMES], pool[8], i;
	int events = (int)(rnd(seed) % 30);

	for (i = 0; i < ARRAY_SIZE(pool); i++)
		pool[i] = random_frame(in, seed);
	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
	while (events--) {
		struct event ev = { .thread_id = rnd(seed) % 2 ? rnd(seed) % 3 : rnd(seed),
				    .weight = rnd(seed) % 9 ? rnd(seed) % 5 + 1 : 1ULL << 52,
				    .frames = frames };

		ev.nframes = 1 + rnd(seed) % (rnd(seed) % 8 ? 12 : EVENT_MAX_FRAMES);
		for (i = 0; i < ev.nframes; i++)
			frames[i] = pool[rnd(seed) % ARRAY_SIZE(pool)];
		assert_int_equal(s->ops->event(s, &ev), 0);
	}
	assert_int_equal(s->ops->end(s, NULL), 0);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * The lines, sorted. Two stacks that read the same (of files in different
 * directories) are one after reading: their lines are joined.
 */
static char *sorted_lines(const char *path)
{
	struct buf b = file_bytes(path);
	char *list[2048], *line, *save, *text, *last = NULL;
	uint64_t cnt = 0;
	size_t n = 0, size, i;
	FILE *out = open_memstream(&text, &size);

	for (line = strtok_r((char *)b.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		assert_true(n < ARRAY_SIZE(list));
		list[n++] = line;
	}
	qsort(list, n, sizeof(*list), compare_texts);
	for (i = 0; i < n; i++) {
		char *space = strrchr(list[i], ' ');

		*space = '\0';
		if (last && strcmp(last, list[i])) {
			fprintf(out, "%s %llu\n", last, (unsigned long long)cnt);
			cnt = 0;
		}
		last = list[i];
		cnt += strtoull(space + 1, NULL, 10);
	}
	if (last)
		fprintf(out, "%s %llu\n", last, (unsigned long long)cnt);
	fclose(out);
	buf_free(&b);
	return text;
}

/* What our sink writes we read, and what we read it writes again: 500 random profiles. */
static void test_collapsed_round_trip(void **state)
{
	struct reader_args rargs = { .format = "collapsed" };
	uint64_t seed = 20240229;
	int i, stacks = 0;

	for (i = 0; i < 500; i++) {
		char a[PATH_BYTES], b[PATH_BYTES], *x, *y;
		struct sink_args first = { .fd = memory_file(a), .many = i % 2 };
		struct sink_args second = { .fd = memory_file(b), .many = i % 2 };
		struct intern *in = intern_new();
		struct sink *s = sink_collapsed.open(&first);
		uint32_t n = 1 + (i % 2 ? rnd(&seed) % 4 : 0);

		while (n--)
			random_profile(s, in, &seed, n + 1);
		assert_int_equal(s->ops->close(s), 0);
		x = sorted_lines(a);
		if (*x) {
			s = sink_collapsed.open(&second);
			into_sink(a, &rargs, s);
			assert_int_equal(s->ops->close(s), 0);
			y = sorted_lines(b);
			if (strcmp(x, y))
				fail_msg("round %d:\n%s\n%s", i, x, y);
			free(y);
			stacks++;
		}
		free(x);
		intern_free(in);
		close(first.fd);
		close(second.fd);
	}
	assert_true(stacks > 375);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),	      cmocka_unit_test(test_probes),
		cmocka_unit_test(test_input_format),  cmocka_unit_test(test_damage),
		cmocka_unit_test(test_refusals),      cmocka_unit_test(test_salvage),
		cmocka_unit_test(test_into_tach),     cmocka_unit_test(test_collapsed_round_trip),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
