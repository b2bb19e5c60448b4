// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_code_owner.c - whose a file is. tests/e2e/files/test_annotate.py compares this rule with the
 * pages'.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/util.h"
#include "model/code_owner.h"

static void test_owners(void **state)
{
	static const struct {
		const char *file;
		enum code_owner owner;
	} cases[] = {
		{ "/srv/app/views.py", CODE_OWN },
		{ "views.py", CODE_OWN },
		{ "", CODE_OWN },
		{ "/", CODE_OWN },
		{ "<string>", CODE_OWN },
		{ "/home/me/lib/python/x.py", CODE_OWN },	/* no version */
		{ "/home/me/lib/python3", CODE_OWN },		/* a file */
		{ "/home/me/python311.zip", CODE_OWN },
		{ "/home/me/python.zip/x.py", CODE_OWN },
		{ "/home/me/xlib/python3.11/x.py", CODE_OWN },
		{ "/srv/site-packages.py", CODE_OWN },
		{ "/srv/bin/x", CODE_OWN },
		{ "/opt/usr/bin/x", CODE_OWN },
		{ "/srv/.venv/lib/python3.11/site-packages/flask/app.py", CODE_PACKAGE },
		{ "/usr/lib/python3/dist-packages/yaml/reader.py", CODE_PACKAGE },
		{ "site-packages/x.py", CODE_PACKAGE },
		{ "/usr/lib/python3.11/json/decoder.py", CODE_STANDARD },
		{ "/usr/lib64/python3.6/os.py", CODE_STANDARD },
		{ "/root/.pyenv/versions/3.13.0t/lib/python3.13t/os.py", CODE_STANDARD },
		{ "/usr/lib/python311.zip/os.py", CODE_STANDARD },
		{ "<frozen importlib._bootstrap>", CODE_STANDARD },
		{ "/usr/bin/apt-listchanges", CODE_SYSTEM },
		{ "/sbin/x", CODE_SYSTEM },
		{ "/usr/libexec/x/y.py", CODE_SYSTEM },
		{ "/usr/share/x/y.py", CODE_SYSTEM },
		{ "/snap/x/1/y.py", CODE_SYSTEM },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		if (code_owner_of(string_of(cases[i].file)) != cases[i].owner)
			fail_msg("'%s' is %d", cases[i].file,
				 code_owner_of(string_of(cases[i].file)));
}

/* A text need not end with a NUL, and its end is not read. */
static void test_ends(void **state)
{
	static const char path[] = "/usr/lib/python3.11/x.py";
	uint32_t len;

	for (len = 0; len < sizeof(path) - 1; len++) {
		char *copy = malloc(len ? len : 1);

		memcpy(copy, path, len);
		assert_int_equal(code_owner_of((struct string_ref){ copy, len }),
				 len > strlen("/usr/lib/python3.11") ? CODE_STANDARD : CODE_OWN);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
