// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_pprof_exporter.c - files of windows: their names whatever services are called, what they
 * hold, and which go; and dated_dir, which says which.
 */
#include <dirent.h>
#include <zlib.h>

#include "agent/dated_dir.h"
#include "formats/pprof/pprof_encode.h"
#include "tests/unit/small_disk.h"
#include "tests/unit/telemetry/window_data.h"
/* It has a `kind`, as parameters of that header have. */
#include "agent/pprof_exporter.c"

#define BEGIN_TEXT "20231114T221320Z"	/* BEGIN_NS */

static char dir[64], disk[64];
static bool may_mount;
static struct fake_process process;	/* of the last window: maps are of one */

static struct pprof_exporter *exporter(const char *to, uint32_t keep)
{
	const struct pprof_exporter_args args = { .dir = to, .keep = keep };
	struct pprof_exporter *e = pprof_exporter_new(&args);

	assert_non_null(e);
	return e;
}

static struct pprof_exporter_stats stats(const struct pprof_exporter *e)
{
	struct pprof_exporter_stats s;

	pprof_exporter_stats(e, &s);
	return s;
}

/* A window that began so many windows after BEGIN_NS, with a sample of each service. */
static struct window *window(uint32_t number, uint32_t services)
{
	uint64_t begin = BEGIN_NS + number * 15 * NS_PER_S;
	struct window *w = window_new(&window_limits_default, begin, begin + 15 * NS_PER_S);
	uint32_t i, frame;

	assert_non_null(w);
	fake_process_free(&process);
	process = fake_process();
	frame = python_frame(&process, "/x/a.py", "leaf", 3);
	for (i = 0; i < services; i++)
		add_stack(w, &process, i, WINDOW_CPU, &frame, 1, 1, 10000000);
	return w;
}

static int write_window(struct pprof_exporter *e, uint32_t number, uint32_t services,
			const char *const *names, size_t name_cnt)
{
	struct window *w = window(number, services);
	int err = pprof_exporter_window(e, w, names, name_cnt, 10000000, NULL);

	window_free(w);
	return err;
}

static bool there(const char *name)
{
	char path[400];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return !lstat(path, &st);
}

static int entries(void)
{
	DIR *d = opendir(dir);
	int cnt = -2;

	assert_non_null(d);
	while (readdir(d))
		cnt++;
	closedir(d);
	return cnt;
}

static void put_file(const char *name)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static int new_dir(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/tachbpf-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	process = fake_process();
	log_set_level(LOG_QUIET);
	return 0;
}

static int remove_dir(void **state)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	fake_process_free(&process);
	return system(command);
}

/* Does the profile have this text? Then it was whole. */
static bool holds(const char *name, const char *text)
{
	char path[400];
	uint8_t raw[8192];
	gzFile f;
	int n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = gzopen(path, "rb");
	assert_non_null(f);
	n = gzread(f, raw, sizeof(raw));
	assert_true(n > 0);
	assert_int_equal(gzclose(f), Z_OK);
	return memmem(raw, (size_t)n, text, strlen(text));
}

static void add_comment(void *ctx, uint32_t service, struct pprof_encoder *e)
{
	char text[64];

	snprintf(text, sizeof(text), "%s=%u", (const char *)ctx, service);
	pprof_comment(e, text);
}

static void test_files(void **state)
{
	const struct window_comments comments = { add_comment, "service.version" };
	static const char *const names[] = { "other", "shop", NULL };
	struct pprof_exporter *e = exporter(dir, 100);
	struct window *w = window(0, 3);
	const uint32_t frame = python_frame(&process, "/x/b.py", "waits", 3);
	struct stat st;
	char path[200];

	add_stack(w, &process, 1, WINDOW_OFF_CPU, &frame, 1, 4, 1000);
	assert_int_equal(pprof_exporter_window(e, w, names, 3, 10000000, &comments), 0);
	assert_int_equal(entries(), 4);
	assert_true(there("other-cpu-" BEGIN_TEXT ".pb.gz"));
	assert_true(holds("shop-cpu-" BEGIN_TEXT ".pb.gz", "leaf"));
	assert_true(holds("shop-cpu-" BEGIN_TEXT ".pb.gz", "service.version=1"));
	assert_true(holds("shop-off_cpu-" BEGIN_TEXT ".pb.gz", "waits"));
	assert_false(holds("shop-off_cpu-" BEGIN_TEXT ".pb.gz", "leaf"));
	assert_true(there("service-2-cpu-" BEGIN_TEXT ".pb.gz"));
	assert_int_equal(stats(e).files, 4);
	snprintf(path, sizeof(path), "%s/shop-cpu-" BEGIN_TEXT ".pb.gz", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	window_free(w);
	/* Beyond names; a window that is cut short may begin in the same second. */
	assert_int_equal(write_window(e, 0, 1, NULL, 0), 0);
	assert_true(there("service-0-cpu-" BEGIN_TEXT ".pb.gz"));
	assert_int_equal(write_window(e, 0, 1, names, 1), 0);
	assert_true(there("other~2-cpu-" BEGIN_TEXT ".pb.gz"));
	pprof_exporter_free(e);
}

static void assert_service(const char *name, const char *as)
{
	char out[PPROF_SERVICE_BYTES];

	pprof_exporter_service(name, out);
	assert_string_equal(out, as);
}

static void test_hostile_names(void **state)
{
	static const char *const names[] = { "../../etc/x", "a/b", "a_b", "", ".hidden" };
	struct pprof_exporter *e = exporter(dir, 100);
	char longest[2000], out[PPROF_SERVICE_BYTES];

	assert_service("shop.example-1_a", "shop.example-1_a");
	assert_service("../../etc/passwd", "_._.._etc_passwd");
	assert_service("-rf", "_rf");
	assert_service("", "_");
	assert_service("\n\x1b[31m\xc3\xa4 ~$(x)`", "___31m______x__");
	memset(longest, '.', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	pprof_exporter_service(longest, out);
	assert_int_equal(strlen(out), PPROF_SERVICE_BYTES - 1);
	assert_int_equal(write_window(e, 0, 5, names, 5), 0);
	assert_int_equal(entries(), 5);
	assert_true(there("a_b-cpu-" BEGIN_TEXT ".pb.gz"));
	assert_true(there("a_b~2-cpu-" BEGIN_TEXT ".pb.gz"));
	assert_true(there("_hidden-cpu-" BEGIN_TEXT ".pb.gz"));
	pprof_exporter_free(e);
}

/* The oldest of ours go, nothing else, and no link is followed. */
static void test_keep(void **state)
{
	static const char *const names[] = { "a", "b" };
	static const char *const others[] = {
		"notes", "a-cpu-20200101T000000Z.pb", "cpu-20200101T000000Z.pb.gz",
		"a-heap-20200101T000000Z.pb.gz", "a-cpu-20200230T000000Z.pb.gz",
		".a-cpu-20200101T000000Z.pb.gz",
	};
	char victim[100], link[200];
	struct pprof_exporter *e;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(others); i++)
		put_file(others[i]);
	put_file("z-gil_wait-20200101T000000Z.pb.gz");
	put_file("z-cpu-29990101T000000Z.pb.gz");	/* the clock has gone back */
	snprintf(victim, sizeof(victim), "%s/notes", dir);
	snprintf(link, sizeof(link), "%s/l-cpu-20190101T000000Z.pb.gz", dir);
	assert_int_equal(symlink(victim, link), 0);
	/* A link in the place of the temporary file, and one in that of a file. */
	snprintf(link, sizeof(link), "%s/.tachbpf-pprof.tmp", dir);
	assert_int_equal(symlink(victim, link), 0);
	snprintf(link, sizeof(link), "%s/a-cpu-" BEGIN_TEXT ".pb.gz", dir);
	assert_int_equal(symlink(victim, link), 0);
	e = exporter(dir, 6);
	for (i = 0; i < 10; i++)
		assert_int_equal(write_window(e, (uint32_t)i, 2, names, 2), 0);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		assert_true(there(others[i]));
	assert_true(there("l-cpu-20190101T000000Z.pb.gz"));
	assert_false(there("z-gil_wait-20200101T000000Z.pb.gz"));
	assert_false(there("z-cpu-29990101T000000Z.pb.gz"));
	assert_true(there("a-cpu-20231114T221535Z.pb.gz"));
	assert_true(there("b-cpu-20231114T221505Z.pb.gz"));
	assert_false(there("b-cpu-20231114T221450Z.pb.gz"));
	assert_int_equal(entries(), ARRAY_SIZE(others) + 2 + 6);
	assert_int_equal(stats(e).removed, 2 + 20 - 6);
	pprof_exporter_keep(e, 1);
	assert_int_equal(write_window(e, 10, 2, names, 2), 0);
	assert_int_equal(entries(), ARRAY_SIZE(others) + 2 + 1);
	pprof_exporter_free(e);
}

/* More than are remembered at once go in one call, in the right order. */
static void test_many(void **state)
{
	struct pprof_exporter *e = exporter(dir, 100);
	char name[80], text[DATED_BYTES];
	int i;

	for (i = 0; i < 1400; i++) {
		dated_text(1600000000 + (i * 7919) % 1400, text);
		snprintf(name, sizeof(name), "s-cpu-%s.pb.gz", text);
		put_file(name);
	}
	/* One reading of the directory a window; it has 512 of the oldest. */
	for (i = 0; i < 5; i++)
		assert_int_equal(write_window(e, (uint32_t)i, 1, NULL, 0), 0);
	assert_int_equal(entries(), 100);
	dated_text(1600000000 + 1400 - 96, text);
	snprintf(name, sizeof(name), "s-cpu-%s.pb.gz", text);
	assert_false(there(name));
	dated_text(1600000000 + 1400 - 95, text);
	snprintf(name, sizeof(name), "s-cpu-%s.pb.gz", text);
	assert_true(there(name));
	pprof_exporter_free(e);
}

static void test_full_disk(void **state)
{
	struct pprof_exporter *e;
	uint32_t i;

	if (!may_mount)
		skip();
	small_disk_mount(disk, 64);
	e = exporter(disk, 1000);
	for (i = 0; i < 50; i++)
		write_window(e, i, 1, NULL, 0);
	assert_int_equal(stats(e).files + stats(e).errors, 50);
	assert_true(stats(e).files > 5 && stats(e).errors > 5);
	small_disk_grow(disk, 1024);
	assert_int_equal(write_window(e, 50, 1, NULL, 0), 0);
	pprof_exporter_free(e);
	small_disk_unmount(disk);
}

static void test_refused_places(void **state)
{
	struct pprof_exporter_args args = { .dir = dir, .keep = 1 };
	struct pprof_exporter *e;

	assert_int_equal(chmod(dir, 0770), 0);
	assert_null(pprof_exporter_new(&args));
	assert_int_equal(chmod(dir, 0700), 0);
	e = exporter(dir, 1);
	assert_null(pprof_exporter_new(&args));
	assert_int_equal(errno, EBUSY);
	pprof_exporter_free(e);
}

static void test_times(void **state)
{
	static const char *const wrong[] = {
		"", "2", "20260101T000000", "20260101 000000Z", "20261301T000000Z",
		"20260229T000000Z", "20260101T240000Z", "2026010aT000000Z",
	};
	char text[DATED_BYTES];
	time_t t;
	size_t i;

	assert_true(dated_parse("20240229T235959Z-02", &t));
	assert_int_equal(t, 1709251199);
	dated_text(t, text);
	assert_string_equal(text, "20240229T235959Z");
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(dated_parse(wrong[i], &t));
	dated_text(INT64_MAX, text);
	assert_string_equal(text, "99991231T235959Z");
	dated_text(-1, text);
	assert_string_equal(text, "19700101T000000Z");
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, new_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_files), TEST(test_hostile_names), TEST(test_keep), TEST(test_many),
		TEST(test_full_disk), TEST(test_refused_places), cmocka_unit_test(test_times),
	};
	int err;

	snprintf(disk, sizeof(disk), "/tmp/tachbpf-disk-XXXXXX");
	may_mount = small_disk_possible() && mkdtemp(disk);
	err = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(disk);
	return err;
}
