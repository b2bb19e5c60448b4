// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_process_facts.c - what real processes say of themselves, and that of their environment
 * nothing else is seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory/reader.h"
#include "target/inspector.h"
#include "telemetry/process_ctx_watch.h"

/* A process with this environment; its first thread waits. */
static pid_t start_with(char *const env[])
{
	char *const argv[] = { (char *)"cat", NULL };
	int in[2], out[2];
	char c = '\n';
	pid_t pid;

	assert_false(pipe(in) || pipe(out));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		execve("/bin/cat", argv, env);
		_exit(127);
	}
	assert_int_equal(write(in[1], &c, 1), 1);
	/* It has answered: it is cat by now. */
	assert_int_equal(read(out[0], &c, 1), 1);
	close(in[0]);
	close(out[0]);
	close(out[1]);
	return pid;
}

static int environ_patiently(pid_t pid, struct otel_environ *e)
{
	int err = -EBUSY, i;

	for (i = 0; err == -EBUSY && i < 1000; i++) {
		err = inspector_environ(pid, e);
		if (err == -EBUSY)
			usleep(10000);
	}
	return err;
}

/* Does a secret of the environment lie in memory that we share with workers? */
static bool is_shared(const char *secret)
{
	char line[512], *copy;
	uint64_t start, end;
	bool found = false;
	FILE *f = fopen("/proc/self/maps", "re");

	assert_non_null(f);
	while (!found && fgets(line, sizeof(line), f)) {
		if (!strstr(line, " rw-s ") ||
		    sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) != 2)
			continue;
		copy = (char *)(uintptr_t)start;
		found = memmem(copy, end - start, secret, strlen(secret));
	}
	fclose(f);
	return found;
}

static void test_environ_of_a_process(void **state)
{
	char secret[] = "DB_PASSWORD=tr0ub4dor", name[] = "OTEL_SERVICE_NAME=shop";
	char resource[] = "OTEL_RESOURCE_ATTRIBUTES=a=b,service.version=2";
	char version[] = "DD_VERSION=3", again[] = "DD_VERSION=4", other[] = "DD_VERSIONS=5";
	char *const env[] = { secret, other, name, resource, version, again, NULL };
	pid_t pid = start_with(env);
	struct otel_environ e;
	int err = environ_patiently(pid, &e);

	if (err == -EACCES) {
		kill(pid, SIGKILL);
		skip();		/* yama, or a container */
	}
	assert_int_equal(err, 0);
	assert_string_equal(e.service_name, "shop");
	assert_string_equal(e.resource, "a=b,service.version=2");
	assert_string_equal(e.version, "3");
	assert_true(is_shared("service.version=2"));
	assert_false(is_shared("tr0ub4dor"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(environ_patiently(pid, &e), -ESRCH);
	assert_string_equal(e.service_name, "");
	inspector_end();
}

/* From /proc to a service's name. */
static void test_service_of_a_process(void **state)
{
	char name[] = "OTEL_SERVICE_NAME=shop", *const env[] = { name, NULL };
	struct service_config config = { .privacy.paths = true, .privacy.others = true };
	static struct process_facts p;
	static struct service s;
	struct service_facts facts = { 0 };
	struct proc_info who;
	pid_t pid = start_with(env);
	int err = -EBUSY, i;

	assert_int_equal(proc_info_read(pid, &who), 0);
	for (i = 0; err == -EBUSY && i < 1000; i++) {
		err = process_facts_read(&who, &p);
		if (err == -EBUSY)
			usleep(10000);
	}
	assert_int_equal(err, 0);
	process_facts_fill(&p, &facts);
	service_make(&facts, &config, &s);
	assert_string_equal(service_name_of(&s), *p.env.service_name ? "shop" : "cat");
	assert_string_equal(p.comm, "cat");
	assert_int_equal(p.cmdline_len, 4);
	assert_string_equal(attrs_text(&s.resource, "process.executable.path"), p.exe);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* It is gone: what is known is what was read before. */
	assert_int_equal(process_facts_read(&who, &p), 0);
	assert_string_equal(p.exe, "");
	assert_int_equal(p.cmdline_len, 0);
	assert_string_equal(p.comm, "cat");
	inspector_end();
	reader_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_environ_of_a_process),
		cmocka_unit_test(test_service_of_a_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
