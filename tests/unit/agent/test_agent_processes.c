// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_agent_processes.c - which service a process belongs to, and when it gets another one. The
 * processes are this program again, which looks at what it is to be (be()).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent_processes.h"
#include "base/time.h"
#include "base/util.h"
#include "cpython/image.h"
#include "memory/reader.h"
#include "resolve/observer.h"
#include "resolve/process.h"
#include "target/inspector.h"
#include "tests/unit/telemetry/process_ctx_test.h"

#define TICKS_MAX 1000	/* a busy machine may leave no time in one */
#define SAY_FD 100	/* processes say their pid here */

static char self[4096];

/* ---- processes ---- */

static void run(const char *role, const char *const *argv)
{
	char variable[32], *env[] = { variable, NULL };

	snprintf(variable, sizeof(variable), "ROLE=%s", role);
	execve(self, (char *const *)argv, env);
	_exit(1);
}

/* What this process is instead of a test. */
static void be(const char *role)
{
	static const char *const helper[] = {
		"python3", "-c", "from multiprocessing.resource_tracker import main;main(5)", NULL,
	};
	static uint8_t payload[4096];
	static struct message m;
	struct published *p;
	pid_t pid = getpid();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (strstr(role, "hidden"))
		prctl(PR_SET_DUMPABLE, 0);
	if (strstr(role, "context")) {
		p = map_context(MEMFD);
		make_context(&m, "from-context", 0);
		if (!p)
			_exit(1);
		publish(p, payload, &m);
	}
	if (write(SAY_FD, &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
	if (strstr(role, "parent") && !fork())
		run("helper", helper);
	close(SAY_FD);
	for (;;)
		pause();
}

/* Start a program in a role; so many pids are said. */
static void start(const char *role, const char *script, pid_t *pids, size_t cnt)
{
	const char *argv[] = { "python3", script, NULL };
	int say[2];
	size_t i;

	assert_int_equal(pipe2(say, O_CLOEXEC), 0);
	fflush(NULL);
	if (!fork()) {
		dup2(say[1], SAY_FD);
		run(role, argv);
	}
	close(say[1]);
	for (i = 0; i < cnt; i++)
		assert_int_equal(read(say[0], &pids[i], sizeof(*pids)), sizeof(*pids));
	close(say[0]);
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Does what a process hides stay hidden from this one? Of it only, until the next call. */
static void respect_hidden(bool yes)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	const uint32_t bit = 1u << CAP_SYS_PTRACE;

	assert_int_equal(syscall(SYS_capget, &head, data), 0);
	data[0].effective = yes ? data[0].effective & ~bit :
				  data[0].effective | (data[0].permitted & bit);
	assert_int_equal(syscall(SYS_capset, &head, data), 0);
}

/* ---- what is tested ---- */

static const struct observer_ops nobody = { .event = NULL };
static struct observer observer = { &nobody };
static const struct cpython_image image = { .major = 3, .minor = 12 };
static struct service_config config;
static struct agent_services *services;
static struct agent_processes *processes;
static unsigned int moves;
static uint32_t moved_from;

static void moved(void *ctx, struct agent_process *p, uint32_t old)
{
	assert_int_not_equal(p->service, old);
	moves++;
	moved_from = old;
}

static int setup(void **state)
{
	struct agent_processes_args args = { .config = &config, .moved = moved, .owners_max = 20 };

	config = (struct service_config){ .rules = NULL };
	services = args.services = agent_services_new(20);
	processes = agent_processes_new(&args);
	moves = 0;
	return services && processes ? 0 : -1;
}

static int teardown(void **state)
{
	agent_processes_free(processes);
	agent_services_free(services);
	inspector_end();
	reader_end();
	return 0;
}

static struct agent_process *begin_of(pid_t tgid, const char *comm, pid_t forked_by,
				      uint64_t program)
{
	const struct process_args args = { .tgid = tgid, .comm = comm, .image = &image,
					   .command = "x", .observer = &observer,
					   .forked_by = forked_by, .program = program };
	struct process *p = process_new(&args);
	struct agent_process *its;

	assert_non_null(p);
	its = agent_processes_begin(processes, p);
	assert_non_null(its);
	return its;
}

static struct agent_process *begin(pid_t tgid, const char *comm)
{
	return begin_of(tgid, comm, 0, 0);
}

static void end(struct agent_process *p)
{
	struct process *process = p->process;

	agent_processes_end(processes, p);
	process_free(process);
}

static const char *name_of(const struct agent_process *p)
{
	return agent_services_name(services, p->service);
}

static void tick_until_named(const struct agent_process *p)
{
	int i;

	for (i = 0; i < TICKS_MAX && !p->named; i++)
		agent_processes_tick(processes, now_ns());
	assert_true(p->named);
}

/* A look that a busy machine has cut short is repeated at once. */
static void tick_until(struct agent_process *p, const char *name)
{
	int i;

	for (i = 0; i < TICKS_MAX && strcmp(name_of(p), name); i++) {
		p->watch.due_ns = 0;
		agent_processes_tick(processes, now_ns());
	}
	assert_string_equal(name_of(p), name);
}

static void test_names(void **state)
{
	struct service_rule rule = { .glob = { [FACT_PROGRAM] = (char *)"web*" },
				     .name = (char *)"by-rule" };
	struct agent_process *p;
	pid_t pid;

	start("program", "/srv/web.py", &pid, 1);
	assert_false(agent_processes_some_new(processes, now_ns()));
	p = begin(pid, "python3");
	assert_true(agent_processes_some_new(processes, now_ns()));
	assert_false(agent_processes_some_new(processes, now_ns() + NS_PER_S));
	assert_int_equal(p->service, SERVICE_NUMBER_OTHER);
	assert_ptr_equal(agent_processes_first(processes), p);
	agent_processes_name(processes, p);
	assert_string_equal(name_of(p), "web.py");
	assert_int_equal(moves, 1);
	assert_int_equal(moved_from, SERVICE_NUMBER_OTHER);
	/* Once is enough, for events and ticks. */
	tick_until_named(p);
	agent_processes_name(processes, p);
	assert_int_equal(moves, 1);

	/* Another configuration: it keeps its service until the next tick. */
	config.rules = &rule;
	config.rule_cnt = 1;
	agent_processes_rename(processes);
	agent_processes_name(processes, p);
	assert_string_equal(name_of(p), "web.py");
	tick_until_named(p);
	assert_string_equal(name_of(p), "by-rule");
	assert_int_equal(moves, 2);
	assert_int_equal(moved_from, 1);
	end(p);
	stop(pid);
	assert_null(agent_processes_first(processes));
}

/* A helper is found before its program, and named after it. */
static void test_parents(void **state)
{
	struct agent_process *parent, *helper;
	pid_t pids[2];

	start("parent", "/srv/shop.py", pids, 2);
	parent = begin(pids[0], "python3");
	helper = begin(pids[1], "python3");
	assert_ptr_equal(agent_processes_first(processes), helper);
	agent_processes_name(processes, helper);
	assert_string_equal(name_of(helper), "shop.py");
	assert_string_equal(name_of(parent), "shop.py");
	/* A parent that has its name is not looked at again. */
	agent_processes_name(processes, parent);
	assert_int_equal(moves, 2);
	end(helper);
	end(parent);
	/* Nobody is known whose helper it could be. */
	helper = begin(pids[1], "python3");
	tick_until_named(helper);
	assert_string_not_equal(name_of(helper), "shop.py");
	end(helper);
	stop(pids[0]);
}

/* Children that are gone, or something else, before they are named are their parent's. */
static void test_forked(void **state)
{
	struct agent_process *parent, *gone, *moved_on, *lives, *of_gone, *other;
	uint32_t service;
	pid_t pids[2];

	start("program", "/srv/forker.py", &pids[0], 1);
	start("program", "/srv/sort.py", &pids[1], 1);
	parent = begin(pids[0], "python3");
	gone = begin_of(0x7f000000, "python3", pids[0], 0);
	assert_true(parent->service);		/* named by its first fork */
	of_gone = begin_of(0x7f000001, "python3", 0x7f000000, 0);
	moved_on = begin_of(pids[1], "python3", pids[0], 12345);
	agent_processes_name(processes, gone);
	agent_processes_name(processes, of_gone);
	agent_processes_name(processes, moved_on);
	assert_string_equal(name_of(gone), "forker.py");
	assert_string_equal(name_of(of_gone), "forker.py");
	assert_string_equal(name_of(moved_on), "forker.py");
	end(moved_on);
	lives = begin_of(pids[1], "python3", pids[0], 0);	/* and says its own name */
	agent_processes_name(processes, lives);
	assert_string_equal(name_of(lives), "sort.py");
	/* Nobody known forked it: what /proc says now is not what was sampled. */
	end(lives);
	other = begin_of(pids[1], "python3", 0x7f000009, 12345);
	agent_processes_name(processes, other);
	assert_string_equal(name_of(other), "python");
	/* Who is gone keeps its name at a reload. */
	moved_on = begin(pids[1], "python3");
	agent_processes_name(processes, moved_on);
	assert_string_equal(name_of(moved_on), "sort.py");
	stop(pids[1]);
	agent_processes_rename(processes);
	tick_until_named(moved_on);
	assert_string_equal(name_of(moved_on), "sort.py");
	assert_string_equal(name_of(gone), "forker.py");
	end(moved_on);
	/* The service lives as long as those that may belong to it. */
	service = parent->service;
	end(parent);
	end(gone);
	agent_services_sweep(services);
	assert_string_equal(agent_services_name(services, service), "forker.py");
	end(of_gone);
	end(other);
	agent_services_sweep(services);
	assert_int_equal(agent_services_cnt(services), 0);
	stop(pids[0]);
}

/* In the middle of an exec, nobody may read which program it is: the parent's name counts. */
static void test_forked_in_exec(void **state)
{
	struct agent_process *parent, *child, *found;
	pid_t pids[2];

	start("program", "/srv/forker.py", &pids[0], 1);
	start("hidden", "/srv/sort.py", &pids[1], 1);
	parent = begin(pids[0], "python3");
	child = begin_of(pids[1], "python3", pids[0], 12345);
	respect_hidden(true);
	agent_processes_name(processes, child);
	assert_string_equal(name_of(child), "forker.py");
	end(child);
	found = begin_of(pids[1], "python3", 0, 12345);
	agent_processes_name(processes, found);
	assert_string_equal(name_of(found), "sort.py");
	respect_hidden(false);
	end(found);
	end(parent);
	stop(pids[0]);
	stop(pids[1]);
}

/* What a program publishes is its name and that of the children that it forks, but not theirs. */
static void test_forked_context(void **state)
{
	struct agent_process *parent, *child;
	pid_t pids[2];

	start("context", "/srv/shop.py", &pids[0], 1);
	start("program", "/srv/shop.py", &pids[1], 1);
	parent = begin(pids[0], "python3");
	tick_until(parent, "from-context");
	child = begin_of(pids[1], "python3", pids[0], 0);
	agent_processes_name(processes, child);
	assert_string_equal(name_of(child), "from-context");
	end(parent);
	agent_processes_rename(processes);
	tick_until_named(child);
	assert_string_equal(name_of(child), "from-context");
	end(child);
	stop(pids[0]);
	stop(pids[1]);
}

/* The program publishes its name after its helper was named. */
static void test_parents_context(void **state)
{
	struct agent_process *parent, *helper;
	pid_t pids[2];

	start("parent with context", "/srv/shop.py", pids, 2);
	parent = begin(pids[0], "python3");
	helper = begin(pids[1], "python3");
	agent_processes_name(processes, helper);
	assert_string_equal(name_of(helper), "shop.py");
	tick_until(parent, "from-context");
	tick_until(helper, "from-context");
	tick_until_named(helper);
	end(helper);
	end(parent);
	stop(pids[0]);
}

static void test_context(void **state)
{
	struct agent_process *p;
	unsigned int before;
	pid_t pid;

	start("context", "/srv/web.py", &pid, 1);
	p = begin(pid, "python3");
	agent_processes_name(processes, p);
	assert_string_equal(name_of(p), "web.py");
	tick_until(p, "from-context");
	tick_until_named(p);
	/* A reload does not take it away, not even until the next look. */
	before = moves;
	agent_processes_rename(processes);
	agent_processes_name(processes, p);
	assert_string_equal(name_of(p), "from-context");
	tick_until_named(p);
	assert_string_equal(name_of(p), "from-context");
	/* Nor do files that did not answer when the context was read. */
	p->named = false;
	p->tries = 1;
	tick_until_named(p);
	assert_string_equal(name_of(p), "from-context");
	assert_int_equal(moves, before);
	end(p);
	stop(pid);
}

/* A tick that has no more time goes on with the next process, even if that has ended meanwhile. */
static void test_ends(void **state)
{
	struct agent_process *p[4];
	size_t i;

	for (i = 0; i < 4; i++)
		p[i] = begin(0x7f000000 + (pid_t)i, "gone");
	agent_processes_tick(processes, now_ns() - NS_PER_S);
	for (i = 0; i < 4; i++)
		assert_false(p[i]->named);
	end(p[3]);	/* the first in the list */
	tick_until_named(p[0]);
	for (i = 0; i < 3; i++)
		assert_string_equal(name_of(p[i]), "gone");
	agent_processes_tick(processes, now_ns() - NS_PER_S);
	end(p[1]);
	end(p[2]);
	end(p[0]);
	agent_processes_tick(processes, now_ns());
	assert_null(agent_processes_first(processes));
	assert_int_equal(agent_services_cnt(services), 1);
}

/* Two of one number: one has ended and is not yet gone. */
static void test_same_number(void **state)
{
	struct agent_process *old = begin(0x7f000000, "old"), *new = begin(0x7f000000, "new");

	agent_processes_name(processes, old);
	agent_processes_name(processes, new);
	end(old);
	assert_ptr_equal(agent_processes_first(processes), new);
	assert_string_equal(name_of(new), "new");
	end(new);
	agent_processes_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parents, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parents_context, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forked_in_exec, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forked_context, setup, teardown),
		cmocka_unit_test_setup_teardown(test_context, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_same_number, setup, teardown),
	};

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	if (getenv("ROLE"))
		be(getenv("ROLE"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
