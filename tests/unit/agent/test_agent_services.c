// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_agent_services.c - numbers of services: what keeps them, when they are free, equal ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "user/agent/agent_services.c"

static struct service *service(const char *name, uint64_t id)
{
	static struct service s;

	s.id = id;
	attrs_clear(&s.resource);
	assert_true(attrs_put_text(&s.resource, "service.name", name));
	return &s;
}

/* Everybody has one service, so that no share is reached. */
static uint32_t enter(struct agent_services *s, const struct service *service)
{
	static uint32_t owner;

	return agent_services_enter(s, service, ++owner);
}

static void test_numbers(void **state)
{
	struct agent_services *s = agent_services_new(10);

	assert_int_equal(s->end, 1);
	assert_int_equal(enter(s, service("a", 11)), 1);
	assert_int_equal(enter(s, service("b", 12)), 2);
	assert_int_equal(enter(s, service("c", 13)), 3);
	assert_int_equal(enter(s, service("b", 12)), 2);
	assert_int_equal(agent_services_cnt(s), 3);
	assert_int_equal(s->end, 4);
	assert_string_equal(agent_services_name(s, 2), "b");
	assert_string_equal(agent_services_name(s, 0), SERVICE_OTHER_NAME);
	assert_string_equal(agent_services_name(s, 4), SERVICE_OTHER_NAME);
	assert_null(agent_services_get(s, 0));
	assert_null(agent_services_get(s, UINT32_MAX));

	/* A number stays until the sweep. */
	agent_services_leave(s, 1);
	agent_services_leave(s, 2);
	agent_services_leave(s, SERVICE_NUMBER_OTHER);
	assert_string_equal(agent_services_name(s, 1), "a");
	assert_int_equal(enter(s, service("a", 11)), 1);
	agent_services_leave(s, 1);
	assert_int_equal(agent_services_sweep(s), 1);
	assert_null(agent_services_get(s, 1));
	assert_int_equal(agent_services_cnt(s), 2);
	assert_int_equal(s->end, 4);

	/* A free number is the next new service's; the others' stay. */
	assert_int_equal(enter(s, service("d", 14)), 1);
	assert_int_equal(enter(s, service("a", 11)), 4);
	assert_string_equal(agent_services_name(s, 1), "d");
	assert_string_equal(agent_services_name(s, 2), "b");

	agent_services_leave(s, 4);
	agent_services_leave(s, 3);
	assert_int_equal(agent_services_sweep(s), 2);
	assert_int_equal(s->end, 3);
	agent_services_free(s);
}

static void test_full(void **state)
{
	struct agent_services *s = agent_services_new(3);

	assert_int_equal(enter(s, service("a", 1)), 1);
	assert_int_equal(enter(s, service("b", 2)), 2);
	assert_int_equal(enter(s, service("c", 3)), SERVICE_NUMBER_OTHER);
	assert_int_equal(enter(s, service("b", 2)), 2);
	assert_int_equal(agent_services_beyond(s), 1);
	assert_int_equal(agent_services_cnt(s), 2);
	assert_int_equal(s->end, 3);
	agent_services_leave(s, 1);
	assert_int_equal(enter(s, service("c", 3)), SERVICE_NUMBER_OTHER);
	assert_int_equal(agent_services_sweep(s), 1);
	assert_int_equal(enter(s, service("c", 3)), 1);
	assert_int_equal(agent_services_beyond(s), 2);
	agent_services_free(s);

	/* Room for number 0 only. */
	s = agent_services_new(0);
	assert_int_equal(enter(s, service("a", 1)), SERVICE_NUMBER_OTHER);
	assert_int_equal(s->end, 1);
	agent_services_free(s);
	agent_services_free(NULL);
}

/* Who takes all that is free gets half of it, and the next one half of the rest. */
static void test_shares(void **state)
{
	struct agent_services *s = agent_services_new(1024);
	char name[16];
	uint32_t owner, i, cnt[4] = { 0 };

	for (owner = 1; owner < 4; owner++)
		for (i = 0; i < 2000; i++) {
			snprintf(name, sizeof(name), "%u-%u", owner, i);
			cnt[owner] += !!agent_services_enter(s, service(name, owner << 16 | i),
							     owner);
		}
	assert_int_equal(cnt[1], 512);
	assert_int_equal(cnt[2], 256);
	assert_int_equal(cnt[3], 128);
	/* A service that is there is everybody's. */
	assert_int_equal(agent_services_enter(s, service("1-0", 1 << 16), 7), 1);
	agent_services_free(s);
}

/* After a reload a service is what its next process says, for example without its user's name. */
static void test_refresh(void **state)
{
	struct agent_services *s = agent_services_new(10);
	struct service *web = service("web", 1);

	attrs_put_text(&web->resource, "process.owner", "alice");
	assert_int_equal(enter(s, web), 1);
	assert_int_equal(enter(s, service("web", 1)), 1);
	assert_string_equal(attrs_text(&agent_services_get(s, 1)->resource, "process.owner"),
			    "alice");
	agent_services_refresh(s);
	assert_int_equal(enter(s, service("web", 1)), 1);
	assert_string_equal(attrs_text(&agent_services_get(s, 1)->resource, "process.owner"), "");
	assert_string_equal(agent_services_name(s, 1), "web");
	agent_services_free(s);
}

/* Whoever makes two services with one id gets two services, and each has one number. */
static void test_equal_ids(void **state)
{
	struct agent_services *s = agent_services_new(10);

	assert_int_equal(enter(s, service("a", 7)), 1);
	assert_int_equal(enter(s, service("b", 7)), 2);
	assert_int_equal(enter(s, service("c", 7)), 3);
	assert_int_equal(enter(s, service("b", 7)), 2);
	agent_services_leave(s, 1);
	assert_int_equal(agent_services_sweep(s), 1);
	/* The others are still found, though the first one is gone. */
	assert_int_equal(enter(s, service("c", 7)), 3);
	assert_int_equal(enter(s, service("b", 7)), 2);
	assert_int_equal(agent_services_cnt(s), 2);
	assert_int_equal(enter(s, service("a", 7)), 1);
	assert_string_equal(agent_services_name(s, 1), "a");
	/* All go at once. */
	while (s->end > 1) {
		uint32_t i;

		for (i = 0; i < 3; i++)
			agent_services_leave(s, 2);
		for (i = 0; i < 2; i++)
			agent_services_leave(s, 3);
		agent_services_leave(s, 1);
		assert_int_equal(agent_services_sweep(s), 3);
	}
	assert_int_equal(agent_services_cnt(s), 0);
	assert_int_equal(enter(s, service("b", 7)), 1);
	agent_services_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_refresh),
		cmocka_unit_test(test_equal_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
