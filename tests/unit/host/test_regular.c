// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_regular.c - what others name is opened only if it is a regular file. That a file was not
 * opened, not even for a moment, is what inotify says of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/regular.h"

static char dir[] = "/tmp/tachbpf-test-XXXXXX";
static int dirfd_;

static int begin(void **state)
{
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dirfd_ < 0;
}

static int end(void **state)
{
	char command[64];

	close(dirfd_);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static void write_file(const char *name, const char *text)
{
	int fd = openat(dirfd_, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void test_a_file_and_links_to_it(void **state)
{
	static const char *const names[] = { "file", "link", "link-to-link" };
	char text[8] = "";
	size_t i;
	int fd;

	write_file("file", "words");
	assert_int_equal(symlinkat("file", dirfd_, "link"), 0);
	assert_int_equal(symlinkat("link", dirfd_, "link-to-link"), 0);
	for (i = 0; i < 3; i++) {
		fd = open_regular(dirfd_, names[i], 0);
		assert_true(fd >= 0);
		assert_int_equal(read(fd, text, sizeof(text)), 5);
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
		close(fd);
	}
	assert_int_equal(open_regular(dirfd_, "none", 0), -ENOENT);
	assert_int_equal(symlinkat("/", dirfd_, "out"), 0);
	assert_int_equal(open_regular(dirfd_, "out/etc/passwd", RESOLVE_BENEATH), -EXDEV);
}

/* A file of the test, whose opening is watched. Returns the watch. */
static int watch(const char *name)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_true(inotify_add_watch(fd, path, IN_OPEN) > 0);
	return fd;
}

/* Was it opened since then? Ends the watch. */
static bool was_opened(int watch)
{
	char events[4096];
	ssize_t n = read(watch, events, sizeof(events));

	close(watch);
	return n > 0;
}

static void test_watches_see_it(void **state)
{
	int w;

	write_file("file", "words");
	w = watch("file");
	close(open_regular(dirfd_, "file", 0));
	assert_true(was_opened(w));
}

static void test_no_device(void **state)
{
	int fds, w;

	assert_int_equal(symlinkat("/dev/null", dirfd_, "device"), 0);
	assert_int_equal(symlinkat("device", dirfd_, "again"), 0);
	fds = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(fds);
	assert_int_equal(open_regular(dirfd_, "device", 0), -EINVAL);
	assert_int_equal(open_regular(dirfd_, "again", 0), -EINVAL);
	assert_int_equal(open_regular(AT_FDCWD, "/dev/null", 0), -EINVAL);
	/* and no descriptor is left */
	assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), fds);
	close(fds);
	if (mknodat(dirfd_, "null", S_IFCHR | 0600, makedev(1, 3)))
		skip();		/* only root makes a device that nobody else opens */
	w = watch("null");
	assert_int_equal(open_regular(dirfd_, "null", 0), -EINVAL);
	assert_false(was_opened(w));
}

static void test_no_fifo_directory_socket(void **state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char path[64];
	int s, w;

	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	w = watch("fifo");
	assert_int_equal(open_regular(dirfd_, "fifo", 0), -EINVAL);
	assert_false(was_opened(w));
	assert_int_equal(open_regular(dirfd_, ".", 0), -EINVAL);
	s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/socket", dir);
	assert_int_equal(bind(s, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(open_regular(dirfd_, "socket", 0), -EINVAL);
	close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_file_and_links_to_it, begin, end),
		cmocka_unit_test_setup_teardown(test_watches_see_it, begin, end),
		cmocka_unit_test_setup_teardown(test_no_device, begin, end),
		cmocka_unit_test_setup_teardown(test_no_fifo_directory_socket, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
