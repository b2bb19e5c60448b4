// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_tach_reader.c - the reader against real captures and what CPython says
 * is in them, and against every way of damaging a small file.
 */
#include "tests/unit/tach_test.h"

static void assert_info(const struct tach_info *i, const char *name)
{
	char path[512];
	struct buf b = file_bytes(golden_path(name, path));
	const char *j = (const char *)b.data;
	char want[1024];

	/* Exactly as Python prints it, but for the numbers that need 17 digits. */
	snprintf(want, sizeof(want),
		 "{\"version\": %u, \"python_version\": [%u, %u, %u], \"start_time_us\": %llu, "
		 "\"sample_interval_us\": %llu, \"sample_count\": %llu, \"thread_count\": %u, "
		 "\"string_count\": %u, \"frame_count\": %u, \"compression_type\": %u, ",
		 i->version, i->meta.python_major, i->meta.python_minor, i->meta.python_micro,
		 (unsigned long long)i->meta.start_us, (unsigned long long)i->meta.interval_us,
		 (unsigned long long)i->sample_cnt, i->thread_cnt, i->string_cnt, i->frame_cnt,
		 i->compression);
	assert_memory_equal(j, want, strlen(want));
	if (i->stats.known) {
		double d, rate, error, missed;

		assert_int_equal(sscanf(strstr(j, "\"duration_sec\""),
					"\"duration_sec\": %lf, \"sample_rate\": %lf, "
					"\"error_rate\": %lf, \"missed_samples\": %lf",
					&d, &rate, &error, &missed), 4);
		assert_true(d == i->stats.duration_s && rate == i->stats.sample_rate);
		assert_true(i->stats.error_known && error == i->stats.error_pct);
		assert_true(i->stats.missed_known && missed == i->stats.missed_pct);
		snprintf(want, sizeof(want), "\"mode\": %d, \"capture_features\": %u}",
			 i->meta.mode, i->meta.features);
		assert_true(i->meta.features_known);
		assert_non_null(strstr(j, want));
	}
	buf_free(&b);
}

static void test_info(void **state)
{
	static const struct {
		const char *bin, *info;
		enum profile_layout layout;
		bool swapped;
	} files[] = {
		{ "cpu_raw.bin", "cpu_raw.info.json", LAYOUT_RELEASE, false },
		{ "deep400.bin", "deep400.info.json", LAYOUT_RELEASE, false },
		{ "native_opcodes.bin", "native_opcodes.info.json", LAYOUT_RELEASE, false },
		{ "wall_zstd.bin", "wall_zstd.info.json", LAYOUT_RELEASE, false },
		{ "cpu_raw.draft1.bin", NULL, LAYOUT_DRAFT1, false },
		{ "cpu_raw.draft1.swapped.bin", NULL, LAYOUT_DRAFT1, true },
		{ "cpu_raw.draft2.bin", NULL, LAYOUT_DRAFT2, false },
		{ "cpu_raw.draft2.swapped.bin", NULL, LAYOUT_DRAFT2, true },
		{ "cpu_raw.release.swapped.bin", NULL, LAYOUT_RELEASE, true },
		{ "wall_zstd.draft1.bin", NULL, LAYOUT_DRAFT1, false },
		{ "wall_zstd.draft1.swapped.bin", NULL, LAYOUT_DRAFT1, true },
		{ "wall_zstd.draft2.bin", NULL, LAYOUT_DRAFT2, false },
		{ "wall_zstd.draft2.swapped.bin", NULL, LAYOUT_DRAFT2, true },
		{ "wall_zstd.release.swapped.bin", NULL, LAYOUT_RELEASE, true },
	};
	char path[512];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		struct tach_reader *r = open_ok(golden_path(files[i].bin, path));
		const struct tach_info *info = tach_reader_info(r);
		struct events e = { 0 };

		assert_int_equal(info->layout, files[i].layout);
		assert_int_equal(info->swapped, files[i].swapped);
		if (files[i].info)
			assert_info(info, files[i].info);
		run_ok(r, &e);
		assert_int_equal(e.cnt, info->sample_cnt);
		events_free(&e);
		/* A second time from the start. */
		run_ok(r, &e);
		assert_int_equal(e.cnt, info->sample_cnt);
		events_free(&e);
		tach_reader_free(r);
	}
}

/* A name as Python's json has it; the fixture's names need \\u and no other escape. */
static const char *json_name(const struct string_ref *s, char out[512])
{
	const unsigned char *p = (const unsigned char *)s->data, *end = p + s->len;
	size_t len = 0;

	while (p < end && len < 500) {
		if (*p < 0x80) {
			out[len++] = (char)*p++;
			continue;
		}
		/* Two bytes of UTF-8 are all that occurs. */
		assert_true(*p >= 0xc2 && *p < 0xe0 && p + 1 < end);
		len += sprintf(out + len, "\\u%04x", (p[0] & 0x1f) << 6 | (p[1] & 0x3f));
		p += 2;
	}
	out[len] = '\0';
	return out;
}

/* One sample as cpu_raw.lines.txt has it. */
static char *sample_line(const struct profile_tables *t, const struct event *ev)
{
	size_t len = 0, cap = 1 << 16;
	char *s = malloc(cap), file[512], func[512];
	uint32_t i;

	assert_non_null(s);
	len += snprintf(s, cap, "%llu %u %llu %u [", (unsigned long long)ev->thread_id,
			ev->interp_id, (unsigned long long)ev->time_us, ev->status);
	for (i = 0; i < ev->nframes; i++) {
		const struct frame *f = &t->frames[ev->frames[i]];

		len += snprintf(s + len, cap - len, "%s[\"%s\", \"%s\", %d, %d, %d, %d, %u]",
				i ? ", " : "", json_name(&t->strings[f->file], file),
				json_name(&t->strings[f->func], func), f->line, f->end_line,
				f->column, f->end_column, f->opcode);
	}
	snprintf(s + len, cap - len, "]");
	return s;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void assert_samples(const char *name)
{
	char path[512];
	struct buf want = file_bytes(golden_path("cpu_raw.lines.txt", path));
	struct tach_reader *r = open_ok(golden_path(name, path));
	struct events e = { 0 };
	char **got, **exp, *line, *save = NULL;
	size_t i, cnt = 0;

	run_ok(r, &e);
	got = calloc(e.cnt, sizeof(*got));
	exp = calloc(e.cnt, sizeof(*exp));
	for (i = 0; i < e.cnt; i++) {
		struct event ev = kept_event(&e, i);

		got[i] = sample_line(tach_reader_tables(r), &ev);
	}
	for (line = strtok_r((char *)want.data, "\n", &save); line && cnt < e.cnt;
	     line = strtok_r(NULL, "\n", &save))
		exp[cnt++] = line;
	assert_null(line);
	assert_int_equal(cnt, e.cnt);
	qsort(got, cnt, sizeof(*got), compare_strings);
	qsort(exp, cnt, sizeof(*exp), compare_strings);
	for (i = 0; i < cnt; i++) {
		assert_string_equal(got[i], exp[i]);
		free(got[i]);
	}
	free(got);
	free(exp);
	events_free(&e);
	buf_free(&want);
	tach_reader_free(r);
}

static void test_samples(void **state)
{
	assert_samples("cpu_raw.bin");
	assert_samples("cpu_raw.release.swapped.bin");
	assert_samples("cpu_raw.draft1.bin");
	assert_samples("cpu_raw.draft1.swapped.bin");
}

static int count_event(void *ctx, const struct event *ev)
{
	uint64_t *sum = ctx;
	uint32_t i;

	/* Touch everything that an event promises. */
	*sum += ev->time_us + ev->status;
	for (i = 0; i < ev->nframes; i++)
		*sum += ev->frames[i];
	return 0;
}

/* Read whatever this is: accepted or refused with a reason. True if accepted. */
static bool try_file(const char *path, char *why, size_t why_size)
{
	struct tach_reader *r;
	const struct profile_tables *t;
	uint64_t sum = 0;
	uint32_t i;
	int err;

	why[0] = '\0';
	r = tach_reader_open(path, why, why_size);
	if (!r) {
		assert_true(why[0] && !strchr(why, '\n') && errno);
		return false;
	}
	t = tach_reader_tables(r);
	for (i = 0; i < t->frame_cnt; i++) {
		assert_true(t->frames[i].file < t->string_cnt && t->frames[i].func < t->string_cnt);
		assert_true(t->frames[i].line >= LINE_NONE && t->frames[i].end_line >= LINE_NONE);
		assert_true(t->frames[i].column >= -1 && t->frames[i].end_column >= -1);
	}
	for (i = 0; i < t->string_cnt; i++)
		sum += hash_bytes(t->strings[i].data, t->strings[i].len);
	err = tach_reader_run(r, count_event, &sum, why, why_size);
	assert_true(err == 0 || (err == -EBADMSG && why[0]));
	tach_reader_free(r);
	return !err;
}

/* Cut and flip at every step'th byte. */
static void damage(const char *name, size_t step)
{
	static const uint8_t flips[] = { 0x01, 0x80, 0xff };
	char from[512], path[PATH_BYTES], why[256];
	struct buf b = file_bytes(golden_path(name, from));
	int fd = memory_file(path);
	size_t i, j;

	for (i = 0; i < b.len; i += step) {
		set_file(fd, b.data, i);
		if (try_file(path, why, sizeof(why)))
			fail_msg("%s cut to %zu bytes is accepted", name, i);
	}
	for (i = 0; i < b.len; i += step) {
		for (j = 0; j < ARRAY_SIZE(flips); j++) {
			b.data[i] ^= flips[j];
			set_file(fd, b.data, b.len);
			try_file(path, why, sizeof(why));
			b.data[i] ^= flips[j];
		}
	}
	/* Something behind it. */
	set_file(fd, b.data, b.len);
	assert_true(try_file(path, why, sizeof(why)));
	assert_int_equal(pwrite(fd, "x", 1, b.len), 1);
	assert_false(try_file(path, why, sizeof(why)));
	buf_free(&b);
	close(fd);
}

static void test_damage(void **state)
{
	damage("deep400.bin", 1);
	damage("cpu_raw.bin", 7);
	damage("native_opcodes.bin", 7);
	damage("cpu_raw.draft1.swapped.bin", 7);
	damage("wall_zstd.draft2.bin", 7);
}

/* Change what is at off, and tell why the file is refused. */
static void assert_refused(size_t off, const void *bytes, size_t len, const char *reason)
{
	char from[512], path[PATH_BYTES], why[256];
	struct buf b = file_bytes(golden_path("cpu_raw.bin", from));
	int fd = memory_file(path);

	/* Negative offsets are from the end. */
	memcpy(b.data + ((ssize_t)off < 0 ? b.len + off : off), bytes, len);
	set_file(fd, b.data, b.len);
	assert_false(try_file(path, why, sizeof(why)));
	if (!strstr(why, reason))
		fail_msg("\"%s\" says nothing of \"%s\"", why, reason);
	buf_free(&b);
	close(fd);
}

static void test_reasons(void **state)
{
	const uint64_t huge = UINT64_MAX, one = 1, nan = 0x7ff8000000000000ULL;
	const uint64_t inf = 0x7ff0000000000000ULL;
	const uint32_t many = UINT32_MAX, config = 6, zero = 0;

	assert_refused(0, "ELF!", 4, "not a TACH file");
	assert_refused(0, &zero, 4, "not finished");
	assert_refused(4, &many, 4, "version");
	assert_refused(28, &one, 8, "more samples");
	assert_refused(28, &huge, 8, "header says");
	assert_refused(36, &one, 4, "threads");
	assert_refused(40, &huge, 8, "do not fit");
	assert_refused(60, &config, 4, "mode");
	assert_refused(-32, &many, 4, "strings");
	assert_refused(-28, &many, 4, "frames");
	assert_refused(-24, &one, 8, "footer");
	assert_refused(-88, &nan, 8, "TACHSTAT");
	assert_refused(-80, &inf, 8, "TACHSTAT");
	assert_refused(-64, &nan, 8, "TACHSTAT");
	assert_refused(-48, "X", 1, "behind the frames");
	/* The first record's kind. */
	assert_refused(64 + 12, "\x09", 1, "unknown kind");
}

static void test_stats_forms(void **state)
{
	char from[512], path[PATH_BYTES], why[256];
	struct buf b = file_bytes(golden_path("cpu_raw.bin", from));
	uint64_t size = b.len - 24;
	uint32_t bytes = 32, newer = 2;
	struct tach_reader *r;
	int fd = memory_file(path);

	/* A newer TACHSTAT is skipped. */
	memcpy(b.data + b.len - 40, &newer, 4);
	set_file(fd, b.data, b.len);
	r = open_ok(path);
	assert_false(tach_reader_info(r)->stats.known);
	tach_reader_free(r);
	buf_free(&b);
	/* The short form: the 24 bytes in the middle are not there. */
	b = file_bytes(from);
	memcpy(b.data + b.len - 36, &bytes, 4);
	memcpy(b.data + b.len - 24, &size, 8);
	memmove(b.data + b.len - 72, b.data + b.len - 48, 48);
	set_file(fd, b.data, b.len - 24);
	r = open_ok(path);
	assert_true(tach_reader_info(r)->stats.known);
	assert_false(tach_reader_info(r)->stats.error_known);
	assert_false(tach_reader_info(r)->stats.missed_known);
	assert_true(tach_reader_info(r)->stats.sample_rate > 499);
	tach_reader_free(r);
	assert_true(try_file(path, why, sizeof(why)));
	buf_free(&b);
	/* Nothing ends before it begins: the sign of the duration. */
	b = file_bytes(from);
	b.data[b.len - 88 + 7] |= 0x80;
	set_file(fd, b.data, b.len);
	assert_false(try_file(path, why, sizeof(why)));
	assert_non_null(strstr(why, "a number that is not one"));
	buf_free(&b);
	close(fd);
}

/* wall_zstd with its compressed region longer or shorter by some bytes. */
static void assert_region(ssize_t more, const char *bytes, const char *reason)
{
	char from[512], path[PATH_BYTES], why[256];
	struct buf b = file_bytes(golden_path("wall_zstd.bin", from)), out = { 0 };
	uint64_t strings, frames, size = b.len + more;
	int fd = memory_file(path);

	memcpy(&strings, b.data + 40, 8);
	memcpy(&frames, b.data + 48, 8);
	assert_int_equal(buf_add(&out, b.data, strings + (more < 0 ? more : 0)), 0);
	if (more > 0)
		assert_int_equal(buf_add(&out, bytes, more), 0);
	assert_int_equal(buf_add(&out, b.data + strings, b.len - strings), 0);
	strings += more;
	frames += more;
	memcpy(out.data + 40, &strings, 8);
	memcpy(out.data + 48, &frames, 8);
	memcpy(out.data + out.len - 24, &size, 8);
	set_file(fd, out.data, out.len);
	assert_int_equal(try_file(path, why, sizeof(why)), !reason);
	if (reason && !strstr(why, reason))
		fail_msg("\"%s\" says nothing of \"%s\"", why, reason);
	buf_free(&b);
	buf_free(&out);
	close(fd);
}

static void test_zstd_region(void **state)
{
	/* An empty frame, a skippable frame (RFC 8878, 3.1.2). */
	static const char empty[] = "\x28\xb5\x2f\xfd\x20\x00\x01\x00";
	static const char skip[] = "\x50\x2a\x4d\x18\x02\x00\x00\x00xx";

	assert_region(0, NULL, NULL);
	assert_region(9, empty, NULL);
	assert_region(10, skip, NULL);
	assert_region(6, "garbage", "zstd");
	assert_region(3, empty, "not complete");
	assert_region(-1, NULL, "not complete");
	assert_region(-100, NULL, "not complete");
}

static int stop_at_third(void *ctx, const struct event *ev)
{
	return ++*(int *)ctx == 3 ? -EINTR : 0;
}

static void test_callers(void **state)
{
	char path[512], why[256] = "";
	struct tach_reader *r = open_ok(golden_path("wall_zstd.bin", path));
	int cnt = 0;

	assert_int_equal(tach_reader_run(r, stop_at_third, &cnt, why, sizeof(why)), -EINTR);
	assert_int_equal(cnt, 3);
	tach_reader_free(r);
	assert_null(tach_reader_open("/dev/null/no", why, sizeof(why)));
	assert_int_equal(errno, ENOTDIR);
	assert_null(tach_reader_open("/dev/zero", why, sizeof(why)));
	assert_null(tach_reader_open("/tmp", why, sizeof(why)));
	assert_null(tach_reader_open("/dev/null", why, sizeof(why)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_info),	    cmocka_unit_test(test_samples),
		cmocka_unit_test(test_damage),	    cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_stats_forms), cmocka_unit_test(test_zstd_region),
		cmocka_unit_test(test_callers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
