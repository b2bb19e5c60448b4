// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_regular.c - what others name is opened only if it is a regular file. That a file was not
 * opened shows in what its opening does: a new terminal, a writer of a FIFO that goes on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

/*
 * The number of the next terminal: opening /dev/ptmx takes the lowest that is free, so one
 * that was opened in between and is still open shows.
 */
static int next_terminal(void)
{
	int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	char name[64] = "";

	if (fd < 0 || ptsname_r(fd, name, sizeof(name)))
		skip();
	close(fd);
	return atoi(strrchr(name, '/') + 1);
}

static void test_no_device(void **state)
{
	int before = next_terminal(), fds;

	assert_int_equal(symlinkat("/dev/ptmx", dirfd_, "terminal"), 0);
	assert_int_equal(symlinkat("terminal", dirfd_, "again"), 0);
	fds = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(fds);
	assert_int_equal(open_regular(dirfd_, "terminal", 0), -EINVAL);
	assert_int_equal(open_regular(dirfd_, "again", 0), -EINVAL);
	assert_int_equal(open_regular(AT_FDCWD, "/dev/ptmx", 0), -EINVAL);
	assert_int_equal(open_regular(AT_FDCWD, "/dev/null", 0), -EINVAL);
	assert_int_equal(next_terminal(), before);
	/* and no descriptor is left */
	assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), fds);
	close(fds);
}

static void test_no_fifo_directory_socket(void **state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char path[64];
	int s;

	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(open_regular(dirfd_, "fifo", 0), -EINVAL);
	/* nobody has it open for reading, and nobody had */
	assert_int_equal(openat(dirfd_, "fifo", O_WRONLY | O_NONBLOCK | O_CLOEXEC), -1);
	assert_int_equal(errno, ENXIO);
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
		cmocka_unit_test_setup_teardown(test_no_device, begin, end),
		cmocka_unit_test_setup_teardown(test_no_fifo_directory_socket, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
