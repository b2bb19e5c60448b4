// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cpython_installed.c - the CPythons that are installed on this machine are recognised. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cpython/image.h"

static unsigned int seen;
static char why[200];

static void check_file(const char *path, unsigned int minor)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct cpython_image img;
	char prefix[16];

	if (fd < 0)
		return;
	err = cpython_image_read(fd, &img, why, sizeof(why));
	close(fd);
	if (err == -ENOENT || err == -EXDEV)	/* a launcher, a program linked to libpython */
		return;
	seen++;
	snprintf(prefix, sizeof(prefix), "3.%u.", minor);
	if (strncmp(img.version, prefix, strlen(prefix)))
		print_error("%s: %d %s\n", path, err, why);
	assert_memory_equal(img.version, prefix, strlen(prefix));
	if (minor < 6 || minor > 15) {
		assert_int_equal(err, -ENOTSUP);
		return;
	}
	if (err)
		fail_msg("%s: %s", path, why);
	assert_true(img.runtime_vaddr && img.none_vaddr);
	if (minor >= 15)
		assert_in_range(img.tstate_how, PY_TSTATE_TLS_TP, PY_TSTATE_TLS_DTV);
	else
		assert_int_equal(img.tstate_how, PY_TSTATE_TSS_GLIBC);
	assert_true((img.layout.interp_epoch == ABI_NO_OFF32) == (minor < 13));
}

static void check_pyenv(const char *root)
{
	char path[1024];
	struct dirent *e;
	unsigned int minor;
	DIR *d;

	snprintf(path, sizeof(path), "%s/versions", root);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		if (sscanf(e->d_name, "3.%u.", &minor) != 1)
			continue;
		snprintf(path, sizeof(path), "%s/versions/%.64s/lib/libpython3.%u%s.so.1.0", root,
			 e->d_name, minor, minor < 8 ? "m" : "");
		check_file(path, minor);
		snprintf(path, sizeof(path), "%s/versions/%.64s/bin/python3.%u", root, e->d_name,
			 minor);
		check_file(path, minor);
	}
	if (d)
		closedir(d);
}

static void check_prefix(const char *root)
{
	char path[1024];
	unsigned int minor;

	for (minor = 6; minor < 20; minor++) {
		snprintf(path, sizeof(path), "%s/usr/bin/python3.%u", root, minor);
		check_file(path, minor);
		snprintf(path, sizeof(path), "%s/usr/lib/x86_64-linux-gnu/libpython3.%u.so.1.0",
			 root, minor);
		check_file(path, minor);
	}
}

static void test_installed(void **state)
{
	const char *pyenv = getenv("PYENV_ROOT"), *home = getenv("HOME");
	char path[512];

	if (pyenv) {
		check_pyenv(pyenv);
	} else if (home) {
		snprintf(path, sizeof(path), "%s/.pyenv", home);
		check_pyenv(path);
	}
	check_prefix("");
	if (getenv("TACHBPF_SID"))
		check_prefix(getenv("TACHBPF_SID"));
	if (!seen) {
		print_message("no CPython in PYENV_ROOT, /usr or TACHBPF_SID\n");
		skip();
	}
	print_message("%u files with a CPython\n", seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_installed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
