// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_command_label.c - command lines as tables show them: the program is never cut off.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "telemetry/command_label.h"

/* In command, "|" stands for NUL. */
static const struct {
	const char *command;
	size_t width;
	const char *label;
} table[] = {
	{ "/usr/bin/python3|-u|/srv/shop/app.py|--port|80|", 0, "app.py --port 80" },
	{ "/usr/bin/python3 -u /srv/shop/app.py --port 80", 0, "app.py --port 80" },
	{ "/a/very/long/path/of/a/venv/bin/python3.13t /another/very/long/path/app.py --x 1", 20,
	  "app.py --x 1" },
	{ "python3 app.py --name one --name two", 16, "app.py --name o…" },
	{ "python3|/srv/my scripts/a b.py|c|", 0, "a b.py c" },
	{ "python3 /srv/shop/__main__.py", 0, "shop/__main__.py" },
	{ "python3 shop/__main__.py", 0, "shop/__main__.py" },
	{ "python3 /srv/shop/", 0, "/srv/shop/" },
	/* modules and code */
	{ "python3.11 -m gunicorn shop:app", 0, "-m gunicorn shop:app" },
	{ "python3.11 -Immodule", 0, "-m module" },
	{ "python3 -Wignore -X dev -W error -m http.server", 0, "-m http.server" },
	{ "python3|-c|import x\n\n\twhile 1: pass|", 0, "-c import x while 1: pass" },
	{ "python3 -cpass", 0, "-c pass" },
	/* programs of an environment, and others */
	{ "/venv/bin/python /venv/bin/celery -A shop worker", 0, "celery -A shop worker" },
	{ "/usr/sbin/uwsgi --ini /etc/shop.ini", 0, "uwsgi --ini /etc/shop.ini" },
	{ "gunicorn: worker [/srv/shop]", 0, "gunicorn: worker [/srv/shop]" },
	{ "[celeryd: celery@host:MainProcess]", 0, "[celeryd: celery@host:MainProcess]" },
	/* no program */
	{ "/usr/bin/python3|", 0, "python3" },
	{ "/usr/bin/python3 -i", 0, "python3 -i" },
	{ "python3 -m", 0, "python3 -m" },
	{ "python3 -W", 0, "python3 -W" },
	{ "python3 -", 0, "python3 -" },
	{ "", 0, "" },
	{ "|||", 0, "" },
	{ "   ", 0, "" },
	{ "/", 0, "/" },
	/* hostile */
	{ "python3 a\x1b[31m.py", 0, "a\\x1b[31m.py" },
	{ "python3 \xff.py", 0, "\\xff.py" },
};

static void test_labels(void **state)
{
	char command[256], label[COMMAND_LABEL_BYTES];
	size_t i, n, len;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		len = strlen(table[i].command);
		memcpy(command, table[i].command, len + 1);
		for (n = 0; n < len; n++)
			command[n] = command[n] == '|' ? '\0' : command[n];
		assert_string_equal(command_label(command, len, table[i].width, label),
				    table[i].label);
	}
}

static void test_a_long_command_ends_in_the_buffer(void **state)
{
	char command[4096] = "python3 -m ", label[COMMAND_LABEL_BYTES];

	(void)state;
	memset(command + 11, '\x01', sizeof(command) - 11);
	command_label(command, sizeof(command), 0, label);
	assert_memory_equal(label, "-m \\x01", 7);
	assert_true(strlen(label) < sizeof(label));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_a_long_command_ends_in_the_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
