// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_jails.c - the jails of the workers that there are: each real one's capabilities, memory
 * and system calls, with functions of the test that try what none of them may do.
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
#include <sys/fsuid.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/offcpu_scan.h"
#include "memory/reader.h"
#include "target/inspector.h"
#include "target/parser.h"
#include "tests/unit/jail_tries.h"
#include "worker/worker.h"

#define KINDS 4

static int try_socket(void *shared, const int *fds)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static int try_write(void *shared, const int *fds)
{
	return write(3, "x", 1) == 1 ? 0 : -errno;
}

static int try_write_memory(void *shared, const int *fds)
{
	char byte = 0;
	struct iovec part = { &byte, 1 };

	return process_vm_writev(getpid(), &part, 1, &part, 1, 0) == 1 ? 0 : -errno;
}

/* What each of them is killed for. */
static const worker_fn functions[] = {
	nothing, try_exec, try_socket, try_write, try_write_memory, try_ptrace, try_fsuid,
};

static struct worker_kind kinds[KINDS];
static const struct worker_kind *const list[KINDS] = { &kinds[0], &kinds[1], &kinds[2], &kinds[3] };

static int begin(void **state)
{
	const struct worker_kind *const real[KINDS] = {
		&reader_kind, &inspector_kind, &parser_kind, &offcpu_scan_walker,
	};
	size_t i;

	for (i = 0; i < KINDS; i++) {
		kinds[i] = *real[i];
		kinds[i].functions = functions;
		kinds[i].function_cnt = ARRAY_SIZE(functions);
	}
	return 0;
}

static int begin_with_keeper(void **state)
{
	begin(state);
	return keeper_start(list, KINDS);
}

static int end(void **state)
{
	keeper_end();
	return 0;
}

static void test_each_dies_of_what_it_may_not_do(void **state)
{
#if defined(__SANITIZE_ADDRESS__)
	skip();		/* the filter is off */
#else
	size_t i;

	for (i = 0; i < KINDS; i++) {
		struct worker w = { .kind = &kinds[i] };

		dies_of_each(&w, ARRAY_SIZE(functions));
		worker_end(&w);
		free(w.stuck);
	}
#endif
}

static void test_each_has_its_capabilities_and_no_more(void **state)
{
	uint64_t has = process_status(getpid(), "CapEff:", 16);
	size_t i;

	for (i = 0; i < KINDS; i++) {
		struct worker w = { .kind = &kinds[i] };

		assert_int_equal(worker_ready(&w, 0), 0);
		assert_int_equal(worker_call(&w, 0, NULL, WAIT_MS), 0);
		assert_int_equal(process_status(w.pid, "CapEff:", 16), kinds[i].jail->caps & has);
		assert_int_equal(process_status(w.pid, "CapPrm:", 16), kinds[i].jail->caps & has);
		assert_int_equal(process_status(w.pid, "CapInh:", 16), 0);
		assert_int_equal(process_status(w.pid, "CapAmb:", 16), 0);
		assert_int_equal(process_status(w.pid, "NoNewPrivs:", 10), 1);
		worker_end(&w);
		free(w.stuck);
	}
}

int main(void)
{
#define BOTH(test)                                                                                 \
	cmocka_unit_test_setup_teardown(test, begin, end),                                         \
	cmocka_unit_test_setup_teardown(test, begin_with_keeper, end)
	const struct CMUnitTest tests[] = {
		BOTH(test_each_dies_of_what_it_may_not_do),
		BOTH(test_each_has_its_capabilities_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
