// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_notify.c - what the service manager hears, over sockets with a path or an abstract name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/notify.h"
#include "base/util.h"

static int manager = -1;
static char path[108], dir[64];

/* A manager that listens; name: as in NOTIFY_SOCKET. */
static void manage(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));

	memcpy(at.sun_path, name, strlen(name));
	if (*name == '@')
		at.sun_path[0] = '\0';
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(manager >= 0);
	assert_int_equal(bind(manager, (struct sockaddr *)&at, len), 0);
	setenv("NOTIFY_SOCKET", name, 1);
}

static int begin_path(void **state)
{
	strcpy(dir, "/tmp/tachbpf-notify-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/socket", dir);
	manage(path);
	return 0;
}

static int begin_abstract(void **state)
{
	snprintf(path, sizeof(path), "@tachbpf-notify-%d", getpid());
	manage(path);
	return 0;
}

static int end(void **state)
{
	if (manager >= 0)
		close(manager);
	manager = -1;
	if (*path == '/') {
		unlink(path);
		rmdir(dir);
	}
	*path = '\0';
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return 0;
}

/* The next message; NULL: there is none. */
static const char *heard(void)
{
	static char text[1024];
	ssize_t n = recv(manager, text, sizeof(text) - 1, 0);

	if (n < 0) {
		assert_int_equal(errno, EAGAIN);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

static void test_messages(void **state)
{
	struct notify n;
	const char *text;
	uint64_t before, us;

	assert_int_equal(notify_begin(&n), 0);
	assert_null(getenv("NOTIFY_SOCKET"));
	notify_ready(&n);
	assert_string_equal(heard(), "READY=1");
	before = now_ns() / 1000;
	notify_reloading(&n);
	text = heard();
	assert_non_null(text);
	assert_int_equal(sscanf(text, "RELOADING=1\nMONOTONIC_USEC=%lu", &us), 1);
	assert_true(us >= before && us <= now_ns() / 1000);
	notify_stopping(&n);
	assert_string_equal(heard(), "STOPPING=1");
	notify_tick(&n, now_ns());
	assert_null(heard());
	assert_false(n.every_ns);
	notify_end(&n);
	notify_ready(&n);
	assert_null(heard());
}

static void test_watchdog(void **state)
{
	struct notify n;
	char pid[16];

	setenv("WATCHDOG_USEC", "3000000", 1);
	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("WATCHDOG_PID", pid, 1);
	assert_int_equal(notify_begin(&n), 0);
	assert_null(getenv("WATCHDOG_USEC"));
	assert_null(getenv("WATCHDOG_PID"));
	notify_tick(&n, 10000000000);
	assert_string_equal(heard(), "WATCHDOG=1");
	notify_tick(&n, 11499999999);
	assert_null(heard());
	notify_tick(&n, 11500000000);
	assert_string_equal(heard(), "WATCHDOG=1");
	notify_end(&n);
}

static void test_the_watchdog_of_others(void **state)
{
	static const char *const wrong[][2] = {
		{ "3000000", "1" }, { "3000000", "x" }, { "0", NULL }, { "-1", NULL },
		{ "99999999999999999999", NULL }, { "18446744073709551615", NULL }, { "", NULL },
	};
	struct notify n;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		setenv("NOTIFY_SOCKET", path, 1);
		setenv("WATCHDOG_USEC", wrong[i][0], 1);
		if (wrong[i][1])
			setenv("WATCHDOG_PID", wrong[i][1], 1);
		assert_int_equal(notify_begin(&n), 0);
		assert_false(n.every_ns);
		notify_end(&n);
	}
}

/* Nobody reads: messages are lost, and nothing waits. */
static void test_a_manager_that_is_full(void **state)
{
	struct notify n;
	int i;

	assert_int_equal(notify_begin(&n), 0);
	for (i = 0; i < 10000; i++)
		notify_ready(&n);
	assert_string_equal(heard(), "READY=1");
	close(manager);
	manager = -1;
	notify_ready(&n);
	notify_end(&n);
}

static void test_no_manager(void **state)
{
	char longest[10000];
	struct notify n;
	size_t i;

	unsetenv("NOTIFY_SOCKET");
	setenv("WATCHDOG_USEC", "1000000", 1);
	assert_int_equal(notify_begin(&n), 0);
	notify_ready(&n);
	assert_false(n.every_ns);
	notify_end(&n);

	memset(longest, '/', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	for (i = 0; i < 6; i++) {
		/* 108 and 107 bytes: too long, and just short enough. */
		const char *name = (const char *[]){ longest, longest + 9999 - 108, "x", "/", "@",
						     "vsock:2:1234" }[i];

		setenv("NOTIFY_SOCKET", name, 1);
		assert_int_not_equal(notify_begin(&n), 0);
		notify_ready(&n);
		notify_end(&n);
	}
	setenv("NOTIFY_SOCKET", longest + 9999 - 107, 1);
	assert_int_equal(notify_begin(&n), 0);
	notify_ready(&n);
	notify_end(&n);
	setenv("NOTIFY_SOCKET", "", 1);
	assert_int_equal(notify_begin(&n), 0);
	notify_end(&n);
}

int main(void)
{
#define BOTH(test)                                                                                 \
	cmocka_unit_test_setup_teardown(test, begin_path, end),                                    \
	cmocka_unit_test_setup_teardown(test, begin_abstract, end)
	const struct CMUnitTest tests[] = {
		BOTH(test_messages), BOTH(test_watchdog), BOTH(test_the_watchdog_of_others),
		BOTH(test_a_manager_that_is_full),
		cmocka_unit_test_teardown(test_no_manager, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
