// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_elf_start.c - the helper as the main process starts it: which executable that is, and that
 * it answers; and the form of messages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf_helper/elf_start.h"
#include "elf_helper/elf_wire.h"

#define WAIT_MS 20000

static char built[PATH_MAX];

/* build/tests/unit/elf_helper/test_elf_start -> build/tachbpf-elf */
static int find_built(void **state)
{
	ssize_t n = readlink("/proc/self/exe", built, sizeof(built) - 1);
	int i;

	built[n] = '\0';
	for (i = 0; i < 4; i++)
		*strrchr(built, '/') = '\0';
	strcat(built, "/" ELF_HELPER_NAME);
	return access(built, X_OK);
}

static void test_a_conversation(void **state)
{
	struct elf_message m = { .kind = PASS_FILE, .file = 1 };
	uint64_t addr = 1;
	int to_main[2], to_opener[2], pidfd, passed, fd = open("/proc/self/exe", O_RDONLY);
	static struct elf_packet p;
	struct elf_name name;
	struct pollfd wait;
	int status;
	pid_t pid;

	setenv("TACHBPF_ELF", built, 1);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, to_main), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, to_opener), 0);
	assert_int_equal(elf_helper_start(ELF_ROLE_NAMES, to_main[1], to_opener[1], &pid, &pidfd),
			 0);
	close(to_main[1]);
	close(to_opener[1]);
	assert_int_equal(elf_channel_send(to_opener[0], &m, NULL, fd), 0);
	m = (struct elf_message){ .kind = HELPER_NAMES, .file = 1, .request = 7, .cnt = 1,
				  .bytes = sizeof(addr) };
	assert_int_equal(elf_channel_send(to_main[0], &m, &addr, -1), 0);
	assert_int_equal(elf_channel_receive(to_main[0], &p, &passed, 0), 0);
	assert_int_equal(p.head.kind, NAMES);
	assert_int_equal(p.head.request, 7);
	assert_int_equal(p.head.cnt, 1);
	memcpy(&name, p.data, sizeof(name));
	assert_int_equal(name.addr, 1);
	assert_int_equal(name.name_bytes, 1);

	close(to_main[0]);
	wait = (struct pollfd){ .fd = pidfd, .events = POLLIN };
	assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(to_opener[0]);
	close(pidfd);
	close(fd);
}

static void test_which_executable(void **state)
{
	char dir[] = "/tmp/test_elf_start.XXXXXX", path[PATH_MAX], copy[PATH_MAX];
	int fd;

	assert_non_null(mkdtemp(dir));
	snprintf(copy, sizeof(copy), "%s/helper", dir);
	setenv("TACHBPF_ELF", copy, 1);
	assert_int_equal(elf_helper_find(path, sizeof(path)), -ENOENT);
	fd = open(copy, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(elf_helper_find(path, sizeof(path)), -ENOENT);
	assert_int_equal(chmod(copy, 0755), 0);
	assert_int_equal(elf_helper_find(path, sizeof(path)), 0);
	assert_string_equal(path, copy);
	if (!geteuid()) {
		assert_int_equal(chmod(copy, 0777), 0);
		assert_int_equal(elf_helper_find(path, sizeof(path)), -EPERM);
		assert_int_equal(chmod(copy, 0755), 0);
		assert_int_equal(chown(copy, 65534, 65534), 0);
		assert_int_equal(elf_helper_find(path, sizeof(path)), -EPERM);
	}
	assert_int_equal(elf_helper_find(path, 4), -ENAMETOOLONG);
	unsetenv("TACHBPF_ELF");
	assert_true(elf_helper_find(path, sizeof(path)) < 0);
	unlink(copy);
	rmdir(dir);
}

static void test_no_executable(void **state)
{
	pid_t pid;
	int pidfd;

	setenv("TACHBPF_ELF", "/nonexistent", 1);
	assert_int_equal(elf_helper_start(ELF_ROLE_NAMES, 0, 0, &pid, &pidfd), -ENOENT);
}

static void test_messages(void **state)
{
	struct elf_message m = { .kind = NAMES, .bytes = ELF_WIRE_BYTES };
	static uint8_t data[ELF_WIRE_BYTES + 1];
	static struct elf_packet p;
	int pair[2], passed;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(elf_channel_receive(pair[0], &p, &passed, MSG_DONTWAIT), -EAGAIN);
	assert_int_equal(elf_channel_send(pair[1], &m, data, pair[0]), 0);
	assert_int_equal(elf_channel_receive(pair[0], &p, &passed, 0), 0);
	assert_int_equal(p.head.bytes, ELF_WIRE_BYTES);
	assert_true(passed >= 0);
	close(passed);
	m.bytes++;	/* more than a message may have */
	assert_int_equal(elf_channel_send(pair[1], &m, data, -1), 0);
	assert_int_equal(elf_channel_receive(pair[0], &p, &passed, 0), -EBADMSG);
	m.bytes = 8;	/* other than it says */
	assert_int_equal(send(pair[1], &m, sizeof(m), 0), sizeof(m));
	assert_int_equal(elf_channel_receive(pair[0], &p, &passed, 0), -EBADMSG);
	assert_int_equal(send(pair[1], &m, 3, 0), 3);
	assert_int_equal(elf_channel_receive(pair[0], &p, &passed, 0), -EBADMSG);
	m = (struct elf_message){ .kind = DEMANGLE + 1 };
	assert_int_equal(elf_channel_send(pair[1], &m, NULL, pair[0]), 0);
	assert_int_equal(elf_channel_receive(pair[0], &p, &passed, 0), -EBADMSG);
	assert_int_equal(passed, -1);
	close(pair[1]);
	assert_int_equal(elf_channel_receive(pair[0], &p, &passed, 0), -EPIPE);
	close(pair[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_conversation),
		cmocka_unit_test(test_which_executable),
		cmocka_unit_test(test_no_executable),
		cmocka_unit_test(test_messages),
	};

	return cmocka_run_group_tests(tests, find_built, NULL);
}
