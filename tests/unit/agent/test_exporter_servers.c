// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_exporter_servers.c - the configuration's servers with what is in the files that it names,
 * and files that cannot be used.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/exporter_servers.h"
#include "config/config.h"

static char dir[] = "/tmp/tachbpf-servers-XXXXXX";
static struct exporter_servers servers;

static const char *path_of(const char *name)
{
	static char paths[4][96];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void put_file(const char *name, const void *bytes, size_t len)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, bytes, len), 0);
	close(fd);
}

/* The servers of an OTLP exporter with this YAML in it; %s in it is the directory. */
static int make(const char *keys)
{
	char yaml[1024], format[512];
	struct agent_config *c;
	int err;

	snprintf(format, sizeof(format),
		 "exporters: {otlp: {endpoint: 'http://127.0.0.1:1', %s}}\n", keys);
	snprintf(yaml, sizeof(yaml), format, dir);
	c = agent_config_parse("test", yaml, strlen(yaml));
	assert_non_null(c);
	err = exporter_servers_make(c, &servers);
	agent_config_free(c);
	return err;
}

static const struct sender_server *server(void)
{
	return &servers.exporters[0].server;
}

static void test_nothing(void **state)
{
	struct agent_config *c = agent_config_parse("test", "", 0);

	assert_int_equal(exporter_servers_make(c, &servers), 0);
	assert_int_equal(servers.cnt, 1);
	assert_string_equal(servers.exporters[0].name, EXPORTER_OTLP);
	assert_null(server()->url);
	exporter_servers_free(&servers);
	agent_config_free(c);
}

static void test_both(void **state)
{
	static const char yaml[] =
		"exporters:\n"
		"  otlp: {endpoint: 'http://o:4318/', timeout: 7s, insecure: true,\n"
		"         headers: {A: 1, B: two}}\n"
		"  pyroscope: {url: 'https://p', tenant_id: me, proxy: 'http://x:1'}\n"
		"retry: {initial: 2s, max: 9s}\n";
	struct agent_config *c = agent_config_parse("test", yaml, strlen(yaml));
	const struct delivery_exporter *e = servers.exporters;

	assert_non_null(c);
	assert_int_equal(exporter_servers_make(c, &servers), 0);
	assert_int_equal(servers.cnt, 2);
	assert_string_equal(e[0].server.url, "http://o:4318/v1development/profiles");
	assert_string_equal(e[0].server.headers, "A: 1\nB: two\n");
	assert_int_equal(e[0].timeout_ms, 7000);
	assert_true(e[0].server.insecure);
	assert_null(e[0].server.proxy);
	assert_int_equal(e[0].pause_ns, 2000000000);
	assert_int_equal(e[0].pause_max_ns, 9000000000);
	assert_string_equal(e[1].name, EXPORTER_PYROSCOPE);
	assert_string_equal(e[1].server.url, "https://p");
	assert_string_equal(e[1].server.headers, "X-Scope-OrgID: me\n");
	assert_string_equal(e[1].server.proxy, "http://x:1");
	assert_false(e[1].server.insecure);
	exporter_servers_free(&servers);
	agent_config_free(c);
}

static void test_several(void **state)
{
	static const char yaml[] =
		"exporters:\n"
		"  otlp/b: {endpoint: 'https://b', protocol: grpc, headers: {A: b}}\n"
		"  otlp: {endpoint: 'http://o', timeout: 7s}\n"
		"  otlp/off: {timeout: 1s}\n"
		"  pyroscope: {url: 'https://p'}\n";
	struct agent_config *c = agent_config_parse("test", yaml, strlen(yaml));
	const struct delivery_exporter *e = servers.exporters;

	assert_non_null(c);
	assert_int_equal(exporter_servers_make(c, &servers), 0);
	assert_int_equal(servers.cnt, 3);
	assert_string_equal(e[0].name, "otlp");
	assert_false(e[0].server.grpc);
	assert_int_equal(e[0].timeout_ms, 7000);
	assert_string_equal(e[1].name, "otlp/b");
	assert_true(e[1].server.grpc);
	assert_string_equal(e[1].server.headers, "A: b\n");
	assert_string_equal(e[2].name, EXPORTER_PYROSCOPE);
	exporter_servers_free(&servers);
	agent_config_free(c);
}

static void test_files(void **state)
{
	static char large[256 * 1024 + 1];

	put_file("token", "secret\r\n\n", 9);
	put_file("headers", "X: y\nZ: w\n", 10);
	assert_int_equal(make("headers: {A: b}, headers_file: '%1$s/headers', "
			      "bearer_token_file: '%1$s/token'"), 0);
	assert_string_equal(server()->bearer, "secret");
	assert_string_equal(server()->headers, "A: b\nX: y\nZ: w");
	assert_null(server()->user);
	exporter_servers_free(&servers);

	put_file("user", "me:a:b\n", 7);
	assert_int_equal(make("basic_auth_file: '%1$s/user'"), 0);
	assert_string_equal(server()->user, "me");
	assert_string_equal(server()->password, "a:b");
	exporter_servers_free(&servers);

	put_file("pem", "ONE\nTWO\n", 8);
	assert_int_equal(make("ca_file: '%1$s/pem', cert_file: '%1$s/pem', key_file: '%1$s/pem'"),
			 0);
	assert_string_equal(server()->ca, "ONE\nTWO");
	assert_string_equal(server()->certificate, "ONE\nTWO");
	assert_string_equal(server()->key, "ONE\nTWO");
	exporter_servers_free(&servers);

	/* The largest file. */
	memset(large, 'x', sizeof(large));
	put_file("large", large, sizeof(large) - 1);
	assert_int_equal(make("bearer_token_file: '%1$s/large'"), 0);
	assert_int_equal(strlen(server()->bearer), sizeof(large) - 1);
	exporter_servers_free(&servers);
	put_file("large", large, sizeof(large));
	assert_int_equal(make("bearer_token_file: '%1$s/large'"), -EFBIG);
	exporter_servers_free(&servers);
}

static void fails(const char *bytes, size_t len, int err)
{
	static const char *const keys[] = {
		"headers_file: '%1$s/bad'", "bearer_token_file: '%1$s/bad'",
		"basic_auth_file: '%1$s/bad'", "ca_file: '%1$s/bad'",
		"cert_file: '%1$s/bad', key_file: '%1$s/pem'",
		"cert_file: '%1$s/pem', key_file: '%1$s/bad'",
		/* The headers that were there before are freed, too. */
		"headers: {A: b}, headers_file: '%1$s/bad'",
	};
	size_t i;

	if (bytes)
		put_file("bad", bytes, len);
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		assert_int_equal(make(keys[i]), err);
		exporter_servers_free(&servers);
		exporter_servers_free(&servers);
	}
}

static void test_bad_files(void **state)
{
	put_file("pem", "ONE\n", 4);
	unlink(path_of("bad"));
	fails(NULL, 0, -ENOENT);
	fails("", 0, -ENODATA);
	fails("\r\n\n", 3, -ENODATA);
	fails("a:\0b", 4, -EILSEQ);
	fails("\0", 1, -EILSEQ);
	unlink(path_of("bad"));
	/* Nobody waits for who might write into it. */
	assert_int_equal(mkfifo(path_of("bad"), 0600), 0);
	fails(NULL, 0, -EINVAL);
	unlink(path_of("bad"));
	assert_int_equal(mkdir(path_of("bad"), 0700), 0);
	fails(NULL, 0, -EINVAL);
	rmdir(path_of("bad"));

	put_file("user", "nobody\n", 7);
	assert_int_equal(make("basic_auth_file: '%1$s/user'"), -EINVAL);
	exporter_servers_free(&servers);
}

/* What is overwritten in the end is all of each text: the password behind its NUL, too. */
static void test_overwritten(void **state)
{
	size_t i, found = 0;

	put_file("user", "me:password\n", 12);
	put_file("token", "token", 5);
	assert_int_equal(make("headers: {A: secret}, basic_auth_file: '%1$s/user', "
			      "ca_file: '%1$s/token'"), 0);
	assert_int_equal(servers.text_cnt, 4);
	for (i = 0; i < servers.text_cnt; i++) {
		assert_int_equal(servers.texts[i].data[servers.texts[i].len - 1], 0);
		found += !!memmem(servers.texts[i].data, servers.texts[i].len, "password", 8);
	}
	assert_int_equal(found, 1);
	exporter_servers_free(&servers);
	assert_int_equal(servers.text_cnt, 0);
	for (i = 0; i < ARRAY_SIZE(servers.texts); i++)
		assert_null(servers.texts[i].data);
}

static int group_setup(void **state)
{
	log_set_level(LOG_QUIET);
	return mkdtemp(dir) ? 0 : -1;
}

static int group_teardown(void **state)
{
	static const char *const names[] = { "token", "headers", "user", "pem", "large", "bad" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		unlink(path_of(names[i]));
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_overwritten),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
