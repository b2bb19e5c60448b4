// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_filter_bounds.c - what conditions keep of containers and comms that never end: the tables
 * have few places here.
 */
#define COMMS_MAX 16
#define CONTAINERS_MAX 16
#include "user/target/proc_filter_eval.c"

#include "tests/unit/tach_test.h"

static struct proc_filter filter;

static struct proc_filter_eval *with(enum proc_filter_kind kind, const char *text)
{
	struct proc_filter_eval *c;

	filter = (struct proc_filter){ .cnt = 0 };
	log_set_level(LOG_QUIET);
	assert_int_equal(proc_filter_add(&filter, kind, false, text), 0);
	c = proc_filter_eval_new(&filter);
	assert_non_null(c);
	return c;
}

static void done(struct proc_filter_eval *c)
{
	proc_filter_eval_free(c);
	proc_filter_free(&filter);
}

/* Beyond the bound all are forgotten, and each is found again when a process asks. */
static void test_containers_without_end(void **state)
{
	struct proc_filter_eval *c = with(FILTER_CONTAINER, "a-name");
	struct container found;
	char path[128];
	int i;

	assert_true(c->by_name);
	for (i = 0; i < 3 * CONTAINERS_MAX; i++) {
		found = (struct container){ .id = "" };
		snprintf(path, sizeof(path), "/system.slice/docker-%064d.scope", i);
		assert_true(find_container(c, path, getpid(), &found));
		assert_true(container_is(&found));
		assert_in_range(c->containers.cnt, 1, CONTAINERS_MAX);
	}
	done(c);
	inspector_end();
}

/* The BPF side asks about further ones each time; no mark is made for them. */
static void test_comms_without_end(void **state)
{
	struct proc_filter_eval *c = with(FILTER_COMM, "web*");
	uint8_t comm[COMM_BYTES];
	int i;

	for (i = 0; i < 3 * COMMS_MAX; i++) {
		memset(comm, 0, sizeof(comm));
		snprintf((char *)comm, sizeof(comm), "web%d", i);
		proc_filter_eval_take_comm(c, comm);
		assert_true(c->comms <= COMMS_MAX);
	}
	assert_int_equal(c->comms, COMMS_MAX);
	done(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_containers_without_end),
		cmocka_unit_test(test_comms_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
