// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_sender_jail.c - the sender's jail, with functions of the test in it: what it is killed for,
 * what fails, and what it may do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/offcpu_scan.h"
#include "delivery/sender.h"
#include "memory/reader.h"
#include "target/inspector.h"
#include "target/parser.h"
#include "tests/unit/jail_tries.h"
#include "worker/worker.h"

/* ---- what it is killed for ---- */

static int try_open_for_writing(void *shared, const int *fds)
{
	return open("/dev/null", O_WRONLY) >= 0 ? 0 : -errno;
}

static int try_create(void *shared, const int *fds)
{
	return open("/tmp/tachbpf-jail", O_RDONLY | O_CREAT, 0600) >= 0 ? 0 : -errno;
}

static int try_listen(void *shared, const int *fds)
{
	return listen(socket(AF_INET, SOCK_STREAM, 0), 1) ? -errno : 0;
}

static int try_packets(void *shared, const int *fds)
{
	return socket(AF_PACKET, SOCK_RAW, 0) >= 0 ? 0 : -errno;
}

static int try_audit(void *shared, const int *fds)
{
	return socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT) >= 0 ? 0 : -errno;
}

static int try_terminal(void *shared, const int *fds)
{
	return ioctl(0, TIOCSTI, "x") ? -errno : 0;
}

static const worker_fn deadly[] = {
	nothing, try_exec, try_fork, try_open_for_writing, try_create, try_unlink, try_ptrace,
	try_read_memory, try_fsuid, try_listen, try_packets, try_audit, try_terminal, try_kill,
};

/* ---- what fails, and what it may do ---- */

static int local_sockets_fail(void *shared, const int *fds)
{
	return socket(AF_UNIX, SOCK_STREAM, 0) == -1 && errno == EAFNOSUPPORT ? 0 : -EIO;
}

static void *in_thread(void *arg)
{
	return arg;
}

static int threads_work(void *shared, const int *fds)
{
	void *result = NULL;
	pthread_t t;

	if (pthread_create(&t, NULL, in_thread, shared) || pthread_join(t, &result))
		return -EIO;
	return result == shared ? 0 : -EIO;
}

static int internet_works(void *shared, const int *fds)
{
	return socket(AF_INET, SOCK_STREAM, 0) >= 0 && socket(AF_INET, SOCK_DGRAM, 0) >= 0 ? 0 :
											     -errno;
}

/* What everyone may read, below what the resolver needs. */
static int reads_etc(void *shared, const int *fds)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0 ? 0 : -errno;
}

static int root_alone(void *shared, const int *fds)
{
	return open("/etc/shadow", O_RDONLY | O_CLOEXEC) == -1 && errno == EACCES ? 0 : -EIO;
}

static int elsewhere(void *shared, const int *fds)
{
	return open("/proc/self/status", O_RDONLY | O_CLOEXEC) == -1 && errno == EACCES ? 0 : -EIO;
}

static const worker_fn harmless[] = {
	local_sockets_fail, threads_work, internet_works, reads_etc, root_alone, elsewhere,
};
enum { ROOT_ALONE = 4, ELSEWHERE };

/* ---- tests ---- */

static struct worker_kind kind;
/* As an agent's keeper has them. */
static const struct worker_kind *const kinds[] = {
	&reader_kind, &inspector_kind, &parser_kind, &offcpu_scan_walker, &kind,
};
static struct worker w;

static void make_kind(const worker_fn *functions, size_t cnt)
{
	kind = jail_kind(&sender_kind, functions, cnt);
	w = (struct worker){ .kind = &kind };
}

static int begin_deadly(void **state)
{
	make_kind(deadly, ARRAY_SIZE(deadly));
	return 0;
}

static int begin_harmless(void **state)
{
	make_kind(harmless, ARRAY_SIZE(harmless));
	return 0;
}

static int begin_deadly_with_keeper(void **state)
{
	begin_deadly(state);
	return keeper_start(kinds, ARRAY_SIZE(kinds));
}

static int begin_harmless_with_keeper(void **state)
{
	begin_harmless(state);
	return keeper_start(kinds, ARRAY_SIZE(kinds));
}

static int end(void **state)
{
	return jail_end(&w);
}

static void test_dies_of_what_it_may_not_do(void **state)
{
#if defined(__SANITIZE_ADDRESS__)
	skip();		/* the filter is off */
#else
	dies_of_each(&w, ARRAY_SIZE(deadly));
#endif
}

#if !defined(__SANITIZE_ADDRESS__)
static bool has_landlock(void)
{
	return syscall(444, NULL, 0, 1) > 0;
}
#endif

static void test_may_do_what_it_needs(void **state)
{
#if defined(__SANITIZE_ADDRESS__)
	skip();
#else
	size_t f;

	for (f = 0; f < ARRAY_SIZE(harmless); f++) {
		if ((f == ELSEWHERE && !has_landlock()) ||
		    (f == ROOT_ALONE && access("/etc/shadow", F_OK)))
			continue;
		assert_int_equal(worker_ready(&w, 0), 0);
		if (worker_call(&w, f, NULL, WAIT_MS))
			fail_msg("function %zu", f);
	}
	print_message("Landlock: %s\n", has_landlock() ? "yes" : "no");
#endif
}

static void test_has_no_rights(void **state)
{
	struct stat st;
	char path[64];

	has_no_rights(&w, 2);
	/* Of a process that others may not look at, /proc has root's files. */
	snprintf(path, sizeof(path), "/proc/%d/environ", w.pid);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 0);
}

int main(void)
{
#define BOTH(test, how)                                                                            \
	cmocka_unit_test_setup_teardown(test, begin_##how, end),                                   \
	cmocka_unit_test_setup_teardown(test, begin_##how##_with_keeper, end)
	const struct CMUnitTest tests[] = {
		BOTH(test_dies_of_what_it_may_not_do, deadly),
		BOTH(test_may_do_what_it_needs, harmless),
		BOTH(test_has_no_rights, harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
