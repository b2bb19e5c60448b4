// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_session_json.c - reads session.json, also hostile ones: wrong types, keys twice, numbers
 * out of range, no JSON.
 */
#include "tests/unit/tach_test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "model/thread_names.h"
#include "recording/session_json.h"

static char dir[64];
static int dirfd;

static int make_dir(void **state)
{
	strcpy(dir, "/tmp/test_session_json.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dirfd < 0 ? -1 : 0;
}

static int remove_dir(void **state)
{
	unlinkat(dirfd, SESSION_FILE_NAME, 0);
	close(dirfd);
	return rmdir(dir);
}

static struct session_json *from(const char *text, size_t len)
{
	int fd = openat(dirfd, SESSION_FILE_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, len), 0);
	close(fd);
	return session_json_read(dirfd, SESSION_FILE_NAME);
}

static struct session_json *good(const char *text)
{
	struct session_json *s = from(text, strlen(text));

	assert_non_null(s);
	return s;
}

/* Append a loss to a text, as "cause=cnt ". */
static void add_text(void *ctx, const char *cause, uint64_t cnt)
{
	char *text = ctx;
	size_t len = strlen(text);

	snprintf(text + len, 256 - len, "%s=%llu ", cause, (unsigned long long)cnt);
}

static void assert_losses(const struct session_json *s, const char *file, const char *want)
{
	char text[256] = "";

	session_json_losses(s, file, add_text, text);
	assert_string_equal(text, want);
}

static void add_thread_text(void *ctx, uint64_t tid, const char *cause, uint64_t cnt)
{
	char *text = ctx;
	size_t len = strlen(text);

	snprintf(text + len, 256 - len, "%llu:%s=%llu ", (unsigned long long)tid, cause,
		 (unsigned long long)cnt);
}

static void assert_thread_losses(const struct session_json *s, const char *file, const char *want)
{
	char text[256] = "";

	session_json_thread_losses(s, file, add_thread_text, text);
	assert_string_equal(text, want);
}

static void test_losses_of_threads(void **state)
{
	struct session_json *s = good(
		"{\"processes\":[{\"file\":\"a\",\"lost\":{\"x\":3},\"lost_threads\":"
		"{\"13\":{\"x\":1,\"y\":2},\"14\":[],\"15\":{\"x\":\"1\"},\"16\":{\"x\":1}}},"
		"{\"file\":\"b\",\"lost_threads\":[]},{\"file\":\"c\"}]}");

	assert_thread_losses(s, "a", "13:x=1 13:y=2 16:x=1 ");
	assert_thread_losses(s, "b", "");
	assert_thread_losses(s, "c", "");
	assert_thread_losses(s, "d", "");
	session_json_free(s);
}

static void test_a_process(void **state)
{
	struct session_json *s = good(
		"{\"duration_s\":30.5,\"kernel\":\"6.1.0\",\"lost\":{\"a\":1,\"b\":0},"
		"\"processes\":["
		"{\"file\":\"/far/away/12-app.tach\",\"pid\":12,\"comm\":\"app\",\"unit\":\"u\","
		"\"command\":[\"app\",7,\"-x\"],"
		"\"container\":{\"label\":\"web\",\"image\":\"i:1\"},"
		"\"lost\":{\"c\":18446744073709551615},\"thread_names\":{\"13\":\"w\",\"x\":\"no\","
		"\"14\":5,\"15x\":\"no\"},\"free_threaded\":true,\"jit\":true},"
		"{\"file\":\"13-b.tach\",\"command\":\"b -y\",\"other_root\":true}]}");
	struct session_process p;

	assert_true(session_json_duration(s) == 30.5);
	assert_string_equal(session_json_kernel(s), "6.1.0");
	session_json_process(s, "12-app.tach", &p);
	assert_int_equal(p.tgid, 12);
	assert_string_equal(p.comm, "app");
	assert_string_equal(p.command, "app  -x");
	assert_string_equal(p.container, "web");
	assert_true(p.elsewhere);
	assert_string_equal(p.image, "i:1");
	assert_string_equal(p.unit, "u");
	assert_string_equal(thread_names_find(p.thread_names, 13), "w");
	assert_null(thread_names_find(p.thread_names, 14));
	assert_null(thread_names_find(p.thread_names, 15));
	assert_true(session_json_free_threaded(s, "12-app.tach"));
	assert_true(session_json_jit(s, "12-app.tach"));
	assert_losses(s, NULL, "a=1 b=0 ");
	assert_losses(s, "12-app.tach", "c=18446744073709551615 ");
	session_json_process(s, "13-b.tach", &p);
	assert_string_equal(p.command, "b -y");
	assert_true(p.elsewhere);
	assert_null(p.comm);
	assert_null(p.thread_names);
	assert_false(session_json_free_threaded(s, "13-b.tach"));
	assert_false(session_json_jit(s, "13-b.tach"));
	session_json_process(s, "14-c.tach", &p);
	assert_null(p.command);
	assert_false(p.elsewhere);
	assert_losses(s, "14-c.tach", "");
	session_json_free(s);
}

static void put(const char *name, const char *text)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
	close(fd);
}

/* FILE.json is of FILE, whatever it calls it; what is something else is not used. */
static void test_beside(void **state)
{
	static const char *const foreign[] = {
		"{}", "[1]", "{\"processes\":[]}",
		"{\"processes\":[{\"file\":\"a\"},{\"file\":\"b\"}]}",
	};
	struct session_json *s;
	struct session_process p;
	size_t i;

	assert_null(session_json_read_beside(dirfd, "x.tach", "x.tach"));
	assert_int_equal(errno, ENOENT);
	put("x.tach.json", "{\"lost\":{\"a\":1},\"processes\":[{\"file\":\"old.tach\",\"pid\":12,"
	    "\"thread_names\":{\"13\":\"w\"},\"free_threaded\":true,\"lost\":{\"b\":2}}]}");
	s = session_json_read_beside(dirfd, "x.tach", "x.tach");
	assert_non_null(s);
	session_json_process(s, "x.tach", &p);
	assert_int_equal(p.tgid, 12);
	assert_string_equal(thread_names_find(p.thread_names, 13), "w");
	assert_true(session_json_free_threaded(s, "x.tach"));
	assert_losses(s, NULL, "a=1 ");
	assert_losses(s, "x.tach", "b=2 ");
	session_json_free(s);
	for (i = 0; i < ARRAY_SIZE(foreign); i++) {
		put("x.folded.json", foreign[i]);
		assert_null(session_json_read_beside(dirfd, "x.folded", "x.folded"));
		assert_int_equal(errno, ENOENT);
	}
	/* Damage matters where it must be ours. */
	put("x.folded.json", "{\"pro");
	assert_null(session_json_read_beside(dirfd, "x.folded", "x.folded"));
	assert_int_equal(errno, ENOENT);
	put("x.tach.json", "{\"pro");
	assert_null(session_json_read_beside(dirfd, "x.tach", "x.tach"));
	assert_int_equal(errno, EBADMSG);
	assert_int_equal(unlinkat(dirfd, "x.folded.json", 0), 0);
	assert_int_equal(unlinkat(dirfd, "x.tach.json", 0), 0);
}

static int add_thread(void *ctx, uint64_t thread_id, const char *name,
		      const struct session_gil *gil)
{
	char *text = ctx;
	size_t len = strlen(text);

	snprintf(text + len, 256 - len, "%llu %s %llu/%llu/%llu; ", (unsigned long long)thread_id,
		 name ? name : "-", (unsigned long long)gil->wait_ns,
		 (unsigned long long)gil->waits, (unsigned long long)gil->longest_wait_ns);
	return thread_id == 99 ? -ECANCELED : 0;
}

static void test_gil(void **state)
{
	struct session_json *s = good(
		"{\"processes\":[{\"file\":\"a\",\"gil\":{\"wait_ns\":-5,\"waits\":3,"
		"\"longest_wait_ns\":99999999999999999999,\"threads\":["
		"{\"thread\":7,\"name\":\"w\",\"wait_ns\":3,\"waits\":2,\"longest_wait_ns\":1},"
		"{\"thread\":8,\"waits\":2},5,null,{\"thread\":-1,\"wait_ns\":1},"
		"{\"thread\":99,\"wait_ns\":1},{\"thread\":100,\"wait_ns\":1}]}},"
		"{\"file\":\"b\",\"gil\":[]}]}");
	struct session_gil gil;
	char text[256] = "";

	session_json_gil(s, "a", &gil);
	assert_true(gil.known);
	assert_int_equal(gil.wait_ns, 0);
	assert_int_equal(gil.waits, 3);
	assert_true(gil.longest_wait_ns == UINT64_MAX);
	assert_int_equal(session_json_gil_threads(s, "a", add_thread, text), -ECANCELED);
	assert_string_equal(text, "7 w 3/2/1; 0 - 1/0/0; 99 - 1/0/0; ");
	session_json_gil(s, "b", &gil);
	assert_false(gil.known);
	assert_int_equal(session_json_gil_threads(s, "b", add_thread, text), 0);
	session_json_free(s);
}

/* If a key, a file or a cause comes twice, the last one counts. */
static void test_duplicates(void **state)
{
	struct session_json *s = good(
		"{\"duration_s\":1,\"duration_s\":2,\"processes\":[{\"file\":\"x\"}],"
		"\"processes\":["
		"{\"file\":\"a\",\"comm\":\"one\",\"unit\":\"u\",\"thread_names\":{\"1\":\"n\"}},"
		"{\"file\":\"d/a\",\"comm\":\"two\",\"comm\":\"three\","
		"\"lost\":{\"x\":1,\"y\":2,\"x\":3},"
		"\"thread_names\":{\"1\":\"old\",\"1\":\"new\"}}]}");
	struct session_process p;

	assert_true(session_json_duration(s) == 2);
	session_json_process(s, "a", &p);
	assert_string_equal(p.comm, "three");
	assert_null(p.unit);
	assert_string_equal(thread_names_find(p.thread_names, 1), "new");
	assert_losses(s, "a", "x=3 y=2 ");
	session_json_free(s);
}

static void test_wrong_types(void **state)
{
	struct session_json *s = good(
		"{\"duration_s\":\"1\",\"kernel\":6,\"start_monotonic_us\":-1,\"start_time\":[],"
		"\"lost\":{\"a\":\"b\",\"c\":1.5,\"d\":-3,\"e\":[1]},\"processes\":[7,null,[],{},"
		"{\"file\":1},{\"file\":\"a\",\"pid\":4294967296,\"comm\":{},\"command\":5,"
		"\"container\":\"x\",\"lost\":[],\"thread_names\":[],\"free_threaded\":1}]}");
	struct session_process p;

	assert_true(session_json_duration(s) == 0);
	assert_null(session_json_kernel(s));
	assert_int_equal(session_json_utc_ns(s, 1), 0);
	assert_losses(s, NULL, "d=0 ");
	session_json_process(s, "a", &p);
	assert_int_equal(p.tgid, 0);
	assert_null(p.comm);
	assert_null(p.command);
	assert_null(p.container);
	assert_null(p.thread_names);
	assert_false(session_json_free_threaded(s, "a"));
	session_json_free(s);
}

static uint64_t utc_ns(const char *start_time, const char *start_us, uint64_t monotonic_us)
{
	char text[256];
	struct session_json *s;
	uint64_t ns;

	snprintf(text, sizeof(text), "{\"start_time\":\"%s\",\"start_monotonic_us\":%s}",
		 start_time, start_us);
	s = good(text);
	ns = session_json_utc_ns(s, monotonic_us);
	session_json_free(s);
	return ns;
}

static void test_time_of_day(void **state)
{
	assert_int_equal(utc_ns("1970-01-01T00:00:10Z", "5000000", 6000000), 11000000000);
	assert_int_equal(utc_ns("1970-01-01T00:00:10Z", "6000000", 5000000), 9000000000);
	assert_int_equal(utc_ns("1970-01-01T00:00:10", "5000000", 6000000), 0);
	assert_int_equal(utc_ns("1970-01-01T00:00:10Z", "-5", 6000000), 0);
	assert_int_equal(utc_ns("1970-01-01T00:00:10Z", "9223372036854775807", 6000000), 0);
	assert_int_equal(utc_ns("1970-01-01T00:00:10Z", "99999999999999999999", 6000000), 0);
	assert_int_equal(utc_ns("1970-01-01T00:00:10Z", "5000000", UINT64_MAX), 0);
}

static void test_not_a_session(void **state)
{
	static const char *const texts[] = {
		"", "[]", "null", "7", "{", "{\"a\":1,}", "{\"a\":01}", "{\"a\":NaN}",
		"{/**/\"a\":1}", "{} x", "{\"kernel\":\"a\nb\"}",
	};
	static char deep[200000];
	size_t i;

	log_set_level(LOG_QUIET);
	for (i = 0; i < ARRAY_SIZE(texts); i++)
		assert_null(from(texts[i], strlen(texts[i])));
	memset(deep, '[', sizeof(deep));
	memcpy(deep, "{\"a\":", 5);
	assert_null(from(deep, sizeof(deep)));
	assert_null(from("{}\0", 3));
	assert_int_equal(unlinkat(dirfd, SESSION_FILE_NAME, 0), 0);
	assert_null(session_json_read(dirfd, SESSION_FILE_NAME));
	assert_int_equal(errno, ENOENT);
	/* A FIFO must not make the reader wait. */
	assert_int_equal(mkfifoat(dirfd, SESSION_FILE_NAME, 0600), 0);
	assert_null(session_json_read(dirfd, SESSION_FILE_NAME));
	assert_int_equal(errno, EINVAL);
}

/* Append a member to a text, as "pid=name version ". */
static int add_member(void *ctx, uint32_t tgid, const struct profile_service *service)
{
	const char *version = service->part[SERVICE_VERSION];
	char *text = ctx;
	size_t len = strlen(text);

	snprintf(text + len, 256 - len, "%u=%s %s ", tgid, service->part[SERVICE_NAME],
		 version ? version : "-");
	return tgid == 99 ? -7 : 0;
}

static void test_services(void **state)
{
	struct session_json *s = good(
		"{\"processes\":[{\"file\":\"12-app.tach\",\"pid\":12,\"service\":{"
		"\"service.name\":\"web\",\"service.namespace\":5,"
		"\"deployment.environment.name\":\"prod\",\"more\":1}},"
		"{\"file\":\"m.tach\",\"pid\":null,\"service\":[],\"members\":["
		"{\"pid\":3,\"service\":{\"service.name\":\"a\",\"service.version\":\"1\"}},"
		"{\"pid\":4},7,{\"service\":{\"service.name\":\"x\"}},"
		"{\"pid\":5,\"service\":{\"service.version\":\"1\"}},"
		"{\"pid\":6,\"service\":{\"service.name\":\"b\"}}]},"
		"{\"file\":\"n.tach\",\"members\":["
		"{\"pid\":99,\"service\":{\"service.name\":\"a\"}},"
		"{\"pid\":1,\"service\":{\"service.name\":\"a\"}}]}]}");
	struct session_process p;
	char text[256] = "";

	session_json_process(s, "12-app.tach", &p);
	assert_string_equal(p.service.part[SERVICE_NAME], "web");
	assert_null(p.service.part[SERVICE_NAMESPACE]);
	assert_null(p.service.part[SERVICE_VERSION]);
	assert_string_equal(p.service.part[SERVICE_ENVIRONMENT], "prod");
	session_json_process(s, "m.tach", &p);
	assert_null(p.service.part[SERVICE_NAME]);
	assert_int_equal(session_json_members(s, "m.tach", add_member, text), 0);
	assert_string_equal(text, "3=a 1 6=b - ");
	assert_int_equal(session_json_members(s, "12-app.tach", add_member, text), 0);
	assert_int_equal(session_json_members(s, "none", add_member, text), 0);
	*text = '\0';
	assert_int_equal(session_json_members(s, "n.tach", add_member, text), -7);
	assert_string_equal(text, "99=a - ");
	session_json_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_process, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_services, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_losses_of_threads, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_beside, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_gil, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_duplicates, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_wrong_types, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_time_of_day, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_not_a_session, make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
