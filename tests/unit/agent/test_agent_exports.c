// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_agent_exports.c - from a window to the entries of a spool: nothing is lost on the way, and
 * what is in the entries is what was offered. Servers are ports where nobody listens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_exports.h"
#include "base/gzip.h"
#include "config/config.h"
#include "delivery/delivery_parts.h"
#include "telemetry/otlp.h"
#include "tests/unit/telemetry/window_data.h"

#define PERIOD_NS 10000000ull
#define STACKS 4000
#define SERVICES 3	/* with number 0 */
#define OTLP "otlp: {endpoint: 'http://127.0.0.1:9'%s}"
#define PYROSCOPE "pyroscope: {url: 'http://127.0.0.1:9'}"

static char dir[] = "/tmp/tachbpf-exports-XXXXXX";
static char spool[64];
static struct agent_services *services;
static struct window *window;
static struct fake_process process;

static struct agent_config *config(const char *exporters, const char *more)
{
	char yaml[1024];
	struct agent_config *c;

	snprintf(yaml, sizeof(yaml), "spool: {dir: '%s'}\nlabels: {env: test}\n%s{%s}\n%s", spool,
		 *exporters ? "exporters: " : "#", exporters, more);
	c = agent_config_parse("test", yaml, strlen(yaml));
	assert_non_null(c);
	return c;
}

static struct agent_exports *open_exports(const struct agent_config *c)
{
	struct agent_exports *x = NULL;

	assert_int_equal(agent_exports_new(&x, c), 0);
	return x;
}

static void offer_window(struct agent_exports *x)
{
	static struct attrs labels;
	const struct service_config config = { .labels = &labels };
	const struct agent_window_facts facts = { .period_ns = PERIOD_NS, .config = &config };

	attrs_clear(&labels);
	attrs_put_text(&labels, "env", "test");

	agent_exports_window(x, window, services, &facts);
}

/* ---- what is in the spool ---- */

struct found {
	size_t requests, otlp, pyroscope, zipped;
	uint64_t samples, weight;	/* of OTLP */
	uint64_t pyroscope_samples, pyroscope_weight;
	bool web;			/* a request for Pyroscope has service web, and labels */
	size_t largest;			/* bytes of OTLP, decompressed */
};

static void look_at_entry(int fd, struct found *f)
{
	static uint8_t bytes[4 << 20];
	struct request_info info;
	struct spool_sizes sizes;
	struct buf plain = { 0 };
	ssize_t n = read(fd, bytes, sizeof(bytes));
	const uint8_t *payload;

	assert_true(n > 0);
	assert_int_equal(spool_entry_parse(bytes, (size_t)n, &info, &sizes), 0);
	assert_int_equal(sizes.head_bytes + sizes.payload_bytes, n);
	payload = bytes + sizes.head_bytes;
	assert_int_equal(spool_entry_crc(0, payload, sizes.payload_bytes), sizes.payload_crc);
	assert_int_equal(info.begin_ns, BEGIN_NS);
	assert_int_equal(info.end_ns, BEGIN_NS + 15 * NS_PER_S);
	f->requests++;
	if (info.path == REQUEST_PYROSCOPE) {
		assert_string_equal(info.exporter, "pyroscope");
		assert_string_equal(info.content_type, "application/proto");
		assert_string_equal(info.encoding, "gzip");
		assert_int_equal(gunzip_bytes(payload, sizes.payload_bytes, 64 << 20, &plain), 0);
		f->web |= memmem(plain.data, plain.len, "\x03web", 4) &&
			  memmem(plain.data, plain.len, "\x03" "env\x12\x04test", 10);
		f->pyroscope_samples += info.samples;
		f->pyroscope_weight += info.weight;
		f->pyroscope++;
	} else {
		assert_string_equal(info.exporter, "otlp");
		assert_string_equal(info.content_type, "application/x-protobuf");
		f->zipped += !strcmp(info.encoding, "gzip");
		assert_int_equal(*info.encoding ?
				 gunzip_bytes(payload, sizes.payload_bytes, 64 << 20, &plain) :
				 buf_add(&plain, payload, sizes.payload_bytes), 0);
		f->largest = plain.len > f->largest ? plain.len : f->largest;
		f->samples += info.samples;
		f->weight += info.weight;
		f->otlp++;
	}
	assert_true(plain.len);
	buf_free(&plain);
}

/* Look at all entries, and remove them. */
static struct found look_at_spool(void)
{
	struct found f = { .requests = 0 };
	struct dirent *e;
	DIR *d = opendir(spool);

	assert_non_null(d);
	while ((e = readdir(d))) {
		int fd;

		if (!strstr(e->d_name, ".spool"))
			continue;
		fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		look_at_entry(fd, &f);
		close(fd);
		unlinkat(dirfd(d), e->d_name, 0);
	}
	closedir(d);
	return f;
}

/* The window's sums. */
static void window_sums(uint64_t *samples, uint64_t *ns)
{
	enum window_kind kind;
	uint32_t s;

	*samples = *ns = 0;
	for (s = 0; s < SERVICES; s++) {
		for (kind = 0; kind < WINDOW_KIND_CNT; kind++) {
			*samples += window_series(window, s, kind)->samples;
			*ns += window_series(window, s, kind)->value;
		}
	}
}

static void has_all(const struct found *f)
{
	uint64_t samples, ns;

	window_sums(&samples, &ns);
	assert_int_equal(f->samples, samples);
	assert_int_equal(f->weight, ns);
}

/* ---- tests ---- */

/* Nobody to send to: OTLP requests wait, and nothing is lost. */
static void test_held(void **state)
{
	struct agent_config *c = config("", ""), *later = config(PYROSCOPE, "");
	struct agent_exports *x = open_exports(c);
	struct delivery_state waits;
	struct found f;

	assert_int_equal(agent_exports_cnt(x), 1);
	assert_string_equal(agent_exports_name(x, 0), "otlp");
	offer_window(x);
	delivery_tick(agent_exports_delivery(x), now_ns());
	delivery_state(agent_exports_delivery(x), 0, &waits);
	assert_int_equal(waits.waiting, agent_exports_counts(x)->requests);
	assert_int_equal(waits.in_flight, 0);
	assert_int_equal(waits.failures_in_row, 0);
	/* There is no sender, and nothing to wait for. */
	assert_int_equal(agent_exports_delivery(x)->sender.worker.pid, 0);
	assert_int_equal(delivery_next_ns(agent_exports_delivery(x), 5), UINT64_MAX);
	delivery_finish(agent_exports_delivery(x), 60000);
	/* Another configuration: they stay in the spool. */
	assert_int_equal(agent_exports_set(x, later), 0);
	assert_string_equal(agent_exports_name(x, 0), "pyroscope");
	assert_int_equal(agent_exports_counts(x)->failed, 0);
	agent_exports_free(x);
	f = look_at_spool();
	assert_true(f.otlp > 0);
	assert_int_equal(f.zipped, f.otlp);
	has_all(&f);
	agent_config_free(c);
	agent_config_free(later);
}

/* A window that is larger than a request: the parts have all of it. */
static void test_small_requests(void **state)
{
	char otlp[128];
	struct agent_config *c;
	struct agent_exports *x;
	struct found f;

	snprintf(otlp, sizeof(otlp), OTLP, ", max_request_bytes: 64KiB, compression: none");
	c = config(otlp, "");
	x = open_exports(c);
	offer_window(x);
	assert_true(agent_exports_counts(x)->requests > 1);
	assert_int_equal(agent_exports_counts(x)->too_large, 0);
	agent_exports_free(x);
	f = look_at_spool();
	assert_true(f.otlp > 1);
	assert_int_equal(f.zipped, 0);
	assert_true(f.largest <= 64 << 10);
	has_all(&f);
	agent_config_free(c);
}

static void test_pyroscope(void **state)
{
	char both[256];
	struct agent_config *c;
	struct agent_exports *x;
	struct found f;

	snprintf(both, sizeof(both), OTLP ", " PYROSCOPE, "");
	c = config(both, "");
	x = open_exports(c);
	assert_int_equal(agent_exports_cnt(x), 2);
	offer_window(x);
	agent_exports_free(x);
	f = look_at_spool();
	has_all(&f);
	/* One for each service. */
	assert_int_equal(f.pyroscope, SERVICES);
	assert_int_equal(f.pyroscope_samples, f.samples);
	assert_int_equal(f.pyroscope_weight, f.weight);
	assert_true(f.web);
	agent_config_free(c);
}

/* Only files are written: nothing is encoded for a server that nobody named. */
static void test_files_only(void **state)
{
	struct agent_config *c = config("pprof: {dir: /nowhere}", "");
	struct agent_exports *x = open_exports(c);

	offer_window(x);
	assert_int_equal(agent_exports_counts(x)->requests, 0);
	agent_exports_free(x);
	assert_int_equal(look_at_spool().requests, 0);
	agent_config_free(c);
}

/* A reload that cannot be: the old configuration is used on. */
static void test_bad_reload(void **state)
{
	char otlp[128];
	struct agent_config *c = config("", ""), *bad;
	struct agent_exports *x = open_exports(c);

	snprintf(otlp, sizeof(otlp), OTLP, ", bearer_token_file: /nowhere/token");
	bad = config(otlp, "");
	assert_int_not_equal(agent_exports_set(x, bad), 0);
	agent_config_free(bad);
	offer_window(x);
	assert_int_equal(agent_exports_counts(x)->failed, 0);
	agent_exports_free(x);
	assert_true(look_at_spool().otlp > 0);
	agent_config_free(c);
	agent_exports_free(NULL);
}

static void enter(const char *name)
{
	static struct service s;

	s.id++;
	attrs_clear(&s.resource);
	attrs_put_text(&s.resource, "service.name", name);
	assert_int_not_equal(agent_services_enter(services, &s, 1), SERVICE_NUMBER_OTHER);
}

static int group_setup(void **state)
{
	uint32_t i, frames[2];
	char name[64];

	log_set_level(LOG_QUIET);
	if (!mkdtemp(dir))
		return -1;
	snprintf(spool, sizeof(spool), "%s/spool", dir);
	services = agent_services_new(10);
	enter("web");
	enter("a p{i}");
	window = window_new(&window_limits_default, BEGIN_NS, BEGIN_NS + 15 * NS_PER_S);
	process = fake_process();
	for (i = 0; i < STACKS; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		frames[0] = python_frame(&process, "/srv/app.py", name, (int32_t)i + 1);
		frames[1] = python_frame(&process, "/srv/main.py", "main", 7);
		add_stack(window, &process, i % SERVICES, WINDOW_CPU, frames, 2, i % 5 + 1,
			  PERIOD_NS);
	}
	return 0;
}

static int group_teardown(void **state)
{
	char lock[80];

	window_free(window);
	fake_process_free(&process);
	agent_services_free(services);
	snprintf(lock, sizeof(lock), "rm -r %s", dir);
	return system(lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_small_requests),
		cmocka_unit_test(test_pyroscope),
		cmocka_unit_test(test_files_only),
		cmocka_unit_test(test_bad_reload),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
